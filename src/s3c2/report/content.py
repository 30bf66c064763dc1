"""What the report shows, worked out once from a fitted model, its rows and its links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from s3c2 import published
from s3c2.data.indexing import evenly_spread, rows_of
from s3c2.report.answers import Answers, DoubtedLink
from s3c2.report.figures import Floats

MOST_POINTS = 5_000
TYPICAL_ROWS = 10

Calibration = Literal["none", "neighbors", "done", "failed"]  # of the threshold


@dataclass(frozen=True)
class Content:
    """Numbers behind the page; rows are row numbers of X."""

    names: Sequence[str]
    labels: NDArray[np.integer[Any]]
    probabilities: Floats  # of the row's own cluster
    sizes: NDArray[np.integer[Any]]  # rows in each cluster
    must_distances: Floats
    cannot_distances: Floats
    ml_rate: float | None  # None without must-links
    cl_rate: float | None  # None without cannot-links
    threshold: float
    calibration: Calibration
    points: Floats  # (shown rows, 2)
    shown_rows: NDArray[np.integer[Any]]
    typical: list[NDArray[np.integer[Any]]]  # for each cluster
    doubted: list[DoubtedLink]  # links that may be wrong, the most doubted first


def gather(
    model: Any,
    X: Any,
    links: Any,
    ids: Sequence[Any] | None = None,
    answers: Answers | None = None,
) -> Content:
    """Ask the model everything the report needs.

    Parameters
    ----------
    model : a fitted S3C2
    X : the rows, as given to ``fit``
    links : Links of row numbers of X
    ids : the rows' ids; row numbers when None
    answers : what the model was asked already about these rows and links
    """
    answers = answers or Answers(model, X, links)
    posteriors = answers.posteriors  # (rows, K)
    labels = posteriors.argmax(axis=1)
    probabilities = posteriors.max(axis=1)
    shown_rows = evenly_spread(len(labels), MOST_POINTS)
    must_distances, cannot_distances = answers.distances
    return Content(
        names=[str(name) for name in (ids if ids is not None else range(len(labels)))],
        labels=labels,
        probabilities=probabilities,
        sizes=np.bincount(labels, minlength=posteriors.shape[1]),
        must_distances=np.asarray(must_distances, dtype=float),
        cannot_distances=np.asarray(cannot_distances, dtype=float),
        ml_rate=answers.ml_rate,
        cl_rate=answers.cl_rate,
        threshold=float(model.threshold_),
        calibration=calibration(model),
        points=plane_points(np.asarray(model.transform(rows_of(X, shown_rows)))),
        shown_rows=shown_rows,
        typical=typical_rows(labels, probabilities, posteriors.shape[1]),
        doubted=answers.doubted_links or [],
    )


def calibration(model: Any) -> Calibration:
    """Tell where T is from; a calibration that fails falls back on the published T."""
    if model.labnet_.threshold == "neighbors":
        return "neighbors"
    if model.labnet_.threshold != "auto":
        return "none"
    return "failed" if model.threshold_ == published.THRESHOLD else "done"


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
