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
CHUNK_BYTES = 2**24  # a pass over X holds this much of it at a time


@dataclass(frozen=True)
class Scaling:
    """What is subtracted from and multiplied onto every row: (x − shift) · factor."""

    shift: NDArray[np.float64]
    factor: NDArray[np.float64]

    @classmethod
    def learn(cls, kind: str, X: Any) -> Scaling:
        """Learn "standard" (mean 0, deviation 1), "unit" (onto [0, 1]) or "rms" from X.

        A table is scaled column by column. An image has one scale for all its pixels, which keeps
        their relation. A constant column becomes 0. "rms" divides all numbers by the root of their
        mean square: zeros stay zeros.
        """
        axis = 0 if X.ndim == 2 else None
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
        if sparse.issparse(X):
            position = start + int(bad[0])
            row = int(np.searchsorted(X.indptr, position, side="right")) - 1
            place = [int(X.indices[position])]
        else:
            row, place = start + int(bad[0]), [int(i) for i in bad[1:]]
        if len(place) == 1 and column_names is not None:
            where = f"column {column_names[place[0]]!r}"
        else:
            where = f"column {place[0]}" if len(place) == 1 else f"pixel {tuple(place)}"
        found = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}"
        remedy = (
            "Fill in or leave out such rows (scikit-learn's SimpleImputer does)."
            if not np.isfinite(value)
            else f"Values must lie within ±{FLOAT32_MAX:.3g}: rescale the column."
        )
        raise DataError(f"{what} holds {found} at row {row}, {where}. {remedy} Rows count from 0.")


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
