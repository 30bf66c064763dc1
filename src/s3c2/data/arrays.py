"""NPY and NPZ: tables are standardised, images mapped to [0, 1]."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from s3c2.data.data import (
    Data,
    Numbers,
    Preparation,
    check_finite,
    check_lengths,
    learn_scaling,
    scaled,
)
from s3c2.data.table_files import check_file
from s3c2.errors import DataError


@dataclass(frozen=True)
class ArrayPreparation(Preparation):
    """Shape of a row, and how it is scaled: (x − shift) · factor.

    A table has a shift and a factor for each column, images have one of each. Without them
    numbers stay as they are.
    """

    kind: ClassVar[str] = "array"
    row_shape: tuple[int, ...]
    shift: Numbers | None = None
    factor: Numbers | None = None
    channels_last: bool = False

    def _check_lengths(self) -> None:
        columns = self.row_shape[0] if self.row_shape else 0
        check_lengths(columns, shift=self.shift, factor=self.factor)

    @classmethod
    def learn(cls, path: Path) -> tuple[Data, ArrayPreparation]:
        """Two dimensions are a table, three and four are images.

        Images of bytes are divided by 255; others are mapped by their smallest and largest value.
        """
        X = read_array(path)
        check_finite(X, path)
        shift: Numbers = 0.0
        factor: Numbers = 1 / 255
        if X.ndim == 2:
            shift, factor = learn_scaling("standard", X)
        elif X.dtype != np.uint8:
            shift, factor = learn_scaling("unit", X)
        preparation = cls(X.shape[1:], shift, factor, _channels_last(X))
        return Data(preparation._prepared(X, path)), preparation

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
        return Data(self._prepared(X, path))

    def _prepared(self, X: NDArray[Any], path: Path) -> NDArray[np.float32]:
        if self.shift is None or self.factor is None:
            out = np.asarray(X, dtype=np.float32)
        else:
            out = scaled(X, self.shift, self.factor, path)
        return np.ascontiguousarray(np.moveaxis(out, -1, 1)) if self.channels_last else out


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
    return X.astype(np.float32) if X.dtype == np.float16 else X


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
