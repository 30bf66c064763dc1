"""Which columns of a table tell a cluster from the other rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from s3c2.data.indexing import evenly_spread

MOST_ROWS = 20_000  # that are compared, spread evenly over the data
MOST_COLUMNS = 5  # of a cluster
LEAST = 0.15  # how far the share of won comparisons is from one half
SURE = 3  # how many times as far as by chance: few rows differ in some column
BLOCK = 64  # columns that are ranked at a time


class Telling(NamedTuple):
    """A column in which a cluster differs from the other rows.

    Attributes
    ----------
    column : its name
    here, elsewhere : quartiles of the rows in the cluster, and of all others: (3,)
    """

    column: str
    here: NDArray[np.float64]
    elsewhere: NDArray[np.float64]


def telling_columns(
    X: NDArray[Any], labels: NDArray[np.integer[Any]], n_clusters: int, columns: Sequence[str]
) -> list[list[Telling]]:
    """For each cluster the columns that tell it from the other rows, the most telling first.

    A column is compared by ranks: how often a row of the cluster has the larger value of two, one
    of them from outside. So neither its unit nor a few extreme values matter.
    """
    chosen = evenly_spread(len(X), MOST_ROWS)
    some, of_some = X[chosen], labels[chosen]
    inside = np.eye(n_clusters, dtype=bool)[:, of_some]  # (clusters, rows)
    n = inside.sum(1)
    n_others = len(of_some) - n
    blocks = [some[:, start : start + BLOCK] for start in range(0, some.shape[1], BLOCK)]
    ranks = (rankdata(block.astype(np.float64), axis=0) for block in blocks)
    sums = np.concatenate([inside.astype(np.float64) @ one for one in ranks], axis=1)
    found: list[list[Telling]] = []
    for cluster in range(n_clusters):
        both = int(n[cluster]), int(n_others[cluster])
        if 0 in both:
            found.append([])
            continue
        won = (sums[cluster] / both[0] - (both[0] + 1) / 2) / both[1]  # (columns,), from 0 to 1
        order = np.argsort(-np.abs(won - 0.5), kind="stable")[:MOST_COLUMNS]
        least = max(LEAST, SURE * _by_chance(*both))
        here = inside[cluster]
        found.append(
            [
                Telling(str(columns[at]), _quartiles(some[here, at]), _quartiles(some[~here, at]))
                for at in order
                if abs(won[at] - 0.5) >= least
            ]
        )
    return found


def _by_chance(n: int, n_others: int) -> float:
    """The spread of the share of won comparisons where a column tells nothing."""
    return math.sqrt((n + n_others + 1) / (12 * n * n_others))


def _quartiles(values: NDArray[Any]) -> NDArray[np.float64]:
    quartiles: NDArray[np.float64] = np.percentile(values.astype(np.float64), [25, 50, 75])
    return quartiles


def in_words(quartiles: NDArray[np.float64]) -> str:
    """The median, and the range of the middle half."""
    low, middle, high = (_number(value) for value in quartiles)
    return middle if low == high else f"{middle} ({low} to {high})"


def _number(value: float) -> str:
    value += 0.0  # no −0
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e15 else f"{value:.3g}"
