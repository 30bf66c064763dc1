"""T from the clusters of LabNet's representation, or from links that a LabNet did not see.

For the second: the paper advises to secure the CL rate first and only then to care about the ML
rate. So T is the largest one whose out-of-fold CL rate is at least 95 %.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

from s3c2 import published
from s3c2.distances import link_distances
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.randomness import Purpose, generator
from s3c2.engine.rows import Rows
from s3c2.errors import LinksError, LinksWarning, warn
from s3c2.links import Links
from s3c2.representation import JUDGED, Asked, clusters_of_each

FOLDS = 5
CL_RATE = 0.95
FEWEST_CANNOT = 20  # in a fold


class Fold(NamedTuple):
    """Links to learn from, and links that are held out."""

    train: Links
    held_out: Links


def folds_for_threshold(links: Links, seed: int) -> list[Fold]:
    """The folds to choose T by; none, with a warning, if links are too few."""
    try:
        with warnings.catch_warnings():
            # Folds that share rows will do here: no answer is implied by the other links.
            warnings.simplefilter("ignore", LinksWarning)
            folds = [Fold(*fold) for fold in links.split(FOLDS, random_state=seed % 2**32)]
    except LinksError as error:
        _warn(str(error))
        return []
    fewest = min(fold.held_out.n_cannot for fold in folds)
    if fewest < FEWEST_CANNOT:
        _warn(f"a fold holds {fewest} cannot-links, and {FEWEST_CANNOT} are needed.")
        return []
    if min(fold.train.n_must for fold in folds) == 0:
        _warn("a fold leaves no must-link to learn from.")
        return []
    return folds


def choose_threshold(
    threshold: float | str, out_of_fold: Sequence[tuple[nn.Module, Links]], rows: Rows
) -> float:
    """T as given, or calibrated on the links that each of these networks did not see."""
    if threshold != "auto":
        return float(threshold)
    return calibrated_threshold(
        [link_distances(network, rows, held_out) for network, held_out in out_of_fold]
    )


def thresholds_of_clusters(
    encoders: Sequence[nn.Module], rows: Rows, n_clusters: int | None
) -> list[float]:
    """For each network the T that agrees best with the clusters of its representation.

    It is the published T at most: beyond, pairs lie nearer to the margin of cannot-links. Where the
    number of clusters is not known, or is 1, it is the published T itself.
    """
    if n_clusters is None or n_clusters == 1:
        return [published.THRESHOLD] * len(encoders)
    some = rows.subset(generator(0, Purpose.POOL).permutation(rows.n)[:JUDGED])
    asked = [
        Asked(apply_to_rows(encoder, some, "representing", 0), n_clusters, 0, published.THRESHOLD)
        for encoder in encoders
    ]
    return [min(found.threshold, published.THRESHOLD) for found in clusters_of_each(asked)]


def calibrated_threshold(
    distances: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
) -> float:
    """T from the (must-link, cannot-link) distances of every fold; 0.3 without folds.

    The folds' LabNets may differ in scale, as the one that T is for may differ from them; pooling
    their distances takes that spread into account.
    """
    if not distances:
        return published.THRESHOLD
    must, cannot = (np.concatenate([fold[kind] for fold in distances]) for kind in (0, 1))
    if not (np.isfinite(must).all() and np.isfinite(cannot).all()):
        _warn("a LabNet diverged on a fold.")
        return published.THRESHOLD
    wrong = int((1 - CL_RATE) * len(cannot) + 1e-9)  # cannot-links that may fall below T
    T = float(np.sort(cannot)[wrong])
    if not (must < T).any():
        _warn(
            f"at T = {T:.3g}, where {CL_RATE:.0%} of held-out cannot-links are labelled right, no "
            "held-out must-link is: LabNet does not tell them apart."
        )
        return published.THRESHOLD
    return T


def _warn(reason: str) -> None:
    warn(
        f"threshold='auto' takes T = {published.THRESHOLD}, since it cannot be calibrated: "
        f"{reason} More links, or a threshold of your own, would help.",
        LinksWarning,
    )
