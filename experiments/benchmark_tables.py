"""Tables of the committed benchmarks, for the pages."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.markdown import markdown

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
CORE_HOUR = 0.05  # dollars, an assumed list price
COSTS = {"two CPU cores": "cost.csv", "one H200": "cost-gpu.csv"}


def latency() -> str:
    """How long the next question takes."""
    rows = [
        [
            row.training_beside,
            f"{row.answers}",
            f"{row.median_ms:.0f}",
            f"{row.ms_of_95_percent:.0f}",
        ]
        for row in pd.read_csv(RESULTS / "asking.csv").itertuples()
    ]
    return markdown(["training beside", "answers", "median ms", "95 % within ms"], rows)


def cost() -> str:
    """The seconds of one fit, part by part: a line for each fit."""
    parts: list[str] = []
    lines = []
    for where, name in COSTS.items():
        for of, fit in pd.read_csv(RESULTS / name).groupby(["data", "network"], sort=False):
            parts = list(fit["part"])
            shown = [f"{seconds:.1f}" for seconds in fit["seconds"]]
            size = f"{fit['rows'].iloc[0]:,} rows"
            lines.append([", ".join([*of, size, where]), *shown, f"{fit['seconds'].sum():.1f}"])
    return markdown(["", *parts, "whole"], lines)


def scale() -> str:
    """What past memory takes, and what was wanted of it."""
    found = pd.read_csv(RESULTS / "scale.csv")
    lines = []
    for row in found.itertuples():
        measured = f"{row.measured:,.0f}" if row.measured >= 1000 else f"{row.measured:g}"
        of = [row.measure, f"{row.rows:,} × {row.columns}", f"{row.wanted} {row.unit}"]
        lines.append([*of, f"{measured} {row.unit}"])
    return markdown(["", "data", "goal", "measured"], lines)


def workers() -> str:
    """Rows a second of Ray's workers beside one process."""
    lines = [
        [row.way, f"{row.rows_per_second:,}", f"{row.over_one_process:.2f}"]
        for row in pd.read_csv(RESULTS / "workers.csv").itertuples()
    ]
    return markdown(["", "rows a second", "over one process"], lines)


def ranks() -> str:
    """A step in one process and in two ranks."""
    lines = [
        [row.encoder, f"{row.step_ms_one:.1f}", f"{row.step_ms_two:.1f}", f"{row.faster:.2f} ×"]
        for row in pd.read_csv(RESULTS / "ranks.csv").itertuples()
    ]
    return markdown(["encoder", "ms of a step", "in two ranks", "faster"], lines)


def rates() -> str:
    """How fast one thread reads and labels wide rows."""
    found = pd.read_csv(RESULTS / "cluster.csv").query("workers == 1").set_index("measure")
    of = found["measured"]
    hours = of["worker hours"]
    lines = [
        ["reading Parquet, one thread", f"{of['read']:,.0f} MB/s"],
        ["reading and labelling, one thread", f"{of['labelled']:,.0f} rows/s"],
        ["all rows, one thread", f"{hours:.1f} hours"],
        ["of which reading takes", f"{of['worker hours of reading alone']:.1f} hours"],
        [f"money, at {CORE_HOUR} $ for an hour of a core", f"{CORE_HOUR * hours:.2f} $"],
        ["what 256 workers ask of the disks", f"{of['bytes'] * 256 / hours / 3.6e12:.0f} GB/s"],
    ]
    return markdown(["", ""], lines)


def clusters() -> str:
    """Simulated hours of a billion rows, by the number of workers."""
    found = pd.read_csv(RESULTS / "cluster.csv").query("workers > 1")
    hours = found.pivot(index="measure", columns="workers", values="measured")
    lines = [
        [measure, *(f"{hours[n][measure]:.3f}" for n in hours)]
        for measure in dict.fromkeys(found["measure"])
    ]
    return markdown(["hours with", *(f"{n} workers" for n in hours)], lines)
