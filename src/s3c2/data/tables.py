"""CSV and Parquet tables of numbers, as they stand; the model scales them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from s3c2.data.columns import (
    check_columns,
    check_file,
    column_names,
    read_numeric_columns,
    read_text_columns,
)
from s3c2.data.data import Data, Preparation, check_any_rows, check_finite, check_ids
from s3c2.data.parquet import Refused, first_names, is_parquet_folder, parquet_stream
from s3c2.data.scaling import Scaling
from s3c2.data.streams import Stream
from s3c2.errors import DataError, DataWarning, warn
from s3c2.files.arrow import PARQUET
from s3c2.naming import named

FEWEST_ROWS = 10  # from which on a column of different whole numbers is not chance
# What people call such columns, and what pandas writes for an index without a name.
NAMES_OF_IDS = ("", "id", "ids", "index", "unnamed: 0", "__index_level_0__")


@dataclass(frozen=True)
class TablePreparation(Preparation):
    """Which columns, in which order."""

    kind: ClassVar[str] = "table"
    columns: tuple[str, ...]
    id_column: str | None = None

    @property
    def prepared_shape(self) -> tuple[int, ...]:
        return (len(self.columns),)

    @property
    def usual_scale(self) -> str:
        return "auto"

    @classmethod
    def learn(
        cls, path: Path, *, id_column: str | None, drop: Sequence[str]
    ) -> tuple[Data, TablePreparation]:
        """Take all columns but the ids and the dropped ones."""
        names = column_names(path)
        check_columns(path, [id_column] if id_column else [], names, f"the {named('id_column')}")
        check_columns(path, drop, names, f"the column to {named('drop')}")
        columns = tuple(name for name in names if name != id_column and name not in drop)
        if not columns:
            raise DataError(f"{path}: no column of numbers is left; keep at least one.")
        preparation = cls(columns, id_column)
        X = preparation._read(path)
        _warn_of_ids_among(X, columns, path)
        return Data(X, read_ids(path, id_column)), preparation

    @classmethod
    def learn_stream(
        cls,
        path: Path,
        *,
        id_column: str | None,
        drop: Sequence[str],
        refused: Refused | None = None,
    ) -> tuple[Stream, TablePreparation]:
        """The same of a Parquet file or a folder of them, without reading their rows."""
        stream = parquet_stream(path, id_column=id_column, drop=drop, refused=refused)
        assert stream.columns is not None
        return stream, cls(stream.columns, id_column)

    def apply(
        self, path: Path, *, id_column: str | None = None, scaling: Scaling | None = None
    ) -> Data:
        """Read the columns by name; further columns are ignored, their order is free."""
        names = column_names(path)
        check_columns(path, self.columns, names, "column")
        X = self._read(path, scaling)
        return Data(
            X, read_ids(path, id_column_of_new_data(path, names, id_column, self.id_column))
        )

    def stream(
        self,
        path: Path,
        *,
        id_column: str | None = None,
        scaling: Scaling | None = None,
        refused: Refused | None = None,
    ) -> Stream:
        """Parquet files and folders of them are read block by block."""
        if not is_parquet_folder(path) and path.suffix.lower() not in PARQUET:
            return super().stream(path, id_column=id_column, scaling=scaling)
        if not path.is_dir():
            check_file(path)
        asked = id_column
        if asked is None and self.id_column is not None:
            asked = id_column_of_new_data(path, first_names(path), None, self.id_column)
        return parquet_stream(path, columns=self.columns, id_column=asked, refused=refused)

    def _read(self, path: Path, scaling: Scaling | None = None) -> NDArray[np.float64]:
        X = read_numeric_columns(path, self.columns)
        check_any_rows(len(X), path)
        check_finite(X, path, self.columns, scaling)
        return X


def id_column_of_new_data(
    path: Path, names: Sequence[str], asked: str | None, learned: str | None
) -> str | None:
    """Choose the column asked for, otherwise that of ``fit`` where it is there."""
    if asked is not None:
        check_columns(path, [asked], names, f"the {named('id_column')}")
        return asked
    if learned is None or learned in names:
        return learned
    warn(
        f"{path}: there is no column {learned!r}, which held the ids in fit: the rows are numbered "
        f"from 0. If another column holds them, name it with {named('id_column')}.",
        DataWarning,
    )
    return None


def _warn_of_ids_among(X: NDArray[np.float64], columns: Sequence[str], path: Path) -> None:
    """Warn of a column of numbers that looks like the rows' ids, or their numbers."""
    if len(X) < FEWEST_ROWS or len(columns) == 1:
        return
    for name, values in zip(columns, X.T):
        if looks_like_ids(name, values):
            warn(
                f"{path}: the column {name!r} looks like ids or numbers of the rows, and is taken "
                f"as data. If it holds ids, give {named('id_column', name)}; if it says nothing "
                f"of the rows, {named('drop', name)}.",
                DataWarning,
            )


def looks_like_ids(name: str, values: NDArray[np.floating]) -> bool:
    """Whether these are different whole numbers that count the rows, or have a name of ids."""
    first, last = values.min(), values.max()
    counts = first in (0, 1) and last - first == len(values) - 1
    if not counts and name.strip().lower() not in NAMES_OF_IDS:
        return False  # most columns, without looking at each value
    return bool((values % 1 == 0).all()) and len(np.unique(values)) == len(values)


def read_ids(path: Path, column: str | None) -> list[str] | None:
    """Read the rows' ids as text, and refuse empty and repeated ones."""
    if column is None:
        return None
    ids = []
    for row, name in enumerate(read_text_columns(path, [column])[column]):
        if not name:
            raise DataError(
                f"{path}: row {row} (the first is 0) has no id in column {column!r}; "
                f"every row needs one."
            )
        ids.append(name)
    check_ids(ids, path, column)
    return ids
