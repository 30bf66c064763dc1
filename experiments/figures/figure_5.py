"""Figure 5: NMI against the number of links with convolutional networks, on images.

    python -m experiments figure_5 --device cuda --precision bf16

S3C2 with supervised and with semi-supervised LabNet (λ = 0.05), d-graph and DCPR on CluNet's
convolutional network, IDEC on a convolutional autoencoder, NNclustering on LeNet. Balanced links of
both designs, five link sets each. Rows in results/convolutional.csv.
"""

from __future__ import annotations

from functools import partial

from experiments.experiment import Experiment
from experiments.plots import draw_methods
from experiments.runs import IN_THE_PAPER, Run, Sizes, both_designs, grid


def runs(sizes: Sizes) -> list[Run]:
    of_images = partial(
        grid, datasets=sizes.images, budgets=sizes.budgets, link_sets=sizes.link_sets,
        network="convolutional",
    )  # fmt: skip
    return [
        *of_images("S3C2"),
        *of_images("S3C2", semi_supervised=True),
        *(run for method in IN_THE_PAPER if method != "S3C2" for run in of_images(method)),
    ]


EXPERIMENT = Experiment(__name__, "convolutional", both_designs(runs), draw_methods, group=5)
