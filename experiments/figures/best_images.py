"""S3C2 with its defaults on images, which get convolutional networks, beside figure 5.

    python -m experiments best_images --device cuda --precision bf16

Balanced links, five link sets, which are those of figure 5. Rows in results/default_images.csv; the
other methods are the rows of figure 5, and those of k-means in no_links.
"""

from __future__ import annotations

from functools import partial

from experiments.experiment import Experiment
from experiments.figures import figure_5, no_links
from experiments.plots import beside_default, draw_methods
from experiments.runs import DEFAULT, K_MEANS, Run, Sizes, grid

LEDGER = "default_images"


def runs(sizes: Sizes) -> list[Run]:
    budgets = (sizes.least, *sizes.image_budgets)
    return list(grid(DEFAULT, sizes.images, budgets, sizes.link_sets, network="convolutional"))


def k_means_of(sizes: Sizes) -> list[Run]:
    """k-means on the same data sets."""
    return no_links.runs_on(sizes.images, sizes, [K_MEANS])


EXPERIMENT = Experiment(
    __name__, LEDGER, runs, partial(draw_methods, read=beside_default), group=20, page="results",
    beside={"convolutional": figure_5.runs, no_links.LEDGER: k_means_of},
)  # fmt: skip
