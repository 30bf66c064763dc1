"""Rows and pairs of rows drawn uniformly.

Nobody has judged the pairs: they count as cannot-links, which most random pairs are, until
something labels them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from s3c2.engine.randomness import Draws, Purpose
from s3c2.pairs.batch import AllPairsBatch, PairBatch, RowBatch


class RandomRows:
    """Single rows drawn uniformly."""

    def __init__(
        self, n: int, size: int, seeds: Sequence[int], device: torch.device | str = "cpu"
    ) -> None:
        self.n = n
        self.size = size
        self.draws = Draws(seeds, Purpose.PAIRS, device)

    def draw(self, step: int | Tensor) -> RowBatch:
        return RowBatch(self.draws.integers(step, self.size, self.n))


class RandomPairs:
    """Pairs (x, y) drawn uniformly from all n × n."""

    def __init__(
        self, n: int, size: int, seeds: Sequence[int], device: torch.device | str = "cpu"
    ) -> None:
        self.size = size
        self.ends = RandomRows(n, 2 * size, seeds, device)
        self._same = torch.zeros(len(seeds), size, device=device)
        self._weight = torch.ones(len(seeds), size, device=device)

    def draw(self, step: int | Tensor) -> PairBatch:
        a, b = self.ends.draw(step).rows.chunk(2, dim=1)
        return PairBatch(a, b, self._same, self._weight)


class AllPairs:
    """Every ordered pair of some rows drawn uniformly: n_points² pairs from n_points rows.

    A draw paired with itself has weight 0. Each of the others is uniform over all n × n, like a
    random pair. Together they weigh as much as ``weight`` random pairs.
    """

    def __init__(
        self,
        n: int,
        n_points: int,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        *,
        weight: float | None = None,
    ) -> None:
        self.n = n
        self.n_points = n_points
        self.draws = Draws(seeds, Purpose.PAIRS, device)
        others = n_points * (n_points - 1)
        each = 1.0 if weight is None else weight / others
        counts = each * (1 - torch.eye(n_points, device=device)).flatten()  # (n_points²,)
        self._weight = counts.expand(len(seeds), -1)
        self._same = torch.zeros(len(seeds), n_points**2, device=device)

    def draw(self, step: int | Tensor) -> AllPairsBatch:
        points = self.draws.integers(step, self.n_points, self.n)
        square = (len(points), self.n_points, self.n_points)
        a = points[:, :, None].expand(square).flatten(1)
        b = points[:, None, :].expand(square).flatten(1)
        return AllPairsBatch(a, b, self._same, self._weight, points)
