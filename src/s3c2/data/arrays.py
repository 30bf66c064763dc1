"""NPY and NPZ: tables stay as they are, images are mapped onto [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from s3c2.data.array_files import read_array
from s3c2.data.data import Data, Preparation, check_finite
from s3c2.data.passes import chunks
from s3c2.data.scaling import Scaling
from s3c2.data.straight import Straight
from s3c2.data.streams import Stream, array_stream, is_memory_mapped
from s3c2.errors import DataError
from s3c2.naming import named

CHANNELS = (1, 3, 4)  # grey, red green blue, and these with transparency


@dataclass(frozen=True)
class ArrayPreparation(Preparation):
    """Shape of a row, and how images are brought onto [0, 1]: (x − shift) · factor.

    The numbers of a table stay as they are; the model scales them.
    """

    kind: ClassVar[str] = "array"
    row_shape: tuple[int, ...]
    shift: float | None = None
    factor: float | None = None
    channels_last: bool = False

    @property
    def prepared_shape(self) -> tuple[int, ...]:
        if self.channels_last:
            return (self.row_shape[-1], *self.row_shape[:-1])
        return self.row_shape

    @property
    def usual_scale(self) -> str | None:
        return "auto" if len(self.row_shape) == 1 else None

    @classmethod
    def learn(cls, path: Path, memory: int | None = None) -> tuple[Data, ArrayPreparation]:
        """Two dimensions are a table, three and four are images.

        Images of bytes are divided by 255; others are mapped by their smallest and largest value.
        What takes more than ``memory`` bytes comes as a stream.
        """
        X = read_array(path)
        is_large = memory is not None and is_memory_mapped(X) and X.nbytes > memory
        if not is_large:
            check_finite(X, path)
        shift: float | None = None
        factor: float | None = None
        if X.ndim > 2:
            shift, factor = 0.0, 1 / 255
            if X.dtype != np.uint8:
                learned = Straight.learn("together", X)
                shift, factor = float(learned.shift), float(learned.factor)
        preparation = cls(X.shape[1:], shift, factor, is_channels_last(X.shape))
        if is_large:
            return Data(array_stream(X, str(path), preparation._prepared)), preparation
        return Data(preparation._prepared(X)), preparation

    def apply(
        self, path: Path, *, id_column: str | None = None, scaling: Scaling | None = None
    ) -> Data:
        """Check the shape of the rows, and map images as those of ``fit``."""
        refuse_id_column(path, id_column)
        X = self._read(path)
        own = self._mapping()
        check_finite(X, path, scaling=scaling if own is None else own)
        return Data(self._prepared(X))

    def stream(
        self,
        path: Path,
        *,
        id_column: str | None = None,
        scaling: Scaling | None = None,
        refused: Any = None,
    ) -> Stream:
        """Rows of a memory-mapped file are read block by block."""
        refuse_id_column(path, id_column)
        return array_stream(self._read(path), str(path), self._prepared)

    def _read(self, path: Path) -> NDArray[Any]:
        X = read_array(path)
        X = X if self.channels_last else channels_first(X)
        if X.shape[1:] != self.row_shape:
            raise DataError(
                f"{path}: each row has shape {X.shape[1:]}, and the model was fitted on rows of "
                f"shape {self.row_shape}. Give data of the same columns or image size."
            )
        return X

    def _mapping(self) -> Scaling | None:
        if self.shift is None or self.factor is None:
            return None
        return Straight("together", np.asarray(self.shift), np.asarray(self.factor))

    def _prepared(self, X: NDArray[Any]) -> NDArray[Any]:
        mapping = self._mapping()
        if mapping is not None:
            X = _mapped(X, mapping)
        return np.ascontiguousarray(channels_first(X)) if self.channels_last else X


def refuse_id_column(path: Path, id_column: str | None) -> None:
    """Say that only tables have columns with names."""
    if id_column is not None:
        raise DataError(
            f"{path}: {named('id_column')} is for CSV and Parquet tables; leave it out here."
        )


def _mapped(X: NDArray[Any], mapping: Scaling) -> NDArray[np.float32]:
    """Chunk by chunk: a memory-mapped X is never held whole in its own type."""
    out = np.empty(X.shape, dtype=np.float32)
    for start, chunk in chunks(X):
        out[start : start + len(chunk)] = mapping.apply(np.asarray(chunk, dtype=np.float64))
    return out


def is_channels_last(shape: tuple[int, ...]) -> bool:
    """Whether these are images (n, h, w, channels), and not (n, channels, h, w)."""
    return len(shape) == 4 and shape[3] in CHANNELS and shape[1] not in CHANNELS


def channels_first(X: NDArray[Any]) -> NDArray[Any]:
    """Images as (n, channels, h, w), in whichever order they came; a view."""
    return np.moveaxis(X, -1, 1) if is_channels_last(X.shape) else X
