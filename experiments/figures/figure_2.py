"""Figure 2: NMI against the number of links, S3C2 as published, d-graph, DCPR and IDEC.

    python -m experiments figure_2 --device cuda --precision bf16

Dense networks on the four data sets, balanced links of both designs, five link sets each. Rows in
results/dense.csv.
"""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.plots import draw_methods
from experiments.runs import Run, Sizes, both_designs, grid

COMPARED = ("S3C2", "d-graph", "DCPR", "IDEC")


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for method in COMPARED
        for run in grid(method, sizes.datasets, sizes.budgets, sizes.link_sets)
    ]


EXPERIMENT = Experiment(__name__, "dense", both_designs(runs), draw_methods)
