"""NPY and NPZ: tables are standardised, images mapped to [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from s3c2.data.array_files import read_array
from s3c2.data.data import Data, Numbers, Preparation, check_finite, learn_scaling, scaled
from s3c2.errors import DataError
from s3c2.naming import named


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


def refuse_id_column(path: Path, id_column: str | None) -> None:
    """Say that only tables have columns with names."""
    if id_column is not None:
        raise DataError(
            f"{path}: {named('id_column')} is for CSV and Parquet tables; leave it out here."
        )


def _channels_last(X: NDArray[Any]) -> bool:
    return X.ndim == 4 and X.shape[3] in (1, 3, 4) and X.shape[1] not in (1, 3, 4)
