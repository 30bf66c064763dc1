"""X as something whose rows can be picked, whatever it was given as, and some to pick."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor


def indexable(X: Any) -> Any:
    """X as an array, a CSR matrix or a DataFrame; what is none of these stays as it is."""
    if isinstance(X, Tensor):
        return _array(X)
    if sparse.issparse(X):
        return X.tocsr()
    if isinstance(X, list | tuple):
        rows = [_array(row) if isinstance(row, Tensor) else row for row in X]
        try:
            made = np.asarray(rows)
        except ValueError:  # rows of different lengths: scikit-learn says so
            return X
        return made if made.ndim >= 2 and made.dtype.kind in "fiub" else X
    return X


def rows_of(X: Any, rows: NDArray[np.integer[Any]]) -> Any:
    """Some rows of what ``indexable`` gave."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def evenly_spread(n_rows: int, most: int) -> NDArray[np.integer[Any]]:
    """All rows, or where there are more than ``most``, so many spread evenly over the data."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, most).astype(np.intp)


def _array(X: Tensor) -> NDArray[Any]:
    X = X.detach().cpu()
    if X.layout != torch.strided:
        X = X.to_dense()
    if X.dtype == torch.bfloat16:  # NumPy has no such type
        X = X.float()
    made: NDArray[Any] = X.numpy()
    return made
