"""Links and the rows at hand: which links speak of these rows, and of which of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from s3c2.errors import LinksError, LinksWarning
from s3c2.links.checked import Pairs, not_row_numbers
from s3c2.links.ids import IdIndex, Ids, Ints, as_ids, kind

_FOLLOW_ROWS = (
    "Pass sample_id, one id per row, so that links follow their rows, for example through "
    "cross-validation."
)


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


def positions_in(index: IdIndex, pairs: Pairs) -> tuple[Pairs, int]:
    """The pairs with both ends among the ids, renumbered to positions; how many were left out."""
    inside = pairs.select(index.hold_both(pairs.ends))
    return inside.with_ends(index.positions(inside.ends)), len(pairs) - len(inside)


def check_same_rows(by_id: bool, n_of_links: int | None, n_samples: int) -> None:
    """Refuse links that cannot be applied by row number to n_samples rows."""
    if by_id:
        raise LinksError(f"The links speak of ids, and X has only row numbers. {_FOLLOW_ROWS}")
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


def report_left_out(n_left_out: int, n_links: int, link_ids: Ids, sample_id: Ids) -> None:
    """Warn of links whose rows are not at hand; refuse when no link is left."""
    if n_left_out == 0:
        return
    if n_left_out == n_links:
        rows = (
            f"sample_id holds, for example, {_example(sample_id)}"
            if len(sample_id)
            else "X has no rows"
        )
        raise LinksError(
            f"None of the {n_links} links has both rows in X: the links speak of, for example, "
            f"{_example(link_ids)}, and {rows}. Check that both name the rows alike."
        )
    warnings.warn(
        f"{n_left_out} of {n_links} links were left out, since not both of their rows are in X. "
        "This is expected in row folds of cross-validation; cross_validate_links keeps all rows.",
        LinksWarning,
        stacklevel=3,
    )


def _example(ids: Ids) -> str:
    return repr(ids.ravel().tolist()[0])
