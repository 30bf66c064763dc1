"""What the report shows, worked out once from a fitted model, its rows and its links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from s3c2.report.figures import Floats

MOST_POINTS = 5_000
TYPICAL_ROWS = 10


@dataclass(frozen=True)
class Content:
    """Numbers behind the page; rows are row numbers of X."""

    names: Sequence[str]
    labels: NDArray[np.integer[Any]]
    probabilities: Floats  # of the row's own cluster
    sizes: NDArray[np.integer[Any]]  # rows in each cluster
    must_distances: Floats
    cannot_distances: Floats
    threshold: float
    points: Floats  # (shown rows, 2)
    shown_rows: NDArray[np.integer[Any]]
    typical: list[NDArray[np.integer[Any]]]  # for each cluster

    @property
    def ml_rate(self) -> float | None:
        """Share of the must-links with d² < T; None without must-links."""
        d = self.must_distances
        return float((d < self.threshold).mean()) if len(d) else None

    @property
    def cl_rate(self) -> float | None:
        """Share of the cannot-links with d² ≥ T; None without cannot-links."""
        d = self.cannot_distances
        return float((d >= self.threshold).mean()) if len(d) else None


def gather(model: Any, X: Any, links: Any, ids: Sequence[Any] | None = None) -> Content:
    """Ask the model everything the report needs.

    Parameters
    ----------
    model : a fitted S3C2
    X : the rows, as given to ``fit``
    links : Links of row numbers of X
    ids : the rows' ids; row numbers when None
    """
    posteriors = np.asarray(model.predict_proba(X))  # (rows, K)
    labels = posteriors.argmax(axis=1)
    probabilities = posteriors.max(axis=1)
    shown_rows = plane_rows(len(labels))
    return Content(
        names=[str(name) for name in (ids if ids is not None else range(len(labels)))],
        labels=labels,
        probabilities=probabilities,
        sizes=np.bincount(labels, minlength=posteriors.shape[1]),
        must_distances=link_distances(model, X, links.must),
        cannot_distances=link_distances(model, X, links.cannot),
        threshold=float(model.threshold_),
        points=plane_points(np.asarray(model.transform(X[shown_rows]))),
        shown_rows=shown_rows,
        typical=typical_rows(labels, probabilities, posteriors.shape[1]),
    )


def link_distances(model: Any, X: Any, pairs: NDArray[np.integer[Any]]) -> Floats:
    """Squared distances between the two rows of each pair."""
    pairs = np.asarray(pairs)
    if len(pairs) == 0:
        return np.empty(0)
    return np.asarray(model.labnet_.distance(X[pairs[:, 0]], X[pairs[:, 1]]), dtype=float)


def plane_rows(n_rows: int) -> NDArray[np.integer[Any]]:
    """Choose the rows to draw: all, or 5,000 spread evenly over the data."""
    if n_rows <= MOST_POINTS:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, MOST_POINTS).astype(np.intp)


def plane_points(representation: Floats) -> Floats:
    """Project onto the first two principal components, (rows, 2)."""
    n_components = min(2, *representation.shape)
    centred = representation - representation.mean(axis=0)
    if n_components == 0 or not centred.any():
        return np.zeros((len(representation), 2))
    points = PCA(n_components, random_state=0).fit_transform(centred)
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def typical_rows(
    labels: NDArray[np.integer[Any]], probabilities: Floats, n_clusters: int
) -> list[NDArray[np.integer[Any]]]:
    """List each cluster's rows of highest probability, the best first."""
    order = np.argsort(-probabilities, kind="stable")
    ranked = labels[order]
    return [order[ranked == cluster][:TYPICAL_ROWS] for cluster in range(n_clusters)]
