"""Data past memory: the rows that links speak of, and a uniform sample of all, in one pass.

Training needs no more than these: a step costs the same whatever the number of rows. All rows are
labelled afterwards, as they are read again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s3c2.data.streams import Stream, as_stream, is_memory_mapped
from s3c2.engine.ahead import ahead
from s3c2.engine.progress import Progress, say
from s3c2.engine.randomness import Purpose, generator
from s3c2.errors import DataError, LinksError
from s3c2.links import Links
from s3c2.links.ids import check_same_rows
from s3c2.naming import named
from s3c2.stream_ids import IdsInPass

MEMORY = 2**28


@dataclass(frozen=True)
class Sampled:
    """The rows of a stream that training sees.

    Attributes
    ----------
    whole : all rows
    X : rows that training sees, (m, *row_shape)
    numbers : their numbers among all rows, ascending, (m,)
    n_linked : how many of them links speak of
    ids : finds linked rows by id; None where links hold row numbers
    kept_ids : ids of the rows of X, block by block, if they have ids
    sample_id : ids of all rows, if the user gave them
    """

    whole: Stream
    X: NDArray[Any]
    numbers: NDArray[np.int64]
    n_linked: int
    ids: IdsInPass | None = None
    kept_ids: Sequence[Any] = ()
    sample_id: Any = None

    @property
    def names(self) -> list[str]:
        """The ids of the rows of X, or their numbers among all rows, as text."""
        if not self.kept_ids:
            return list(map(str, self.numbers.tolist()))
        return [str(one) for ids in self.kept_ids for one in ids.tolist()]

    def resolve(self, links: Links) -> Links:
        """Links by id, or by row number of the whole, as links by row number of X."""
        if self.sample_id is not None:
            links = links.resolve(self.whole.n, self.sample_id)
        if not links.by_id:
            check_same_rows(False, links.n_samples, self.whole.n)
            return links.restrict(self.numbers)
        if self.ids is None:
            check_same_rows(True, None, self.whole.n)
        assert self.ids is not None
        found, rows = self.ids.found()
        by_id = self.ids.as_ids(links).resolve(len(found), found)
        place = np.searchsorted(self.numbers, rows)
        return Links(
            place[by_id.must],
            place[by_id.cannot],
            n_samples=len(self.numbers),
            must_weight=by_id.must_weight,
            cannot_weight=by_id.cannot_weight,
        )

    def is_all(self) -> bool:
        """Whether no row was left out."""
        return len(self.numbers) == self.whole.n

    def in_words(self, memory: int) -> str:
        """What the training sees."""
        others = len(self.numbers) - self.n_linked
        return (
            f"{self.whole.n:,} rows of {self.whole.row_bytes:,} bytes: the training sees "
            f"{self.n_linked:,} rows with links and {others:,} others, drawn at random, "
            f"{self.X.nbytes / 2**20:,.0f} MiB ({named('memory')} is {memory / 2**20:,.0f} MiB); "
            "then all rows are labelled"
        )


def sampled(
    X: Any, links: Sequence[Links | None], sample_id: Any, memory: int, verbose: int
) -> Sampled | None:
    """What training sees of an X past memory; None if X lies in memory, or may.

    Parameters
    ----------
    X : Sampled, Stream, Batches, Arrow dataset, memory-mapped array, or anything in memory
    links : of every model
    sample_id : ids of the rows, or of a dataset the name of the column with them
    memory : bytes that the rows may take
    """
    if isinstance(X, Sampled):
        return X
    if is_memory_mapped(X) and X.nbytes <= memory:
        return None
    in_data = isinstance(sample_id, str)
    stream = as_stream(X, id_column=sample_id if in_data else None)
    if stream is None:
        return None
    if in_data or sample_id is None:
        return sample(stream, links, memory, verbose)
    with warnings.catch_warnings():  # links that are left out are told of when they are used
        warnings.simplefilter("ignore")
        links = [one and one.resolve(stream.n, sample_id) for one in links]
    return replace(sample(stream, links, memory, verbose), sample_id=sample_id)


def sample(stream: Stream, links: Sequence[Links | None], memory: int, verbose: int = 0) -> Sampled:
    """Walk once through all rows, and keep those that links speak of and a uniform sample."""
    given = [one for one in links if one is not None and one.n_links]
    by_number = [one for one in given if not one.by_id]
    for one in by_number:
        check_same_rows(False, one.n_samples, stream.n)
    by_id = [one for one in given if one.by_id]
    ids = IdsInPass(by_id) if stream.has_ids else None
    if by_id and ids is None:
        raise LinksError(
            "The links speak of ids, and the rows have only numbers. Name the column with the ids "
            f"({named('sample_id')} of fit, {named('id_column')} of a command), or let batches "
            "come with the ids of their rows."
        )
    linked = np.unique(np.concatenate([_no_rows(), *(_ends(one) for one in by_number)]))
    most = memory // stream.row_bytes - len(linked) - (0 if ids is None else ids.n_wanted)
    if most < 0:
        n = len(linked) + (0 if ids is None else ids.n_wanted)
        raise DataError(
            f"The {n:,} rows that links speak of take {n * stream.row_bytes / 2**20:,.0f} MiB, and "
            f"{named('memory')} allows {memory / 2**20:,.0f} MiB. Allow more, or give fewer links."
        )
    drawn = _draw(stream.n, most)
    kept = _walk(stream, np.union1d(linked, drawn), ids, verbose)
    if ids is not None:
        linked = np.unique(ids.found()[1]) if by_id else linked
    return Sampled(stream, *kept[:2], len(linked), ids if by_id else None, kept[2])


def _no_rows() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


def _ends(links: Links) -> NDArray[np.int64]:
    return np.concatenate([links.must.ravel(), links.cannot.ravel()]).astype(np.int64)


def _draw(n: int, most: int) -> NDArray[np.int64]:
    """So many different row numbers, each as likely as any other, or all."""
    if most >= n:
        return np.arange(n)
    return generator(0, Purpose.POOL).choice(n, most, replace=False, shuffle=False)


def _walk(
    stream: Stream, wanted: NDArray[np.int64], ids: IdsInPass | None, verbose: int
) -> tuple[NDArray[Any], NDArray[np.int64], list[Any]]:
    """The wanted rows and those that ids speak of: rows, numbers, and ids."""
    most = min(stream.n, len(wanted) + (0 if ids is None else ids.n_wanted))
    X = np.empty((most, *stream.row_shape), dtype=stream.dtype)
    numbers = np.empty(most, dtype=np.int64)
    kept_ids: list[Any] = []
    start = done = 0
    with Progress("reading", stream.n, verbose, per_second="rows") as progress:
        for block in ahead(stream.blocks()):
            first, last = np.searchsorted(wanted, [start, start + len(block.X)])
            places = wanted[first:last] - start
            if ids is not None:
                places = np.union1d(places, ids.look(block.ids, start))
                kept_ids.append(block.ids.take(places))
            X[done : done + len(places)] = block.X[places]
            numbers[done : done + len(places)] = places + start
            done += len(places)
            start += len(block.X)
            progress.update(start)
    if ids is not None:
        ids.check_no_doubles(stream)
    return X[:done], numbers[:done], kept_ids


def tell(found: Sampled, memory: int, verbose: int) -> None:
    """Say what the training sees, unless it is everything."""
    if not found.is_all():
        say(found.in_words(memory), verbose)
