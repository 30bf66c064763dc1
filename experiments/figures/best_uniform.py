"""S3C2 with its defaults and links drawn uniformly: ACC and NMI, beside uniform_links.

    python -m experiments best_uniform --device cuda --precision bf16

The protocol of SpherePair's table (NeurIPS 2025), whose printed numbers are in
``experiments.printed``. Dense networks, five link sets, which are those of uniform_links. Rows in
results/default.csv.
"""

from __future__ import annotations

from functools import partial

from experiments.experiment import Experiment
from experiments.figures import best, uniform_links
from experiments.plots import beside_default
from experiments.runs import DEFAULT, Run, Sizes, grid


def runs(sizes: Sizes) -> list[Run]:
    budgets = sizes.uniform_budgets
    return list(grid(DEFAULT, sizes.uniform, budgets, sizes.link_sets, must_share=None))


EXPERIMENT = Experiment(
    __name__, best.LEDGER, runs, partial(uniform_links.draw, read=beside_default), page="results",
    beside={"uniform": uniform_links.runs},
)  # fmt: skip
