"""Data sets on which no setting of S3C2 was chosen, all at hand without a download.

Three come with scikit-learn, as do the digits of ``s3c2.datasets``. Three are parts of the paper's
sets with classes of their own choice: their rows are known, the task is not. A third of the rows is
held out; of the digits 500 of 1,797.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets as of_sklearn
from sklearn.model_selection import train_test_split

from s3c2.datasets import Dataset, load

MOST_ROWS = 3000  # of a part of a larger set: these runs are for a CPU
SPLIT_SEED = 0


def _bundled(name: str) -> tuple[Any, Any, str]:
    X, y = getattr(of_sklearn, name)(return_X_y=True)
    return X, y, f"sklearn.datasets.{name}"


def _part(name: str, classes: tuple[int, ...]) -> tuple[Any, Any, str]:
    """Rows of these classes from the training part of a set, MOST_ROWS at most."""
    whole = load(name)
    rows = np.flatnonzero(np.isin(whole.y_train, classes))
    if len(rows) > MOST_ROWS:
        rows = np.random.default_rng(SPLIT_SEED).choice(rows, MOST_ROWS, replace=False)
    of = ", ".join(map(str, classes))
    return whole.X_train[rows], whole.y_train[rows], f"{whole.source}, classes {of}"


# name → how it is shown, and what gives its rows
OTHERS: dict[str, tuple[str, Callable[[], tuple[Any, Any, str]]]] = {
    "iris": ("Iris", lambda: _bundled("load_iris")),
    "wine": ("Wine", lambda: _bundled("load_wine")),
    "breast-cancer": ("Breast cancer", lambda: _bundled("load_breast_cancer")),
    "vowels": ("Letters, vowels", lambda: _part("letters", (0, 4, 8, 14, 20))),
    "footwear": ("Fashion-MNIST, footwear", lambda: _part("fashion-mnist", (5, 7, 9))),
    "mnist-0-4": ("MNIST, 0 to 4", lambda: _part("mnist", (0, 1, 2, 3, 4))),
}


def load_other(name: str) -> Dataset:
    """One of OTHERS. Images come as vectors."""
    X, y, source = OTHERS[name][1]()
    X = np.asarray(X, np.float32).reshape(len(X), -1)
    classes, y = np.unique(y, return_inverse=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=1 / 3, stratify=y, random_state=SPLIT_SEED
    )
    return Dataset(name, X_train, y_train, X_test, y_test, len(classes), source)
