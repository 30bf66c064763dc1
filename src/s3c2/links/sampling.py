"""Drawing links from known labels: each possible pair equally likely, or in chains.

The pairs of a kind are numbered without listing them, so that drawing distinct numbers draws
distinct pairs, exactly and in little memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from s3c2.errors import LinksError
from s3c2.links.ids import Ints, NotAnIdError, number_ids, plain_ids


def generator(random_state: Any) -> np.random.Generator:
    """A random generator from a seed, None (fresh entropy), a Generator or a RandomState."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise LinksError(
            "random_state must be None, an integer of at least 0, a numpy Generator or a "
            f"RandomState. Got {random_state!r} instead."
        ) from None


def draw_pairs(y: Any, n: Any, must_share: Any, random_state: Any) -> tuple[Ints, Ints]:
    """Draw n distinct pairs of labelled rows; see `Links.from_labels`.

    Returns
    -------
    must, cannot : arrays of shape (m, 2) and (n − m, 2)
        Row numbers, the smaller first.
    """
    n = _check_count(n)
    rows, start = _rows_by_class(y)
    rng = generator(random_state)
    n_rows, size = len(rows), np.diff(start)
    n_must_pairs = int((size * (size - 1) // 2).sum())
    n_pairs = n_rows * (n_rows - 1) // 2
    if must_share is None:
        _check_enough(n, n_pairs, "pairs of labelled rows")
        ends = _pair_of_number(_distinct(n_pairs, n, rng))
        block = np.searchsorted(start, ends, side="right")
        same = block[:, 0] == block[:, 1]
        must, cannot = ends[same], ends[~same]
    else:
        n_must = round(n * _check_share(must_share))
        _check_enough(n_must, n_must_pairs, "pairs with the same label")
        _check_enough(n - n_must, n_pairs - n_must_pairs, "pairs with different labels")
        must = _must_of_number(_distinct(n_must_pairs, n_must, rng), start)
        cannot = _cannot_of_number(_distinct(n_pairs - n_must_pairs, n - n_must, rng), start)
    return np.sort(rows[must], axis=1), np.sort(rows[cannot], axis=1)


def draw_chains(y: Any, n: Any, random_state: Any) -> tuple[Ints, Ints]:
    """Draw n links, half of them must-links, so that rows are in links of both kinds.

    The rows of each class are shuffled. In the first n / 2K places of a class, K being the number
    of classes, a row is must-linked with the next one of its class, and cannot-linked with the row
    at the same place in another class, drawn at random. It is the generator of the authors' script,
    but for pairs that it would draw twice: they go to a class that is left or, if there is none, to
    the next place in the class that was drawn.

    Returns
    -------
    must, cannot : arrays of shape (m, 2) and (n − m, 2)
        Row numbers, the smaller first.
    """
    n = _check_count(n)
    rows, start = _rows_by_class(y)
    rng = generator(random_state)
    chains = [rng.permutation(one) for one in np.split(rows, start[1:-1])]
    if len(chains) < 2:
        raise LinksError("Links in chains need rows of at least two classes, and y has fewer.")
    n_must = round(n / 2)
    lengths = _shared_out(n_must, len(chains), rng)
    for chain, length in zip(chains, lengths):
        if len(chain) <= length:
            raise LinksError(
                f"{n:,} links in chains need {length + 1:,} rows of every class, but one has "
                f"only {len(chain):,}. Ask for fewer links."
            )
    must = [(chain[i], chain[i + 1]) for chain, k in zip(chains, lengths) for i in range(k)]
    cannot: set[tuple[int, int]] = set()
    for own, length in enumerate(_shared_out(n - n_must, len(chains), rng, lengths)):
        for i in range(length):
            cannot.add(_pair_with_another_class(chains, own, i, cannot, rng))
    pairs = [np.array(sorted(one), dtype=np.int64).reshape(-1, 2) for one in (must, cannot)]
    return np.sort(pairs[0], axis=1), np.sort(pairs[1], axis=1)


def _shared_out(
    n: int, classes: int, rng: np.random.Generator, most: Sequence[int] | None = None
) -> list[int]:
    """Parts of n that differ by one at most; which have one more is drawn, or as in ``most``."""
    parts = np.full(classes, n // classes)
    order = rng.permutation(classes) if most is None else np.argsort(most)[::-1]
    parts[order[: n % classes]] += 1
    return [int(part) for part in parts]


def _pair_with_another_class(
    chains: Sequence[Ints],
    own: int,
    i: int,
    taken: set[tuple[int, int]],
    rng: np.random.Generator,
) -> tuple[int, int]:
    """The row at place i of a class, and that of another class, as a pair that is not there yet."""
    row = int(chains[own][i])
    others = [e for e in rng.permutation(len(chains)) if e != own]
    for place in range(i, max(map(len, chains))):
        for other in others:
            if place < len(chains[other]):
                with_it = int(chains[other][place])
                pair = (min(row, with_it), max(row, with_it))
                if pair not in taken:
                    return pair
    raise LinksError("There are too few rows for so many links in chains. Ask for fewer links.")


def _rows_by_class(y: Any) -> tuple[Ints, Ints]:
    """Labelled rows sorted by class, and where each class starts; the last entry is the end."""
    labels = _check_labels(y)
    known = np.flatnonzero(labels != -1)
    classes, _ = number_ids(labels[known]) if len(known) else (known, known)
    order = np.argsort(classes, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(classes))]).astype(np.int64)
    return known[order], start


def _check_labels(y: Any) -> npt.NDArray[Any]:
    labels = np.asarray(y)
    if labels.dtype.kind == "U" and not hasattr(y, "dtype"):  # a list, maybe not of strings alone
        labels = np.asarray(y, dtype=object)
    if labels.ndim != 1:
        raise LinksError(f"y must have one label per row. Got shape {labels.shape} instead.")
    if labels.dtype.kind == "b":
        return labels.astype(np.int64)
    if labels.dtype.kind == "f" and np.all(np.isfinite(labels) & (labels == np.floor(labels))):
        return labels.astype(np.int64)
    if labels.dtype.kind == "O":
        # Strings may stand beside the integer −1 for unknown.
        values = labels.tolist()
        unknown = np.fromiter((v == -1 for v in values), dtype=bool, count=len(values))
        whole = np.full(len(values), -1, dtype=object)
        whole[~unknown] = _check_label_kind(labels[~unknown])
        return whole
    return _check_label_kind(labels)


def _check_label_kind(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if labels.dtype.kind == "U":
        return labels.astype(object)
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.tolist()):
        return labels
    try:
        return plain_ids(labels)
    except NotAnIdError:
        raise LinksError(
            "y must hold integers or strings, with -1 where the label is unknown. "
            f"Got {labels[:5].tolist()} … instead."
        ) from None


def _check_count(n: Any) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 0:
        raise LinksError(f"n must be the number of links, an integer of at least 0. Got {n!r}.")
    return int(n)


def _check_share(must_share: Any) -> float:
    try:
        share = float(must_share)
    except (TypeError, ValueError):
        share = -1.0
    if not 0 <= share <= 1:
        raise LinksError(
            f"must_share must be a number from 0 to 1, or None. Got {must_share!r} instead."
        )
    return share


def _check_enough(wanted: int, available: int, what: str) -> None:
    if wanted > available:
        raise LinksError(
            f"{wanted:,} {what} were asked for, but y has only {available:,}. "
            "Ask for fewer links, or change must_share."
        )


def _distinct(total: int, n: int, rng: np.random.Generator) -> Ints:
    """Draw n different numbers below total, every set of n equally likely."""
    if 2 * n >= total:
        return rng.permutation(total)[:n]
    drawn = np.zeros(0, dtype=np.int64)
    while len(drawn) < n:
        drawn = np.concatenate([drawn, rng.integers(total, size=n - len(drawn))])
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
    return drawn


def _pair_of_number(number: Ints) -> Ints:
    """The pairs 0–1, 0–2, 1–2, 0–3, … numbered from 0: number = i + j (j − 1) / 2, i < j."""
    j = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    # The square root of a large number rounds; j is then one off.
    j -= j * (j - 1) // 2 > number
    j += j * (j + 1) // 2 <= number
    return np.stack([number - j * (j - 1) // 2, j], axis=1)


def _must_of_number(number: Ints, start: Ints) -> Ints:
    """Pairs within a class, numbered class by class; positions among rows sorted by class."""
    size = np.diff(start)
    first = np.concatenate([[0], np.cumsum(size * (size - 1) // 2)])
    block = np.searchsorted(first, number, side="right") - 1
    return start[block][:, None] + _pair_of_number(number - first[block])


def _cannot_of_number(number: Ints, start: Ints) -> Ints:
    """Pairs of a row with all rows of later classes, numbered row by row."""
    n_later = start[-1] - start[1:]  # rows after each class
    first = np.concatenate([[0], np.cumsum(np.diff(start) * n_later)])
    block = np.searchsorted(first, number, side="right") - 1
    width = np.maximum(n_later[block], 1)
    row, other = np.divmod(number - first[block], width)
    return np.stack([start[block] + row, start[block + 1] + other], axis=1)
