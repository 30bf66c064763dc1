"""Letters (Frey and Slate 1991): 20,000 distorted capitals, described by 16 numbers each."""

from __future__ import annotations

import numpy as np

from s3c2.datasets.dataset import Dataset
from s3c2.datasets.store import Store

N_CLASSES = 26
N_TRAIN = 15_000  # paper: the first rows train


def load_letters(*, store: Store | None = None) -> Dataset:
    """Load Letters, every column standardised by its mean and deviation in the training part.

    Parameters
    ----------
    store : where files are looked for; by default what `Store.of_user` gives
    """
    store = store or Store.of_user()
    (content,) = store.contents("letters")
    rows = [line.split(",") for line in content.decode("ascii").split()]  # "T,2,8,3,…"
    y = np.array([ord(letter) - ord("A") for letter, *_ in rows], dtype=np.int64)
    X = np.array([numbers for _, *numbers in rows], dtype=np.float64)  # (rows, 16), 0 … 15
    train = X[:N_TRAIN]
    X = (X - train.mean(axis=0)) / train.std(axis=0)
    return Dataset(
        "letters",
        X_train=X[:N_TRAIN].astype(np.float32),
        y_train=y[:N_TRAIN],
        X_test=X[N_TRAIN:].astype(np.float32),
        y_test=y[N_TRAIN:],
        n_clusters=N_CLASSES,
        source=store.files["letters"][0].base,
    )
