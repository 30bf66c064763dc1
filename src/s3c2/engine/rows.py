"""The rows of X, whatever X is, handed out as float32 batches.

X stays what it was (dense, sparse, memory-mapped, integer or float) until a batch of rows is
drawn: only the batch is made dense, scaled and turned into float32.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from s3c2.data.passes import CHUNK_BYTES, FLOAT32_MAX, chunks
from s3c2.data.scaling import Scaling, check_scaled
from s3c2.data.streams import Part, Stream
from s3c2.engine.ahead import ahead
from s3c2.engine.kernels.steps import has_kernels, take_rows
from s3c2.errors import DataError

RESIDENT_SHARE = 0.4  # of a GPU's free memory, for X
PINNED_SHARE = 0.25  # of the host's free memory: torch rounds up to a power of two


class Rows:
    """The rows of a validated X.

    Parameters
    ----------
    X : array (n, d), (n, h, w) or (n, c, h, w), or CSR matrix (n, d)
    shape : the shape in which a row is handed out
    scaling : Scaling, optional
    device : torch.device
    numbers : the rows of X that are meant, by default all
    """

    def __init__(
        self,
        X: Any,
        shape: tuple[int, ...],
        scaling: Scaling | None = None,
        device: torch.device | str = "cpu",
        numbers: NDArray[np.int64] | None = None,
    ) -> None:
        self.X = X
        self.shape = shape
        self.scaling = scaling
        self.device = torch.device(device)
        self.numbers = numbers
        self.n = int(X.shape[0]) if numbers is None else len(numbers)
        self.resident: Tensor | None = None  # all rows where a GPU can take them
        self.half: Tensor | None = None  # and in bfloat16, for products in it
        self.taken: Tensor | None = None  # the one of both that batches are taken from
        # All rows of X after a scaling that leaves few numbers of each: projected once, not again
        # in every batch.
        self.projected: Tensor | None = None

    def take(self, index: NDArray[np.int64]) -> Tensor:
        """Rows by number, any order, repeats allowed: (len(index), *shape), float32."""
        numbers = index if self.numbers is None else self.numbers[index]
        if self.scaling is None or self.scaling.shape(self.X.shape[1:]) == self.X.shape[1:]:
            return self._tensor(self.X[numbers])
        if self.projected is None:
            self.projected = self._projected()
        return self.projected[torch.from_numpy(numbers)].to(self.device)

    def take_replicas(self, index: Tensor) -> Tensor:
        """Rows by number for each replica: (replicas, rows) → (replicas, rows, *shape)."""
        if self.taken is not None:
            return take_rows(self.taken, index)
        return self.take(index.flatten().cpu().numpy()).view(*index.shape, *self.shape)

    def settle(self, precision: str = "float32") -> bool:
        """Put all rows where a step on a GPU can read them without the host; whether that worked.

        That is the GPU's memory if they fit beside the work there, otherwise pinned memory of the
        host, which the GPU reads row by row. Rows that fit into neither stay what they are.
        """
        if self.device.type != "cuda":
            return False
        if self.resident is None:
            self.resident = self._laid_out()
        if self.resident is None:
            return False
        if precision == "bf16" and self.half is None:
            half = self.resident.bfloat16()
            self.half = half if half.is_cuda else half.pin_memory()
        self.taken = self.half if precision == "bf16" else self.resident
        return True

    def _laid_out(self) -> Tensor | None:
        values = self.n * int(np.prod(self.shape))
        if 6 * values <= RESIDENT_SHARE * torch.cuda.mem_get_info(self.device)[0]:
            place: dict[str, Any] = {"device": self.device}
        elif has_kernels() and 6 * values <= PINNED_SHARE * _free_memory():
            place = {"pin_memory": True}
        else:
            return None
        rows = torch.empty(self.n, *self.shape, **place)
        step = max(1, CHUNK_BYTES // (4 * int(np.prod(self.shape))))
        for start in range(0, self.n, step):
            stop = min(start + step, self.n)
            rows[start:stop] = self.block(start, stop)
        return rows

    def block(self, start: int, stop: int) -> Tensor:
        """Rows start … stop − 1."""
        if self.resident is not None:
            return self.resident[start:stop].to(self.device)
        if self.numbers is None:
            return self._tensor(self.X[start:stop])
        return self._tensor(self.X[self.numbers[start:stop]])

    def in_order(self, size: int) -> Iterator[Tensor]:
        """All rows from the first on, so many at a time."""
        for start in range(0, self.n, size):
            yield self.block(start, min(start + size, self.n))

    def subset(self, index: NDArray[np.int64]) -> Rows:
        """These rows alone, numbered from 0; nothing is copied."""
        numbers = index if self.numbers is None else self.numbers[index]
        rows = Rows(self.X, self.shape, self.scaling, self.device, numbers)
        rows.projected = self.projected
        return rows

    def _projected(self) -> Tensor:
        every = Rows(self.X, self.shape, self.scaling)
        return torch.cat([every._tensor(chunk) for _, chunk in chunks(self.X)])

    def _tensor(self, x: Any) -> Tensor:
        with np.errstate(over="ignore", invalid="ignore"):  # such rows get no result, which is told
            if self.scaling is not None:
                x = self.scaling.apply(x)
            elif sparse.issparse(x):
                x = x.toarray()
            x = np.asarray(x, dtype=np.float32)
        if x.base is not None:  # a view of what the caller gave, which no network may write to
            x = x.copy()
        return torch.from_numpy(x).to(self.device).reshape(len(x), *self.shape)


class RowBlock(NamedTuple):
    """Some rows for a network, and their ids."""

    ids: Any
    x: Tensor


class StreamedRows:
    """Rows that are read in order, as often as they are asked for, and are never all in memory.

    Parameters
    ----------
    stream : where they come from
    shape, scaling, device : as of Rows
    """

    def __init__(
        self,
        stream: Stream,
        shape: tuple[int, ...],
        scaling: Scaling | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.stream = stream
        self.shape = shape
        self.scaling = scaling
        self.device = torch.device(device)
        self.n = stream.n

    def in_order(self, size: int) -> Iterator[Tensor]:
        """All rows from the first on, at most so many at a time."""
        for _, block in self.blocks(self.stream.parts):
            if isinstance(block, DataError):
                raise block
            for start in range(0, len(block.x), size):
                yield block.x[start : start + size].to(self.device)

    def blocks(self, parts: Sequence[Part]) -> Generator[tuple[int, RowBlock | DataError]]:
        """The blocks of some parts, read ahead, each with the place of its part among them.

        An error ends a part, and the next one is read.
        """

        def read() -> Iterator[tuple[int, RowBlock | DataError]]:
            for place, part in enumerate(parts):
                try:
                    for block in self.stream.blocks_of(part):
                        x = self._tensor(block.X, part.source, block.first)
                        yield place, RowBlock(block.ids, x)
                except DataError as error:
                    yield place, error

        return ahead(read())

    def _tensor(self, x: Any, source: str, first: int) -> Tensor:
        if self.scaling is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                scaled = self.scaling.apply(x)
            if not (scaled.max() <= FLOAT32_MAX and scaled.min() >= -FLOAT32_MAX):
                check_scaled(x, self.scaling, self.stream.columns, source, first)
            x = scaled
        elif sparse.issparse(x):
            x = x.toarray()
        x = np.array(x, dtype=np.float32)  # a copy: no network may write to what a user gave
        return torch.from_numpy(x).reshape(len(x), *self.shape)


def _free_memory() -> int:
    """Bytes of the host's memory that are free, or 0 where the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
