"""Classical strategies that choose pairs, to compare with: each row is placed before the next.

All keep neighbourhoods: groups of rows known to be the same. A row that is to be placed is compared
with one neighbourhood after another, until one takes it or all refuse it, and it begins its own.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder

from s3c2.questions import Known, Pair, View

TREES = 50  # of the forest that NPU measures similarity with


class RowByRow:
    """What the classical strategies share: which row, and in which order, is left to them.

    Parameters
    ----------
    rows : (m,) numbers of the rows that may be asked about
    code : (m, dimensions) their features
    n_clusters, seed : int
    """

    needs_view = False

    def __init__(self, rows: np.ndarray, code: np.ndarray, n_clusters: int, seed: int) -> None:
        self.rows, self.code, self.n_clusters = rows, code, n_clusters
        self.rng = np.random.default_rng(seed)
        self.place = {int(row): i for i, row in enumerate(rows)}
        self.neighbourhoods = [[int(self.rng.integers(len(rows)))]]
        self.target: int | None = None
        self.asked_of: int | None = None  # the neighbourhood of the open question
        self.refused: set[int] = set()

    def next_pair(self, known: Known, view: View | None, avoid: Collection[Pair]) -> Pair | None:
        if self.target is None:
            left = np.setdiff1d(np.arange(len(self.rows)), np.concatenate(self.neighbourhoods))
            if len(left) == 0:
                return None
            self.target, self.refused = int(self.choose(left, view)), set()
        order = [n for n in self.order(self.target) if n not in self.refused]
        self.asked_of = order[0]
        other = self.neighbourhoods[self.asked_of][0]
        return Pair.of(int(self.rows[self.target]), int(self.rows[other]))

    def note(self, pair: Pair, verdict: str) -> None:
        """A neighbourhood takes the row, or all have refused it."""
        if self.target is None or self.asked_of is None:
            return
        if verdict == "same":
            self.neighbourhoods[self.asked_of].append(self.target)
            self.target = None
            return
        self.refused.add(self.asked_of)
        if len(self.refused) == len(self.neighbourhoods):
            self.neighbourhoods.append([self.target])
            self.target = None

    def choose(self, left: np.ndarray, view: View | None) -> int:
        """The next row to place."""
        raise NotImplementedError

    def order(self, row: int) -> list[int]:
        """The neighbourhoods, those first whose mean is nearest."""
        means = np.stack([self.code[one].mean(axis=0) for one in self.neighbourhoods])
        return np.square(means - self.code[row]).sum(axis=1).argsort().tolist()

    def farthest(self, left: np.ndarray) -> int:
        """The row that is farthest from all placed ones."""
        placed = self.code[np.concatenate(self.neighbourhoods)]
        d2 = (
            np.square(self.code[left]).sum(1)[:, None]
            + np.square(placed).sum(1)
            - 2 * self.code[left] @ placed.T
        )
        return int(left[d2.min(axis=1).argmax()])

    @property
    def exploring(self) -> bool:
        return len(self.neighbourhoods) < self.n_clusters


class ExploreConsolidate(RowByRow):
    """Basu, Banerjee and Mooney (2004): the farthest row until K neighbourhoods; then any row."""

    def choose(self, left: np.ndarray, view: View | None) -> int:
        return self.farthest(left) if self.exploring else int(self.rng.choice(left))


class MinMax(RowByRow):
    """Mallapragada, Jin and Jain (2008): also later the row least similar to all placed ones."""

    def choose(self, left: np.ndarray, view: View | None) -> int:
        return self.farthest(left)


class NPU(RowByRow):
    """Xiong, Azimi and Fern (2014): the most uncertain row for the questions that it costs.

    Similarity is the share of the trees of a random forest that put two rows into one leaf; the
    forest learns the clusters that the model gives at the time.
    """

    needs_view = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._of: View | None = None
        self._alike: Any = None  # (m, m) share of the trees that put two rows into one leaf

    def next_pair(self, known: Known, view: View | None, avoid: Collection[Pair]) -> Pair | None:
        assert view is not None
        self._grow(view)
        return super().next_pair(known, view, avoid)

    def choose(self, left: np.ndarray, view: View | None) -> int:
        p = self._chances(left)  # (left, neighbourhoods)
        entropy = -(p * np.log(p)).sum(axis=1)
        ranked = -np.sort(-p, axis=1)
        questions = (ranked * np.arange(1, ranked.shape[1] + 1)).sum(axis=1)
        return int(left[(entropy / questions).argmax()])

    def order(self, row: int) -> list[int]:
        """The neighbourhoods, the most probable first."""
        return (-self._chances(np.array([row]))[0]).argsort().tolist()

    def _chances(self, rows: np.ndarray) -> np.ndarray:
        """(rows, neighbourhoods) how probably each row belongs to each of them."""
        alike = [self._alike[np.ix_(rows, one)].mean(axis=1) for one in self.neighbourhoods]
        chances = np.stack(alike, axis=1) + 1e-3
        return chances / chances.sum(axis=1, keepdims=True)

    def _grow(self, view: View) -> None:
        if self._of is not view:
            forest = RandomForestClassifier(TREES, random_state=0, n_jobs=1)
            leaves = forest.fit(self.code, view.labels).apply(self.code)  # (m, trees)
            one_hot = OneHotEncoder(dtype=np.float32).fit_transform(leaves)
            self._alike = (one_hot @ one_hot.T).toarray() / TREES
            self._of = view

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_of": None, "_alike": None}  # made anew from the view


CLASSICAL = {"Explore-Consolidate": ExploreConsolidate, "Min-Max": MinMax, "NPU": NPU}
