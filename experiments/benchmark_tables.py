"""Tables of the committed benchmarks, for the pages."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.markdown import markdown

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
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
