"""Passes over X, chunk by chunk: whether it is finite, its mean and range, a sample of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from s3c2.errors import DataError

FLOAT32_MAX = float(np.finfo(np.float32).max)
CHUNK_BYTES = 2**24  # a pass over X holds this much of it at a time
SAMPLE_SEED = 0


def chunks(X: Any) -> Iterator[tuple[int, Any]]:
    """Yield (first row number, rows) with at most about CHUNK_BYTES of X in each."""
    size = rows_of_chunk(X)
    for start in range(0, X.shape[0], size):
        yield start, X[start : start + size]


def rows_of_chunk(X: Any) -> int:
    """Rows that have about CHUNK_BYTES in float64."""
    return max(1, CHUNK_BYTES // max(1, int(np.prod(X.shape[1:])) * 8))


def check_finite(X: Any, column_names: Any = None, what: str = "X", first: int = 0) -> None:
    """Refuse NaN, infinity and what float32 cannot hold, naming the first place in `what`.

    ``first`` is the number of the first row of X, where X is a part of something.
    """
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
        place = (first + place[0], *place[1:])
        found = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}"
        remedy = (
            "Fill in or leave out such rows (scikit-learn's SimpleImputer does)."
            if not np.isfinite(value)
            else f"Values must lie within ±{FLOAT32_MAX:.3g}: rescale the column."
        )
        at = in_words(place, column_names)
        raise DataError(f"{what} holds {found} at {at}. {remedy} Rows count from 0.")


def in_words(place: tuple[int, ...], column_names: Any) -> str:
    """Row and column, or row and pixel."""
    row, *inside = place
    if len(inside) > 1:
        return f"row {row}, pixel {tuple(inside)}"
    column = inside[0] if column_names is None else repr(column_names[inside[0]])
    return f"row {row}, column {column}"


def mean_and_deviation(
    X: Any, axis: int | None, of: Callable[[NDArray[Any]], NDArray[Any]] = lambda x: x
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Mean and deviation of what ``of`` makes of the rows: by column (axis 0), or of all numbers.

    In float64, by the parallel form of Welford's update.
    """
    count, mean, squares = 0, np.float64(0), np.float64(0)
    for _, chunk in chunks(X):
        x = of(dense64(chunk))
        n = x.shape[0] if axis == 0 else x.size
        m = x.mean(axis=axis)
        s = ((x - m) ** 2).sum(axis=axis)
        delta = m - mean
        total = count + n
        squares = squares + s + delta**2 * (count * n / total)
        mean = mean + delta * (n / total)
        count = total
    return np.asarray(mean), np.sqrt(np.asarray(squares) / count)


def low_and_high(X: Any, axis: int | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Smallest and largest number, by column (axis 0) or of all."""
    low, high = np.float64(np.inf), np.float64(-np.inf)
    for _, chunk in chunks(X):
        x = dense64(chunk)
        low = np.minimum(low, x.min(axis=axis))
        high = np.maximum(high, x.max(axis=axis))
    return np.asarray(low), np.asarray(high)


def sample(X: Any, most: int) -> Iterator[Any]:
    """Yield all rows, or so many of them drawn uniformly and always the same, chunk by chunk."""
    n = X.shape[0]
    chosen = np.arange(n)
    if n > most:
        chosen = np.sort(np.random.default_rng(SAMPLE_SEED).choice(n, most, replace=False))
    size = rows_of_chunk(X)
    for start in range(0, len(chosen), size):
        yield X[chosen[start : start + size]]


def dense64(chunk: Any) -> NDArray[np.float64]:
    """Some rows as a plain array in float64."""
    if sparse.issparse(chunk):
        chunk = chunk.toarray()
    return np.asarray(chunk, dtype=np.float64)
