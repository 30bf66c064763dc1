"""``s3c2 fit``: from data and links to labels, a model and a report."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from s3c2.cli.data_options import PATH, clusters_option, data_options
from s3c2.cli.messages import Interrupted, example, print_json, say, settings_as_given
from s3c2.cli.new_model import new_model
from s3c2.cli.outputs import (
    LeftOut,
    check_is_no_input,
    check_is_ours,
    check_matplotlib,
    check_model_folder,
    check_writable_file,
    label_table,
    output_folder,
    write_label_parts,
)
from s3c2.cli.seen import Seen
from s3c2.cli.summary import summary_of, tell, tell_of_no_links
from s3c2.engine.first_rank import is_first, under_torchrun
from s3c2.naming import many

if TYPE_CHECKING:
    from s3c2 import S3C2
    from s3c2.links import Links
    from s3c2.report import Answers

MODEL, LABELS, REPORT = "model", "labels.csv", "report.html"
LABELS_FOLDER = "labels"  # of data past memory
CHECKPOINT = "checkpoint.safetensors"
USUAL_STEPS = "800; 2,500 of 5,000 rows or more; 5,000 of 50,000 or more with a dense network"


def number_or_word(value: str) -> float | str:
    """Read a threshold."""
    if value in ("auto", "neighbors"):
        return value
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise click.BadParameter(
            f"{value!r} is neither neighbors nor auto nor a number of at least 0."
        )
    return number


@click.command(
    epilog=example(
        "s3c2 fit plants.csv --id-column name --links links.csv -k 5 -o out",
        "s3c2 fit stories.parquet --text-column text --links links.csv -k 4 -o out",
        "s3c2 fit plants.csv --id-column name -k 5 -o out",
    )
)
@click.argument("data", type=PATH)
@click.option(
    "--links",
    "links_file",
    type=PATH,
    help="File with the links. Without it the neighbours of the rows alone decide.",
)
@clusters_option
@click.option("-o", "out", type=PATH, required=True, help="Folder for the results.")
@data_options
@click.option(
    "--scale",
    type=click.Choice(["auto", "robust", "standard", "unit", "together", "rms", "topics", "none"]),
    default="auto",
    show_default=True,
    help="Scaling: chosen by what the data is (auto), each column to mean 0 and deviation 1 with "
    "heavy tails drawn in (robust) or as they are (standard), each column onto [0, 1] (unit), all "
    "numbers by one factor onto [0, 1] (together: for pixels and the like), all numbers by the "
    "root of their mean square (rms), 64 main directions of counts or tf-idf (topics), or none.",
)
@click.option(
    "--network",
    type=click.Choice(["auto", "dense", "convolutional"]),
    default="auto",
    show_default=True,
    help="Kind of networks; auto takes convolutional ones for images.",
)
@click.option(
    "--as-published",
    is_flag=True,
    help="The method of the paper, which learns from links alone; other options change it.",
)
@click.option(
    "--no-autoencoder",
    is_flag=True,
    help="Look for neighbours in the rows as they are, not in the code of an autoencoder: faster.",
)
@click.option(
    "--cache",
    type=PATH,
    metavar="FOLDER",
    help="Keep the neighbours of the rows there, for later fits of the same rows with other links.",
)
@click.option("--semi-supervised", is_flag=True, help="LabNet also learns to reconstruct all rows.")
@click.option(
    "--threshold",
    type=number_or_word,
    metavar="NUMBER|neighbors|auto",
    help="T: a pair is the same when its squared distance is below it. With neighbors, T is the "
    "one that tells neighbours of must-linked rows best from those of cannot-linked ones. With "
    "auto, T is chosen on links that LabNet has not seen, so that 95 % of the cannot-links come "
    "out right; this trains five more LabNets.  [default: neighbors; as published 0.3]",
)
@click.option(
    "--dropout",
    type=click.FloatRange(0, 0.99),
    metavar="RATE",
    help="Share of units that are dropped in training.  [default: 0, for texts 0.3 in "
    "LabNet; as published 0.1, convolutional 0.5]",
)
@click.option(
    "--restarts",
    "n_restarts",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Train CluNet N times, each from another start, and keep the best.",
)
@click.option(
    "--committee",
    "n_committee",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Train N LabNets that judge pairs together, by their mean squared distance.",
)
@click.option(
    "--contradictions",
    type=click.Choice(["raise", "drop"]),
    default="raise",
    show_default=True,
    help="Refuse links that exclude each other, or leave them out.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Decides all that is drawn at random.",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, …")
@click.option(
    "--labnet-steps",
    type=click.IntRange(min=1),
    help=f"Training steps of LabNet.  [default: {USUAL_STEPS}; as published 100 walks through the "
    "links, convolutional 1,500]",
)
@click.option(
    "--clunet-steps",
    type=click.IntRange(min=1),
    help=f"Training steps of CluNet.  [default: {USUAL_STEPS}; as published 3,000]",
)
@click.option(
    "--points",
    type=click.IntRange(min=2),
    metavar="N",
    help="Let CluNet learn in a step from all pairs of N rows; fewer are faster where the network "
    "is slow.  [default: 200; as published 1,000 random pairs]",
)
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    metavar="MIB",
    help="Memory for rows in training, in MiB. Of larger Parquet and NPY data, and of folders of "
    "Parquet files, the training sees the linked rows and a uniform sample within it.",
)
@click.option(
    "--skip-damaged",
    is_flag=True,
    help="Leave out Parquet files of a folder that are damaged or lack a column, and count them.",
)
@click.option("--no-report", is_flag=True, help="Write no report.html.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
@click.option("--quiet", is_flag=True, help="No progress and no messages.")
def fit(
    data: Path,
    links_file: Path | None,
    n_clusters: int,
    out: Path,
    id_column: str | None,
    text_column: str | None,
    drop: tuple[str, ...],
    scale: str,
    contradictions: Literal["raise", "drop"],
    memory: int,
    skip_damaged: bool,
    no_report: bool,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Learn clusters of DATA from links, and write labels, model and report.

    DATA is a CSV, Parquet, NPY or NPZ file, a folder of Parquet files, or a folder of pictures.
    LINKS is a CSV, JSON Lines or Parquet file with the columns a, b and link, which is must or
    cannot; a and b are ids, or row numbers from 0. OUT gets labels.csv, model/ and report.html; of
    a folder of Parquet files, and of data past memory, the folder labels/ with Parquet parts in
    place of labels.csv. A fit that was
    interrupted goes on where it was when the same command is given again.
    """
    quiet, as_json = quiet or not is_first(), as_json and is_first()
    check_clusters(n_clusters)
    if links_file is None and settings["as_published"]:
        _refuse_to_do_without_links()
    if not no_report:
        check_matplotlib(", or leave the report out with --no-report.")
    with output_folder(out) if is_first() else nullcontext():
        began = time.monotonic()
        if is_first():
            _check_outputs(out, [data, links_file], report=not no_report)
        from s3c2.data import prepare
        from s3c2.report import Answers

        left_out = LeftOut(quiet)
        rows, preparation = prepare(
            data, id_column=id_column, text_column=text_column, drop=drop, memory=memory * 2**20,
            refused=left_out.note if skip_damaged else None,
        )  # fmt: skip
        check_clusters(n_clusters, rows.n_rows)
        if links_file is None:
            tell_of_no_links(quiet)
        verbose = 0 if quiet else 1
        seen = Seen.of(
            rows, links_file, contradictions, memory * 2**20, verbose, may_lack=skip_damaged
        )
        _warn_of_too_many_groups(seen.given, n_clusters, seen.whole_names)
        if is_first() and (out / "model").exists():
            say(f"The results of an earlier fit in {out} will be replaced.", quiet=quiet)
        scaling = {"none": None, "auto": preparation.usual_scale}.get(scale, scale)
        shared = {"scale": scaling, "contradictions": contradictions, "verbose": verbose}
        model = new_model(n_clusters, seen.X, settings, shared)
        # Ranks train together or not at all: one of them cannot try a few steps by itself.
        if not (quiet or under_torchrun() or (out / CHECKPOINT).exists()):
            _tell_how_long(model, seen)
        _train(model, seen, out / CHECKPOINT)
        if not is_first():  # the first of the processes that torchrun started writes for all
            return
        model.preparation_ = preparation.to_json()
        answers = Answers(model, seen.X, seen.links, seen.numbers)
        outputs = _write(out, seen, answers, title=data.stem, report=not no_report)
    summary = {
        **summary_of(answers),
        "links_left_out": seen.n_left_out,
        "seconds": round(time.monotonic() - began, 1),
        "outputs": outputs,
    }
    if skip_damaged:
        summary["left_out"] = len(left_out.errors)
    if as_json:
        print_json(summary)
    tell(summary, quiet)


