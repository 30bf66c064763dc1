"""What is thought of some rows at the moment: by a model, or by k-means before there is one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from s3c2.data.indexing import rows_of
from s3c2.data.scaling import choose_scale, learn_scaling
from s3c2.engine.inference import apply_to_rows
from s3c2.networks import members_of

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

MOST_ROWS = 2000  # that questions are chosen from: all pairs of them are compared
REACH = 10  # times the number of clusters: so many well-chosen rows are near to all others
STEEPNESS = 2.0  # of the probability that LabNet calls a pair the same, around T
MOST_COLUMNS = 50  # that k-means looks at


@dataclass(frozen=True)
class View:
    """Opinions about the rows that may be asked about.

    Attributes
    ----------
    rows : (m,) their row numbers
    posteriors : (m, K) probability of each cluster
    codes : representations of the rows, each (m, dimensions): one for each LabNet
    thresholds : T of each representation
    """

    rows: Rows
    posteriors: Floats
    codes: tuple[Floats, ...]
    thresholds: tuple[float, ...]

    @classmethod
    def of_model(cls, model: Any, X: Any, rows: Rows) -> View:
        """What a fitted S3C2 says; each LabNet of a committee has a say."""
        some = rows_of(X, rows)
        read, labnet = model.labnet_._read(some), model.labnet_
        members = members_of(labnet.encoder_)
        codes = tuple(apply_to_rows(one, read, "representing", 0) for one in members)
        posteriors = np.asarray(model.predict_proba(some), dtype=np.float32)
        return cls(rows, posteriors, codes, (float(model.threshold_),) * len(codes))

    @classmethod
    def of_rows(cls, X: Any, rows: Rows, n_clusters: int, seed: int = 0) -> View:
        """What k-means says: a start in no time, for the while before there is a model."""
        some = rows_of(X, rows)
        some = some.to_numpy() if hasattr(some, "to_numpy") else some
        scaled = learn_scaling(choose_scale(some)[0], some).apply(_dense(some))
        code = np.asarray(scaled, dtype=np.float32).reshape(len(rows), -1)
        if code.shape[1] > MOST_COLUMNS:
            most = min(MOST_COLUMNS, *code.shape)
            code = PCA(most, random_state=seed).fit_transform(code).astype(np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than K
            k_means = KMeans(n_clusters, n_init=3, random_state=seed).fit(code)
        d2 = k_means.transform(code).astype(np.float32) ** 2  # (m, K)
        usual = max(float(d2.min(axis=1).mean()), 1e-12)
        odds = np.exp(-(d2 - d2.min(axis=1, keepdims=True)) / usual)
        posteriors = odds / odds.sum(axis=1, keepdims=True)
        return cls(rows, posteriors, (code,), (2 * usual,))

    @property
    def n_clusters(self) -> int:
        return int(self.posteriors.shape[1])

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """The most probable cluster of each row."""
        return np.asarray(self.posteriors.argmax(axis=1))

    @cached_property
    def same(self) -> Floats:
        """(m, m) probability that two rows are the same: the mean of CluNet and the LabNets."""
        opinions = self.posteriors @ self.posteriors.T
        for code, threshold in zip(self.codes, self.thresholds):
            ratio = squared_distances(code) / max(threshold, 1e-12)
            opinions += 1 / (1 + ratio**STEEPNESS)
        return np.asarray(opinions / (1 + len(self.codes)), dtype=np.float32)

    @cached_property
    def near(self) -> Floats:
        """(m, m) how much the answer about a row says about another; 1 of itself."""
        d2 = np.mean([squared_distances(code) for code in self.codes], axis=0)
        last = min(max(3, len(d2) // (REACH * self.n_clusters)), len(d2) - 1)
        width = np.sqrt(np.partition(d2, last, axis=1)[:, last]).clip(min=1e-6)
        return np.asarray(np.exp(-d2 / np.outer(width, width)), dtype=np.float32)

    @cached_property
    def typical(self) -> dict[int, int]:
        """The place of the most typical row of each cluster that has rows."""
        places = {cluster: np.flatnonzero(self.labels == cluster) for cluster in
                  range(self.n_clusters)}  # fmt: skip
        return {
            cluster: int(inside[self.near[np.ix_(inside, inside)].sum(axis=1).argmax()])
            for cluster, inside in places.items()
            if len(inside)
        }


def sample_rows(n_rows: int, seed: int) -> Rows:
    """The rows that may be asked about: all, or MOST_ROWS of them."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, MOST_ROWS, replace=False))


def squared_distances(code: Floats) -> Floats:
    """(m, m) of all pairs."""
    squares = np.square(code).sum(axis=1)
    d2 = squares[:, None] + squares - 2 * code @ code.T
    np.fill_diagonal(d2, 0)
    return np.asarray(np.maximum(d2, 0))


def _dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
