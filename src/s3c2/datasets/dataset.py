"""What a loader gives, and loading by name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from s3c2.datasets.registry import NAMES
from s3c2.errors import DatasetError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from s3c2.datasets.store import Store

_MODULES = {"mnist": "images", "fashion-mnist": "images"}  # the others are called as their set


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class Dataset:
    """A data set in its training and its test part.

    Attributes
    ----------
    name : "mnist", "fashion-mnist", "letters", "reuters" or "digits"
    X_train, X_test : float32 arrays of shape (rows, height, width) for images with pixels in
        [0, 1], (rows, columns) for the others
    y_train, y_test : int64 arrays of shape (rows,), classes 0 … n_clusters − 1
    n_clusters : number of classes
    source : where the rows come from, for tables of results: a file, or a function of scikit-learn
    """

    name: str
    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    n_clusters: int
    source: str

    def __repr__(self) -> str:
        rows = f"{len(self.X_train):,} + {len(self.X_test):,} rows of {self.X_train.shape[1:]}"
        return f"Dataset({self.name}: {rows}, {self.n_clusters} classes, from {self.source})"


def load(name: str, *, store: Store | None = None) -> Dataset:
    """Load a data set by its name, as ``load_mnist`` and the others do.

    Parameters
    ----------
    name : one of `NAMES`, in any case
    store : where files are looked for; by default what `Store.of_user` gives
    """
    given, name = name, str(name).lower().replace("_", "-")
    if name not in NAMES:
        raise DatasetError(f"There is no data set {given!r}. Choose one of {', '.join(NAMES)}.")
    module = importlib.import_module(f"s3c2.datasets.{_MODULES.get(name, name)}")
    dataset: Dataset = getattr(module, f"load_{name.replace('-', '_')}")(store=store)
    return dataset
