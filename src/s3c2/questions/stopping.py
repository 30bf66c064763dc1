"""When to stop: how much the clusters still change, and how well answers were foreseen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

LAST = 30  # pairs that are looked at
STILL = 0.01  # share of the rows: a training that moves fewer changes nothing
WILD = 0.2  # share of the rows: a training that moves so many has just begun to find clusters
FORESEEN = 0.85  # share of these pairs


@dataclass(frozen=True)
class Signal:
    """Whether more answers are worth it.

    Attributes
    ----------
    state : "begin", "go on" or "stop"
    words : the same for a person
    share : how far it is, from 0 to 1
    """

    state: Literal["begin", "go on", "stop"]
    words: str
    share: float = 0.0


def share_moved(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """Share of the rows whose cluster is another one, whatever the clusters are called."""
    counts = contingency_matrix(before, after)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(1 - counts[rows, columns].sum() / max(len(before), 1))


def stop_signal(
    *,
    n_answers: int,
    n_seen: int,
    n_clusters: int,
    moved: Sequence[float],
    foreseen: Sequence[bool],
) -> Signal:
    """Put what is known about the progress into words.

    Parameters
    ----------
    n_seen : clusters from which two rows were found to be the same
    moved : share of the rows that each training put elsewhere, the last at the end
    foreseen : of each pair that was the same or expected to be, whether it was as expected, the
        last at the end
    """
    if n_answers == 0:
        return Signal("begin", "Answer the first question: every answer helps.")
    last = foreseen[-LAST:]
    right = sum(last) / LAST
    calm = 1 - min(1.0, moved[-1] / WILD) if moved else 0.0
    share = min(1.0, (n_seen / n_clusters + calm + min(1.0, right / FORESEEN)) / 3)
    if n_seen < n_clusters:
        words = (
            f"Keep going: in {n_seen} of the {n_clusters} clusters you have found two items that "
            "are the same."
        )
        return Signal("begin", words, share)
    if not moved:
        words = (
            "In every cluster you have found two items that are the same. Keep going while the "
            "model learns."
        )
        return Signal("go on", words, share)
    right = sum(last) / len(last) if last else 0.0
    told = (
        f"The last training moved {_percent(moved[-1])} of the items, and of the last {len(last)} "
        f"pairs that were the same or looked so to the model, it was right about {_percent(right)}."
    )
    still = len(moved) > 1 and max(moved[-2:]) <= STILL
    if still and len(last) == LAST and right >= FORESEEN:
        return Signal("stop", f"You can stop. {told}", 1.0)
    return Signal("go on", f"Keep going. {told}", min(share, 0.99))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"
