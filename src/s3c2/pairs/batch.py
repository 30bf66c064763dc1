"""A batch of labelled pairs of rows, and what a source of such batches is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import torch
from torch import Tensor

from s3c2 import losses


@dataclass(frozen=True)
class PairBatch:
    """Labelled pairs of rows, each tensor (replicas, pairs).

    Attributes
    ----------
    a, b : row numbers of both ends
    same : labels, 1 for a must-link, 0 for a cannot-link, or between the two
    weight : how much each pair counts; 0 fills up a batch
    """

    a: Tensor
    b: Tensor
    same: Tensor
    weight: Tensor

    @property
    def twins(self) -> tuple[Tensor, Tensor]:
        """The rows that the first twin takes, and those that the second one takes."""
        return self.a, self.b

    def joined(self, other: PairBatch) -> list[PairBatch]:
        """Both as one batch where that is possible: one operation then serves both."""
        return other._behind(self)

    def _behind(self, first: PairBatch) -> list[PairBatch]:
        parts = ("a", "b", "same", "weight")
        both = (torch.cat([getattr(first, k), getattr(self, k)], dim=1) for k in parts)
        return [PairBatch(*both)]

    def labelled(self, same: Tensor) -> Self:
        """The same pairs with these labels."""
        return replace(self, same=same)

    def rows_of(self, numbers: Tensor, first: Tensor) -> Self:
        """The pairs in row numbers, where they hold places in ``numbers`` from ``first`` on."""
        return replace(self, a=numbers[self.a + first], b=numbers[self.b + first])

    def same_probability(self, p: tuple[Tensor, Tensor]) -> Tensor:
        """pˢ of the pairs, from the posteriors that both twins give: (replicas, pairs)."""
        return losses.same_probability(*p)


@dataclass(frozen=True)
class AllPairsBatch(PairBatch):
    """All ordered pairs of some rows, in the order of a flattened matrix.

    Attributes
    ----------
    points : the rows, (replicas, points); each goes through the network once
    """

    points: Tensor

    @property
    def twins(self) -> tuple[Tensor, Tensor]:
        return self.points[:, :0], self.points

    def _behind(self, first: PairBatch) -> list[PairBatch]:
        return [first, self]  # its rows go through the network once, not once a pair

    def rows_of(self, numbers: Tensor, first: Tensor) -> Self:
        return replace(super().rows_of(numbers, first), points=numbers[self.points + first])

    def same_probability(self, p: tuple[Tensor, Tensor]) -> Tensor:
        return losses.same_probability_of_all(p[1])


@dataclass(frozen=True)
class RowBatch:
    """Rows that go through the network without being paired: (replicas, rows)."""

    rows: Tensor

    @property
    def twins(self) -> tuple[Tensor, Tensor]:
        return self.rows[:, :0], self.rows


class PairSource(Protocol):
    """Where the pairs of a batch come from."""

    def draw(self, step: int | Tensor) -> PairBatch:
        """The batch of this step."""
