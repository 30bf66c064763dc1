"""Which columns of a table tell a cluster from the other rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

MOST_ROWS = 20_000  # that are compared, spread evenly over the data
MOST_COLUMNS = 5  # of a cluster
LEAST = 0.15  # how far the share of won comparisons is from one half


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
    chosen = np.linspace(0, len(X) - 1, min(len(X), MOST_ROWS)).astype(np.intp)
    some, of_some = np.asarray(X[chosen], dtype=np.float64), labels[chosen]
    ranks = rankdata(some, axis=0)  # (rows, columns)
    found: list[list[Telling]] = []
    for cluster in range(n_clusters):
        inside = of_some == cluster
        n, n_others = int(inside.sum()), int((~inside).sum())
        if n == 0 or n_others == 0:
            found.append([])
            continue
        won = (ranks[inside].mean(0) - (n + 1) / 2) / n_others  # (columns,), from 0 to 1
        order = np.argsort(-np.abs(won - 0.5), kind="stable")[:MOST_COLUMNS]
        found.append(
            [
                Telling(
                    str(columns[at]), _quartiles(some[inside, at]), _quartiles(some[~inside, at])
                )
                for at in order
                if abs(won[at] - 0.5) >= LEAST
            ]
        )
    return found


def _quartiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    quartiles: NDArray[np.float64] = np.percentile(values, [25, 50, 75])
    return quartiles


def in_words(quartiles: NDArray[np.float64]) -> str:
    """The median, and the range of the middle half."""
    low, middle, high = (_number(value) for value in quartiles)
    return middle if low == high else f"{middle} ({low} to {high})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"
