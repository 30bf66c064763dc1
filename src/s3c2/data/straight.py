"""Scales that shift and stretch: every column by itself, or all numbers alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from s3c2.data.passes import low_and_high, mean_and_deviation

Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Straight:
    """What is subtracted from and multiplied onto every row: (x − shift) · factor."""

    KINDS: ClassVar = ("standard", "unit", "together", "rms")

    kind: str
    shift: NDArray[np.float64]
    factor: NDArray[np.float64]

    @classmethod
    def learn(cls, kind: str, X: Any) -> Straight:
        """Learn one of KINDS from X.

        "standard" (mean 0, deviation 1) and "unit" (onto [0, 1]) scale a table column by column.
        An image has one scale for all its pixels, which keeps their relation. A constant column
        becomes 0. "together" brings all numbers of X onto [0, 1] by one shift and factor, for
        pixels and the like in a table. "rms" divides all numbers by the root of their mean square:
        zeros stay zeros.
        """
        axis = 0 if X.ndim == 2 and kind != "together" else None
        if kind == "rms":
            shift = np.zeros(())
            spread = np.hypot(*mean_and_deviation(X, None))
        elif kind == "standard":
            shift, spread = mean_and_deviation(X, axis)
        else:
            shift, high = low_and_high(X, axis)
            spread = high - shift
        return cls(kind, shift, factor_of(spread, shift))

    def apply(self, x: Any) -> NDArray[Any]:
        x = x.toarray() if sparse.issparse(x) else x
        dtype = np.float32 if x.dtype == np.float32 else np.float64
        scaled: NDArray[Any] = (x - self.shift.astype(dtype)) * self.factor.astype(dtype)
        return scaled

    def shape(self, of_row: tuple[int, ...]) -> tuple[int, ...]:
        return of_row

    @classmethod
    def shapes(cls, of_row: tuple[int, ...]) -> dict[str, list[Shape]]:
        return {"shift": [(), of_row], "factor": [(), of_row]}


def factor_of(spread: NDArray[Any], around: NDArray[Any]) -> NDArray[np.float64]:
    """One by the spread; 0 for a constant column."""
    # A spread at the level of rounding is a constant column, not a signal to blow up.
    constant = spread <= 1e-12 * np.maximum(np.abs(around), 1e-300)
    return np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread))
