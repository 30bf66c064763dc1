"""S3C2 with its defaults and chained links, beside the same with uniform ones.

    python -m experiments default_chained --device cuda --precision bf16

Dense networks on the four data sets, five link sets, which are the chained ones of figure 2. Rows
in results/chained.csv; those with uniform links are the rows of best.
"""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.figures import best
from experiments.plots import draw_methods
from experiments.runs import DEFAULT, Run, Sizes, grid


def runs(sizes: Sizes) -> list[Run]:
    return list(grid(DEFAULT, sizes.datasets, sizes.budgets, sizes.link_sets, design="chained"))


def uniform(sizes: Sizes) -> list[Run]:
    """The runs of the default with as many uniform links."""
    return [run for run in best.runs(sizes) if run.n_links in sizes.budgets]


EXPERIMENT = Experiment(__name__, "chained", runs, draw_methods, beside={best.LEDGER: uniform})
