"""A step of a Siamese network: rows of the drawn pairs in, what both twins give out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack
from s3c2.pairs.batch import PairBatch, RowBatch
from s3c2.pairs.views import Views


class Ends(NamedTuple):
    """Both ends of the pairs of a batch: their rows, and what the network gives for them.

    Attributes
    ----------
    x : (replicas, pairs, *shape) of the first ends and of the second ones
    out : (replicas, pairs, dimensions) likewise
    """

    x: tuple[Tensor, Tensor]
    out: tuple[Tensor, Tensor]


class Twins:
    """A network as Siamese twins, which share their weights: one pass serves both.

    Parameters
    ----------
    network : Stack of the replicas
    rows : Rows
    seeds : of each replica's dropout and views
    views : whether rows that are images are seen a little moved, each time anew
    """

    def __init__(
        self, network: Stack, rows: Rows, seeds: Sequence[int], *, views: bool = False
    ) -> None:
        self.network = network
        self.rows = rows
        self.seeds = seeds
        self.views = Views.of(rows, seeds) if views else None

    def __call__(self, step: int | Tensor, *batches: PairBatch | RowBatch) -> list[Ends]:
        """Send the rows of these batches through the network in one pass."""
        firsts, seconds = zip(*(batch.twins for batch in batches))
        index = torch.cat([*firsts, *seconds], dim=1)  # (replicas, rows)
        x = self.rows.take_replicas(index)
        if self.views is not None:
            x = self.views(step, x)
        self.network.lay_dropout(index.shape[1], self.seeds, step)
        sizes = [part.shape[1] for part in (*firsts, *seconds)]
        xs, outs = torch.split(x, sizes, dim=1), torch.split(self.network(x), sizes, dim=1)
        n = len(batches)
        return [Ends((xs[i], xs[n + i]), (outs[i], outs[n + i])) for i in range(n)]
