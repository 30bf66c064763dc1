"""Figure 3: NMI of S3C2 with different thresholds T against the number of links.

    python -m experiments figure_3 --device cuda --precision bf16

The six thresholds of the paper, and also T = 0, 0.03 and 0.09. (The authors' script has d < 0.3,
which is T = 0.09.) The runs with T = 0.3 are those of figure 2. Rows in results/dense.csv.
"""

from __future__ import annotations

import matplotlib

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import Drawing, curve, finish, legend, panels, summary, table
from experiments.runs import Run, Sizes, grid

THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
SUPPLEMENT = (0.0, 0.03, 0.09)


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for T in (*THRESHOLDS, *SUPPLEMENT)
        for run in grid("S3C2", sizes.datasets, sizes.budgets, sizes.link_sets, threshold=T)
    ]


def draw(rows: Rows) -> Drawing:
    scores = ("nmi", "ari", "acc", "accuracy", "balanced_accuracy", "ml_rate", "cl_rate")
    data = summary(table(rows), ("dataset", "threshold", "n_links"), scores)
    colours = matplotlib.colormaps["viridis"].resampled(len(THRESHOLDS) + 1)
    styles = {T: (colours(i), "os^Dv*"[i], "-") for i, T in enumerate(THRESHOLDS)}
    styles |= {T: (f"{0.2 + 0.2 * i}", "xP+"[i], ":") for i, T in enumerate(SUPPLEMENT)}
    figure, axes_of = panels(data["dataset"])
    for dataset, axes in axes_of.items():
        for T, (colour, marker, line) in styles.items():
            here = data[(data["dataset"] == dataset) & (data["threshold"] == T)]
            curve(axes, here, "nmi", colour, marker, band=0.06, linestyle=line)
        finish(axes, dataset, data["n_links"], "NMI")
    legend(figure, {f"T = {T:g}": style for T, style in styles.items()})
    return data, figure


EXPERIMENT = Experiment(__name__, "dense", runs, draw)
