"""Choosing settings by links that the model did not see."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from s3c2.fitting import check_links
from s3c2.links import Links
from s3c2.metrics import pair_rates
from s3c2.surface import LinkClusterer


@dataclass(frozen=True)
class LinkScores:
    """Scores of each fold.

    Attributes
    ----------
    accuracy : (k,) share of held-out links that the clusters respect
    ml_rate, cl_rate : (k,) the same for must-links and for cannot-links; NaN where none
    n_held_out : (k,) number of held-out links
    fit_seconds : (k,)
    """

    accuracy: NDArray[np.float64]
    ml_rate: NDArray[np.float64]
    cl_rate: NDArray[np.float64]
    n_held_out: NDArray[np.int64]
    fit_seconds: NDArray[np.float64]

    def __str__(self) -> str:
        return (
            f"accuracy {self.accuracy.mean():.3f} ± {self.accuracy.std():.3f}, "
            f"ML rate {_mean(self.ml_rate)}, CL rate {_mean(self.cl_rate)} "
            f"on {self.n_held_out.sum()} held-out links in {len(self.accuracy)} folds"
        )


def cross_validate_links(
    model: Any,
    X: Any,
    links: Links,
    k: int = 5,
    *,
    sample_id: Any = None,
    random_state: Any = None,
) -> LinkScores:
    """Fit on all rows and all links but a fold, and score on that fold; k times.

    Links are held out by connected component, so that those left do not imply the answer. All rows
    stay, unlike in cross-validation over rows, whose folds keep only a few per cent of the links.

    Parameters
    ----------
    model : S3C2 or an estimator like it; it is cloned, not changed
    X : rows
    links : Links
    k : number of folds
    sample_id : the rows' ids, if the links speak of ids
    random_state : how folds are drawn

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import S3C2, CluNet, LabNet, Links, cross_validate_links
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> links = Links.from_labels(y, 200, random_state=0)
    >>> short = {"labnet": LabNet(steps=100), "clunet": CluNet(steps=100)}
    >>> model = S3C2(3, **short, layers=(64, 16), random_state=0)
    >>> scores = cross_validate_links(model, X, links, k=2, random_state=0)
    >>> scores.accuracy.shape
    (2,)
    >>> bool(scores.accuracy.min() > 0.8)
    True
    """
    check_links(links)
    if not isinstance(model, LinkClusterer):
        raise TypeError(
            "cross_validate_links compares clusters with links: the model must be an S3C2 or a "
            f"baseline. Got {type(model).__name__}."
        )
    links = links.check_consistent(model.contradictions)  # what is dropped is not scored, either
    rows = []
    for train, held_out in links.split(k, random_state=random_state):
        began = time.perf_counter()
        fitted = clone(model).fit(X, links=train, sample_id=sample_id)
        seconds = time.perf_counter() - began
        # The labels of fit are those of predict; scoring them spares a pass over X.
        held_out = held_out.resolve(len(fitted.labels_), sample_id)
        rates = pair_rates(fitted.labels_, held_out)
        rows.append((rates.accuracy, rates.ml_rate, rates.cl_rate, held_out.n_links, seconds))
    accuracy, ml_rate, cl_rate, n_held_out, fit_seconds = map(np.array, zip(*rows))
    return LinkScores(accuracy, ml_rate, cl_rate, n_held_out, fit_seconds)


def _mean(rates: NDArray[np.float64]) -> str:
    """Over the folds that have such links."""
    known = rates[~np.isnan(rates)]
    return f"{known.mean():.3f}" if len(known) else "–"
