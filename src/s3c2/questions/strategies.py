"""Which pair to ask next: at random, or the one that is likely to teach most."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from s3c2.questions.known import Known, Pair, Verdict
from s3c2.questions.view import Floats, View

MOST_DRAWS = 200  # random pairs that are tried before giving up
DRAWN = 6  # rows, of which one is asked about
MOST_DRAWN = 100  # random rows that these are taken from
FIRST_RIGHT, FIRST_PROMISED = 1.0, 2.0  # guesses that were right of those that should have been
WORTH_ASKING_ON = 0.02  # chance of the next group for a row that did not belong to those before
LIKELY = 0.5  # chance from which two groups are compared at once
MERGE_EVERY = 5  # rows are asked about until two groups are compared in any case
PRIOR = (1.0, -0.15, -1.0)  # weights of what the view expects, of the distance, and a shift
BELIEF = 1.0  # how many answers it takes to move from these
FAR = 8.0  # distances beyond this are alike


class Strategy(Protocol):
    """A way to choose pairs; ``needs_view`` says whether it listens to a model."""

    needs_view: bool

    def next_pair(self, known: Known, view: View | None, avoid: Collection[Pair]) -> Pair | None:
        """A pair that the answers say nothing about; None if none is left."""

    def note(self, pair: Pair, verdict: Verdict) -> None:
        """Hear the answer to a pair."""


class RandomPairs:
    """Any two rows, each pair as likely as any other."""

    needs_view = False

    def __init__(self, n_rows: int, seed: int) -> None:
        self.n_rows, self.rng = n_rows, np.random.default_rng(seed)

    def next_pair(self, known: Known, view: View | None, avoid: Collection[Pair]) -> Pair | None:
        for _ in range(MOST_DRAWS):
            pair = Pair.of(*map(int, self.rng.choice(self.n_rows, 2, replace=False)))
            if pair not in avoid and not known.says(*pair):
                return pair
        return self._any_left(known, avoid)

    def _any_left(self, known: Known, avoid: Collection[Pair]) -> Pair | None:
        """Nearly all pairs are known: go through them."""
        for a in self.rng.permutation(self.n_rows).tolist():
            for b in range(self.n_rows):
                if a != b and Pair.of(a, b) not in avoid and not known.says(a, b):
                    return Pair.of(a, b)
        return None

    def note(self, pair: Pair, verdict: Verdict) -> None:
        """Nothing follows from an answer."""


class Informative:
    """One row after another is compared with groups of rows that are known to be the same.

    Every cluster is seen first: its most typical row begins a group, without a question. The next
    row to ask about is one of DRAWN rows: the one that stands for most others, which are near to it
    and not near to a row that was asked about. Where the model is mostly wrong, these are random
    rows. The more often it is right, the more random rows they are chosen from: they are the ones
    that it doubts most. Doubted rows would teach less where it is wrong: they are unlike the rest,
    and what is learned from them does not fit it.

    The row is compared with the group that it belongs to most probably, then with the next, until
    it has found its own or none has a chance of WORTH_ASKING_ON: one of the two rows stays, and
    rows get links of both kinds. The rows that are not where they seemed to be teach most, so they
    are not soon given up. Between rows, two whole groups are compared that may be the same. Several
    people are asked about different rows.

    What the model expects is corrected by the answers so far: a model that is too sure, or too
    timid, is heard accordingly.
    """

    needs_view = True

    def __init__(self, n_rows: int, seed: int) -> None:
        self.random = RandomPairs(n_rows, seed)
        self.aside: set[int] = set()  # rows that nobody could place
        self.rows: list[int] = []  # that are asked about until they find their groups
        self.n_rows_asked = 0
        self.guesses: dict[Pair, float] = {}  # a row and its most probable group, and how probable
        self.right, self.promised = FIRST_RIGHT, FIRST_PROMISED

    def next_pair(self, known: Known, view: View | None, avoid: Collection[Pair]) -> Pair | None:
        if view is None:
            return self.random.next_pair(known, view, avoid)
        return _Choice(self, known, view, avoid).pair()

    def note(self, pair: Pair, verdict: Verdict) -> None:
        """Go on with the same row after "different"; leave it aside after "unsure"."""
        guess = self.guesses.pop(pair, None)
        if guess is not None and verdict != "unsure":
            self.right += verdict == "same"
            self.promised += guess
        begun = [row for row in self.rows if row in pair]
        if verdict == "unsure":
            self.aside.update(begun[-1:])
            self.rows = [row for row in self.rows if row not in begun[-1:]]
        elif verdict == "same":
            self.rows = [row for row in self.rows if row not in begun]


class _Choice:
    """One question: the groups as they are now, and the rows that are left."""

    def __init__(
        self, memory: Informative, known: Known, view: View, avoid: Collection[Pair]
    ) -> None:
        self.memory, self.known, self.view, self.avoid = memory, known, view, avoid
        self.place = {int(row): i for i, row in enumerate(view.rows)}
        self.elsewhere = {row for pair in avoid for row in pair}
        self.groups = self._groups()  # places in the view
        self.asked = np.array([i for group in self.groups for i in group], dtype=np.intp)
        sizes = [len(group) for group in self.groups]
        self.size, self.first = np.array(sizes), np.cumsum([0, *sizes])[:-1]
        self.weights = _weights(view, known, self.place)

    def _groups(self) -> list[list[int]]:
        """The groups; those of clusters that were not seen begin here, by their typical rows.

        A row that someone else is asked about is no group of its own until it is placed.
        """
        being_placed = {row for row in self.memory.rows if row in self.elsewhere}
        found = [
            [self.place[row] for row in rows if row in self.place]
            for rows in self.known.members.values()
            if len(rows) > 1 or rows[0] not in being_placed
        ]
        groups = [one for one in found if one]
        seen = {int(self.view.labels[i]) for one in groups for i in one}
        typical = self.view.typical
        return groups + [[i] for cluster, i in typical.items() if cluster not in seen]

    def pair(self) -> Pair | None:
        due = self.memory.n_rows_asked % MERGE_EVERY == MERGE_EVERY - 1
        return (
            self._begun_row()
            or self._two_groups(0.0 if due else LIKELY)
            or self._next_row()
            or self._at_random()
        )

    def _begun_row(self) -> Pair | None:
        """A row that has not found its group yet, nobody else being asked about it."""
        for row in [one for one in self.memory.rows if one not in self.elsewhere]:
            if row in self.place and len(self.known.group(row)) == 1:
                chances = self._chances_of_groups(np.array([self.place[row]]))[0]
                best = int(chances.argmax())
                if chances[best] >= WORTH_ASKING_ON:
                    return self._row_and_group(self.place[row], best)
            self.memory.rows.remove(row)
        return None

    def _next_row(self) -> Pair | None:
        """Of some random rows the one that stands for most others, and its most probable group."""
        near = self.view.near
        left = np.ones(len(near), dtype=bool)
        left[self.asked] = False
        apart = {*self.memory.aside, *self.memory.rows, *self.elsewhere}
        left[[self.place[row] for row in apart if row in self.place]] = False
        rows = self.memory.random.rng.permutation(np.flatnonzero(left))[:MOST_DRAWN]
        if len(rows) == 0:
            return None
        chances = self._chances_of_groups(rows)  # (rows, groups)
        some = self._doubted(chances.max(axis=1))
        rows, chances = rows[some], chances[some]
        gain = np.maximum(near[rows] - near[self.asked].max(axis=0), 0).sum(axis=1)
        at = int(np.where(chances.max(axis=1) > 0, gain, -1).argmax())
        if chances[at].max() <= 0:
            return None
        self.memory.rows.append(int(self.view.rows[rows[at]]))
        self.memory.n_rows_asked += 1
        pair = self._row_and_group(int(rows[at]), int(chances[at].argmax()))
        self.memory.guesses[pair] = float(chances[at].max())
        return pair

    def _doubted(self, chance: Floats) -> NDArray[np.intp]:
        """The DRAWN most doubted of some random rows, of so many that DRAWN of them may be wrong.

        Parameters
        ----------
        chance : of the most probable group of each row, in random order. What chances promised
            before, and what came of it, corrects them.
        """
        kept = min(1.0, self.memory.right / self.memory.promised)
        wrong = 1 - kept * float(chance.mean())
        of = max(DRAWN, round(DRAWN / max(wrong, DRAWN / MOST_DRAWN)))
        doubt = np.where(chance > 0, 1 - chance, -1)[:of]  # rows without an open question come last
        return np.argsort(-doubt, kind="stable")[:DRAWN]

    def _chances_of_groups(self, rows: NDArray[np.intp]) -> Floats:
        """(rows, groups) chance to be the same; 0 where it is known or cannot be told."""
        chances = np.maximum.reduceat(self._chance(rows, self.asked), self.first, axis=1)
        for at in range(len(rows)):
            if self._has_answers(int(rows[at])):
                for number, group in enumerate(self.groups):
                    if not self._open([int(rows[at])], group):
                        chances[at, number] = 0
        return np.asarray(chances)

    def _chance(self, rows: NDArray[np.intp], others: NDArray[np.intp]) -> Floats:
        """(rows, others) the expected chance to be the same, corrected by the answers."""
        at = np.ix_(rows, others)
        return _logistic(_evidence(self.view.same[at], self.view.near[at]), self.weights)

    def _has_answers(self, i: int) -> bool:
        row = int(self.view.rows[i])
        return row in self.known.asked or row in self.elsewhere

    def _row_and_group(self, i: int, number: int) -> Pair:
        """A row, and the row of a group that is most like it."""
        group = self.groups[number]
        return self._rows(i, group[int(self._chance(np.array([i]), np.array(group)).argmax())])

    def _open(self, one: list[int], two: list[int]) -> bool:
        """Whether nobody knows how two groups relate, and nobody is asked about it."""
        a, b = ([int(self.view.rows[i]) for i in group] for group in (one, two))
        if self.known.relation(a[0], b[0]) is not None:
            return False
        if not self.known.n_unsure and not self.avoid:
            return True
        return not any(self.known.says(i, j) or Pair.of(i, j) in self.avoid for i in a for j in b)

    def _two_groups(self, least: float) -> Pair | None:
        """Two groups that are the same with some chance, where this says something of many rows."""
        if len(self.groups) < 2:
            return None
        of_rows = self._chance(self.asked, self.asked)
        sums = np.add.reduceat(np.add.reduceat(of_rows, self.first, axis=0), self.first, axis=1)
        sizes = np.outer(self.size, self.size)
        chance = sums / sizes  # (groups, groups), the mean over their rows
        value = np.triu(np.where((chance >= least) & (sizes > 1), chance * np.sqrt(sizes), 0), 1)
        for found in np.argsort(-value, axis=None):
            one, two = map(int, np.unravel_index(found, value.shape))
            if value[one, two] <= 0:
                return None
            if self._open(self.groups[one], self.groups[two]):
                a, b = np.array(self.groups[one]), np.array(self.groups[two])
                at = np.unravel_index(int(self._chance(a, b).argmax()), (len(a), len(b)))
                self.memory.n_rows_asked += 1
                return self._rows(int(a[at[0]]), int(b[at[1]]))
        return None

    def _at_random(self) -> Pair | None:
        return self.memory.random.next_pair(self.known, self.view, self.avoid)

    def _rows(self, i: int, j: int) -> Pair:
        return Pair.of(int(self.view.rows[i]), int(self.view.rows[j]))


def _weights(view: View, known: Known, place: dict[int, int]) -> NDArray[np.float64]:
    """How what the view expects is to be heard, by the answers so far.

    A logistic model of what the view expects and of how far apart the rows are. While there are
    few answers it holds to PRIOR. By Newton's method.
    """
    answered = [
        (place[a], place[b], verdict == "same")
        for (a, b), verdict in known.verdicts.items()
        if verdict != "unsure" and a in place and b in place
    ]
    a, b = (np.array([one[i] for one in answered], dtype=np.intp) for i in (0, 1))
    same = np.array([one[2] for one in answered], dtype=float)
    evidence = _evidence(view.same[a, b], view.near[a, b])
    A = np.stack([*evidence, np.ones(len(same))], axis=1).astype(float)  # (answers, 3)
    w = np.array(PRIOR)
    for _ in range(20):
        p = _logistic(evidence, w)
        slope = A.T @ (p - same) + BELIEF * (w - PRIOR)
        curvature = (A * (p * (1 - p))[:, None]).T @ A + BELIEF * np.eye(3)
        step = np.clip(np.linalg.solve(curvature, slope), -1, 1)  # a longer one may overshoot
        w = w - step
        if np.abs(step).max() < 1e-4:
            break
    return np.array([max(w[0], 0.05), min(w[1], 0.0), w[2]])  # never against the evidence


def _evidence(same: Floats, near: Floats) -> tuple[Floats, Floats]:
    """The expected log odds of pairs, and their distances in units of their surroundings."""
    p = np.clip(same, 0.01, 0.99)
    return np.log(p / (1 - p)), np.minimum(-np.log(np.maximum(near, 1e-9)), FAR)


def _logistic(evidence: tuple[Floats, Floats], w: NDArray[np.float64]) -> Floats:
    odds = np.float32(w[0]) * evidence[0] + np.float32(w[1]) * evidence[1] + np.float32(w[2])
    return np.asarray(expit(odds))


STRATEGIES: dict[str, Callable[[int, int], Strategy]] = {
    "informative": Informative,
    "random": RandomPairs,
}
