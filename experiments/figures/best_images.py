"""S3C2 with its defaults on images, which get convolutional networks, beside figure 5.

    python -m experiments best_images --device cuda --precision bf16

Balanced links, five link sets, which are those of figure 5. Rows in results/default_images.csv; the
other methods are the rows of figure 5 and of k_means.
"""

from __future__ import annotations

from functools import partial

from experiments.experiment import Experiment
from experiments.figures import figure_5, k_means
from experiments.plots import beside_default, draw_methods
from experiments.runs import DEFAULT, Run, Sizes, grid

LEDGER = "default_images"


def runs(sizes: Sizes) -> list[Run]:
    budgets = (sizes.least, *sizes.image_budgets)
    return list(grid(DEFAULT, sizes.images, budgets, sizes.link_sets, network="convolutional"))


def without_links(sizes: Sizes) -> list[Run]:
    """The runs of k-means on the same data sets."""
    return [run for run in k_means.runs(sizes) if run.dataset in sizes.images]


EXPERIMENT = Experiment(
    __name__, LEDGER, runs, partial(draw_methods, read=beside_default), group=20, page="results",
    beside={"convolutional": figure_5.runs, k_means.LEDGER: without_links},
)  # fmt: skip
