"""``s3c2 fit``: from data and links to labels, a model and a report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from s3c2.cli.data_options import PATH, data_options, read_links
from s3c2.cli.messages import Interrupted, example, print_json, say, settings_as_given
from s3c2.cli.outputs import label_table, output_folder, table_bytes

if TYPE_CHECKING:
    from s3c2 import S3C2
    from s3c2.links import Links
    from s3c2.preparation import Data

CHECKPOINT = "checkpoint.safetensors"


@click.command(
    epilog=example(
        "s3c2 fit plants.csv --id-column name --links links.csv -k 5 -o out",
        "s3c2 fit stories.parquet --text-column text --links links.csv -k 4 -o out",
    )
)
@click.argument("data", type=PATH)
@click.option("--links", "links_file", type=PATH, required=True, help="File with the links.")
@click.option("-k", "n_clusters", type=int, required=True, help="Number of clusters, at least 2.")
@click.option("-o", "out", type=PATH, required=True, help="Folder for the results.")
@data_options
@click.option(
    "--network",
    type=click.Choice(["dense", "convolutional"]),
    default="dense",
    show_default=True,
    help="Kind of networks; convolutional ones are for images.",
)
@click.option("--semi-supervised", is_flag=True, help="LabNet also learns from rows without links.")
@click.option(
    "--threshold", type=float, help="T: a pair is the same when its squared distance is below it."
)
@click.option(
    "--contradictions",
    type=click.Choice(["raise", "drop"]),
    default="raise",
    show_default=True,
    help="Refuse links that exclude each other, or leave them out.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, …")
@click.option("--labnet-steps", type=int, help="Training steps of LabNet.")
@click.option("--clunet-steps", type=int, help="Training steps of CluNet.")
@click.option("--no-report", is_flag=True, help="Write no report.html.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
@click.option("--quiet", is_flag=True, help="No progress and no messages.")
def fit(
    data: Path,
    links_file: Path,
    n_clusters: int,
    out: Path,
    id_column: str | None,
    text_column: str | None,
    drop: tuple[str, ...],
    contradictions: Literal["raise", "drop"],
    no_report: bool,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Learn clusters of DATA from links, and write labels, model and report.

    DATA is a CSV, Parquet, NPY or NPZ file, or a folder of pictures. LINKS is a CSV, JSON Lines or
    Parquet file with the columns a, b and link, which is must or cannot; a and b are ids, or row
    numbers from 0. OUT gets labels.csv, model/ and report.html. A fit that was interrupted goes
    on where it was when the same command is given again.
    """
    _check_clusters(n_clusters)
    if not no_report:
        _check_matplotlib()
    with output_folder(out):
        began = time.monotonic()
        from s3c2.preparation import prepare

        rows, preparation = prepare(data, id_column=id_column, text_column=text_column, drop=drop)
        _check_clusters(n_clusters, rows.n_rows)
        links = read_links(
            links_file, ids=rows.ids, n_rows=rows.n_rows, contradictions=contradictions
        )
        model = _new_model(n_clusters, contradictions, quiet, settings)
        _train(model, rows, links, out / CHECKPOINT)
        model.preparation_ = preparation.to_json()
        outputs = _write(out, model, rows, links, title=data.stem, report=not no_report)
    summary = _summary(model, rows, links, outputs, time.monotonic() - began)
    if as_json:
        print_json(summary)
    n_empty = summary["sizes"].count(0)
    if n_empty:
        say(
            f"{n_empty} of {n_clusters} clusters stayed empty. More links, more --clunet-steps or "
            f"another --seed may fill them.",
            quiet=quiet,
        )
    sizes = ", ".join(map(str, summary["sizes"]))
    say(
        f"{rows.n_rows:,} rows from {links.n_links:,} links in clusters of {sizes}. "
        f"Written: {', '.join(outputs.values())}.",
        quiet=quiet,
    )


def _check_clusters(n_clusters: int, n_rows: int | None = None) -> None:
    from s3c2.errors import DataError

    if n_clusters < 2:
        raise DataError(
            f"-k {n_clusters}: the number of clusters must be at least 2. "
            f"Give how many kinds of rows there are."
        )
    if n_rows is not None and n_clusters > n_rows:
        raise DataError(
            f"-k {n_clusters}: the data has only {n_rows} rows, and there can be at most as many "
            f"clusters. Give a smaller number."
        )


def _check_matplotlib() -> None:
    """Find out before the training, not after it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        from s3c2.errors import MissingExtraError, S3C2Error

        missing = MissingExtraError("The report", "matplotlib", "app")
        raise S3C2Error(f"{missing}, or leave the report out with --no-report.") from None


def _new_model(
    n_clusters: int, contradictions: Literal["raise", "drop"], quiet: bool, settings: dict[str, Any]
) -> S3C2:
    from s3c2 import S3C2

    seed = settings.pop("seed")
    given = {name: value for name, value in settings.items() if value is not None}
    return S3C2(
        n_clusters=n_clusters,
        contradictions=contradictions,
        random_state=seed,
        verbose=0 if quiet else 1,
        scale=None,  # the preparation has scaled the rows
        **given,
    )


def _train(model: S3C2, rows: Data, links: Links, checkpoint: Path) -> None:
    model.set_params(checkpoint=str(checkpoint))
    try:
        with settings_as_given():
            model.fit(rows.X, links=links)
    except KeyboardInterrupt:
        if checkpoint.exists():
            message = f"Interrupted. The same command goes on from {checkpoint}."
        else:
            message = "Interrupted before anything was written."
        raise Interrupted(message) from None
    model.set_params(checkpoint=None)


def _write(
    out: Path, model: S3C2, rows: Data, links: Links, *, title: str, report: bool
) -> dict[str, str]:
    """Write the report first and the model last: a failure leaves the old model in place."""
    from s3c2.atomicfile import write_atomically

    steps: dict[str, Callable[[Path], None]] = {}
    labels = table_bytes(label_table(model, rows))
    if report:
        from s3c2.report import write_report

        def write(path: Path) -> None:
            write_report(path, model, rows.X, links, ids=rows.names, title=title, texts=rows.texts)

        steps["report.html"] = write
    steps["labels.csv"] = lambda path: write_atomically(path, labels)
    steps["model"] = model.save
    for name, step in steps.items():
        step(out / name)
    (out / CHECKPOINT).unlink(missing_ok=True)
    return {name.split(".")[0]: str(out / name) for name in reversed(steps)}


def _summary(
    model: S3C2, rows: Data, links: Links, outputs: dict[str, str], seconds: float
) -> dict[str, Any]:
    import numpy as np

    rates = model.labnet_.rates(links, X=rows.X)
    return {
        "rows": rows.n_rows,
        "clusters": model.n_clusters,
        "sizes": np.bincount(model.labels_, minlength=model.n_clusters).tolist(),
        "must_links": links.n_must,
        "cannot_links": links.n_cannot,
        "threshold": float(model.threshold_),
        "ml_rate": float(rates.ml_rate),
        "cl_rate": float(rates.cl_rate),
        "seconds": round(seconds, 1),
        "outputs": outputs,
    }
