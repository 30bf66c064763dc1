"""T from the neighbours of linked rows, or from links that a LabNet did not see.

A LabNet may know the given links by heart, so T must come from other pairs. The neighbours of two
linked rows are mostly linked like them, and nobody linked them.

For the second: the paper advises to secure the CL rate first and only then to care about the ML
rate. So T is the largest one whose out-of-fold CL rate is at least 95 %.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from s3c2 import published
from s3c2.distances import link_distances, pair_distances
from s3c2.engine.rows import Rows
from s3c2.errors import LinksError, LinksWarning, warn
from s3c2.links import Links, as_random_pairs
from s3c2.prior import Neighbours, neighbours_of

MOST = 0.5  # T of neighbours: half of the squared margin that cannot-links are pushed to
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


def threshold_of_neighbours(
    encoder: nn.Module, rows: Rows, links: Links, prior: Neighbours | None, same_share: float
) -> float:
    """The T that tells pairs of neighbours of must-linked rows best from those of cannot-linked.

    Their kinds weigh as random pairs have them. It is MOST at most, and without links of both
    kinds, or neighbours, the published T.

    Parameters
    ----------
    links : by row number; those that weigh less say less
    same_share : of random pairs that belong together
    """
    weight = as_random_pairs(links, same_share)
    if prior is None or weight is None:
        return published.THRESHOLD
    ends = torch.from_numpy(np.concatenate([links.must, links.cannot]).astype(np.int64))
    pairs = neighbours_of(ends, prior.on_the_host()).transpose(1, 2).numpy()  # (links, asked, 2)
    d2 = pair_distances(encoder, rows, pairs)
    same = np.repeat(np.arange(len(ends)) < links.n_must, d2.shape[1])
    found = best_threshold(d2.ravel(), same, np.repeat(weight, d2.shape[1]))
    return min(found, MOST) or published.THRESHOLD


def best_threshold(
    d2: NDArray[np.float32], same: NDArray[np.bool_], weight: NDArray[np.float64]
) -> float:
    """T for which d² < T says best which pairs are the same."""
    order = np.argsort(d2, kind="stable")
    d2, of_same, of_other = d2[order], (weight * same)[order], (weight * ~same)[order]
    # T may lie between two pairs that differ, below all and above all; wrong are then the different
    # ones below it and the same ones above it.
    between = np.flatnonzero(np.diff(d2)) + 1
    places = np.concatenate([[0], between, [len(d2)]])
    below_same, below_other = (np.concatenate([[0], np.cumsum(w)]) for w in (of_same, of_other))
    wrong = below_other[places] + below_same[-1] - below_same[places]
    place = int(places[wrong.argmin()])
    if place == 0:
        return 0.0
    if place == len(d2):
        return float(d2[-1]) + 1.0
    return float(d2[place - 1] + d2[place]) / 2


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
