"""MNIST and Fashion-MNIST: 70,000 grey images of 28×28 pixels in ten classes, 60,000 to train."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s3c2.datasets.dataset import Dataset
from s3c2.datasets.store import Store

N_CLASSES = 10
BRIGHTEST = 255
UNSIGNED_BYTES = b"\x00\x00\x08"  # how an IDX file of them begins; the number of axes follows


def load_mnist(*, store: Store | None = None) -> Dataset:
    """Load MNIST: handwritten digits, pixels in [0, 1].

    Parameters
    ----------
    store : where files are looked for; by default what `Store.of_user` gives
    """
    return _load("mnist", store or Store.of_user())


def load_fashion_mnist(*, store: Store | None = None) -> Dataset:
    """Load Fashion-MNIST: pieces of clothing, pixels in [0, 1].

    Parameters
    ----------
    store : where files are looked for; by default what `Store.of_user` gives
    """
    return _load("fashion-mnist", store or Store.of_user())


def _load(name: str, store: Store) -> Dataset:
    X_train, y_train, X_test, y_test = map(read_idx, store.contents(name))  # the registry's order
    return Dataset(
        name,
        X_train=_scaled(X_train),
        y_train=y_train.astype(np.int64),
        X_test=_scaled(X_test),
        y_test=y_test.astype(np.int64),
        n_clusters=N_CLASSES,
        source=store.files[name][0].name,
    )


def read_idx(content: bytes) -> NDArray[Any]:
    """Read a gzipped IDX file of unsigned bytes: the number of axes, their lengths, the values."""
    raw = gzip.decompress(content)
    if raw[:3] != UNSIGNED_BYTES:
        raise ValueError(f"not an IDX file of unsigned bytes: it begins with {raw[:3]!r}")
    n_axes = raw[3]
    shape = np.frombuffer(raw, ">u4", n_axes, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def _scaled(pixels: NDArray[Any]) -> NDArray[np.float32]:
    return pixels.astype(np.float32) / np.float32(BRIGHTEST)
