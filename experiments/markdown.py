"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from experiments.findings import number
from experiments.plots import TITLES

NO_RUNS = "No runs yet.\n"


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def by_links(data: pd.DataFrame, by: str, order: Iterable[object], score: str = "nmi") -> str:
    """A line for each data set and kind, a column for each number of links: mean ± spread."""
    budgets = sorted(data["n_links"].unique())
    groups = {key: here.set_index("n_links") for key, here in data.groupby(["dataset", by])}
    kinds, lines = list(order), []
    for dataset, title in TITLES.items():
        for kind in kinds:
            if (dataset, kind) in groups:
                cells = [cell(groups[dataset, kind], n, score) for n in budgets]
                lines.append([title, _named(kind), *cells])
    head = ["", by.replace("name", "method"), *(f"{n:,}" for n in budgets)]
    return markdown(head, lines) if lines else NO_RUNS


def cell(data: pd.DataFrame, n: int, score: str) -> str:
    if n not in data.index:
        return "–"
    spread = data.get(f"{score}_std")
    found = number(float(data[score][n]))
    return found if spread is None or found == "–" else f"{found} ± {number(float(spread[n]))}"


def _named(kind: object) -> str:
    return f"T = {kind:g}" if isinstance(kind, float) else str(kind)
