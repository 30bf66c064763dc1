"""Train what an experiment still lacks, write a row for each run, then draw its figure."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from s3c2 import Links, fit_many
from s3c2.datasets import NAMES
from s3c2.errors import DataError, DatasetError, S3C2Error

import ledger
import scoring
from runs import FULL, METHODS, QUICK, Run, Sizes, groups, shortened

QUICK_STEPS = 300


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper.

    Attributes
    ----------
    name : of its picture and its summary
    ledger : name of the CSV that holds its runs, which others may share
    runs : the runs it needs
    draw : (the rows of its runs, folder) → writes NAME.csv and NAME.png there
    group : how many runs are trained together at most
    """

    name: str
    ledger: str
    runs: Callable[[Sizes], list[Run]]
    draw: Callable[[Sequence[dict[str, str]], Path], None]
    group: int = 60


def main(experiment: Experiment, text: str | None, argv: Sequence[str] | None = None) -> None:
    """Run an experiment's command line."""
    made = parser(text or "")
    args = made.parse_args(argv)
    if args.steps and not args.quick:
        made.error("--steps goes with --quick: shortened runs are not for the committed results")
    args.steps = args.steps or QUICK_STEPS
    folder = ledger.results_folder(args.quick)
    path = folder / f"{experiment.ledger}.csv"
    runs = experiment.runs(QUICK if args.quick else FULL)
    if args.quick:
        runs = [shortened(run, args.steps) for run in runs]
    wanted = [
        run
        for run in runs
        if (not args.only or run.method in args.only)
        and (not args.dataset or run.dataset in args.dataset)
        and (not args.links or run.n_links in args.links)
    ]
    if runs and not wanted:
        methods = ", ".join(dict.fromkeys(run.method for run in runs))
        datasets = ", ".join(dict.fromkeys(run.dataset for run in runs))
        budgets = ", ".join(dict.fromkeys(str(run.n_links) for run in runs))
        made.error(
            f"{experiment.name} has no such runs, but of {methods} on {datasets} with {budgets} "
            "links"
        )
    if wanted and not args.plot_only:
        try:
            args.device = str(wanted[0].model().set_params(device=args.device)._device())
            train(wanted, path, args, args.group or experiment.group)
        except (S3C2Error, ValueError) as error:
            raise SystemExit(f"{made.prog}: {error}") from error
        except KeyboardInterrupt:
            tell("stopped; the same command goes on from here")
            raise SystemExit(130) from None
    rows = rows_of(runs, path)
    if runs and not rows:
        raise SystemExit(
            f"{made.prog}: {path} has no rows of these runs to draw from; nothing was written. Run "
            "it without --plot-only, or with the --steps that the rows were made with."
        )
    experiment.draw(rows, folder)
    where = f"; the runs are in {path}" if runs else ""
    tell(f"written: {folder / experiment.name}.csv and .png{where}")