def _refuse_to_do_without_links() -> None:
    from s3c2.errors import LinksError

    raise LinksError(
        "--as-published learns from links alone: give must-links and cannot-links with "
        "--links, or leave --as-published out."
    )


def check_clusters(n_clusters: int, n_rows: int | None = None) -> None:
    from s3c2.errors import DataError

    if n_clusters < 2:
        raise DataError(
            f"-k {n_clusters}: the number of clusters must be at least 2. "
            f"Give how many kinds of rows there are."
        )
    if n_rows is not None and n_clusters > n_rows:
        raise DataError(
            f"-k {n_clusters}: the data has only {many(n_rows, 'row')}, and there can be at most "
            f"as many clusters. Give {'a smaller number' if n_rows > 1 else 'more rows'}."
        )


def _check_outputs(out: Path, given: Sequence[Path | None], *, report: bool) -> None:
    """Find out before the training what could not be written after it, or should not be."""
    check_model_folder(out / MODEL)
    files = [LABELS, *([REPORT] if report else [])]
    for name in (*files, CHECKPOINT):
        check_writable_file(out / name)
    for name in (*files, LABELS_FOLDER):
        check_is_no_input(out / name, *given)
    check_is_ours(out, [MODEL, CHECKPOINT], [*files, LABELS_FOLDER])


