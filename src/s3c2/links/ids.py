"""Ids of rows: all integers or all strings, and where each of them stands.

Integers are held as int64, strings as Python strings in an object array: NumPy's fixed-width
strings would cut trailing NUL characters and make two different ids equal.
"""

from __future__ import annotations

import difflib
from itertools import repeat
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from s3c2.errors import LinksError

Ids = npt.NDArray[Any]  # int64, or object holding str
Ints = npt.NDArray[np.int64]

# Comparing one unknown id with more ids than this takes longer than a person wants to wait.
_MOST_IDS_TO_COMPARE = 10_000


class NotAnIdError(Exception):
    """One value is no id; the caller knows where it stands and says so."""

    def __init__(self, position: int, value: object, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.value = value
        self.reason = reason


def plain_ids(values: npt.NDArray[Any]) -> Ids:
    """An array of any shape as int64 or as Python strings.

    `NotAnIdError` names the first value that is neither.
    """
    if values.size == 0:
        return np.zeros(values.shape, dtype=np.int64)
    if values.dtype.kind == "i":
        return values.astype(np.int64)
    flat = values.ravel().tolist()
    types = set(map(type, flat))
    if bool not in types and all(issubclass(t, Integral) for t in types):
        try:
            return np.array(flat, dtype=np.int64).reshape(values.shape)
        except OverflowError:
            position = next(i for i, v in enumerate(flat) if not -(2**63) <= v < 2**63)
            reason = "does not fit in 64 bits; give such ids as strings"
            raise NotAnIdError(position, flat[position], reason) from None
    if all(issubclass(t, str) for t in types):
        if "" in flat:
            raise NotAnIdError(flat.index(""), "", "is an empty string, which is no id")
        ids = np.empty(len(flat), dtype=object)
        ids[:] = flat if types == {str} else list(map(str, flat))
        return ids.reshape(values.shape)
    raise _first_bad_value(flat)


def _first_bad_value(flat: list[Any]) -> NotAnIdError:
    for position, value in enumerate(flat):
        if isinstance(value, bool) or not isinstance(value, (Integral, str)):
            return NotAnIdError(position, value, "is neither an integer nor a string")
        if isinstance(value, str) != isinstance(flat[0], str):
            reason = (
                f"is {_a_kind(value)}, but {flat[0]!r} is {_a_kind(flat[0])}: "
                "ids are all integers or all strings"
            )
            return NotAnIdError(position, value, reason)
    raise AssertionError("every value is an id")  # pragma: no cover


def _a_kind(value: object) -> str:
    return "a string" if isinstance(value, str) else "an integer"


def as_ids(values: Any, name: str) -> Ids:
    """One id per row, from any sequence; an error speaks of it as `name`."""
    if hasattr(values, "__array__"):
        array = np.asarray(values)
    else:
        try:
            items = list(values)
        except TypeError:
            raise LinksError(
                f"{name} must be a sequence with one id per row. Got {values!r} instead."
            ) from None
        array = np.empty(len(items), dtype=object)
        array[:] = items
    if array.ndim != 1:
        raise LinksError(f"{name} must have one dimension. Got shape {array.shape} instead.")
    try:
        return plain_ids(array)
    except NotAnIdError as bad:
        raise LinksError(f"{name}[{bad.position}] = {bad.value!r} {bad.reason}.") from None


def kind(ids: Ids) -> str:
    """What the ids are, in a word for messages."""
    return "strings" if ids.dtype.kind == "O" else "integers"


class IdIndex:
    """Finds the position of each id.

    Parameters
    ----------
    ids : array of shape (n,)
        Ids without duplicates, as `as_ids` gives them.
    name : str
        What an error calls them.
    """

    def __init__(self, ids: Ids, name: str) -> None:
        self.ids = ids
        self._order: Ints | None = None
        self._position: dict[str, int] | None = None
        if kind(ids) == "strings":
            self._position = dict(zip(ids.tolist(), range(len(ids))))
            unique = len(self._position) == len(ids)
        else:
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]
            unique = not np.any(self._sorted[1:] == self._sorted[:-1])
        if not unique:
            raise LinksError(_duplicate_message(ids, name))

    def positions(self, values: Ids) -> Ints:
        """Position of every value, −1 where it is not among the ids. Shape as `values`."""
        if len(self.ids) == 0 or kind(values) != kind(self.ids):
            return np.full(values.shape, -1, dtype=np.int64)
        if self._position is not None:
            found = map(self._position.get, values.ravel().tolist(), repeat(-1))
            return np.fromiter(found, dtype=np.int64, count=values.size).reshape(values.shape)
        assert self._order is not None  # integers have an order
        place = np.searchsorted(self._sorted, values)
        place[place == len(self._sorted)] = 0
        return np.where(self._sorted[place] == values, self._order[place], -1)

    def hold_both(self, ends: Ids) -> npt.NDArray[np.bool_]:
        """Which pairs, shape (m, 2), have both ends among the ids."""
        position = self.positions(ends)
        return (position[:, 0] >= 0) & (position[:, 1] >= 0)

    def suggestion(self, value: object) -> str:
        """`" Did you mean 'x'?"`, or nothing when no id is near or there are too many."""
        if len(self.ids) > _MOST_IDS_TO_COMPARE:
            return ""
        near = difflib.get_close_matches(str(value), list(map(str, self.ids.tolist())), n=1)
        if not near:
            return ""
        shown = repr(near[0]) if kind(self.ids) == "strings" else near[0]
        return f" Did you mean {shown}?"


def _duplicate_message(ids: Ids, name: str) -> str:
    first: dict[Any, int] = {}
    for position, value in enumerate(ids.tolist()):
        if value in first:
            return (
                f"{name} must be different for every row. "
                f"{value!r} stands at positions {first[value]} and {position}."
            )
        first[value] = position
    raise AssertionError("there are no duplicates")  # pragma: no cover


def number_ids(values: Ids) -> tuple[Ints, Ids]:
    """Number the distinct ids: the number of each value (shape of `values`) and the id of each."""
    if kind(values) == "integers":
        names, numbers = np.unique(values, return_inverse=True)
        return numbers.reshape(values.shape).astype(np.int64), names
    flat = values.ravel().tolist()
    distinct = dict.fromkeys(flat)
    position = dict(zip(distinct, range(len(distinct))))
    numbers = np.fromiter(map(position.__getitem__, flat), dtype=np.int64, count=len(flat))
    names = np.empty(len(distinct), dtype=object)
    names[:] = list(distinct)
    return numbers.reshape(values.shape), names
