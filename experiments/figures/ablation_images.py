"""Ablation on images: S3C2 with its defaults, and with one part switched off at a time.

    python -m experiments ablation_images --device cuda --precision bf16

As ablation, with convolutional networks and without the changed views of images, too. The runs of
the default are those of best_images. Rows in results/default_images.csv.
"""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.figures import ablation, best_images
from experiments.runs import Run, Sizes

VIEWS = {"no views": {"labnet__views": False, "clunet__views": False}}
PARTS = {**VIEWS, **ablation.PARTS}


def runs(sizes: Sizes) -> list[Run]:
    return ablation.switched_off(PARTS, sizes.images, sizes, network="convolutional")


EXPERIMENT = Experiment(__name__, best_images.LEDGER, runs, ablation.draw, group=9, page="results")
