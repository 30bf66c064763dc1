"""Ablation on images: S3C2 with its defaults, and without changed views of images.

    python -m experiments ablation_images --device cuda --precision bf16

As ablation, with convolutional networks, for the part that only they have. The runs of the default
are those of best_images. Rows in results/default_images.csv.
"""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.figures import ablation, best_images
from experiments.runs import Run, Sizes

PARTS = {"no views": {"labnet__views": False, "clunet__views": False}}


def runs(sizes: Sizes) -> list[Run]:
    return ablation.switched_off(PARTS, sizes.images, sizes, network="convolutional")


EXPERIMENT = Experiment(__name__, best_images.LEDGER, runs, ablation.draw, group=9, page="results")
