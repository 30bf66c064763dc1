"""The scale of counts and tf-idf: where a row points among the main directions of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from s3c2.data.passes import sample
from s3c2.data.straight import Shape
from s3c2.errors import DataError

DIMENSIONS = 64
SAMPLED = 100_000  # rows that the directions are learned from
SEED = 0
LEAST = 1e-6  # of the first singular value: what is below is rounding; of a row's length too


@dataclass(frozen=True)
class Topics:
    """Rows of length 1, projected by a truncated SVD, brought to a mean square of 1.

    Attributes
    ----------
    idf : (columns,) for counts, whose log(1 + x) is weighted by it; () where columns stay as given
    projection : (columns, dimensions)
    """

    KINDS: ClassVar = ("topics",)

    kind: str
    idf: NDArray[np.float64]
    projection: NDArray[np.float64]

    @classmethod
    def learn(cls, kind: str, X: Any) -> Topics:
        """Learn it from X, from a sample where there are more than SAMPLED rows."""
        if X.ndim > 2:
            raise DataError(
                f"scale='{kind}' is for tables of counts or tf-idf, and X holds images. Use "
                "scale='auto', or 'together'."
            )
        x = sparse.vstack([_sparse(part) for part in sample(X, SAMPLED)], format="csr")
        n, columns = x.shape
        idf = np.ones(())
        if _are_counts(x):
            in_rows = np.bincount(x.indices, minlength=columns)
            idf = np.log((1 + n) / (1 + in_rows)) + 1
        most = max(1, min(DIMENSIONS, min(n, columns) - 1))
        with threadpool_limits(limits=1, user_api="blas"):  # the same bits on any number of cores
            _, sizes, directions = randomized_svd(_weighted(x, idf), most, random_state=SEED)
        kept = sizes > LEAST * sizes[0]
        kept[0] = True  # also of rows that are all zeros
        return cls(kind, idf, np.ascontiguousarray(directions[kept].T))

    def apply(self, x: Any) -> NDArray[Any]:
        # As a sparse product a row comes out the same alone, in any batch, and of a dense X.
        y = _weighted(_sparse(x), self.idf) @ self.projection  # (rows, dimensions)
        length = np.sqrt((y * y).sum(axis=1, keepdims=True))
        there = length > LEAST
        scaled: NDArray[Any] = np.where(there, y / np.where(there, length, 1.0), 0.0)
        scaled *= np.sqrt(y.shape[1])
        return scaled

    def shape(self, of_row: tuple[int, ...]) -> tuple[int, ...]:
        return (self.projection.shape[1],)

    @classmethod
    def shapes(cls, of_row: tuple[int, ...]) -> dict[str, list[Shape]]:
        return {"idf": [(), of_row], "projection": [(of_row[0], None)]}


def _sparse(x: Any) -> Any:
    """Rows as a sparse matrix of their own, without the zeros that may be stored in one."""
    if sparse.issparse(x):
        x = sparse.csr_matrix(x, dtype=np.float64, copy=True)
        x.sum_duplicates()
        x.eliminate_zeros()
        return x
    return sparse.csr_matrix(np.asarray(x, dtype=np.float64))


def _are_counts(x: Any) -> bool:
    return bool((x.data >= 0).all() and (x.data == np.floor(x.data)).all())


def _weighted(x: Any, idf: NDArray[np.float64]) -> Any:
    """Each row, weighted if it holds counts, divided by its length; changes x."""
    if idf.ndim:
        x.data = np.log1p(np.maximum(x.data, 0.0)) * idf[x.indices]
    filled = np.diff(x.indptr)
    # Numbers as large as float32 holds have squares that float64 holds.
    squares = np.bincount(np.repeat(np.arange(len(filled)), filled), x.data**2, len(filled))
    length = np.sqrt(squares)
    x.data /= np.repeat(np.where(length > 0, length, 1.0), filled)
    return x
