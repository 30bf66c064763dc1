"""How well clusters agree with known classes (NMI, ARI, ACC), and labels of pairs with links.

Functions of classes take the true classes first, then the clusters, as two sequences of one
length. The names of classes and clusters do not matter, only who is with whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from s3c2.errors import DataError
from s3c2.links import Links


@dataclass(frozen=True)
class Scores:
    """The three scores that clustering papers print; 1 is perfect agreement."""

    nmi: float
    ari: float
    acc: float


@dataclass(frozen=True)
class Rates:
    """How many pairs are labelled right: of all links, of must-links, of cannot-links.

    The paper's accuracy, r(M) and r(C). A rate of no pairs is NaN.
    """

    accuracy: float
    ml_rate: float
    cl_rate: float

    @classmethod
    def of(
        cls,
        right_must: NDArray[np.bool_],
        right_cannot: NDArray[np.bool_],
        must_weight: NDArray[np.float64] | None = None,
        cannot_weight: NDArray[np.float64] | None = None,
    ) -> Rates:
        """Rates from which must-links and cannot-links are right, each counted by its weight."""
        if must_weight is None or cannot_weight is None:
            must_weight, cannot_weight = np.ones(len(right_must)), np.ones(len(right_cannot))
        return cls(
            _share(
                np.concatenate([right_must, right_cannot]),
                np.concatenate([must_weight, cannot_weight]),
            ),
            _share(right_must, must_weight),
            _share(right_cannot, cannot_weight),
        )


def pair_rates(labels: NDArray[Any], links: Links) -> Rates:
    """Which share of the links (by row number) the clusters respect, weights counted."""
    return Rates.of(
        labels[links.must[:, 0]] == labels[links.must[:, 1]],
        labels[links.cannot[:, 0]] != labels[links.cannot[:, 1]],
        links.must_weight,
        links.cannot_weight,
    )


def _share(right: NDArray[np.bool_], weight: NDArray[np.float64]) -> float:
    return float(np.average(right, weights=weight)) if len(right) else float("nan")


def nmi(truth: ArrayLike, labels: ArrayLike) -> float:
    """Normalised mutual information, divided by the arithmetic mean of the two entropies.

    >>> nmi(["cat", "cat", "dog", "dog"], [1, 1, 0, 0])
    1.0
    """
    return float(normalized_mutual_info_score(*_pair(truth, labels)))


def nmi_geometric(truth: ArrayLike, labels: ArrayLike) -> float:
    """Normalised mutual information, divided by the geometric mean of the two entropies."""
    pair = _pair(truth, labels)
    return float(normalized_mutual_info_score(*pair, average_method="geometric"))


def ari(truth: ArrayLike, labels: ArrayLike) -> float:
    """Adjusted Rand index: agreement over pairs of rows; 0 is what chance gives."""
    return float(adjusted_rand_score(*_pair(truth, labels)))


def acc(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of rows that are right when each cluster is matched to one class, at best.

    >>> acc(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    truth, labels = _pair(truth, labels)
    if len(truth) == 0:
        return 1.0  # as scikit-learn scores two empty clusterings
    counts = contingency_matrix(truth, labels)  # (classes, clusters)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / len(truth))


def evaluate(truth: ArrayLike, labels: ArrayLike) -> Scores:
    """Compute NMI, ARI and ACC at once."""
    return Scores(nmi=nmi(truth, labels), ari=ari(truth, labels), acc=acc(truth, labels))


def _pair(truth: ArrayLike, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    truth, labels = np.asarray(truth), np.asarray(labels)
    if truth.ndim != 1 or truth.shape != labels.shape:
        raise DataError(
            f"Classes and clusters must be two lists of the same length. Got shapes {truth.shape} "
            f"and {labels.shape}; give one class and one cluster for every row."
        )
    return truth, labels
