"""``s3c2 demo``: the whole way on data that comes with the install."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from s3c2.cli.data_options import PATH
from s3c2.cli.messages import example, print_json, say, this_command
from s3c2.cli.outputs import check_matplotlib, output_folder

if TYPE_CHECKING:
    from s3c2.metrics import Scores

METHODS = {"s3c2": "S3C2", "as_published": "S3C2 as published", "kmeans": "k-means"}


@click.command(epilog=example("s3c2 demo -o demo", "s3c2 demo --sets 3"))
@click.option(
    "-o", "out", type=PATH, default=Path("demo"), show_default=True, help="Folder for the results."
)
@click.option(
    "--sets",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of link sets; with several, mean and spread are shown.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON.")
@click.option("--quiet", is_flag=True, help="No progress and no messages.")
def demo(out: Path, sets: int, as_json: bool, quiet: bool) -> None:
    """Cluster handwritten digits from 500 links, and compare with the paper and k-means.

    S3C2, S3C2 as published and k-means learn from the same 1,297 digits and are scored on the
    same 500 others. The folder gets report.html, clusters.png, labels.csv and the model of S3C2,
    links.csv, and the data as CSV to try the other commands on.
    """
    check_matplotlib()
    with output_folder(out):
        began = time.monotonic()
        say("Clustering 1,297 digits from 500 links …", quiet=quiet)
        from s3c2.cli.digits import Digits, cluster_digits, write_demo

        digits = Digits.load()
        tell, verbose = partial(say, quiet=quiet), 0 if quiet else 1
        outcomes = [cluster_digits(digits, s, verbose=verbose, tell=tell) for s in range(sets)]
        scores = {name: [getattr(o, name) for o in outcomes] for name in METHODS}
        table = {METHODS[name]: _in_words(each) for name, each in scores.items()}
        note = _note(sets)
        write_demo(out, digits, outcomes[0], table, note)
    if as_json:
        results = {name: [asdict(one) for one in each] for name, each in scores.items()}
        seconds = round(time.monotonic() - began, 1)
        print_json({"held_out": results, "output": str(out), "seconds": seconds})
        return
    _print_table(table, note)
    say(f"Open {out / 'report.html'}, or go on with the data in {out}:", quiet=quiet)
    say(f"  {this_command()} predict {out} {out / 'held_out.csv'} | head", quiet=quiet)


def _in_words(scores: list[Scores]) -> dict[str, str]:
    """Write each score, or its mean and standard deviation over the link sets."""
    import numpy as np

    words = {}
    for name in ("nmi", "ari", "acc"):
        values = np.array([getattr(one, name) for one in scores])
        spread = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
        words[name.upper()] = f"{values.mean():.3f}{spread}"
    return words


def _note(sets: int) -> str:
    over = "" if sets == 1 else f"; mean ± standard deviation over {sets} link sets"
    return f"On 500 held-out digits, learned from 1,297 others and 500 links{over}."


def _print_table(scores: dict[str, dict[str, str]], note: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table: Any = Table()
    table.add_column("method")
    for name in next(iter(scores.values())):
        table.add_column(name, justify="right")
    for method, values in scores.items():
        table.add_row(method, *values.values())
    Console().print(table)
    click.echo(note)
