"""The scale of tables with columns of any size and tail: one outlier does not flatten the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from s3c2.data.passes import dense64, low_and_high, mean_and_deviation, sample
from s3c2.data.straight import Shape, factor_of

HEAVY = 8.0  # spreads from the median to the extreme; 100,000 normal numbers stay within 5
NORMAL_SPREAD = 0.6745  # of a normal column, in deviations: its median distance from the median
SAMPLED = 20_000  # rows for the median and the spread
SAMPLED_BYTES = 2**26
FARTHEST = 1e100  # spreads to the extreme, at most


@dataclass(frozen=True)
class Robust:
    """Columns of mean 0 and deviation 1, those with heavy tails after asinh((x − middle) / spread).

    A tail is heavy if the extreme is more than HEAVY spreads from the median; mean and deviation
    are then those of the bulk. The spread is the median distance from the median of the numbers
    that differ from it, so that a column of nearly only zeros has one too. ``spread`` is 0 where a
    column stays straight.
    """

    KINDS: ClassVar = ("robust",)

    kind: str
    middle: NDArray[np.float64]
    spread: NDArray[np.float64]
    shift: NDArray[np.float64]
    factor: NDArray[np.float64]

    @classmethod
    def learn(cls, kind: str, X: Any) -> Robust:
        """Learn it from X: column by column, or for images one scale for all pixels."""
        axis = 0 if X.ndim == 2 else None
        middle, spread = _middle_and_spread(X, axis)
        low, high = low_and_high(X, axis)
        extreme = np.maximum(high - middle, middle - low)
        spread = np.where((spread > 0) & (extreme > HEAVY * spread), spread, 0.0)
        spread = np.where(spread > 0, np.maximum(spread, extreme / FARTHEST), 0.0)

        def bulk(x: NDArray[np.float64]) -> NDArray[np.float64]:
            """Numbers in a heavy tail count as if they were at its beginning."""
            bent = _bent(x, middle, spread)
            return np.where(spread > 0, np.clip(bent, -np.arcsinh(HEAVY), np.arcsinh(HEAVY)), bent)

        shift, deviation = mean_and_deviation(X, axis, bulk)
        return cls(kind, middle, spread, shift, factor_of(deviation, shift))

    def apply(self, x: Any) -> NDArray[Any]:
        bent = _bent(dense64(x), self.middle, self.spread)
        scaled: NDArray[Any] = (bent - self.shift) * self.factor
        return scaled

    def shape(self, of_row: tuple[int, ...]) -> tuple[int, ...]:
        return of_row

    @classmethod
    def shapes(cls, of_row: tuple[int, ...]) -> dict[str, list[Shape]]:
        return {name: [(), of_row] for name in ("middle", "spread", "shift", "factor")}


def _bent(
    x: NDArray[np.float64], middle: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    bends = spread > 0
    if not bends.any():
        return x
    distance = (x - middle) / np.where(bends, spread, 1.0)
    return np.where(bends, np.arcsinh(distance), x)


def _middle_and_spread(X: Any, axis: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    row_bytes = 8 * int(np.prod(X.shape[1:]))
    most = max(100, min(SAMPLED, SAMPLED_BYTES // row_bytes))
    x = np.concatenate([dense64(part) for part in sample(X, most)])
    x = x.reshape(len(x), -1) if axis == 0 else x.reshape(-1, 1)  # (numbers, columns)
    middle = np.median(x, axis=0)
    distance = np.sort(np.abs(x - middle), axis=0)
    same = (distance == 0).sum(axis=0)
    half = np.minimum(same + (len(x) - same) // 2, len(x) - 1)
    spread = np.take_along_axis(distance, half[None], axis=0)[0] / NORMAL_SPREAD
    return (middle, spread) if axis == 0 else (middle.reshape(()), spread.reshape(()))
