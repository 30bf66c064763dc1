"""Figure 2: NMI against the number of links, S3C2 as published, d-graph, DCPR and IDEC.

    python -m experiments figure_2 --device cuda --precision bf16

Dense networks on the four data sets, balanced links of both designs, five link sets each. Rows in
results/dense.csv. The thin lines are what links buy, and what the paper's method lacks: k-means and
IDEC without links, and S3C2 with its defaults (rows of no_links, idec, best and default_chained).
"""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.figures import no_links
from experiments.ledger import Rows
from experiments.plots import IDEC_ALONE, Drawing, draw_methods
from experiments.runs import DEFAULT, K_MEANS, Run, Sizes, both_designs, grid

COMPARED = ("S3C2", "d-graph", "DCPR", "IDEC")
THIN = (DEFAULT, IDEC_ALONE, K_MEANS)


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for method in COMPARED
        for run in grid(method, sizes.datasets, sizes.budgets, sizes.link_sets)
    ]


def default(sizes: Sizes) -> list[Run]:
    """S3C2 with its defaults on as many links."""
    return list(grid(DEFAULT, sizes.datasets, sizes.budgets, sizes.link_sets))


def default_chained(sizes: Sizes) -> list[Run]:
    return list(grid(DEFAULT, sizes.datasets, sizes.budgets, sizes.link_sets, design="chained"))


def idec_without_links(sizes: Sizes) -> list[Run]:
    return list(grid("IDEC", sizes.datasets, [0], sizes.link_sets))


def k_means_of(sizes: Sizes) -> list[Run]:
    """k-means on the same data sets."""
    return no_links.runs_on(sizes.datasets, sizes, [K_MEANS])


def draw(rows: Rows) -> Drawing:
    return draw_methods(rows, thin=THIN)


EXPERIMENT = Experiment(
    __name__, "dense", both_designs(runs), draw,
    beside={
        "default": default, "chained": default_chained, no_links.LEDGER: k_means_of,
        "dense": idec_without_links,
    },
)  # fmt: skip
