"""S3C2 with its defaults: NMI against the number of links, from 20 links on, beside figure 2.

    python -m experiments best --device cuda --precision bf16

Dense networks on the four data sets, balanced links, five link sets, which are those of figure 2.
Rows in results/default.csv; the other methods are the rows of figure 2, and what is found without
links those of no_links.
"""

from __future__ import annotations

from functools import partial

from experiments.experiment import Experiment
from experiments.figures import figure_2, no_links
from experiments.plots import beside_default, draw_methods
from experiments.runs import DEFAULT, Run, Sizes, grid

LEDGER = "default"


def runs(sizes: Sizes) -> list[Run]:
    return list(grid(DEFAULT, sizes.datasets, (sizes.least, *sizes.budgets), sizes.link_sets))


def without_links(sizes: Sizes) -> list[Run]:
    return no_links.runs_on(sizes.datasets, sizes)


EXPERIMENT = Experiment(
    __name__, LEDGER, runs, partial(draw_methods, read=beside_default), page="results",
    beside={"dense": figure_2.runs, no_links.LEDGER: without_links},
)  # fmt: skip
