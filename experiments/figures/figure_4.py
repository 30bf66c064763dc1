"""Figure 4: how NMI correlates with LabNet's accuracy, must-link rate and cannot-link rate.

    python -m experiments figure_4 --device cuda --precision bf16

Pearson's correlation for each design of the links, number of links and data set: over the 30 runs
of six thresholds and five link sets, and over the five at T = 0.3. The runs are those of figure 3.
Rows in results/dense.csv.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from s3c2 import published

from experiments.experiment import Experiment
from experiments.figures.figure_3 import THRESHOLDS
from experiments.ledger import Rows
from experiments.plots import (
    INDICATORS,
    Drawing,
    designs_of,
    finish,
    grid_of_axes,
    known,
    legend,
    part_of,
    table,
)
from experiments.runs import Run, Sizes, both_designs, grid

LINES = {"cl_rate": ":"}  # its line is often the same as that of the accuracy
OVER = ("six thresholds", "T = 0.3")


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for T in THRESHOLDS
        for run in grid("S3C2", sizes.datasets, sizes.budgets, sizes.link_sets, threshold=T)
    ]


def correlations(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each design, data set, number of links, set of runs and indicator."""
    at_published = frame[frame["threshold"] == published.THRESHOLD]
    return pd.DataFrame(
        [
            {
                "design": design, "dataset": dataset, "n_links": n_links, "over": over,
                "indicator": indicator, "correlation": pearson(part["nmi"], part[indicator]),
                "n": len(part),
            }
            for over, which in zip(OVER, (frame, at_published))
            for (design, dataset, n_links), part in which.groupby(["design", "dataset", "n_links"])
            for indicator in INDICATORS
        ],
        columns=["design", "dataset", "n_links", "over", "indicator", "correlation", "n"],
    )  # fmt: skip


def pearson(x: pd.Series, y: pd.Series) -> float:
    """Pearson's correlation; NaN if one of the two is constant."""
    both = np.stack([x, y]).astype(float)
    both = both[:, np.isfinite(both).all(0)]
    if both.shape[1] < 2:
        return float("nan")
    a, b = both - both.mean(1, keepdims=True)
    scale = np.sqrt((a**2).sum() * (b**2).sum())
    return round(float((a * b).sum() / scale), 6) if scale > 0 else float("nan")


def draw(rows: Rows) -> Drawing:
    data = correlations(table(rows))
    names = known(data["dataset"])
    lines = [(design, over) for design in designs_of(data) for over in OVER]
    figure, axes_of = grid_of_axes(len(lines), max(1, len(names)))
    for (design, over), line in zip(lines, axes_of):
        for dataset, axes in zip(names, line):
            here = part_of(data[data["over"] == over], design, dataset)
            correlation_curves(axes, here)
            finish(axes, dataset, data["n_links"],
                   f"correlation with NMI\n({over}, {design} links)")  # fmt: skip
    correlation_legend(figure)
    return data, figure


def correlation_curves(axes: Axes, data: pd.DataFrame) -> None:
    for indicator, (_, colour, marker) in INDICATORS.items():
        one = data[data["indicator"] == indicator].sort_values("n_links")
        line_style = LINES.get(indicator, "-")
        axes.plot(one["n_links"], one["correlation"], color=colour, marker=marker,
                  linestyle=line_style, linewidth=1.6, markersize=4.5)  # fmt: skip
    axes.axhline(0, color="0.4", linewidth=0.8)
    axes.set_ylim(-1.05, 1.05)


def correlation_legend(figure: Figure) -> None:
    legend(figure, {name: (*look, LINES.get(i, "-")) for i, (name, *look) in INDICATORS.items()})


EXPERIMENT = Experiment(__name__, "dense", both_designs(runs), draw)
