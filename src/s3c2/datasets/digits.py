"""The 1,797 handwritten digits of 8×8 pixels that come with scikit-learn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from s3c2.datasets.dataset import Dataset
from s3c2.datasets.store import Store

N_CLASSES = 10
N_HELD_OUT = 500
SPLIT_SEED = 0  # fixed before any result was seen
BRIGHTEST = 16


def load_digits(*, store: Store | None = None) -> Dataset:
    """Load the digits, pixels in [0, 1]; 500 rows drawn at random are the test part.

    Parameters
    ----------
    store : not used, as no file is needed; here so that all loaders are called alike
    """
    from sklearn.datasets import load_digits as of_sklearn

    bunch = of_sklearn()
    X = (bunch.images / BRIGHTEST).astype(np.float32)  # (rows, 8, 8)
    y = bunch.target.astype(np.int64)
    train, held_out = split_rows(len(y))
    return Dataset(
        "digits",
        X_train=X[train],
        y_train=y[train],
        X_test=X[held_out],
        y_test=y[held_out],
        n_clusters=N_CLASSES,
        source="sklearn.datasets.load_digits",
    )


def split_rows(n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the numbers of the training rows and of the held-out ones, each in order."""
    order = np.random.default_rng(SPLIT_SEED).permutation(n_rows)
    return np.sort(order[N_HELD_OUT:]), np.sort(order[:N_HELD_OUT])
