"""Links drawn uniformly: ACC and NMI of S3C2 as published and of every baseline.

    python -m experiments uniform_links --device cuda --precision bf16

Pairs of rows are drawn uniformly: with ten classes about one in ten is a must-link. This is the
protocol of the strongest published table (SpherePair, NeurIPS 2025). Dense networks, five link
sets. Rows in results/uniform.csv.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import (
    Drawing,
    finish,
    grid_of_axes,
    known,
    method_curves,
    method_legend,
    summary,
    table,
)
from experiments.runs import IN_THE_PAPER, Run, Sizes, grid

SHOWN = {"acc": "ACC", "nmi": "NMI"}


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for method in IN_THE_PAPER
        for run in grid(
            method, sizes.uniform, sizes.uniform_budgets, sizes.link_sets, must_share=None
        )
    ]


def draw(rows: Rows, read: Callable[[Rows], pd.DataFrame] = table) -> Drawing:
    data = summary(read(rows), ("dataset", "name", "n_links"), ("acc", "nmi", "ari"))
    names = known(data["dataset"])
    figure, axes_of = grid_of_axes(len(SHOWN), max(1, len(names)), sharey="row")
    for (score, label), line in zip(SHOWN.items(), axes_of):
        for dataset, axes in zip(names, line):
            method_curves(axes, data[data["dataset"] == dataset], score)
            finish(axes, dataset, data["n_links"], label)
    method_legend(figure, data["name"])
    return data, figure


EXPERIMENT = Experiment(__name__, "uniform", runs, draw)
