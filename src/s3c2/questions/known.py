"""What the answers say about pairs of rows, directly and through other answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from s3c2.errors import LinksError
from s3c2.links import Links
from s3c2.links.contradictions import Contradictions

Verdict = Literal["same", "different", "unsure"]
VERDICTS: tuple[Verdict, ...] = ("same", "different", "unsure")


class Pair(NamedTuple):
    """Two rows, the smaller number first."""

    a: int
    b: int

    @classmethod
    def of(cls, one: int, two: int) -> Pair:
        if one == two:
            raise LinksError(f"A pair needs two different rows. Got row {one} twice.")
        return cls(min(one, two), max(one, two))


class Known:
    """The answers, and what follows from them.

    Rows that are the same, directly or through others, form a group. Answers that contradict each
    other are left out here; `Links.contradictions` of `links` shows them.

    Parameters
    ----------
    verdicts : {pair: verdict}
    n_rows : int
    """

    def __init__(self, verdicts: Mapping[Pair, Verdict], n_rows: int) -> None:
        self.n_rows, self.verdicts = n_rows, dict(verdicts)
        found: dict[Verdict, list[Pair]] = {verdict: [] for verdict in VERDICTS}
        for pair, verdict in verdicts.items():
            found[verdict].append(pair)
        self.n_same, self.n_different, self.n_unsure = (len(found[v]) for v in VERDICTS)
        # By id, so that the work grows with the answers, not with the rows.
        self._links = Links(must=found["same"], cannot=found["different"])
        self._consistent = self._links.without_contradictions()[0]
        self._closure = self._consistent.closure()
        rows = self._closure.rows.tolist()
        self.group_of: dict[int, int] = dict(zip(rows, self._closure.component.tolist()))
        self.members: dict[int, list[int]] = {}
        for row, group in self.group_of.items():
            self.members.setdefault(group, []).append(row)
        self._apart = {(int(a), int(b)) for a, b in self._closure.cannot}
        self._unsure = set(found["unsure"])
        self.asked = {row for pair in verdicts for row in pair}

    def group(self, row: int) -> list[int]:
        """The rows that are the same as this one, itself among them."""
        return self.members[self.group_of[row]] if row in self.group_of else [row]

    def says(self, one: int, two: int) -> bool:
        """Whether the answers say how two rows relate, or that nobody can tell."""
        if Pair.of(one, two) in self._unsure:
            return True
        return self.relation(one, two) is not None

    def relation(self, one: int, two: int) -> Verdict | None:
        """How two rows relate by the answers; None where they do not say."""
        a, b = self.group_of.get(one), self.group_of.get(two)
        if one == two or (a is not None and a == b):
            return "same"
        if a is None or b is None:
            return None
        return "different" if (min(a, b), max(a, b)) in self._apart else None

    def links(self) -> Links:
        """The consistent answers as links by row number, for a fit.

        What follows from them is left out: in trials it taught nothing more, and one wrong "same"
        between two groups makes all pairs between them wrong.
        """
        return by_row_number(self._consistent, self.n_rows)

    @cached_property
    def contradictions(self) -> Contradictions:
        """Answers that exclude each other, by row number."""
        return self._links.contradictions()

    def answers_as_links(self) -> Links:
        """All answers as links by row number, contradictions among them."""
        return by_row_number(self._links, self.n_rows)


def by_row_number(links: Links, n_rows: int) -> Links:
    """Links of numbers that are ids, as links of row numbers."""
    return Links(
        must=_pairs(links.must), cannot=_pairs(links.cannot), n_samples=n_rows,
        must_weight=links.must_weight, cannot_weight=links.cannot_weight,
    )  # fmt: skip


def _pairs(ends: Iterable[Iterable[int]]) -> NDArray[np.int64]:
    return np.asarray(ends, dtype=np.int64).reshape(-1, 2)
