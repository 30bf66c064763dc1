"""Passes over X, chunk by chunk: whether it is finite, and how it is scaled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from s3c2.errors import DataError

FLOAT32_MAX = float(np.finfo(np.float32).max)
# How X may be scaled: as it is, each column to mean 0 and deviation 1, each column onto [0, 1], all
# numbers by one shift and factor onto [0, 1], all numbers by the root of their mean square.
SCALES = (None, "standard", "unit", "together", "rms")
CHUNK_BYTES = 2**24  # a pass over X holds this much of it at a time


@dataclass(frozen=True)
class Scaling:
    """What is subtracted from and multiplied onto every row: (x − shift) · factor."""

    shift: NDArray[np.float64]
    factor: NDArray[np.float64]

    @classmethod
    def learn(cls, kind: str, X: Any) -> Scaling:
        """Learn one of SCALES from X.

        "standard" (mean 0, deviation 1) and "unit" (onto [0, 1]) scale a table column by column.
        An image has one scale for all its pixels, which keeps their relation. A constant column
        becomes 0. "together" brings all numbers of X onto [0, 1] by one shift and factor, for
        pixels and the like in a table. "rms" divides all numbers by the root of their mean square:
        zeros stay zeros.
        """
        axis = 0 if X.ndim == 2 and kind != "together" else None
        if kind == "rms":
            shift = np.zeros(())
            spread = np.hypot(*_mean_and_deviation(X, None))
        elif kind == "standard":
            shift, spread = _mean_and_deviation(X, axis)
        else:
            shift, high = _low_and_high(X, axis)
            spread = high - shift
        # A spread at the level of rounding is a constant column, not a signal to blow up.
        constant = spread <= 1e-12 * np.maximum(np.abs(shift), 1e-300)
        return cls(shift, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread)))

    def apply(self, x: NDArray[Any]) -> NDArray[Any]:
        dtype = np.float32 if x.dtype == np.float32 else np.float64
        scaled: NDArray[Any] = (x - self.shift.astype(dtype)) * self.factor.astype(dtype)
        return scaled


def chunks(X: Any) -> Iterator[tuple[int, Any]]:
    """Yield (first row number, rows) with at most about CHUNK_BYTES of X in each."""
    row_bytes = max(1, int(np.prod(X.shape[1:])) * 8)
    size = max(1, CHUNK_BYTES // row_bytes)
    for start in range(0, X.shape[0], size):
        yield start, X[start : start + size]


def check_finite(X: Any, column_names: Any = None, what: str = "X") -> None:
    """Refuse NaN, infinity and what float32 cannot hold, naming the first place in `what`."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind not in "f" or values.size == 0:
        return
    for start, chunk in chunks(values):
        # min and max make no temporary copy, and NaN makes both comparisons false.
        if float(chunk.min()) >= -FLOAT32_MAX and float(chunk.max()) <= FLOAT32_MAX:
            continue
        bad = np.argwhere(~(np.abs(chunk.astype(np.float64)) <= FLOAT32_MAX))[0]
        value = chunk[tuple(bad)]
        place = (start + int(bad[0]), *map(int, bad[1:]))
        if sparse.issparse(X):
            row = int(np.searchsorted(X.indptr, place[0], side="right")) - 1
            place = (row, int(X.indices[place[0]]))
        found = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}"
        remedy = (
            "Fill in or leave out such rows (scikit-learn's SimpleImputer does)."
            if not np.isfinite(value)
            else f"Values must lie within ±{FLOAT32_MAX:.3g}: rescale the column."
        )
        at = _in_words(place, column_names)
        raise DataError(f"{what} holds {found} at {at}. {remedy} Rows count from 0.")


def check_scaled(X: Any, scaling: Scaling, column_names: Any = None, what: str = "X") -> None:
    """Refuse finite numbers that a scaling learned on other rows takes beyond float32."""
    for start, chunk in chunks(X):
        with np.errstate(over="ignore"):
            scaled = np.abs(scaling.apply(_dense64(chunk)))
        if float(scaled.max(initial=0)) <= FLOAT32_MAX:
            continue
        bad = np.argwhere(scaled > FLOAT32_MAX)[0]
        at = _in_words((start + int(bad[0]), *map(int, bad[1:])), column_names)
        raise DataError(
            f"{what} holds {chunk[tuple(bad)]:g} at {at}, which is too far beyond the values that "
            f"the scaling was learned on. Correct or leave out such rows. Rows count from 0."
        )


def _in_words(place: tuple[int, ...], column_names: Any) -> str:
    """Row and column, or row and pixel."""
    row, *inside = place
    if len(inside) > 1:
        return f"row {row}, pixel {tuple(inside)}"
    column = inside[0] if column_names is None else repr(column_names[inside[0]])
    return f"row {row}, column {column}"


def _mean_and_deviation(X: Any, axis: int | None) -> tuple[NDArray[Any], NDArray[Any]]:
    # Chunk by chunk, by the parallel form of Welford's update, in float64.
    count, mean, squares = 0, np.float64(0), np.float64(0)
    for _, chunk in chunks(X):
        x = _dense64(chunk)
        n = x.shape[0] if axis == 0 else x.size
        m = x.mean(axis=axis)
        s = ((x - m) ** 2).sum(axis=axis)
        delta = m - mean
        total = count + n
        squares = squares + s + delta**2 * (count * n / total)
        mean = mean + delta * (n / total)
        count = total
    return np.asarray(mean), np.sqrt(np.asarray(squares) / count)


def _low_and_high(X: Any, axis: int | None) -> tuple[NDArray[Any], NDArray[Any]]:
    low, high = np.float64(np.inf), np.float64(-np.inf)
    for _, chunk in chunks(X):
        x = _dense64(chunk)
        low = np.minimum(low, x.min(axis=axis))
        high = np.maximum(high, x.max(axis=axis))
    return np.asarray(low), np.asarray(high)


def _dense64(chunk: Any) -> NDArray[np.float64]:
    if sparse.issparse(chunk):
        chunk = chunk.toarray()
    return np.asarray(chunk, dtype=np.float64)
