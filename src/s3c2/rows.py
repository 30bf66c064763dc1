"""The rows of X, whatever X is, handed out as float32 batches.

X stays what it was (dense, sparse, memory-mapped, integer or float) until a batch of rows is
drawn: only the batch is made dense, scaled and turned into float32.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from s3c2.errors import DataError
from s3c2.kernels import has_kernels, take_rows

FLOAT32_MAX = float(np.finfo(np.float32).max)
RESIDENT_SHARE = 0.4  # of a GPU's free memory, for X
PINNED_SHARE = 0.25  # of the host's free memory: torch rounds up to a power of two
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


class Rows:
    """The rows of a validated X.

    Parameters
    ----------
    X : array (n, d), (n, h, w) or (n, c, h, w), or CSR matrix (n, d)
    shape : the shape in which a row is handed out
    scaling : Scaling, optional
    device : torch.device
    numbers : the rows of X that are meant, by default all
    """

    def __init__(
        self,
        X: Any,
        shape: tuple[int, ...],
        scaling: Scaling | None = None,
        device: torch.device | str = "cpu",
        numbers: NDArray[np.int64] | None = None,
    ) -> None:
        self.X = X
        self.shape = shape
        self.scaling = scaling
        self.device = torch.device(device)
        self.numbers = numbers
        self.n = int(X.shape[0]) if numbers is None else len(numbers)
        self.resident: Tensor | None = None  # all rows where a GPU can take them
        self.half: Tensor | None = None  # and in bfloat16, for products in it
        self.taken: Tensor | None = None  # the one of both that batches are taken from

    def take(self, index: NDArray[np.int64]) -> Tensor:
        """Rows by number, any order, repeats allowed: (len(index), *shape), float32."""
        return self._tensor(self.X[index if self.numbers is None else self.numbers[index]])

    def take_replicas(self, index: Tensor) -> Tensor:
        """Rows by number for each replica: (replicas, rows) → (replicas, rows, *shape)."""
        if self.taken is not None:
            return take_rows(self.taken, index)
        return self.take(index.flatten().cpu().numpy()).view(*index.shape, *self.shape)

    def settle(self, precision: str = "float32") -> bool:
        """Lay all rows where a step on a GPU can take them by itself; whether they lie there.

        That is the GPU's memory if they fit beside the work there, otherwise pinned memory of the
        host, which the GPU reads row by row. Rows that fit into neither stay what they are.
        """
        if self.device.type != "cuda":
            return False
        if self.resident is None:
            self.resident = self._laid_out()
        if self.resident is None:
            return False
        if precision == "bf16" and self.half is None:
            half = self.resident.bfloat16()
            self.half = half if half.is_cuda else half.pin_memory()
        self.taken = self.half if precision == "bf16" else self.resident
        return True

    def _laid_out(self) -> Tensor | None:
        values = self.n * int(np.prod(self.shape))
        if 6 * values <= RESIDENT_SHARE * torch.cuda.mem_get_info(self.device)[0]:
            place: dict[str, Any] = {"device": self.device}
        elif has_kernels() and 6 * values <= PINNED_SHARE * _free_memory():
            place = {"pin_memory": True}
        else:
            return None
        rows = torch.empty(self.n, *self.shape, **place)
        step = max(1, CHUNK_BYTES // (4 * int(np.prod(self.shape))))
        for start in range(0, self.n, step):
            stop = min(start + step, self.n)
            rows[start:stop] = self.block(start, stop)
        return rows

    def block(self, start: int, stop: int) -> Tensor:
        """Rows start … stop − 1."""
        if self.resident is not None:
            return self.resident[start:stop].to(self.device)
        if self.numbers is None:
            return self._tensor(self.X[start:stop])
        return self._tensor(self.X[self.numbers[start:stop]])

    def subset(self, index: NDArray[np.int64]) -> Rows:
        """These rows alone, numbered from 0; nothing is copied."""
        numbers = index if self.numbers is None else self.numbers[index]
        return Rows(self.X, self.shape, self.scaling, self.device, numbers)

    def _tensor(self, x: Any) -> Tensor:
        if sparse.issparse(x):
            x = x.toarray()
        if self.scaling is not None:
            x = self.scaling.apply(x)
        x = np.asarray(x, dtype=np.float32)
        if x.base is not None:  # a view of what the caller gave, which no network may write to
            x = x.copy()
        return torch.from_numpy(x).to(self.device).reshape(len(x), *self.shape)


def _free_memory() -> int:
    """Bytes of the host's memory that are free, or 0 where the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def chunks(X: Any) -> Iterator[tuple[int, Any]]:
    """Yield (first row number, rows) with at most about CHUNK_BYTES of X in each."""
    row_bytes = max(1, int(np.prod(X.shape[1:])) * 8)
    size = max(1, CHUNK_BYTES // row_bytes)
    for start in range(0, X.shape[0], size):
        yield start, X[start : start + size]


def check_finite(X: Any, column_names: Any = None) -> None:
    """Refuse NaN, infinity and what float32 cannot hold, naming the first place."""
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
        what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}"
        remedy = (
            "Fill in or leave out such rows (scikit-learn's SimpleImputer does)."
            if not np.isfinite(value)
            else f"Values must lie within ±{FLOAT32_MAX:.3g}: rescale the column."
        )
        raise DataError(f"X holds {what} at row {row}, {where}. {remedy}")


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
