"""``s3c2 predict``: clusters of new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from s3c2.cli.data_options import PATH
from s3c2.cli.messages import Interrupted, example, print_json, say, settings_as_given
from s3c2.cli.outputs import (
    LeftOut,
    check_is_no_input,
    check_table_name,
    is_parts_folder,
    output_folder,
)
from s3c2.errors import DataError

if TYPE_CHECKING:
    from s3c2.data.streams import Stream
    from s3c2.files.parts_folder import PartsFolder
    from s3c2.labelling import Labelling

STDOUT = Path("-")
MOST_IDS = 2**25  # that are compared: they take 8 bytes each


@click.command(
    epilog=example(
        "s3c2 predict out new_plants.csv -o new_labels.csv",
        "s3c2 predict out new_plants.csv | head",
        "s3c2 predict out parquet_folder -o labels_folder",
    )
)
@click.argument("model_folder", metavar="MODEL", type=PATH)
@click.argument("data", type=PATH)
@click.option(
    "-o",
    "out",
    type=PATH,
    default=STDOUT,
    help="CSV, JSON Lines or Parquet file, by its ending; without an ending a folder for Parquet "
    "parts, which the same command completes after an interruption. By default CSV goes to stdout.",
)
@click.option("--id-column", metavar="NAME", help="Column with the ids, if not that of fit.")
@click.option(
    "--skip-damaged",
    is_flag=True,
    help="Leave out Parquet files that are damaged or lack a column, and count them.",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, …")
@click.option("--ray", "on_ray", is_flag=True, help="Work on a Ray cluster; needs -o FOLDER.")
@click.option(
    "--address",
    metavar="HOST:PORT",
    help="Of the Ray cluster, as 'ray start' prints it. Without it Ray is started on this machine.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Workers on the Ray cluster.  [default: one for each of its CPUs]",
)
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON; needs -o.")
@click.option("--quiet", is_flag=True, help="No progress and no messages.")
def predict(
    model_folder: Path,
    data: Path,
    out: Path,
    id_column: str | None,
    skip_damaged: bool,
    device: str,
    on_ray: bool,
    address: str | None,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Assign the rows of DATA to the clusters of MODEL.

    MODEL is the folder that fit wrote, or the model folder in it. DATA is raw data of the same
    kind as in fit, or a folder of Parquet files: scaling, vocabulary, image size and column names
    come from the model. Rows are read and written piece by piece, in order. The result has the
    columns id, cluster and probability.
    """
    into_folder = out != STDOUT and is_parts_folder(out)
    if out == STDOUT and as_json:
        raise click.UsageError("--json prints to stdout, where the labels go: give -o FILE.")
    if on_ray and not into_folder:
        raise click.UsageError("--ray writes a folder of Parquet parts: give -o FOLDER.")
    if (address or workers) and not on_ray:
        raise click.UsageError("--address and --workers are for --ray: add it.")
    if out != STDOUT:
        check_is_no_input(out, data, model_folder)
        if not into_folder:
            check_table_name(out)
    from s3c2 import S3C2
    from s3c2.labelling import Labelling, folder_of_run, id_column_of, stream_of

    left_out = LeftOut(quiet)
    refused = left_out.note if skip_damaged else None
    verbose = 0 if quiet or out == STDOUT else 1
    with settings_as_given(), _of_new_data(), _cluster(address) if on_ray else nullcontext():
        model = S3C2.load(model_folder, device=device)
        stream = stream_of(model, data, id_column, refused)
        ids_twice = _ids_twice(stream, skip_damaged, verbose, quiet)
        labelling = Labelling(model, stream)
        if into_folder:
            with output_folder(out):
                ids = id_column_of(model, id_column)
                folder = folder_of_run(out.resolve(), model_folder, stream, ids)
                work: Callable[[], int] = partial(labelling.into_folder, folder, verbose, refused)
                if on_ray:
                    from s3c2.files.model_files import model_file
                    from s3c2.ray import PartsOfRun, label_parts

                    content = model_file(model_folder).read_bytes()
                    run = PartsOfRun(content, data.resolve(), id_column, folder, skip_damaged)
                    work = partial(label_parts, run, verbose, workers, refused)
                n_rows = _going_on(work, folder, verbose)
        else:
            n_rows = _into_table(labelling, out, verbose)
    if out == STDOUT:
        return
    if as_json:
        left = {"left_out": len(left_out.errors)} if skip_damaged else {}
        print_json({"rows": n_rows, "output": str(out), **left, "ids_twice": ids_twice})
    say(f"The labels of {n_rows:,} rows are in {out}{left_out.in_words()}.", quiet=quiet or as_json)


@contextmanager
def _of_new_data() -> Iterator[None]:
    """Which columns are data was chosen in the fit: advise nothing else here."""
    from s3c2.data.columns import NotNumericError

    try:
        yield
    except NotNumericError as error:
        raise DataError(
            f"{error.what} The model learned from numbers in this column: give such, or fit anew "
            "without it."
        ) from None


def _ids_twice(stream: Stream, skip_damaged: bool, verbose: int, quiet: bool) -> int | None:
    """Say beforehand which ids stand on several rows; how many there are.

    Rows are labelled one by one, so that this is no error; but labels cannot be joined by such ids.
    None where there are no ids, or too many to compare.
    """
    from s3c2.stream_ids import doubles

    if not stream.has_ids:
        return None
    if stream.n > MOST_IDS:
        say(
            f"{stream.n:,} ids are too many to look for those that come twice: make sure that "
            "they do not before you join labels by id.",
            quiet=quiet,
        )
        return None
    found = doubles(stream, verbose, skip_damaged)
    if found is None:
        return 0
    say(
        f"Warning: {found.n:,} {'id stands' if found.n == 1 else 'ids stand'} on more than one "
        f"row, such as {found.example!r} on {found.first} and on {found.second} (the first row "
        "is 0). The labels come in the order of the rows: do not join them by id.",
        quiet=quiet,
    )
    return found.n


def _going_on(work: Callable[[], int], folder: PartsFolder, verbose: int) -> int:
    """Do the work, and say what is there already and what remains after an interruption."""
    n_there = len(folder.sizes) - len(folder.missing())
    if n_there:
        say(f"{n_there:,} of {len(folder.sizes):,} parts are there already.", quiet=not verbose)
    try:
        return work()
    except KeyboardInterrupt:
        raise Interrupted("Interrupted. The same command goes on from there.") from None


def _cluster(address: str | None) -> AbstractContextManager[None]:
    """The Ray cluster, found before anything is written."""
    from s3c2.ray import connected

    return connected(address)


def _into_table(labelling: Labelling, out: Path, verbose: int) -> int:
    from s3c2.files.growing import growing_table, growing_text

    if out == STDOUT:
        return labelling.into_table(
            growing_text(lambda content: click.echo(content, nl=False)), verbose
        )
    with growing_table(out) as add:
        return labelling.into_table(add, verbose)
