"""DCPR: the likelihood of the links, and clusters that are distinct and of like size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from s3c2 import losses, published
from s3c2.base import check_number
from s3c2.baselines.pair_baseline import Batch, Objective, PairBaseline
from s3c2.clusterer import Replica
from s3c2.engine.rows import Rows


@dataclass(eq=False, repr=False, kw_only=True)
class DCPR(PairBaseline):
    """DCPR (Pei, Fern, Tjahja, Rosales 2016) as the paper runs it, with CluNet's network and batch.

    The loss is the negative log-likelihood of the given links plus H(Y|X) − H(Y), the conditional
    entropy minus the entropy of the clusters, estimated over all rows of the batch: every row is
    to be sure of its cluster, and no cluster to be preferred. Probabilities are clipped to
    [0.001, 0.999].

    Parameters
    ----------
    n_clusters : int, default=8
    entropy_weight : float, default=1.0
        Weight of H(Y|X) − H(Y) against that of the links.
    network, encoder, layers, dropout, steps, batch_links, batch_pairs, optimizer, learning_rate,
    scale, contradictions, device, precision, random_state, verbose, callbacks, checkpoint
        As in CluNet.

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "entropy_weight", 0)

    def _objective(self, replicas: Sequence[Replica], rows: Rows) -> Objective:
        share = torch.tensor([float(r.model.entropy_weight) for r in replicas], device=rows.device)
        floor = published.DCPR_FLOOR

        def objective(batch: Batch) -> dict[str, Tensor]:
            of_links = batch.p_same[:, : batch.n_links]
            likelihood = losses.link_likelihood(
                of_links, batch.links.must, batch.links.weight, floor
            )
            p = torch.cat([batch.p_a, batch.p_b], dim=1)  # (replicas, rows, K)
            conditional = losses.entropy(p, floor).mean(-1)
            entropy = losses.entropy(p.mean(1), floor)
            return {
                "loss": likelihood + share * (conditional - entropy),
                "likelihood": likelihood,
                "conditional_entropy": conditional,
                "entropy": entropy,
            }

        return objective