def parser(text: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add("--quick", action="store_true", help="digits and few steps: minutes on a CPU")
    add("--device", default="auto", help="auto (a GPU if there is one), cuda or cpu")
    add("--precision", default="float32", choices=("float32", "bf16"))
    add(
        "--only",
        nargs="+",
        choices=tuple(METHODS),
        metavar="METHOD",
        type=lambda given: {name.lower(): name for name in METHODS}.get(given.lower(), given),
        help=f"these methods alone: {', '.join(METHODS)}",
    )
    add(
        "--dataset",
        nargs="+",
        choices=NAMES,
        metavar="NAME",
        type=str.lower,
        help=f"these data sets alone: {', '.join(NAMES)}",
    )
    add("--links", nargs="+", type=positive, metavar="N", help="these numbers of links alone")
    add("--group", type=positive, metavar="N", help="train at most N runs together")
    add("--steps", type=positive, metavar="N", help="with --quick: N CluNet steps, others alike")
    add("--budget-seconds", type=positive, metavar="S", help="begin no group after S seconds")
    add("--plot-only", action="store_true", help="draw from the rows that are there")
    return made


def positive(text: str) -> int:
    """A number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def train(runs: Sequence[Run], path: Path, args: argparse.Namespace, limit: int) -> None:
    """Train the runs that have no row yet, group by group."""
    began = time.perf_counter()
    rows = ledger.read(path)
    todo = ledger.missing(runs, rows)
    others = {row["precision"] for row in rows} - {args.precision}
    if todo and others:
        raise DataError(
            f"{path} holds runs in {' and '.join(sorted(others))}: use --precision "
            f"{min(others)}, or name another folder with S3C2_RESULTS."
        )
    check_data(todo)
    work = groups(todo, limit)
    tell(f"{path.name}: {len(runs) - len(todo)} of {len(runs)} runs are done")
    left = len(todo)
    for number, group in enumerate(work):
        if args.budget_seconds and time.perf_counter() - began > args.budget_seconds:
            tell(f"stopped after {args.budget_seconds:g} s; {left} runs are left")
            return
        first = group[0]
        kind = "semi-supervised, " if first.semi_supervised else ""
        how = f"{first.variant}, shortened" if args.quick else first.variant
        what = f"{first.dataset}, {first.method}, {kind}{first.network}, {how}"
        state = unfinished(group, path, args)
        again = "go on" if state.exists() else "begin"
        how_many = "1 run" if len(group) == 1 else f"{len(group)} runs"
        tell(f"{number + 1}/{len(work)}  {what}: {how_many} {again}")
        seconds = train_group(group, path, state, args)
        left -= len(group)
        tell(f"{number + 1}/{len(work)}  done in {seconds:.1f} s, {left} runs left")


def check_data(runs: Sequence[Run]) -> None:
    """Load all data sets before the first training, and name those that are not to be had."""
    failed: dict[str, str] = {}
    wanted = dict.fromkeys((run.dataset, run.network) for run in runs)
    for name, network in wanted:
        try:
            load(name, network)
        except DatasetError as error:
            failed[name] = str(error)
    if failed:
        others = list(dict.fromkeys(name for name, _ in wanted if name not in failed))
        hint = f" Or do without: --dataset {' '.join(others)}" if others else ""
        raise DatasetError("\n".join(failed.values()) + hint)


def train_group(group: Sequence[Run], path: Path, state: Path, args: argparse.Namespace) -> float:
    """Train runs together, from ``state`` if it is there, and write their rows; the seconds."""
    data = load(group[0].dataset, group[0].network)
    links = {run: links_of(data.y_train, *run) for run in {_links_key(run) for run in group}}
    settings = {
        "n_clusters": data.n_clusters, "device": args.device, "precision": args.precision,
        "verbose": 1, "checkpoint": state,
    }  # fmt: skip
    grid = [(run.model().set_params(**settings), links[_links_key(run)]) for run in group]
    began = time.perf_counter()
    try:
        models = fit_many(data.X_train, grid)
    except DataError as error:  # all diverged: rows without scores, and the next group
        tell(str(error))
        models = [model for model, _ in grid]
    seconds = time.perf_counter() - began
    shared = {"seconds_per_run": round(seconds / len(group), 4), "group_size": len(group)}
    scored = scoring.scores(models, data.X_test, data.y_test, data.pairs)
    ledger.append(
        path,
        [
            ledger.identity(run) | score | shared | ledger.provenance(model, data.source)
            for run, model, score in zip(group, models, scored)
        ],
    )
    return seconds


def unfinished(group: Sequence[Run], path: Path, args: argparse.Namespace) -> Path:
    """Where a group keeps its state until it is done; on another device or commit elsewhere."""
    what = [ledger.identity(run) for run in group], args.device, args.precision, ledger.commit()
    mark = hashlib.sha256(json.dumps(what).encode()).hexdigest()
    return path.with_name(f"unfinished-{mark[:16]}.safetensors")


def rows_of(runs: Sequence[Run], path: Path) -> list[dict[str, str]]:
    """The rows of these runs."""
    wanted = {ledger.key(ledger.identity(run)) for run in runs}
    return [row for row in ledger.read(path) if ledger.key(row) in wanted]


@dataclass(frozen=True)
class Prepared:
    """A data set in the shape that a network takes, with its test pairs."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    n_clusters: int
    source: str
    pairs: Links


@cache
def load(name: str, network: str) -> Prepared:
    """Vectors for dense networks, images for convolutional ones."""
    from s3c2 import datasets

    data = datasets.load(name)
    X_train, X_test = (
        X.reshape(len(X), -1) if network == "dense" else X for X in (data.X_train, data.X_test)
    )
    return Prepared(
        X_train, data.y_train, X_test, data.y_test, data.n_clusters, data.source,
        scoring.test_pairs(data.y_test),
    )  # fmt: skip


LinksKey = tuple[int, float | None, int]


def _links_key(run: Run) -> LinksKey:
    return (run.n_links, run.must_share, run.link_seed)


def links_of(y: Any, n_links: int, must_share: float | None, seed: int) -> Links:
    return Links.from_labels(y, n_links, must_share=must_share, random_state=seed)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
