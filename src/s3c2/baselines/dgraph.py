"""d-graph: the closest pairs of a batch are must-links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from s3c2 import losses, published
from s3c2.baselines.baseline import Baseline
from s3c2.baselines.pair_methods import (
    Objective,
    Replica,
    check_batch,
    check_training,
    given_and_random,
    learn_from_pairs,
)
from s3c2.cluster_training import misclassification
from s3c2.engine.rows import Rows
from s3c2.errors import DataError
from s3c2.fitting import Fitting
from s3c2.pairs import Ends, KnownPairs, PairBatch
from s3c2.parameters import check_number
from s3c2.surface import ClusterResult, LinkClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class DGraph(Baseline, LinkClusterer):
    """d-graph (Śmieja, Myronov, Tabor 2018) as the paper runs it, with CluNet's network and batch.

    Of the random pairs of a batch the closest in the input space are must-links and the others
    cannot-links; the misclassification loss, eq. (3), is taken over them and the given links.

    Parameters
    ----------
    n_clusters : int, default=8
    n_neighbors : int, default=30
        How many of a batch's random pairs are must-links; pairs as close as the last of them are
        must-links too. Pairs that are given links keep their given label.
    dropout, steps, batch_links, batch_pairs, optimizer, learning_rate
        As in CluNet.
    network, layers, scale, contradictions, device, precision, random_state, verbose, callbacks,
    checkpoint
        As in S3C2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import Links
    >>> from s3c2.baselines import DGraph
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> links = Links.from_labels(y, 100, random_state=0)
    >>> model = DGraph(3, scale="unit", steps=100, random_state=0).fit(X, links=links)
    >>> model.score(X, links=Links.from_labels(y, 1000, random_state=1)) > 0.9
    True
    """

    _stage: ClassVar = "dgraph"
    _may_differ: ClassVar = ("random_state", "n_neighbors")

    n_neighbors: int = published.NEIGHBORS
    dropout: float | None = None
    steps: int | None = None
    batch_links: int | None = None
    batch_pairs: int | None = None
    optimizer: str | None = None
    learning_rate: float = published.LEARNING_RATE

    def _learn(self, fitting: Fitting[DGraph]) -> list[ClusterResult | DataError]:
        return learn_from_pairs(self, fitting, given_and_random(self), closest_are_must_links)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self, "steps", "batch_links", "batch_pairs")
        check_number(self, "dropout", 0, 0.99, optional=True)
        check_number(self, "n_neighbors", 1, given_and_random(self).pairs, whole=True)

    def _check_sizes(self, rows: Rows) -> None:
        super()._check_sizes(rows)
        check_batch(self, given_and_random(self), rows)

    def _build_network(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        return self._architecture(self.dropout).build_clusters(shape, int(self.n_clusters), seed)


def closest_are_must_links(replicas: Sequence[Replica], rows: Rows) -> Objective:
    """Eq. (3), with the random pairs that are closest in the input space as must-links."""
    counts = torch.tensor([int(r.model.n_neighbors) for r in replicas], device=rows.device)[:, None]
    most = int(counts.max())
    known = KnownPairs([r.links for r in replicas], rows.device)

    def objective(batches: Sequence[PairBatch], ends: Sequence[Ends]) -> dict[str, Tensor]:
        links, pairs = batches
        x_a, x_b = (x.flatten(2).float() for x in ends[1].x)
        d2 = losses.squared_distance(x_a, x_b)  # (replicas, pairs)
        nearest = d2.topk(most, largest=False, sorted=True).values
        near = (d2 <= nearest.gather(1, counts - 1)).float()
        pairs = pairs.labelled(known.relabel(pairs.a, pairs.b, near))
        return {"loss": misclassification([links, pairs], ends)}

    return objective
