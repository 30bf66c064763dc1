"""The paper's four data sets, and digits, which come with scikit-learn.

>>> from s3c2.datasets import load_digits
>>> digits = load_digits()
>>> digits.X_train.shape, digits.X_test.shape, digits.n_clusters
((1297, 8, 8), (500, 8, 8), 10)

Files are looked for in the folder that ``S3C2_DATA`` names, then in the user's cache folder, and
downloaded into the latter if they are in neither (`Store`). Names are imported when they are first
used, so that the command line's help does not wait for numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s3c2.datasets.dataset import Dataset, load
    from s3c2.datasets.digits import load_digits
    from s3c2.datasets.images import load_fashion_mnist, load_mnist
    from s3c2.datasets.letters import load_letters
    from s3c2.datasets.registry import NAMES
    from s3c2.datasets.reuters import load_reuters
    from s3c2.datasets.store import Store

_HOME = {
    "Dataset": "dataset",
    "NAMES": "registry",
    "Store": "store",
    "load": "dataset",
    "load_digits": "digits",
    "load_fashion_mnist": "images",
    "load_letters": "letters",
    "load_mnist": "images",
    "load_reuters": "reuters",
}

__all__ = [
    "NAMES",
    "Dataset",
    "Store",
    "load",
    "load_digits",
    "load_fashion_mnist",
    "load_letters",
    "load_mnist",
    "load_reuters",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 's3c2.datasets' has no attribute {name!r}")
    return getattr(importlib.import_module(f"s3c2.datasets.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
