"""Figure 3: NMI of S3C2 with different thresholds T against the number of links.

    python -m experiments figure_3 --device cuda --precision bf16

The six thresholds of the paper, and also T = 0, 0.03 and 0.09. (The authors' script has d < 0.3,
which is T = 0.09.) Links of both designs. The runs with T = 0.3 are those of figure 2. Rows in
results/dense.csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import Drawing, curve, finish, legend, panels_of, part_of, summary, table
from experiments.runs import Run, Sizes, both_designs, grid

THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
SUPPLEMENT = (0.0, 0.03, 0.09)


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for T in (*THRESHOLDS, *SUPPLEMENT)
        for run in grid("S3C2", sizes.datasets, sizes.budgets, sizes.link_sets, threshold=T)
    ]


def draw(rows: Rows) -> Drawing:
    data = by_threshold(table(rows), "design")
    styles = styles_of(THRESHOLDS)
    styles |= {T: (f"{0.2 + 0.2 * i}", "xP+"[i], ":") for i, T in enumerate(SUPPLEMENT)}
    figure, axes_of = panels_of(data)
    for (design, dataset), axes in axes_of.items():
        threshold_curves(axes, part_of(data, design, dataset), styles)
        finish(axes, dataset, data["n_links"], f"NMI, {design} links")
    legend(figure, {f"T = {T:g}": style for T, style in styles.items()})
    return data, figure


def complete(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of those data sets and numbers of links that have all six thresholds."""
    frame = frame[frame["threshold"].isin(THRESHOLDS)]
    place = ["design", "variant", "dataset", "n_links"]
    found = frame.groupby(place)["threshold"].transform("nunique")
    return frame[found == len(THRESHOLDS)]


def by_threshold(frame: pd.DataFrame, *also: str) -> pd.DataFrame:
    """Mean and spread for every T, and for what else differs."""
    scores = ("nmi", "ari", "acc", "accuracy", "balanced_accuracy", "ml_rate", "cl_rate")
    return summary(frame, (*also, "dataset", "threshold", "n_links"), scores)


def styles_of(thresholds: Sequence[float]) -> dict[float, tuple[Any, str, str]]:
    """Colour, marker and line of each T."""
    colours = matplotlib.colormaps["viridis"].resampled(len(thresholds) + 1)
    return {T: (colours(i), "os^Dv*"[i], "-") for i, T in enumerate(thresholds)}


def threshold_curves(
    axes: Axes, data: pd.DataFrame, styles: dict[float, tuple[Any, str, str]]
) -> None:
    for T, (colour, marker, line) in styles.items():
        here = data[data["threshold"] == T]
        curve(axes, here, "nmi", colour, marker, band=0.06, linestyle=line)


EXPERIMENT = Experiment(__name__, "dense", both_designs(runs), draw)
