"""``s3c2 evaluate``: clusters against known classes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from s3c2.cli.data_options import PATH
from s3c2.cli.messages import example, print_json, say


@click.command(
    epilog=example("s3c2 evaluate out/labels.csv truth.csv --truth-column species --id-column name")
)
@click.argument("labels", type=PATH)
@click.argument("truth", type=PATH)
@click.option("--id-column", default="id", show_default=True, help="Column that joins the tables.")
@click.option("--label-column", help="Column of LABELS with the clusters.  [default: cluster]")
@click.option("--truth-column", help="Column of TRUTH with the classes, where it has several.")
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON.")
def evaluate(
    labels: Path,
    truth: Path,
    id_column: str,
    label_column: str | None,
    truth_column: str | None,
    as_json: bool,
) -> None:
    """Score the clusters in LABELS against the classes in TRUTH: NMI, ARI and ACC.

    Both are CSV or Parquet tables, or folders of Parquet files. They are joined by the id column,
    or row by row when one of them has none. Rows without a class do not count.
    """
    from s3c2 import metrics
    from s3c2.cli.label_files import join, read_label_column
    from s3c2.files.parts_folder import PartsFolder

    folder = PartsFolder.left_by_a_run(labels)
    if folder is not None and (missing := folder.missing()):
        say(
            f"Warning: {len(missing):,} of {len(folder.sizes):,} parts are missing in {labels}: "
            "their rows do not count. The command that made the folder makes them, too."
        )
    own = read_label_column(
        labels,
        column=label_column,
        usual=["cluster"],
        id_columns=[id_column, "id"],
        option="--label-column",
    )
    true = read_label_column(
        truth,
        column=truth_column,
        usual=["truth", "class", "label"],
        id_columns=[id_column],
        option="--truth-column",
    )
    clusters, classes, how = join(own, true)
    scores = metrics.evaluate(classes, clusters)
    if as_json:
        rows = {"rows": len(own.labels), "matched": len(clusters), "joined_by": how}
        print_json({**asdict(scores), **rows})
        return
    click.echo(f"NMI {scores.nmi:.4f}\nARI {scores.ari:.4f}\nACC {scores.acc:.4f}")
    click.echo(f"{len(clusters):,} of {len(own.labels):,} rows matched by {how}.")
