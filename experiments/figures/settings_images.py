"""Settings of convolutional networks: S3C2 with one setting changed at a time.

    python -m experiments settings_images --device cuda --precision bf16

The paper gives no dropout rate for convolutional networks; the authors' script has 0.5. The
variants have 0.1 and 0. Others have the script's threshold, or T = 0, where LabNet is not used. The
semi-supervised LabNet has λ = 0.05 on the sum of the reconstruction error over pixels, or on the
mean, or it has the script's λ. Balanced links, three link sets, d-graph for comparison. Rows in
results/convolutional.csv.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from s3c2 import published

from experiments.experiment import Experiment
from experiments.figures.settings import ON_D, SEMI_SUPERVISED, THRESHOLDS, draw
from experiments.runs import AS_PUBLISHED, Run, Sizes, grid

VARIANTS: dict[str, dict[str, Any]] = {
    "dropout 0.1": {"dropout": 0.1},
    "without dropout": {"dropout": 0.0},
    "LabNet by Adam": {"labnet_optimizer": "adam"},
}
BOTH = {"without dropout, d < 0.3": {"dropout": 0.0}}
SEMI: dict[str, dict[str, Any]] = {
    "… of the mean over pixels": {"reconstruction_weight": published.RECONSTRUCTION_WEIGHT / 784},
    "… the script's λ": {"reconstruction_weight": 5e-10},  # weights 2 : 1e-9 : 1e-9
}
ORDER = ("d-graph", AS_PUBLISHED, *THRESHOLDS, *VARIANTS, *BOTH, SEMI_SUPERVISED, *SEMI)


def runs(sizes: Sizes) -> list[Run]:
    of = partial(
        grid, datasets=sizes.images, budgets=sizes.image_budgets, link_sets=sizes.few_link_sets,
        network="convolutional",
    )  # fmt: skip
    return [
        *of("d-graph"),
        *of("S3C2"),
        *(run for T in THRESHOLDS.values() for run in of("S3C2", threshold=T)),
        *(run for name, changes in VARIANTS.items()
          for run in of("S3C2", variant=name, changes=changes)),
        *(run for name, changes in BOTH.items()
          for run in of("S3C2", variant=name, changes=changes, threshold=ON_D)),
        *of("S3C2", semi_supervised=True),
        *(run for name, changes in SEMI.items()
          for run in of("S3C2", semi_supervised=True, variant=name, changes=changes)),
    ]  # fmt: skip


EXPERIMENT = Experiment(__name__, "convolutional", runs, partial(draw, order=ORDER), group=9)
