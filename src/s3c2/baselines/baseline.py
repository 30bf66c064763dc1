"""What all baselines share: their parameters, and that they train as grids."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

from torch import nn

from s3c2 import published
from s3c2.clusterer import ClusterNetwork, Replica
from s3c2.engine.loop import Run, check_converged
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Trained
from s3c2.errors import DataError
from s3c2.links import Links


# A dataclass, so that a baseline declares its own parameters and no more.
@dataclass(eq=False, repr=False)
class Baseline(ClusterNetwork):
    """Parameters as in CluNet. A subclass says how it is trained (``_train_replicas``)."""

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

    @abstractmethod
    def _train_replicas(
        self, rows: Rows, replicas: Sequence[Replica], run: Run
    ) -> Sequence[Trained]:
        """Train the networks of all replicas."""

    def _fit_replicas(
        self,
        models: Sequence[Self],
        rows: Rows,
        links: Sequence[Links],
        seeds: Sequence[int],
        run: Run,
    ) -> dict[int, DataError]:
        replicas = [Replica(*one) for one in zip(models, links, seeds)]
        failed: dict[int, DataError] = {}
        for i, trained in enumerate(self._train_replicas(rows, replicas, run)):
            try:
                check_converged(trained.history, self._stage)
            except DataError as error:
                failed[i] = error
                continue
            models[i]._adopt(self)
            models[i].network_, models[i].history_ = trained.network, trained.history
            models[i].labels_ = models[i]._labels(rows)
        return failed
