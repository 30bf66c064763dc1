"""Pairs of neighbours: weak must-links that nobody had to give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from s3c2.engine.randomness import Draws, Purpose
from s3c2.pairs.batch import PairBatch

if TYPE_CHECKING:
    from s3c2.prior import Neighbours

BITS = 31  # of a draw


class NeighbourPairs:
    """A row drawn uniformly, and one of its neighbours; labelled as must-links."""

    def __init__(
        self,
        neighbours: Neighbours,
        size: int,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
    ) -> None:
        self.neighbours = neighbours
        self.size = size
        self.draws = Draws(seeds, Purpose.NEIGHBOURS, device)
        self._one = torch.ones(len(seeds), size, device=device)

    def draw(self, step: int | Tensor) -> PairBatch:
        of = self.neighbours
        drawn = self.draws.integers(step, 2 * self.size, 2**BITS)
        place = (drawn[:, : self.size] * len(of.rows)) >> BITS
        which = (drawn[:, self.size :] * of.count[place]) >> BITS
        return PairBatch(of.rows[place], of.others[of.first[place] + which], self._one, self._one)
