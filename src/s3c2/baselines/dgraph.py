"""d-graph: the closest pairs of a batch are must-links."""

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
from s3c2.pairs import KnownPairs


@dataclass(eq=False, repr=False, kw_only=True)
class DGraph(PairBaseline):
    """d-graph (Śmieja, Myronov, Tabor 2018) as the paper runs it, with CluNet's network and batch.

    Of the random pairs of a batch the closest in the input space are must-links and the others
    cannot-links; the misclassification loss, eq. (3), is taken over them and the given links.

    Parameters
    ----------
    n_clusters : int, default=8
    n_neighbors : int, default=30
        How many of a batch's random pairs are must-links; pairs as close as the last of them are
        must-links too. Pairs that are given links keep their given label.
    network, encoder, layers, dropout, steps, batch_links, batch_pairs, optimizer, learning_rate,
    scale, contradictions, device, precision, random_state, verbose, callbacks, checkpoint
        As in CluNet.

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "n_neighbors", 1, self._training().pairs, whole=True)

    def _objective(self, replicas: Sequence[Replica], rows: Rows) -> Objective:
        counts = torch.tensor([r.model.n_neighbors for r in replicas], device=rows.device)[:, None]
        most = int(counts.max())
        known = KnownPairs([r.links for r in replicas], rows.device)

        def objective(batch: Batch) -> dict[str, Tensor]:
            x_a, x_b = (x[:, batch.n_links :].flatten(2).float() for x in (batch.x_a, batch.x_b))
            d2 = losses.squared_distance(x_a, x_b)  # (replicas, pairs)
            nearest = d2.topk(most, largest=False, sorted=True).values
            near = d2 <= nearest.gather(1, counts - 1)
            must = torch.cat([batch.links.must, known.relabel(batch.a, batch.b, near)], dim=1)
            weight = torch.cat([batch.links.weight, torch.ones_like(d2)], dim=1)
            return {"loss": losses.misclassification(batch.p_same, must, weight)}

        return objective
