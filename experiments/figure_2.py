"""Figure 2: NMI against the number of links, S3C2 as published, d-graph, DCPR and IDEC.

    python experiments/figure_2.py --device cuda --precision bf16

Dense networks on the four data sets, balanced links, five link sets; rows in results/dense.csv.
"""

from __future__ import annotations

from functools import partial

from plots import draw_methods
from runner import Experiment, main
from runs import Run, Sizes, grid

COMPARED = ("S3C2", "d-graph", "DCPR", "IDEC")


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for method in COMPARED
        for run in grid(method, sizes.datasets, sizes.budgets, sizes.link_sets)
    ]


EXPERIMENT = Experiment("figure_2", "dense", runs, partial(draw_methods, name="figure_2"))

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
