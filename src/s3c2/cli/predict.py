"""``s3c2 predict``: clusters of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from s3c2.cli.data_options import PATH
from s3c2.cli.messages import example, print_json, say, settings_as_given
from s3c2.cli.outputs import check_table_name, label_table

if TYPE_CHECKING:
    from s3c2 import S3C2
    from s3c2.data import Data

STDOUT = Path("-")


@click.command(
    epilog=example(
        "s3c2 predict out new_plants.csv -o new_labels.csv",
        "s3c2 predict out new_plants.csv | head",
    )
)
@click.argument("model_folder", metavar="MODEL", type=PATH)
@click.argument("data", type=PATH)
@click.option(
    "-o",
    "out",
    type=PATH,
    default=STDOUT,
    help="CSV, JSON Lines or Parquet file, by its ending. Without it CSV goes to stdout.",
)
@click.option("--id-column", metavar="NAME", help="Column with the ids, if not that of fit.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, …")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON; needs -o FILE.")
@click.option("--quiet", is_flag=True, help="No messages.")
def predict(
    model_folder: Path,
    data: Path,
    out: Path,
    id_column: str | None,
    device: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Assign the rows of DATA to the clusters of MODEL.

    MODEL is the folder that fit wrote, or the model folder in it. DATA is raw data of the same
    kind as in fit: scaling, vocabulary, image size and column names come from the model. The
    result has the columns id, cluster and probability.
    """
    if out != STDOUT:
        check_table_name(out)
    elif as_json:
        raise click.UsageError("--json prints to stdout, where the labels go: give -o FILE.")
    from s3c2 import S3C2
    from s3c2.files.tables import table_bytes, write_table

    with settings_as_given():
        model = S3C2.load(_model_folder(model_folder), device=device)
        rows = _prepare(model, data, id_column)
        table = label_table(model.predict_proba(rows.X), rows.names)
    if out == STDOUT:
        click.echo(table_bytes(table), nl=False)
        return
    write_table(out, table)
    if as_json:
        print_json({"rows": rows.n_rows, "output": str(out)})
    say(f"{rows.n_rows:,} rows written to {out}.", quiet=quiet or as_json)


def _model_folder(folder: Path) -> Path:
    """Accept the folder that fit wrote as well as the model folder inside it."""
    inside = folder / "model"
    return inside if inside.is_dir() else folder


def _prepare(model: S3C2, path: Path, id_column: str | None) -> Data:
    from s3c2.data import preparation_from_json
    from s3c2.data.arrays import ArrayPreparation
    from s3c2.errors import DataError

    if model.preparation_ is not None:
        preparation = preparation_from_json(model.preparation_)
        return preparation.apply(path, id_column=id_column, scaling=model.reading_.scaling)
    if path.suffix.lower() not in (".npy", ".npz"):
        raise DataError(
            f"{path}: this model was saved from Python and does not say how raw data is prepared. "
            f"Give an NPY or NPZ file of rows as fit got them."
        )
    preparation = ArrayPreparation(row_shape=model.reading_.input_shape)
    return preparation.apply(path, id_column=id_column, scaling=model.reading_.scaling)
