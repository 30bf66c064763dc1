"""Rows that need not fit into memory, read block by block in their order.

A `Stream` is made of parts, each of which can be read by itself: a run of rows of an array, or of
row groups of a Parquet file. What a part gives is the same whoever reads it, and when.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from s3c2.data.passes import check_finite
from s3c2.errors import DataError

PART_ROWS = 2**20  # at most in a part, unless it cannot be divided
BLOCK_ROWS = 2**16
BLOCK_BYTES = 2**24


class Block(NamedTuple):
    """Some rows that follow each other.

    Attributes
    ----------
    X : (rows, *row_shape), an array or a CSR matrix
    ids : their ids as a pyarrow or NumPy array, or None
    first : the number of the first of them, in its part's source
    """

    X: Any
    ids: Any
    first: int


class Part(Protocol):
    """Rows that can be read by themselves."""

    @property
    def source(self) -> str:
        """What messages call the place of the rows."""

    @property
    def n_rows(self) -> int:
        """How many rows it holds."""

    def blocks(self) -> Iterator[Block]:
        """The rows in order."""


@dataclass(frozen=True)
class Stream:
    """Rows in order, part by part.

    Attributes
    ----------
    parts : in order
    row_shape : of one row
    dtype : of the numbers
    columns : their names, if they have some
    has_ids : whether blocks come with ids
    """

    parts: Sequence[Part]
    row_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    columns: tuple[str, ...] | None = None
    has_ids: bool = False

    @property
    def n(self) -> int:
        return sum(part.n_rows for part in self.parts)

    @property
    def first_rows(self) -> list[int]:
        """The number of the first row of each part among all rows."""
        ends = np.cumsum([0, *(part.n_rows for part in self.parts)])
        return [int(end) for end in ends[:-1]]

    @property
    def row_bytes(self) -> int:
        return int(np.prod(self.row_shape)) * self.dtype.itemsize

    def blocks(self) -> Iterator[Block]:
        """All rows in order, checked to be finite."""
        for part in self.parts:
            yield from self.blocks_of(part)

    def blocks_of(self, part: Part) -> Iterator[Block]:
        """The rows of one part in order, checked to be finite and as many as there must be."""
        n_found = 0
        for block in part.blocks():
            check_finite(block.X, self.columns, part.source, block.first)
            n_found += block.X.shape[0]
            yield block
        if n_found != part.n_rows:
            raise DataError(
                f"{part.source} gave {n_found:,} rows, and {part.n_rows:,} were announced. Check "
                "the number, and that every walk gives all rows."
            )


def rows_of_block(row_shape: tuple[int, ...]) -> int:
    """Rows that are read at a time: a multiple of the batches that networks take."""
    size = BLOCK_BYTES // (4 * max(1, int(np.prod(row_shape))))
    return max(1, min(BLOCK_ROWS, size) // 1024) * 1024


# Arrays


@dataclass(frozen=True)
class ArrayPart:
    """Rows start … stop − 1 of an array.

    ``prepared`` turns some of its rows into rows of X.
    """

    array: NDArray[Any]
    start: int
    stop: int
    source: str = "X"
    prepared: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    def blocks(self) -> Iterator[Block]:
        size = rows_of_block(self.array.shape[1:])
        for start in range(self.start, self.stop, size):
            X = np.array(self.array[start : min(start + size, self.stop)])
            let_go(self.array)
            yield Block(X if self.prepared is None else self.prepared(X), None, start)


def array_stream(
    array: NDArray[Any],
    source: str = "X",
    prepared: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
) -> Stream:
    """The rows of an array, as a rule a memory-mapped one."""
    parts = [
        ArrayPart(array, start, min(start + PART_ROWS, len(array)), source, prepared)
        for start in range(0, len(array), PART_ROWS)
    ]
    first = array[:1] if prepared is None else prepared(np.array(array[:1]))
    return Stream(parts, first.shape[1:], first.dtype)


@dataclass(frozen=True)
class MemoryPart:
    """Rows that lie in memory, with their ids."""

    X: Any
    ids: NDArray[Any] | None
    source: str

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def blocks(self) -> Iterator[Block]:
        size = rows_of_block(self.X.shape[1:])
        for start in range(0, self.n_rows, size):
            ids = None if self.ids is None else self.ids[start : start + size]
            yield Block(self.X[start : start + size], ids, start)


def memory_stream(X: Any, ids: Sequence[str] | None, source: str) -> Stream:
    """Rows that lie in memory, an array or a CSR matrix, as a stream of one part."""
    names = None if ids is None else np.array(ids, dtype=object)
    part = MemoryPart(X, names, source)
    return Stream([part], X.shape[1:], X.dtype, has_ids=ids is not None)


def is_memory_mapped(X: Any) -> bool:
    """Whether an array lies in a file that is mapped into memory."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def let_go(X: Any) -> None:
    """Give the memory of a memory-mapped array back; what is read again comes from the file."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap) and X.mode == "c":  # changes that are nowhere else
            return
        X = X.base
    if isinstance(X, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        X.madvise(mmap.MADV_DONTNEED)


# Batches


class Batches:
    """Rows that come in batches, from anywhere, with a known number of rows.

    Parameters
    ----------
    batches : function without arguments, or a sequence
        Gives the batches from the first on, each time it is called: once to learn, once to label
        all rows. A batch is an array (rows, …), or a pair of such an array and the ids of its rows.
    n_rows : int
        Number of rows of all batches.

    Examples
    --------
    >>> import numpy as np
    >>> from s3c2 import Batches
    >>> X = np.arange(10.0).reshape(5, 2)
    >>> Batches(lambda: (X[start : start + 2] for start in (0, 2, 4)), n_rows=5)
    Batches(5 rows)
    """

    def __init__(self, batches: Callable[[], Iterable[Any]] | Sequence[Any], n_rows: int) -> None:
        if not callable(batches) and not isinstance(batches, Sequence):
            raise DataError(
                f"Batches takes a function that gives the batches, or a list of them. Got "
                f"{type(batches).__name__}, which can be walked through only once, and the rows "
                "are read twice: to learn, and to label them. Write Batches(lambda: …, n_rows)."
            )
        if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < 1:
            raise DataError(f"n_rows must be the number of rows, at least 1. Got {n_rows!r}.")
        self.batches = batches
        self.n_rows = int(n_rows)

    def __repr__(self) -> str:
        return f"Batches({self.n_rows} rows)"

    def stream(self) -> Stream:
        """The rows as a stream of one part: it cannot be begun in the middle."""
        part = BatchesPart(self)
        try:
            first = next(part.blocks())
        except StopIteration:
            raise DataError("X gave no batch. Check the function that makes them.") from None
        shape, dtype = first.X.shape[1:], first.X.dtype
        return Stream([part], shape, dtype, has_ids=first.ids is not None)


@dataclass(frozen=True)
class BatchesPart:
    """All rows of some batches."""

    batches: Batches
    source: str = "X"

    @property
    def n_rows(self) -> int:
        return self.batches.n_rows

    def blocks(self) -> Iterator[Block]:
        given, start, shape = self.batches.batches, 0, None
        for number, batch in enumerate(given() if callable(given) else given):
            rows, ids = batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)
            X = np.asarray(rows)
            if X.ndim < 2 or X.dtype.kind not in "fiub":
                raise DataError(
                    f"Batch {number} of X has the shape {X.shape} and holds {X.dtype}; expected an "
                    "array of numbers, (rows, columns) or images (rows, …)."
                )
            shape = X.shape[1:] if shape is None else shape
            if X.shape[1:] != shape or (ids is not None and len(ids) != len(X)):
                raise DataError(
                    f"Batch {number} of X has rows of shape {X.shape[1:]} and "
                    f"{0 if ids is None else len(ids)} ids for {len(X)} rows; the first batch has "
                    f"rows of shape {shape}. All batches must be alike."
                )
            yield Block(X, None if ids is None else np.asarray(ids), start)
            start += len(X)


# Whatever a user gives


def is_dataset(X: Any) -> bool:
    """Whether this is an Arrow dataset; pyarrow is not imported to find out."""
    arrow = sys.modules.get("pyarrow.dataset")
    return arrow is not None and isinstance(X, arrow.Dataset)


def as_stream(
    X: Any, *, columns: Sequence[str] | None = None, id_column: str | None = None
) -> Stream | None:
    """X as a stream, or None if it lies in memory.

    Parameters
    ----------
    X : Stream, Batches, Arrow dataset or memory-mapped array are streams
    columns : of a dataset, by default all but the ids
    id_column : of a dataset
    """
    if isinstance(X, Stream):
        return X
    if isinstance(X, Batches):
        return X.stream()
    if is_dataset(X):
        from s3c2.data.parquet import dataset_stream

        return dataset_stream(X, columns=columns, id_column=id_column)
    if is_memory_mapped(X):
        from s3c2.data.arrays import channels_first

        return array_stream(channels_first(X))
    return None