def _warn_of_too_many_groups(links: Links, n_clusters: int, names: list[str] | None) -> None:
    """Say it as the core does, but with the user's ids and options."""
    from s3c2.errors import TooFewClustersWarning

    rows = links.cannot_clique(n_clusters)
    if rows is not None:
        some = [str(row) if names is None else names[row] for row in rows[:12]]
        shown = ", ".join(some) + (" …" if len(rows) > 12 else "")
        warnings.warn(
            f"The links ask for at least {len(rows)} clusters, and -k is {n_clusters}: the rows "
            f"{shown} are all cannot-linked to each other. Raise -k, or check these links.",
            TooFewClustersWarning,
            stacklevel=2,
        )


def _tell_how_long(model: S3C2, seen: Seen) -> None:
    """Say beforehand how long a long fit will take, and what would be faster."""
    from s3c2.cli.forecast import forecast, in_words
    from s3c2.parameters import torch_device

    with settings_as_given():
        on_cpu = torch_device(model.device).type == "cpu"
        seconds, kind = forecast(model, seen.X, seen.links)
    words = in_words(seconds, kind == "convolutional", on_cpu)
    if words is not None:
        say(words)


def _train(model: S3C2, seen: Seen, checkpoint: Path) -> None:
    from s3c2.errors import (
        EmptyClustersWarning,
        NoLinksWarning,
        OtherFitError,
        TooFewClustersWarning,
    )

    model.set_params(checkpoint=str(checkpoint))
    try:
        with settings_as_given(), warnings.catch_warnings():
            # Said elsewhere, in the words of the command line.
            for said in (NoLinksWarning, TooFewClustersWarning, EmptyClustersWarning):
                warnings.simplefilter("ignore", said)
            model.fit(seen.sampled or seen.X, links=seen.given)
    except OtherFitError:
        raise OtherFitError(
            f"{checkpoint} was left by an interrupted fit with other settings, data or links. "
            f"Remove this file, or choose another folder with -o."
        ) from None
    except KeyboardInterrupt:
        if checkpoint.exists():
            message = f"Interrupted. The same command goes on from {checkpoint}."
        else:
            message = "Interrupted before anything was written."
        raise Interrupted(message) from None
    model.set_params(checkpoint=None)


def _write(out: Path, seen: Seen, answers: Answers, *, title: str, report: bool) -> dict[str, str]:
    """Write the model first, so that the training is not lost when a later output fails."""
    from s3c2.errors import StorageError
    from s3c2.files.tables import write_table

    def write_labels(path: Path) -> None:
        write_table(path, label_table(answers.posteriors, seen.names))

    def write_parts(path: Path) -> None:
        assert seen.sampled is not None
        write_label_parts(path, answers.model, out / MODEL, seen.sampled.whole)

    def write_page(path: Path) -> None:
        from s3c2.report import write_report

        write_report(
            path,
            answers.model,
            answers.X,
            answers.links,
            ids=seen.names,
            title=title,
            texts=seen.texts,
            answers=answers,
            sample_of=None if seen.sampled is None else seen.sampled.whole.n,
        )

    steps: dict[str, Callable[[Path], None]] = {MODEL: answers.model.save}
    if seen.sampled is None:
        steps[LABELS] = write_labels
    else:
        steps[LABELS_FOLDER] = write_parts
    if report:
        steps[REPORT] = write_page
    written: dict[str, str] = {}
    for name, step in steps.items():
        places = ", ".join(written.values())
        kept = f" The training is done, and kept in {places}." if written else ""
        try:
            step(out / name)
        except OSError as error:
            raise StorageError(
                f"{out / name}: cannot be written ({error.strerror or error}).{kept}"
            ) from None
        except KeyboardInterrupt:
            raise Interrupted(f"Interrupted.{kept}") from None
        written[name.split(".")[0]] = str(out / name)
    return written
