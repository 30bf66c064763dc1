"""Train the runs that have no row yet, group by group, and write a row for each."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import torch

from s3c2 import fit_many
from s3c2.engine.cluster import connected
from s3c2.errors import DataError, NoLinksWarning

from experiments import data, ledger, scoring
from experiments.runs import DEFAULT, K_MEANS, Run, groups


def train(runs: Sequence[Run], path: Path, args: argparse.Namespace, limit: int) -> None:
    """Train the runs that have no row in ``path``, at most ``limit`` together.

    It uses of ``args``: device, precision, quick, budget_seconds, and began, from when they count;
    with ray the runs of a group are spread over the Ray cluster at address.
    """
    began = time.perf_counter() if args.began is None else args.began
    todo = ledger.to_train(runs, ledger.read(path))
    if todo:
        check_precision(path, args.precision)
    data.check(todo)
    tell(f"{path.name}: {len(runs) - len(todo)} of {len(runs)} runs are done")
    with connected(args.address) if args.ray and todo else nullcontext():
        train_groups(groups(todo, limit), path, args, began)


def train_groups(
    work: Sequence[Sequence[Run]], path: Path, args: argparse.Namespace, began: float
) -> None:
    """Train group by group, until the time is up."""
    left = sum(map(len, work))
    for number, group in enumerate(work):
        if args.budget_seconds and time.perf_counter() - began > args.budget_seconds:
            tell(f"stopped after {args.budget_seconds:g} s; {left} runs are left")
            return
        state = None if args.ray else unfinished(group, path, args)
        again = "go on" if state is not None and state.exists() else "begin"
        tell(f"{number + 1}/{len(work)}  {described(group, args.quick)} {again}")
        seconds = train_group(group, path, state, args)
        left -= len(group)
        tell(f"{number + 1}/{len(work)}  done in {seconds:.1f} s, {left} runs left")


def check_precision(path: Path, precision: str) -> None:
    """A ledger holds runs of one precision."""
    others = {row["precision"] for row in ledger.read(path)} - {precision}
    if others:
        raise DataError(
            f"{path} holds runs in {' and '.join(sorted(others))}: use --precision "
            f"{min(others)}, or name another folder with S3C2_RESULTS."
        )


def described(group: Sequence[Run], quick: bool) -> str:
    """What a group trains, in one line."""
    first = group[0]
    kind = "semi-supervised, " if first.semi_supervised else ""
    how = f"{first.variant}, shortened" if quick else first.variant
    how_many = "1 run" if len(group) == 1 else f"{len(group)} runs"
    return f"{first.dataset}, {first.method}, {kind}{first.network}, {how}: {how_many}"


def train_group(
    group: Sequence[Run], path: Path, state: Path | None, args: argparse.Namespace
) -> float:
    """Train runs together, write their rows, and return the seconds.

    If ``state`` exists, training goes on from there; on a cluster there is none.
    """
    first = group[0]
    prepared = data.load(first.dataset, first.network, first.row_factor)
    settings = {
        "n_clusters": prepared.n_clusters,
        "device": args.device if args.ray else device(args.device),  # a worker has its own
        "precision": args.precision,
        "verbose": 1,
        "checkpoint": state,
    }
    models = [run.model().set_params(**settings) for run in group]
    links = [] if first.method == K_MEANS else data.links_of(group, prepared.y_train)
    began = time.perf_counter()
    try:
        if first.method == K_MEANS:
            models = [model.fit(prepared.X_train) for model in models]
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoLinksWarning)  # a run without any means it
                grid = list(zip(models, links))
                models = fit_many(prepared.X_train, grid, engine="ray" if args.ray else None)
    except DataError as error:  # all diverged: write rows without scores, and go on
        tell(str(error))
    seconds = time.perf_counter() - began
    shared = {"seconds_per_run": round(seconds / len(group), 4), "group_size": len(group)}
    scored = scoring.scores(models, prepared.X_test, prepared.y_test, prepared.pairs)
    if first.method == DEFAULT:
        for model, score, given in zip(models, scored, links):
            score |= scoring.calibration(model, prepared.X_test, prepared.y_test)
            score |= scoring.suspicion(model, given, prepared.y_train)
    ledger.append(
        path,
        [
            ledger.identity(run) | score | shared | ledger.provenance(model, prepared.source)
            for run, model, score in zip(group, models, scored)
        ],
    )
    return seconds


def device(name: str) -> str:
    """The device's name, "auto" resolved."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return name


def unfinished(group: Sequence[Run], path: Path, args: argparse.Namespace) -> Path:
    """Where a group keeps its state until it is done. Another device or commit has another file."""
    runs = [ledger.identity(run) for run in group]
    what = runs, device(args.device), args.precision, ledger.commit()
    mark = hashlib.sha256(json.dumps(what).encode()).hexdigest()
    return path.with_name(f"unfinished-{mark[:16]}.safetensors")


def tell(text: str) -> None:
    """Progress goes to stderr."""
    print(text, file=sys.stderr, flush=True)
