"""CSV and Parquet tables of numbers: every column standardised, or all scaled alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from s3c2.data.data import (
    Data,
    Numbers,
    Preparation,
    check_any_rows,
    check_finite,
    check_ids,
    check_lengths,
    learn_scaling,
    scaled,
)
from s3c2.data.table_files import (
    check_columns,
    column_names,
    read_numeric_columns,
    read_text_columns,
)
from s3c2.errors import DataError

SCALES = ("columns", "together", "none")


@dataclass(frozen=True)
class TablePreparation(Preparation):
    """Which columns, in which order, and how each is scaled: (x − shift) · factor."""

    kind: ClassVar[str] = "table"
    columns: tuple[str, ...]
    shift: Numbers
    factor: Numbers
    id_column: str | None = None

    def _check_lengths(self) -> None:
        check_lengths(len(self.columns), shift=self.shift, factor=self.factor)

    @classmethod
    def learn(
        cls, path: Path, *, id_column: str | None, drop: Sequence[str], scale: str | None = None
    ) -> tuple[Data, TablePreparation]:
        """Take all columns but the ids and the dropped ones, and learn their scaling.

        ``scale`` is "columns" for each to mean 0 and deviation 1, which is the default, "together"
        for all by one factor onto [0, 1], or "none".
        """
        names = column_names(path)
        check_columns(path, [id_column] if id_column else [], names, "the --id-column")
        check_columns(path, drop, names, "the column to --drop")
        columns = tuple(name for name in names if name != id_column and name not in drop)
        if not columns:
            raise DataError(f"{path}: no column of numbers is left; keep at least one.")
        X = read_numeric_columns(path, columns)
        check_any_rows(len(X), path)
        check_finite(X, path, columns)
        if scale in (None, "columns"):
            shift, factor = learn_scaling("standard", X)
        else:
            low, high = (float(X.min()), float(X.max())) if scale == "together" else (0.0, 1.0)
            shift = (low,) * len(columns)
            factor = (0.0 if high == low else 1 / (high - low),) * len(columns)
        preparation = cls(columns, shift, factor, id_column)
        return Data(scaled(X, shift, factor, path, columns), read_ids(path, id_column)), preparation

    def apply(self, path: Path, *, id_column: str | None = None) -> Data:
        """Read the columns by name; further columns are ignored, their order is free."""
        names = column_names(path)
        check_columns(path, self.columns, names, "column")
        X = read_numeric_columns(path, self.columns)
        check_any_rows(len(X), path)
        check_finite(X, path, self.columns)
        ids = read_ids(path, id_column_of_new_data(path, names, id_column, self.id_column))
        return Data(scaled(X, self.shift, self.factor, path, self.columns), ids)


def id_column_of_new_data(
    path: Path, names: Sequence[str], asked: str | None, learned: str | None
) -> str | None:
    """Choose the column asked for, otherwise that of ``fit`` where it is there."""
    if asked is not None:
        check_columns(path, [asked], names, "the --id-column")
        return asked
    return learned if learned in names else None


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
