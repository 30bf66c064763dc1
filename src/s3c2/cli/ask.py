"""``s3c2 ask``: a page that asks "same or different?", and clusters from the answers."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from s3c2.cli.data_options import PATH, clusters_option, data_options
from s3c2.cli.fit import check_clusters
from s3c2.cli.messages import example, say
from s3c2.cli.outputs import check_is_ours, check_matplotlib, output_folder

MOST_NAMED = 5


def height_and_width(_: Any, __: Any, value: str | None) -> tuple[int, int] | None:
    """Read 28x28."""
    if value is None:
        return None
    height, _, width = value.lower().partition("x")
    if not (height.isdecimal() and width.isdecimal() and int(height) and int(width)):
        raise click.BadParameter(f"{value!r} is no height and width such as 28x28.")
    return int(height), int(width)


@click.command(
    epilog=example(
        "s3c2 ask photos/ -k 12 -o project",
        "s3c2 ask plants.csv --id-column name -k 5 -o project",
        "s3c2 ask stories.parquet --text-column text -k 4 -o project --port 8800",
    )
)
@click.argument("data", type=PATH)
@clusters_option
@click.option("-o", "out", type=PATH, required=True, help="Folder of the project.")
@data_options
@click.option(
    "--image-shape",
    callback=height_and_width,
    metavar="HxW",
    help="Each row of a table is a grey image of this height and width: show it as one.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. At any but a loopback one a token is needed, which is printed.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Port; 0 takes any that is free.",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, …")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Decides all that is drawn at random in questions and training.",
)
@click.option("--labnet-steps", type=click.IntRange(min=1), help="Training steps of LabNet.")
@click.option("--clunet-steps", type=click.IntRange(min=1), help="Training steps of CluNet.")
@click.option("--no-training", is_flag=True, help="Ask only; train no model beside.")
@click.option("--quiet", is_flag=True, help="No messages but the address of the page.")
def ask(
    data: Path,
    n_clusters: int,
    out: Path,
    id_column: str | None,
    text_column: str | None,
    drop: tuple[str, ...],
    image_shape: tuple[int, int] | None,
    host: str,
    port: int,
    no_browser: bool,
    device: str,
    seed: int,
    labnet_steps: int | None,
    clunet_steps: int | None,
    no_training: bool,
    quiet: bool,
) -> None:
    """Open a page that asks "same or different?" about items of DATA, and learn from the answers.

    DATA is a CSV, Parquet, NPY or NPZ file, or a folder of pictures. The answers are kept in the
    folder at once; the same command goes on where it stopped. Ctrl-C ends it: it then trains on
    all answers and writes labels.csv, model/, report.html and links.csv.
    """
    check_clusters(n_clusters)
    check_matplotlib()
    _check_parts()
    say(f"Reading {data} …", quiet=quiet)  # before the imports, which take seconds, too
    from s3c2.page.items import read_items
    from s3c2.page.lock import ProjectLock
    from s3c2.page.project import ANSWERS, Project
    from s3c2.page.results import LABELS, LINKS, MODEL, REPORT
    from s3c2.page.server import listening, serve

    with output_folder(out):
        check_is_ours(out, [ANSWERS], [MODEL, LABELS, LINKS, REPORT])
        items = read_items(
            data, id_column=id_column, text_column=text_column, drop=drop, image_shape=image_shape
        )
        check_clusters(n_clusters, len(items))
        _tell_left_out(items.left_out, quiet)
        settings = {
            "title": data.stem or data.resolve().name, "device": device, "seed": seed,
            "scale": items.preparation.usual_scale, "image_shape": image_shape,
            "steps": {"labnet__steps": labnet_steps, "clunet__steps": clunet_steps},
            "verbose": int(not quiet),
        }  # fmt: skip
        with listening(host, port) as place, ProjectLock(out) as lock:
            project = Project(out, items, n_clusters, settings, train=not no_training)

            def tell(address: str) -> None:
                lock.tell(address.partition("?")[0])
                click.echo(f"Open {address}   (Ctrl-C ends)")
                if not no_browser:
                    import webbrowser

                    webbrowser.open(address)

            try:
                _tell_of_answers(project, quiet)
                with suppress(KeyboardInterrupt):  # Ctrl-C ends the page, not the work
                    serve(project, place, host, tell)
                _finish(project, out, quiet)
            finally:
                project.close()


def _tell_of_answers(project: Any, quiet: bool) -> None:
    """Say what was found of an earlier start."""
    for note in project.notes:
        say(note, quiet=quiet)
    n = project.counts()["answers"]
    if n:
        say(f"Going on after {n:,} answers.", quiet=quiet)


def _finish(project: Any, out: Path, quiet: bool) -> None:
    """Write the results; another Ctrl-C leaves them as they are."""
    n = project.counts()["answers"]
    project.write_links()
    if project.trainer is None or n == 0:
        say(f"{n:,} answers are in {out}.", quiet=quiet)
        return
    say(f"Training on all {n:,} answers; Ctrl-C again skips it …", quiet=quiet)
    began = time.monotonic()
    try:
        problem = project.finish()
    except KeyboardInterrupt:
        say(f"Skipped. The {n:,} answers are in {out}; the same command goes on.", quiet=quiet)
        return
    if problem is not None:
        say(f"The training failed: {problem} The answers are in {out}.", quiet=quiet)
        return
    seconds = time.monotonic() - began
    say(
        f"Done in {seconds:.0f} s: {out}/labels.csv, model, report.html and links.csv.", quiet=quiet
    )


def _tell_left_out(left_out: dict[str, str], quiet: bool) -> None:
    for name, why in list(left_out.items())[:MOST_NAMED]:
        say(f"{name} was left out: {why}", quiet=quiet)
    if len(left_out) > MOST_NAMED:
        say(f"… and {len(left_out) - MOST_NAMED:,} more files.", quiet=quiet)


def _check_parts() -> None:
    from s3c2.errors import MissingExtraError

    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("The page", "starlette", "app") from None
