"""Where the rows come from: seconds, data, versions and commits; and which rows are missing."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from experiments import ledger
from experiments.catalogue import experiments
from experiments.experiment import Experiment, rows_with
from experiments.figures import figure_2
from experiments.markdown import NO_RUNS, markdown
from experiments.plots import TITLES, table
from experiments.runs import Run

OF_LINKS = {"uniform": "", "chained": ", chained links"}
Key = tuple[str, ...]
PROFILE = Path(__file__).parent.parent / "benchmarks" / "results" / "gpu-profile.csv"


def own_runs(page: str = "reproduction") -> Iterator[tuple[Experiment, dict[Key, Run]]]:
    """Each experiment of a page with its runs by their keys in the ledger.

    A shared run belongs to the first that needs it.
    """
    seen: set[tuple[str, Key]] = set()
    for experiment in experiments().values():
        if experiment.page != page:
            continue
        name, runs = experiment.ledger, experiment.full
        yield experiment, {key: run for key, run in runs.items() if (name, key) not in seen}
        seen |= {(name, key) for key in runs}


def own_rows(page: str = "reproduction") -> Iterator[tuple[Experiment, pd.DataFrame]]:
    """Each experiment of a page with the rows of its own runs."""
    for experiment, runs in own_runs(page):
        yield experiment, table(rows_with(runs, experiment.path(ledger.results_folder())))


def times(page: str = "reproduction") -> str:
    """Seconds of training."""
    lines: list[list[object]] = []
    for experiment, frame in own_rows(page):
        title, by = experiment.title, ["design", "name", "device", "precision"]
        for (design, name, device, precision), part in frame.groupby(by):
            lines.append([title, name + OF_LINKS[design], *_time(part), device, precision])
        if experiment is figure_2.EXPERIMENT:
            fast = frame[frame["name"].isin(["S3C2", "d-graph", "DCPR"])]
            for design, part in fast.groupby("design"):
                said = "S3C2, d-graph and DCPR together" + OF_LINKS[design]
                lines.append([title, said, *_time(part), "", ""])
    head = ["", "method", "trainings", "seconds", "device", "precision"]
    return markdown(head, lines) if lines else NO_RUNS


def _time(frame: pd.DataFrame) -> tuple[int, str]:
    return len(frame), f"{frame['seconds_per_run'].sum():,.0f}"


def idec_time() -> str:
    """GPU time of IDEC's steps, from the profiled time of one step of one model."""
    with open(PROFILE, newline="") as file:
        whole = {row["step"]: float(row["us"]) for row in csv.DictReader(file)
                 if row["kernel"] == "all"}  # fmt: skip
    ms = {
        network: whole[f"{count} {network} IDECs, bf16"] / count / 1000
        for network, count in (("dense", 15), ("convolutional", 5))
    }
    lines = []
    for experiment, frame in own_rows():
        for network, part in frame[frame["method"] == "IDEC"].groupby("network"):
            steps, each = part["steps"].sum(), ms[str(network)]
            cells = len(part), f"{steps:,.0f}", f"{each:.2f}", f"{steps * each / 1000:,.0f}"
            lines.append([experiment.title, network, *cells])
    head = ["IDEC", "network", "trainings", "steps", "ms of a step", "seconds"]
    return markdown(head, lines) if lines else NO_RUNS


def provenance(page: str = "reproduction") -> str:
    """What made the rows of each ledger: data, versions and commits."""
    parts: dict[str, list[pd.DataFrame]] = {}
    for experiment, frame in own_rows(page):
        if len(frame):
            parts.setdefault(experiment.ledger, []).append(frame)
    lines = []
    for name, frames in sorted(parts.items()):
        frame = pd.concat(frames)
        cells = [_distinct(frame[column]) for column in ("source", "s3c2", "torch", "commit")]
        lines.append([f"[`{name}.csv`](../experiments/results/{name}.csv)", len(frame), *cells])
    head = ["file", "rows", "data", "s3c2", "torch", "commit"]
    return markdown(head, lines) if lines else NO_RUNS


def _distinct(column: pd.Series) -> str:
    return ", ".join(sorted(set(column)))


def missing_runs(page: str = "reproduction") -> str:
    """The runs that have no row yet; empty if there are none."""
    lines = []
    for experiment, wanted in own_runs(page):
        rows = ledger.read(experiment.path(ledger.results_folder()))
        todo = ledger.missing(list(wanted.values()), rows)
        if todo:
            kinds = dict.fromkeys(f"{run.method} on {TITLES[run.dataset]}" for run in todo)
            lines.append(
                f"- {experiment.title}: {len(todo)} of {len(wanted)} runs ({', '.join(kinds)})\n"
            )
    if not lines:
        return ""
    return (
        "These runs are not done yet. Their cells in the tables hold a –, and verdicts that need "
        "them say so:\n\n" + "".join(lines)
    )
