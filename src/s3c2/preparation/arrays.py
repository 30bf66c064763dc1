"""NPY and NPZ: rows of numbers are standardised, images mapped to [0, 1]."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from s3c2.errors import DataError
from s3c2.preparation.data import Data, Preparation, check_finite, column_scaling, standardise
from s3c2.preparation.table_files import check_file


@dataclass(frozen=True)
class ArrayPreparation(Preparation):
    """Shape of a row, and either a column scaling or one divisor for all values.

    A stored divisor of 1 and no scaling leaves numbers as they are.
    """

    kind: ClassVar[str] = "array"
    row_shape: tuple[int, ...]
    mean: tuple[float, ...] | None = None
    deviation: tuple[float, ...] | None = None
    divisor: float = 1.0
    channels_last: bool = False

    @classmethod
    def learn(cls, path: Path) -> tuple[Data, ArrayPreparation]:
        """Choose by type and shape: bytes and images get a divisor, numbers a scaling."""
        X = read_array(path)
        check_finite(X, path)
        row_shape = X.shape[1:]
        if X.dtype == np.uint8:
            preparation = cls(row_shape, divisor=255.0, channels_last=_channels_last(X))
        elif X.ndim > 2:
            largest = float(np.abs(X).max()) or 1.0
            preparation = cls(row_shape, divisor=largest, channels_last=_channels_last(X))
        else:
            mean, deviation = column_scaling(X)
            preparation = cls(row_shape, mean, deviation)
        return Data(preparation._scaled(X)), preparation

    def apply(self, path: Path, *, id_column: str | None = None) -> Data:
        """Check the shape of the rows, and scale them."""
        refuse_id_column(path, id_column)
        X = read_array(path)
        if X.shape[1:] != self.row_shape:
            raise DataError(
                f"{path}: each row has shape {X.shape[1:]}, and the model was fitted on rows of "
                f"shape {self.row_shape}. Give data of the same columns or image size."
            )
        check_finite(X, path)
        return Data(self._scaled(X))

    def _scaled(self, X: NDArray[Any]) -> NDArray[np.float32]:
        if self.mean is not None and self.deviation is not None:
            return standardise(X, self.mean, self.deviation)
        scaled = np.asarray(X, dtype=np.float32) / np.float32(self.divisor)
        return np.ascontiguousarray(np.moveaxis(scaled, -1, 1)) if self.channels_last else scaled


def read_array(path: Path) -> NDArray[Any]:
    """Read an array of numbers, at least one row; never through pickle."""
    check_file(path)
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
        X = loaded if isinstance(loaded, np.ndarray) else _only_array(loaded, path)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError) as error:
        if isinstance(error, DataError):
            raise
        if "Python objects" in str(error) or "Object arrays" in str(error):
            raise DataError(
                f"{path}: the array holds Python objects, which are never loaded. "
                f"Save it as numbers: numpy.save(path, X.astype(float))."
            ) from None
        raise DataError(
            f"{path}: cannot be read as a NumPy file (the file is damaged or of another kind)."
        ) from None
    if X.dtype.kind not in "fiub":
        raise DataError(f"{path}: the array holds {X.dtype} values; expected numbers.")
    if X.ndim not in (2, 3, 4):
        raise DataError(
            f"{path}: the array has shape {X.shape}; expected (rows, columns), images "
            f"(rows, height, width) or (rows, channels, height, width)."
        )
    if X.size == 0:
        raise DataError(f"{path}: the array of shape {X.shape} is empty; expected rows of data.")
    return X


def refuse_id_column(path: Path, id_column: str | None) -> None:
    """Say that only tables have columns with names."""
    if id_column is not None:
        raise DataError(f"{path}: --id-column is for CSV and Parquet tables; leave it out here.")


def _only_array(archive: Any, path: Path) -> NDArray[Any]:
    with archive:
        names = list(archive.files)
        if "X" not in names and len(names) != 1:
            raise DataError(
                f"{path}: the file holds {len(names)} arrays ({', '.join(names[:5])}); expected "
                f"one, or one named X."
            )
        array: NDArray[Any] = archive["X" if "X" in names else names[0]]
        return array


def _channels_last(X: NDArray[Any]) -> bool:
    return X.ndim == 4 and X.shape[3] in (1, 3, 4) and X.shape[1] not in (1, 3, 4)
