"""What is found without any link: by k-means, and by S3C2 with its defaults.

    python -m experiments no_links --device cpu

Five seeds on the four data sets and on those of other_sets, as vectors. k-means, what the other
methods start from, has them scaled as S3C2 scales them. S3C2 learns from neighbours alone here, so
that one sees what links add. Rows in results/without_links.csv.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import (
    STYLES,
    TITLES,
    Drawing,
    grid_of_axes,
    known,
    legend,
    summary,
    table,
)
from experiments.runs import DEFAULT, K_MEANS, Run, Sizes, grid

LEDGER = "without_links"
METHODS = (K_MEANS, DEFAULT)
HEIGHT = 0.38  # of a bar


def runs(sizes: Sizes) -> list[Run]:
    return runs_on([*sizes.datasets, *sizes.others], sizes)


def runs_on(names: Sequence[str], sizes: Sizes, methods: Sequence[str] = METHODS) -> list[Run]:
    """The runs on these data sets."""
    names = list(dict.fromkeys(names))
    return [run for method in methods for run in grid(method, names, [0], sizes.link_sets)]


def draw(rows: Rows) -> Drawing:
    data = summary(table(rows), ("dataset", "name", "n_links"), ("nmi", "ari", "acc"))
    names = known(data["dataset"])
    figure, axes_of = grid_of_axes(1, 1)
    axes = axes_of[0, 0]
    figure.set_size_inches(6, 1.3 + 0.4 * len(names))
    shown = [name for name in STYLES if name in set(data["name"])]
    for place, method in enumerate(shown):
        own = data[data["name"] == method].set_index("dataset").reindex(names)
        y = np.arange(len(names)) + (place - (len(shown) - 1) / 2) * HEIGHT
        axes.barh(y, own["nmi"], HEIGHT, xerr=own["nmi_std"], color=STYLES[method][0])
    axes.set_yticks(np.arange(len(names)), [TITLES[name] for name in names])
    axes.set_xlabel("NMI without links")
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    legend(figure, {name: (STYLES[name][0], "s", "") for name in shown})
    return data, figure


EXPERIMENT = Experiment(__name__, LEDGER, runs, draw, page="results")
