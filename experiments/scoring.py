"""Scores of fitted models on the test part: clusters against classes, LabNet against true pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import NotFittedError
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils.validation import check_is_fitted

from s3c2 import Links, losses, metrics
from s3c2.distances import are_must_links

TEST_PAIRS = 200_000
PAIR_SEED = 20_260  # the same pairs for every model of a data set
CHUNK = 20_000  # pairs compared at a time
BINS = 15  # of the calibration error


def test_pairs(y_test: np.ndarray) -> Links:
    """Distinct pairs of test rows, uniformly drawn: 200,000, or all if there are fewer."""
    all_pairs = len(y_test) * (len(y_test) - 1) // 2
    return Links.from_labels(
        y_test, min(TEST_PAIRS, all_pairs), must_share=None, random_state=PAIR_SEED
    )


def scores(
    models: Sequence[Any], X_test: np.ndarray, y_test: np.ndarray, pairs: Links
) -> list[dict[str, Any]]:
    """The columns ``ledger.SCORES`` and the steps of each model; none if it diverged."""
    distances: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    return [
        _scores(model, X_test, y_test, pairs, distances) if _fitted(model) else {}
        for model in models
    ]


def _scores(model, X_test, y_test, pairs, distances) -> dict[str, Any]:
    labels = model.predict(X_test)
    row = {
        "nmi": metrics.nmi(y_test, labels),
        "nmi_geometric": metrics.nmi_geometric(y_test, labels),
        "ari": metrics.ari(y_test, labels),
        "acc": metrics.acc(y_test, labels),
    }
    if hasattr(model, "labnet_"):
        encoder = id(model.labnet_.encoder_)  # models with other thresholds share it
        if encoder not in distances:
            distances[encoder] = pair_distances(model.labnet_, X_test, pairs)
        must, cannot = (are_must_links(d2, model.threshold_) for d2 in distances[encoder])
        rates = metrics.Rates.of(must, ~cannot)
        row |= {
            "accuracy": rates.accuracy,
            "balanced_accuracy": (rates.ml_rate + rates.cl_rate) / 2,
            "ml_rate": rates.ml_rate,
            "cl_rate": rates.cl_rate,
        }
    row = {name: round(value, 5) for name, value in row.items()}
    return row | {"clusters_used": len(np.unique(labels))} | steps(model.history_)


def calibration(model: Any, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, float]:
    """The column ``ece``; none if the model diverged."""
    if not _fitted(model):
        return {}
    return {"ece": round(calibration_error(y_test, model.predict_proba(X_test)), 5)}


def calibration_error(y: np.ndarray, p: np.ndarray) -> float:
    """Expected calibration error: how far the largest probability is from the share that is right.

    Clusters are matched to classes as in ``metrics.acc``. The rows fall into 15 bins of equal width
    by their largest probability; the error is the mean over bins of |share right − mean
    probability|, weighted by their rows.

    Parameters
    ----------
    y : (n,) classes
    p : (n, clusters) probabilities
    """
    classes, clusters = np.unique(y), np.unique(p.argmax(1))
    counts = contingency_matrix(y, p.argmax(1))  # (classes, clusters)
    of_class, of_cluster = linear_sum_assignment(counts, maximize=True)
    class_of = dict(zip(clusters[of_cluster], classes[of_class]))
    right = np.array([class_of.get(c) == k for c, k in zip(p.argmax(1), y)], dtype=float)
    top = p.max(1).astype(float)
    bins = np.minimum((top * BINS).astype(int), BINS - 1)
    rows, sure, correct = (
        np.bincount(bins, weights, BINS) for weights in (np.ones(len(y)), top, right)
    )
    return float(np.abs(correct - sure).sum() / rows.sum())


def suspicion(model: Any, links: Links, y: np.ndarray) -> dict[str, float]:
    """Columns ``found_10`` and ``found_20``; none if no link is wrong or the model names none."""
    wrong = {
        *map(_pair, links.must[y[links.must[:, 0]] != y[links.must[:, 1]]]),
        *map(_pair, links.cannot[y[links.cannot[:, 0]] == y[links.cannot[:, 1]]]),
    }
    suspicious = getattr(model, "suspicious_links_", None)
    if not wrong or suspicious is None:
        return {}
    order = list(map(_pair, suspicious))
    return {
        f"found_{percent}": round(
            len(wrong.intersection(order[: links.n_links * percent // 100])) / len(wrong), 5
        )
        for percent in (10, 20)
    }


def _pair(ends: Any) -> tuple[int, int]:
    return min(map(int, ends)), max(map(int, ends))


def pair_distances(labnet: Any, X: np.ndarray, pairs: Links) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances of must-links and of cannot-links. A row goes through LabNet once."""
    h = torch.from_numpy(labnet.transform(X)).to(next(labnet.encoder_.parameters()).device)
    must, cannot = (
        torch.cat(
            [
                losses.squared_distance(h[chunk[:, 0]], h[chunk[:, 1]])
                for chunk in torch.tensor(ends, device=h.device).split(CHUNK)
            ]
        ).cpu().numpy()
        for ends in (pairs.must, pairs.cannot)
    )  # fmt: skip
    return must, cannot


def steps(history: dict[str, Any]) -> dict[str, int]:
    """Steps of all stages together, and of LabNet if the method has one."""
    stages = {"only": history} if "loss" in history else history
    lengths = {stage: len(terms["loss"]) for stage, terms in stages.items()}
    counted = {"steps": sum(lengths.values())}
    return counted | ({"labnet_steps": lengths["labnet"]} if "labnet" in lengths else {})


def _fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True
