"""NNclustering: divergences of posteriors, on the given links alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from s3c2 import losses, networks, published
from s3c2.baselines.baseline import Baseline
from s3c2.baselines.pair_methods import (
    Objective,
    Replica,
    check_batch,
    check_training,
    learn_from_pairs,
)
from s3c2.engine.rows import Rows
from s3c2.errors import DataError
from s3c2.fitting import Fitting
from s3c2.pairs import Ends, PairBatch
from s3c2.parameters import check_number
from s3c2.surface import ClusterResult, LinkClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class NNClustering(Baseline, LinkClusterer):
    """NNclustering (Hsu, Kira 2015): a network with batch normalisation on the given links alone.

    Posteriors of a must-link's rows are drawn together by their Kullback-Leibler divergence, in
    both directions; those of a cannot-link are pushed apart until it reaches a margin.

    Parameters
    ----------
    n_clusters : int, default=8
    margin : float, default=2.0
    network : {"auto", "dense", "convolutional"} or nn.Module, default="auto"
        "convolutional" is the authors' LeNet: 5×5 convolutions of 20 and 50 filters, each pooled,
        and a dense layer of 500; images smaller than 28 × 28 are padded. "dense" has the hidden
        layers of CluNet. Both have batch normalisation and no dropout.
    layers, scale, contradictions, device, precision, random_state, verbose, callbacks, checkpoint
        As in S3C2.
    steps : int, optional
        By default 3,000.
    batch_links : int, optional
        Given links in a batch, by default 128.
    optimizer : {"adam", "rmsprop"}, optional
    learning_rate : float, default=1e-3

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import Links
    >>> from s3c2.baselines import NNClustering
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> links = Links.from_labels(y, 200, random_state=0)
    >>> model = NNClustering(3, scale="unit", steps=100, random_state=0).fit(X, links=links)
    >>> model.score(X, links=Links.from_labels(y, 1000, random_state=1)) > 0.9
    True
    """

    _stage: ClassVar = "nnclustering"
    _may_differ: ClassVar = ("random_state", "margin")

    margin: float = published.DIVERGENCE_MARGIN
    steps: int | None = None
    batch_links: int | None = None
    optimizer: str | None = None
    learning_rate: float = published.LEARNING_RATE

    def _learn(self, fitting: Fitting[NNClustering]) -> list[ClusterResult | DataError]:
        return learn_from_pairs(self, fitting, self._training(), divergences)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self, "steps", "batch_links")
        check_number(self, "margin", 0)

    def _check_sizes(self, rows: Rows) -> None:
        super()._check_sizes(rows)
        check_batch(self, self._training(), rows)

    def _training(self) -> published.Training:
        return published.nnclustering_training().changed(
            links=self.batch_links, steps=self.steps, optimizer=self.optimizer
        )

    def _build_network(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        n_clusters = int(self.n_clusters)
        if isinstance(self.network, nn.Module):
            return networks.with_head(self.network, shape, n_clusters, seed)
        with torch.random.fork_rng([]):
            if self.network == "convolutional":
                network = networks.lenet_clusters(shape, n_clusters)
            else:
                layers = tuple(map(int, self.layers))
                network = networks.normalised_clusters(shape, layers, n_clusters)
        return networks.initialised(network, seed)


def divergences(replicas: Sequence[Replica], rows: Rows) -> Objective:
    """The divergence of the posteriors of both ends, up to a margin for cannot-links."""
    margin = torch.tensor([float(r.model.margin) for r in replicas], device=rows.device)

    def objective(batches: Sequence[PairBatch], ends: Sequence[Ends]) -> dict[str, Tensor]:
        (links,), (of_links,) = batches, ends
        return {"loss": losses.divergence(*of_links.out, links.same, links.weight, margin[:, None])}

    return objective
