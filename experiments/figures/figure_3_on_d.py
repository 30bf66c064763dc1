"""Figure 3 with T on d, as in the authors' script: d < 0.05 to d < 0.5, with and without dropout.

    python -m experiments figure_3_on_d --device cuda --precision bf16

The script compares d, not d², with the paper's numbers: T is their square, 0.0025 to 0.25. Each
also with neither network having dropout. Dense networks, balanced links of both designs, five link
sets each. Rows in results/dense.csv. The picture and its numbers name the number that d is compared
with, and leave out what does not have all six.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.experiment import Experiment
from experiments.figures.figure_3 import (
    THRESHOLDS,
    by_threshold,
    complete,
    styles_of,
    threshold_curves,
)
from experiments.ledger import Rows
from experiments.plots import (
    Drawing,
    designs_of,
    finish,
    grid_of_axes,
    known,
    legend,
    part_of,
    table,
)
from experiments.runs import AS_PUBLISHED, Run, Sizes, both_designs, grid

SQUARED = {round(T**2, 4): T for T in THRESHOLDS}  # T → the number that d is compared with
DROPOUT: dict[str, dict[str, Any]] = {AS_PUBLISHED: {}, "neither with dropout": {"dropout": 0.0}}
SHORT = {AS_PUBLISHED: "dropout", "neither with dropout": "no dropout"}


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for variant, changes in DROPOUT.items()
        for T in SQUARED
        for run in grid(
            "S3C2", sizes.datasets, sizes.budgets, sizes.link_sets,
            threshold=T, variant=variant, changes=changes,
        )
    ]  # fmt: skip


def on_d(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with the number that d is compared with as their threshold, where all six are."""
    return complete(frame.assign(threshold=frame["threshold"].map(SQUARED)))


def draw(rows: Rows) -> Drawing | None:
    data = by_threshold(on_d(table(rows)), "design", "variant")
    if data.empty:
        return None
    names, styles = known(data["dataset"]), styles_of(THRESHOLDS)
    lines = [(design, variant) for design in designs_of(data) for variant in DROPOUT]
    figure, axes_of = grid_of_axes(len(lines), max(1, len(names)))
    for (design, variant), line in zip(lines, axes_of):
        for dataset, axes in zip(names, line):
            here = part_of(data[data["variant"] == variant], design, dataset)
            threshold_curves(axes, here, styles)
            finish(axes, dataset, data["n_links"], f"NMI, {design} links\n({SHORT[variant]})")
    legend(figure, {f"d < {T:g}": style for T, style in styles.items()})
    return data, figure


EXPERIMENT = Experiment(__name__, "dense", both_designs(runs), draw)
