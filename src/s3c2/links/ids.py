"""Ids of rows: all integers or all strings, where each of them stands, and which rows they mean.

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

from s3c2.errors import LinksError, LinksWarning, warn

Ids = npt.NDArray[Any]  # int64, or object holding str
Ints = npt.NDArray[np.int64]

# Comparing one unknown id with more ids than this takes longer than a person wants to wait.
_MOST_IDS_TO_COMPARE = 10_000

_FOLLOW_ROWS = (
    "Pass sample_id, one id per row, so that links follow their rows, for example through "
    "cross-validation."
)


class NotAnIdError(Exception):
    """One value is no id. The caller knows where it stands, and tells the user."""

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


# Which rows are meant


def not_row_numbers(values: Ids, n_samples: int) -> npt.NDArray[np.bool_]:
    """Which values are no row number of n_samples rows. Shape as `values`."""
    if kind(values) == "strings":
        return np.ones(values.shape, dtype=np.bool_)
    return np.asarray((values < 0) | (values >= n_samples), dtype=np.bool_)


def check_rows(rows: Any, n_samples: int) -> Ints:
    """Row numbers without duplicates, from row numbers or a boolean mask over all rows."""
    array = np.asarray(rows)
    if array.dtype.kind == "b":
        if array.shape != (n_samples,):
            raise LinksError(
                f"A mask of rows must have shape ({n_samples},), one entry for each row that the "
                f"links speak of. Got shape {array.shape} instead."
            )
        return np.flatnonzero(array)
    numbers = as_ids(array, "rows")
    bad = not_row_numbers(numbers, n_samples)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise LinksError(
            f"rows[{i}] is {numbers.tolist()[i]!r}, "
            f"but the links speak of the rows 0 to {n_samples - 1}."
        )
    return numbers


def check_same_rows(by_id: bool, n_of_links: int | None, n_samples: int) -> None:
    """Refuse links that cannot be applied by row number to n_samples rows."""
    if by_id:
        raise LinksError(
            f"The links speak of ids, and X has only row numbers. {_FOLLOW_ROWS} If they are row "
            "numbers, say so: n_samples=len(X), in Links(…) or Links.read(…)."
        )
    if n_of_links != n_samples:
        raise LinksError(
            f"The links speak of {n_of_links} rows, but X has {n_samples}. {_FOLLOW_ROWS}"
        )


def check_sample_id(
    sample_id: Any, n_samples: int, n_of_links: int | None, link_ids: Ids
) -> IdIndex:
    """Index of the rows' ids, which must be of the kind that the links speak of.

    Parameters
    ----------
    sample_id : sequence of length n_samples
        The rows' ids.
    n_samples : int
        Number of rows of X.
    n_of_links : int or None
        Number of rows the links speak of when they hold row numbers, None when they hold ids.
    link_ids : array
        Ids that the links hold, possibly none.
    """
    ids = as_ids(sample_id, "sample_id")
    if len(ids) != n_samples:
        raise LinksError(
            f"sample_id must have one id per row of X: {n_samples}. Got {len(ids)} instead."
        )
    index = IdIndex(ids, "sample_id")
    if n_of_links is not None:
        bad = not_row_numbers(ids, n_of_links)
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            raise LinksError(
                f"sample_id[{i}] is {ids.tolist()[i]!r}, but the links hold row numbers, and so "
                f"sample_id must hold the row numbers 0 to {n_of_links - 1}. For other ids, make "
                "the links with ids and without n_samples."
            )
    elif link_ids.size and len(ids) and kind(ids) != kind(link_ids):
        raise LinksError(
            f"The links' ids are {kind(link_ids)} (such as {_example(link_ids)}), but sample_id "
            f"holds {kind(ids)} (such as {_example(ids)}). Convert one of them."
        )
    return index


def report_left_out(missing: Ids, n_links: int, sample_id: Ids) -> None:
    """Warn of links whose rows are not at hand; refuse when no link is left.

    Parameters
    ----------
    missing : (links left out, 2), ids of both rows
    n_links : of all links
    sample_id : ids of the rows at hand
    """
    if len(missing) == 0:
        return
    if len(missing) == n_links:
        rows = (
            f"sample_id holds, for example, {_example(sample_id)}"
            if len(sample_id)
            else "X has no rows"
        )
        raise LinksError(
            f"None of the {n_links} links has both rows in X: the links speak of, for example, "
            f"{_example(missing)}, and {rows}. Check that both name the rows alike. In a fold of "
            "cross-validation there may be no link at all: cross_validate_links keeps all rows."
        )
    a, b = missing[0].tolist()
    warn(
        f"{len(missing)} of {n_links} links were left out, since not both of their rows are in X, "
        f"such as that of {a!r} and {b!r}. If the ids are written as in X, this is a part of the "
        "rows, as in a fold of cross-validation; cross_validate_links keeps all rows.",
        LinksWarning,
    )


def _example(ids: Ids) -> str:
    return repr(ids.ravel().tolist()[0])
