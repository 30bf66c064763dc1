"""The parameters that all baselines share."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from torch import nn

from s3c2 import published
from s3c2.clusterer import ClusterNetwork


# A dataclass, so that a baseline declares its own parameters and no more.
@dataclass(eq=False, repr=False)
class Baseline(ClusterNetwork):
    """Parameters as in CluNet."""

    n_clusters: int = 8
    _: KW_ONLY
    network: str = "dense"
    encoder: nn.Module | None = None
    layers: tuple[int, ...] = published.LAYERS
    optimizer: str | None = None
    learning_rate: float = published.LEARNING_RATE
    scale: str | None = None
    contradictions: Literal["raise", "drop"] = "raise"
    device: str = "auto"
    precision: str = "float32"
    random_state: Any = None
    verbose: int = 1
    callbacks: Any = None
    checkpoint: str | os.PathLike[str] | None = None
