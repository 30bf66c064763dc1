"""DCPR: the likelihood of the links, and clusters that are distinct and of like size."""

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
from s3c2.engine.rows import Rows
from s3c2.errors import DataError
from s3c2.fitting import Fitting
from s3c2.pairs import Ends, PairBatch
from s3c2.parameters import check_number
from s3c2.surface import ClusterResult, LinkClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class DCPR(Baseline, LinkClusterer):
    """DCPR (Pei, Fern, Tjahja, Rosales 2016) as the paper runs it, with CluNet's network and batch.

    The loss is the negative log-likelihood of the given links plus H(Y|X) − H(Y), the conditional
    entropy minus the entropy of the clusters, estimated over all rows of the batch: every row
    should be sure of its cluster, and all clusters equally likely. Posteriors are clipped to
    [0.001, 0.999] before anything is made of them.

    Parameters
    ----------
    n_clusters : int, default=8
    entropy_weight : float, default=1.0
        Weight of H(Y|X) − H(Y) against that of the links.
    dropout, steps, batch_links, batch_pairs, optimizer, learning_rate
        As in CluNet.
    network, layers, scale, contradictions, device, precision, random_state, verbose, callbacks,
    checkpoint
        As in S3C2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import Links
    >>> from s3c2.baselines import DCPR
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> links = Links.from_labels(y, 100, random_state=0)
    >>> model = DCPR(3, scale="unit", steps=100, random_state=0).fit(X, links=links)
    >>> model.score(X, links=Links.from_labels(y, 1000, random_state=1)) > 0.9
    True
    """

    _stage: ClassVar = "dcpr"
    _may_differ: ClassVar = ("random_state", "entropy_weight")

    entropy_weight: float = 1.0
    dropout: float | None = None
    steps: int | None = None
    batch_links: int | None = None
    batch_pairs: int | None = None
    optimizer: str | None = None
    learning_rate: float = published.LEARNING_RATE

    def _learn(self, fitting: Fitting[DCPR]) -> list[ClusterResult | DataError]:
        return learn_from_pairs(self, fitting, given_and_random(self), likelihood_and_entropy)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self, "steps", "batch_links", "batch_pairs")
        check_number(self, "dropout", 0, 0.99, optional=True)
        check_number(self, "entropy_weight", 0)

    def _check_sizes(self, rows: Rows) -> None:
        super()._check_sizes(rows)
        check_batch(self, given_and_random(self), rows)

    def _build_network(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        return self._architecture(self.dropout).build_clusters(shape, int(self.n_clusters), seed)


def likelihood_and_entropy(replicas: Sequence[Replica], rows: Rows) -> Objective:
    """The likelihood of the links, and H(Y|X) − H(Y) over all rows of the batch."""
    share = torch.tensor([float(r.model.entropy_weight) for r in replicas], device=rows.device)
    floor = published.DCPR_FLOOR

    def objective(batches: Sequence[PairBatch], ends: Sequence[Ends]) -> dict[str, Tensor]:
        links = batches[0]
        # Posteriors of all first ends, then of all second ones: (replicas, rows, K)
        p = torch.cat([one.out[twin] for twin in (0, 1) for one in ends], dim=1)
        p = p.clamp(floor, 1 - floor)
        first, second = (half[:, : links.same.shape[1]] for half in p.chunk(2, dim=1))
        p_same = losses.same_probability(first, second)
        likelihood = losses.link_likelihood(p_same, links.same, links.weight, floor)
        conditional = losses.entropy(p, floor).mean(-1)
        entropy = losses.entropy(p.mean(1), floor)
        return {
            "loss": likelihood + share * (conditional - entropy),
            "likelihood": likelihood,
            "conditional_entropy": conditional,
            "entropy": entropy,
        }

    return objective
