"""Reuters: 12,000 news stories of RCV1 (Lewis et al. 2004) in four root topics.

The paper draws 10,000 stories to train and 2,000 to test from the four roots, on the 2,000 most
frequent words, and says no more. Chosen here: stories that carry exactly one of the four roots,
drawn with a fixed seed; the words found in most stories of the training part; each story's tf-idf
weights of these words scaled to length √2000, so that a column's mean square is about 1.

The stories come from the file ``reuters/rcv1-four-roots.npz`` (23,428 of them) where it is there,
otherwise from all 804,414 of scikit-learn's ``fetch_rcv1``. The features are the same, the sample
is not: ``source`` tells which it was.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s3c2.datasets.dataset import Dataset
from s3c2.datasets.store import Store
from s3c2.errors import DatasetError

ROOTS = ("CCAT", "ECAT", "GCAT", "MCAT")  # corporate, economics, government, markets
N_TRAIN = 10_000
N_TEST = 2_000
N_WORDS = 2_000
SAMPLE_SEED = 0
FETCH_RCV1 = "fetch_rcv1"


def load_reuters(*, store: Store | None = None) -> Dataset:
    """Load 10,000 + 2,000 stories of four root topics as tf-idf rows of 2,000 words.

    Parameters
    ----------
    store : where files are looked for; by default what `Store.of_user` gives
    """
    store = store or Store.of_user()
    store.check_given()
    (file,) = store.files["reuters"]
    if store.find(file):
        X, y = _from_file(store.read(file))
        return _sample(X, y, source=file.base)
    X, y = _from_rcv1(_fetch_rcv1(store))
    return _sample(X, y, source=FETCH_RCV1)


def fetch_reuters(store: Store) -> Path:
    """Let RCV1 be downloaded if neither it nor the file is there, and say which of them is."""
    store.check_given()
    (file,) = store.files["reuters"]
    if path := store.find(file):
        store.read(file)
        return path
    if not rcv1_is_there():
        _fetch_rcv1(store)
    return rcv1_folder()


def rcv1_folder() -> Path:
    """Where scikit-learn keeps RCV1."""
    home = os.environ.get("SCIKIT_LEARN_DATA", os.path.join("~", "scikit_learn_data"))
    return Path(home).expanduser() / "RCV1"


def rcv1_is_there() -> bool:
    """Whether scikit-learn has downloaded RCV1; the topics are what it writes last."""
    return any(rcv1_folder().glob("topics_names*.pkl"))


def _fetch_rcv1(store: Store) -> Any:
    """Let scikit-learn give RCV1, which it downloads and keeps in its own data folder."""
    from sklearn.datasets import fetch_rcv1

    (file,) = store.files["reuters"]
    try:
        with _progress(store.verbose):
            return fetch_rcv1()
    except OSError as error:
        cause = getattr(error, "reason", error)  # of an URLError
        reason = getattr(cause, "strerror", None) or cause
        raise DatasetError(
            f"{file.name} is missing, and scikit-learn's fetch_rcv1 could not get RCV1 "
            f"({reason}). {store.where_to_put(file)}"
        ) from error
    except (EOFError, ValueError, zlib.error) as error:  # what it wrote before was cut short
        raise DatasetError(
            f"{rcv1_folder()} is damaged ({error}). "
            f"Delete it, then 's3c2 data fetch reuters' downloads RCV1 anew."
        ) from error


def _from_file(content: bytes) -> tuple[Any, NDArray[np.int64]]:
    from scipy.sparse import csr_array

    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        X = csr_array(
            (arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"])
        )
        return X, arrays["target"].astype(np.int64)


def _from_rcv1(rcv1: Any) -> tuple[Any, NDArray[np.int64]]:
    """Keep the stories that carry exactly one of the four roots."""
    columns = [list(rcv1.target_names).index(root) for root in ROOTS]
    carries = rcv1.target[:, columns].toarray()  # (stories, 4) of 0 and 1
    one = np.flatnonzero(carries.sum(axis=1) == 1)
    return rcv1.data[one], carries[one].argmax(axis=1).astype(np.int64)


def _sample(X: Any, y: NDArray[np.int64], *, source: str) -> Dataset:
    """Draw the stories, choose the words, and scale the rows."""
    # RandomState, because its numbers are promised to stay the same in all versions of numpy.
    drawn = np.random.RandomState(SAMPLE_SEED).permutation(len(y))[: N_TRAIN + N_TEST]
    X, y = X[drawn], y[drawn]
    found_in = np.bincount(X[:N_TRAIN].indices, minlength=X.shape[1])  # stories with each word
    words = np.sort(np.argsort(-found_in, kind="stable")[:N_WORDS])
    rows = X[:, words].toarray().astype(np.float32)  # (12,000, 2,000)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows *= np.sqrt(N_WORDS) / np.where(length > 0, length, 1)  # a story without words stays 0
    return Dataset(
        "reuters",
        X_train=rows[:N_TRAIN],
        y_train=y[:N_TRAIN],
        X_test=rows[N_TRAIN:],
        y_test=y[N_TRAIN:],
        n_clusters=len(ROOTS),
        source=source,
    )


@contextmanager
def _progress(verbose: int) -> Iterator[None]:
    """Show on stderr what scikit-learn logs: one line for each file that it downloads."""
    if not verbose or rcv1_is_there():
        yield
        return
    print(f"Downloading RCV1, about 650 MB, into {rcv1_folder()}", file=sys.stderr, flush=True)
    logger = logging.getLogger("sklearn.datasets")
    handler = logging.StreamHandler(sys.stderr)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
