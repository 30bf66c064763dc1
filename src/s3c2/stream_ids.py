"""Ids of rows that pass by: which of them links speak of, and whether one comes twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s3c2.data.parquet import ids_alone
from s3c2.data.streams import Stream
from s3c2.engine.progress import Progress
from s3c2.errors import DataError, LinksError
from s3c2.links import Links

Ints = NDArray[np.int64]


class IdsInPass:
    """Looks for the ids of links in one pass over all rows.

    Parameters
    ----------
    links : by id
    """

    def __init__(self, links: Sequence[Links]) -> None:
        ends = [one for each in links for one in (each.must.ravel(), each.cannot.ravel())]
        self._strings = any(len(one) and one.dtype.kind == "O" for one in ends)
        wanted = set().union(*(one.tolist() for one in ends))
        self.n_wanted = len(wanted)
        self._wanted: Any = wanted  # a sorted array of integers, or a dict of strings
        self._rows_are_strings: bool | None = None
        self._ids: list[Any] = []
        self._numbers: list[Ints] = []
        self._marks: list[Ints] = []  # a hash of every id that passed

    def look(self, ids: Any, start: int) -> Ints:
        """The places of ids that links speak of, among these; they begin at row ``start``."""
        values = plain(ids)
        if self._rows_are_strings is None:
            self._begin(not isinstance(values, np.ndarray))
        if isinstance(values, np.ndarray) == self._rows_are_strings:
            raise DataError(
                "The ids of some rows are integers, and those of others are texts. Give all rows "
                "ids of one kind."
            )
        self._marks.append(marks_of(values))
        if isinstance(values, np.ndarray):
            place = np.searchsorted(self._wanted, values)
            place[place == len(self._wanted)] = 0
            there = self._wanted[place] == values if self.n_wanted else np.zeros(len(values), bool)
            found = np.flatnonzero(there)
        else:
            hits = np.fromiter(map(self._wanted.get, values, repeat(False)), bool, len(values))
            found = np.flatnonzero(hits)
        self._ids += [values[place] for place in found.tolist()]
        self._numbers.append(found + start)
        return found

    def _begin(self, rows_are_strings: bool) -> None:
        if self._strings and not rows_are_strings:
            example = next(iter(self._wanted))
            raise LinksError(
                f"The links' ids are strings (such as {example!r}), and the ids of the rows are "
                "integers. Convert one of them."
            )
        self._rows_are_strings = rows_are_strings
        if rows_are_strings:
            self._wanted = dict.fromkeys(map(str, self._wanted), True)
        else:
            self._wanted = np.array(sorted(self._wanted), dtype=np.int64)

    def found(self) -> tuple[NDArray[Any], Ints]:
        """The ids of links that were found, and the numbers of their rows."""
        ids = np.empty(len(self._ids), dtype=object if self._rows_are_strings else np.int64)
        ids[:] = self._ids
        return ids, np.concatenate([np.zeros(0, np.int64), *self._numbers])

    def as_ids(self, links: Links) -> Links:
        """The links with ids as the rows have them."""
        if not self._rows_are_strings or self._strings:
            return links
        return Links(
            links.must.astype(str).astype(object),
            links.cannot.astype(str).astype(object),
            must_weight=links.must_weight,
            cannot_weight=links.cannot_weight,
        )

    def check_no_doubles(self, stream: Stream) -> None:
        """Refuse an id that stands on two rows, after all rows have passed."""
        marks, self._marks = self._marks, []
        found = first_double(ids_alone(stream), repeated(np.concatenate(marks)))
        if found is not None:
            value, first, second = found
            raise DataError(
                f"The id {value!r} stands on {first} and on {second} (the first row is 0); ids "
                "must be unique. Mend the data."
            )


@dataclass(frozen=True)
class Doubles:
    """Ids that stand on more than one row: how many, and one of them with two of its rows."""

    n: int
    example: int | str
    first: str
    second: str


def doubles(stream: Stream, verbose: int = 0, skip_damaged: bool = False) -> Doubles | None:
    """Walk through the ids of all rows, and find those that stand on more than one.

    Parts that cannot be read are left out with ``skip_damaged``.
    """
    stream = ids_alone(stream)
    marks = np.empty(stream.n, np.int64)
    done = 0
    with Progress("comparing ids", stream.n, verbose, per_second="rows") as progress:
        for part in stream.parts:
            before = done
            try:
                for block in part.blocks():
                    some = marks_of(plain(block.ids))
                    marks[done : done + len(some)] = some
                    done += len(some)
                    progress.update(done)
            except DataError:
                if not skip_damaged:
                    raise
                done = before
    twice = repeated(marks[:done])
    found = first_double(stream, twice, skip_damaged)
    return None if found is None else Doubles(len(twice), *found)


def marks_of(values: Ints | list[str]) -> Ints:
    """A number for each id, the same for the same id and hardly ever for another."""
    if isinstance(values, np.ndarray):
        return values
    return np.fromiter(map(hash, values), np.int64, len(values))


def repeated(marks: Ints) -> Ints:
    """The marks that come more than once, ascending. All marks are sorted in place."""
    marks.sort()
    return np.unique(marks[1:][marks[1:] == marks[:-1]])


def first_double(
    stream: Stream, twice: Ints, skip_damaged: bool = False
) -> tuple[Any, str, str] | None:
    """The first id that came before, among those with these marks, and both of its rows.

    A mark may be that of two ids: only here ids are compared.
    """
    first: dict[Any, str] = {}
    for part in stream.parts if len(twice) else ():
        try:
            for block in part.blocks():
                values = plain(block.ids)
                marks = marks_of(values)
                near = np.minimum(np.searchsorted(twice, marks), len(twice) - 1)
                for place in np.flatnonzero(twice[near] == marks).tolist():
                    value = int(marks[place]) if values is marks else values[place]
                    here = f"row {block.first + place} of {part.source}"
                    if value in first:
                        return value, first[value], here
                    first[value] = here
        except DataError:
            if not skip_damaged:
                raise
    return None


def plain(ids: Any) -> Ints | list[str]:
    """Ids as integers or as texts, from a pyarrow or NumPy array."""
    if isinstance(ids, np.ndarray):
        if ids.dtype.kind in "iu":
            return ids.astype(np.int64)
        return [one if type(one) is str else str(one) for one in ids.tolist()]
    if str(ids.type) in _INTEGERS:
        return np.asarray(ids.to_numpy()).astype(np.int64)
    return [one if type(one) is str else str(one) for one in ids.to_pylist()]


_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
