"""Figure 5: NMI against the number of links with convolutional networks, on images.

    python experiments/figure_5.py --device cuda --precision bf16

S3C2 with supervised and with semi-supervised LabNet (λ = 0.05), d-graph and DCPR on CluNet's
convolutional network, IDEC on a convolutional autoencoder, NNclustering on LeNet. Balanced links,
five link sets; rows in results/convolutional.csv.
"""

from __future__ import annotations

from functools import partial

from plots import draw_methods
from runner import Experiment, main
from runs import METHODS, Run, Sizes, grid


def runs(sizes: Sizes) -> list[Run]:
    of_images = partial(
        grid, datasets=sizes.images, budgets=sizes.budgets, link_sets=sizes.link_sets,
        network="convolutional",
    )  # fmt: skip
    return [
        *of_images("S3C2"),
        *of_images("S3C2", semi_supervised=True),
        *(run for method in METHODS if method != "S3C2" for run in of_images(method)),
    ]


EXPERIMENT = Experiment(
    "figure_5", "convolutional", runs, partial(draw_methods, name="figure_5"), group=5
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
