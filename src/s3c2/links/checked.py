"""Pairs of one kind, must or cannot: what a user may give, checked and put in one form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from s3c2.errors import LinksError, RowNumberError
from s3c2.links.ids import (
    IdIndex,
    Ids,
    Ints,
    NotAnIdError,
    not_row_numbers,
    number_ids,
    plain_ids,
)

# Two row numbers are packed in one 64-bit key, low * n + high; this many rows still fit.
MOST_ROWS = 3_000_000_000

Where = Callable[[int], str]  # how a message leads to the pair at a position


@dataclass(frozen=True, eq=False)
class CheckedPairs:
    """Distinct pairs with their weights; the arrays are read-only.

    Parameters
    ----------
    ends : array of shape (m, 2)
        Row numbers or ids.
    weight : array of shape (m,)
        How sure each judgement is, in (0, 1].
    line : array of shape (m,) or None
        The line of the file that each pair came from.
    n_duplicates : int
        How many pairs were left out because they had been given before.
    """

    ends: Ids
    weight: npt.NDArray[np.float64]
    line: Ints | None = None
    n_duplicates: int = 0

    def __post_init__(self) -> None:
        for array in (self.ends, self.weight, self.line):
            if array is not None:
                array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.ends)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, since unpickled arrays come back writeable.
        return CheckedPairs, (self.ends, self.weight, self.line, self.n_duplicates)

    def same_as(self, other: CheckedPairs) -> bool:
        return (
            len(self) == len(other)
            and bool(np.array_equal(self.ends, other.ends))
            and bool(np.array_equal(self.weight, other.weight))
        )

    def select(self, which: npt.NDArray[Any]) -> CheckedPairs:
        """The pairs that a mask or positions pick."""
        line = None if self.line is None else self.line[which]
        return CheckedPairs(self.ends[which], self.weight[which], line)

    def with_ends(self, ends: Ids) -> CheckedPairs:
        """The same judgements about other names of the rows."""
        return replace(self, ends=ends)

    def positions_in(self, index: IdIndex) -> tuple[CheckedPairs, Ids]:
        """The pairs with both ends among some ids, as positions; the ends of those left out."""
        held = index.hold_both(self.ends)
        inside = self.select(held)
        return inside.with_ends(index.positions(inside.ends)), self.ends[~held]


def check_n_samples(n_samples: Any) -> int:
    try:
        n = int(n_samples.__index__())
    except (AttributeError, TypeError):
        n = -1
    if isinstance(n_samples, bool) or not 0 <= n <= MOST_ROWS:
        raise LinksError(
            f"n_samples must be the number of rows, an integer from 0 to {MOST_ROWS:,}. "
            f"Got {n_samples!r} instead."
        )
    return n


def check_pairs(
    pairs: Any,
    weight: Any,
    kind: str,
    n_samples: int | None,
    line: Ints | None = None,
    where: Where | None = None,
) -> CheckedPairs:
    """Check pairs of one kind ("must" or "cannot") and leave out what says nothing new.

    Parameters
    ----------
    pairs : sequence of pairs or array of shape (m, 2)
        Row numbers when `n_samples` is given, ids otherwise.
    weight : float, array of shape (m,) or None
        One for all or one per pair; None is 1.
    kind : {"must", "cannot"}
        Of these pairs.
    n_samples : int or None
        Number of rows, None for ids.
    line : array of shape (m,), optional
        The line of each pair in its file.
    where : callable, optional
        How a message leads to the pair at a position, when it came from a file.
    """
    if where is None:

        def where(i: int) -> str:
            return f"{kind}[{i}] ="

    ends = _check_ends(pairs, kind, n_samples, where)
    if n_samples is not None:
        _check_row_numbers(ends, n_samples, where)
    weights = _check_weight(weight, len(ends), kind)
    with_itself = ends[:, 0] == ends[:, 1]
    if kind == "cannot" and with_itself.any():
        i = int(np.flatnonzero(with_itself)[0])
        what = "row" if n_samples is not None else "id"
        raise LinksError(
            f"{where(i)} {tuple(ends[i].tolist())}: a cannot-link of {what} "
            f"{ends[i].tolist()[0]!r} to itself, and a row is never different from itself. "
            "Correct or remove it."
        )
    keep = ~with_itself.astype(bool)  # a must-link of a row to itself says nothing
    return _without_duplicates(
        ends[keep], weights[keep], None if line is None else line[keep], n_samples
    )


def _check_ends(pairs: Any, kind: str, n_samples: int | None, where: Where) -> Ids:
    if hasattr(pairs, "__array__"):
        array = np.asarray(pairs)
    else:
        try:
            array = np.array(list(pairs), dtype=object)
        except (TypeError, ValueError):
            raise LinksError(
                f"{kind} must be a sequence of pairs (a, b). Got {pairs!r} instead."
            ) from None
    if array.size == 0 and array.ndim <= 2 and array.shape[0] == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise LinksError(_shape_message(array, kind))
    try:
        return plain_ids(array)
    except NotAnIdError as bad:
        pair = tuple(array[bad.position // 2].tolist())
        if n_samples is not None:
            raise _no_row(f"{where(bad.position // 2)} {pair}", bad.value, n_samples) from None
        raise LinksError(
            f"{where(bad.position // 2)} {pair}: {bad.value!r} {bad.reason}."
        ) from None


def _shape_message(array: npt.NDArray[Any], kind: str) -> str:
    if array.ndim == 1:
        for i, pair in enumerate(array.tolist()):
            if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
                return f"{kind}[{i}] must be a pair (a, b). Got {pair!r} instead."
    return f"{kind} must be pairs, an array of shape (m, 2). Got shape {array.shape} instead."


def _no_row(place: str, value: Any, n_samples: int) -> RowNumberError:
    numbers = (
        f"row numbers are the integers 0 to {n_samples - 1}" if n_samples else "there are none"
    )
    return RowNumberError(
        f"{place}: {value!r} is not a row number. With {n_samples} rows {numbers}.",
        "For ids, leave out n_samples.",
    )


def _check_row_numbers(ends: Ids, n_samples: int, where: Where) -> None:
    bad = not_row_numbers(ends, n_samples)
    if bad.any():
        i, end = (int(k) for k in np.argwhere(bad)[0])
        pair = tuple(ends[i].tolist())
        raise _no_row(f"{where(i)} {pair}", pair[end], n_samples)


def _check_weight(weight: Any, n_pairs: int, kind: str) -> npt.NDArray[np.float64]:
    if weight is None:
        return np.ones(n_pairs)
    try:
        weights = np.array(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise LinksError(
            f"{kind}_weight must be numbers above 0 and at most 1. Got {weight!r} instead."
        ) from None
    one_for_all = weights.ndim == 0
    if one_for_all:
        weights = np.full(n_pairs, float(weights))
    if weights.shape != (n_pairs,):
        raise LinksError(
            f"{kind}_weight must be one number, or one per pair: shape ({n_pairs},). "
            f"Got shape {weights.shape} instead."
        )
    bad = ~((weights > 0) & (weights <= 1))  # so that NaN is bad
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        name = f"{kind}_weight" if one_for_all else f"{kind}_weight[{i}]"
        raise LinksError(
            f"{name} is {float(weights[i])!r}. A weight is a number above 0 and at most 1."
        )
    return weights


def pair_keys(numbers: Ints, n: int) -> Ints:
    """One integer per unordered pair of numbers below n."""
    keys: Ints = numbers.min(axis=1) * np.int64(n) + numbers.max(axis=1)
    return keys


def _without_duplicates(
    ends: Ids, weight: npt.NDArray[np.float64], line: Ints | None, n_samples: int | None
) -> CheckedPairs:
    if len(ends) == 0:
        return CheckedPairs(ends, weight, line)
    if n_samples is None:
        numbers, names = number_ids(ends)
        keys = pair_keys(numbers, len(names))
    else:
        keys = pair_keys(ends, n_samples)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    largest = np.zeros(len(first))
    np.maximum.at(largest, group.ravel(), weight)
    order = np.argsort(first)
    first = first[order]
    return CheckedPairs(
        ends[first],
        largest[order],
        None if line is None else line[first],
        len(ends) - len(first),
    )
