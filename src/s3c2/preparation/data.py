"""What every kind of DATA becomes: numbers, ids, and a recipe for new rows."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from s3c2.errors import DataError


@dataclass(frozen=True)
class Data:
    """Rows ready for the networks.

    Attributes
    ----------
    X : ndarray or SciPy sparse matrix, one entry a row
    ids : list of str, or None when rows are known by their number, 0 to n - 1
    texts : list of str, or None; each row's text, for the report
    """

    X: Any
    ids: list[str] | None = None
    texts: list[str] | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def names(self) -> list[str]:
        """The rows' ids, or their numbers as text."""
        return self.ids if self.ids is not None else [str(row) for row in range(self.n_rows)]


class Preparation(ABC):
    """How raw data becomes X: learned on the rows of ``fit``, stored as JSON with the model."""

    kind: ClassVar[str]

    @abstractmethod
    def apply(self, path: Path, *, id_column: str | None = None) -> Data:
        """Read raw data and prepare it exactly as the data of ``fit`` was."""

    def to_json(self) -> dict[str, Any]:
        """Return a dict that ``json`` can write and `preparation_from_json` reads."""
        return {"kind": self.kind, **dataclasses.asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Build the preparation from the dict that `to_json` made."""
        values = {name: value for name, value in fields.items() if name != "kind"}
        lists = {name: tuple(v) for name, v in values.items() if isinstance(v, list)}
        return cls(**{**values, **lists})


def column_scaling(X: NDArray[Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each column; a constant column keeps scale 1.

    Chunked, so that a memory-mapped array is never held in memory as float64.
    """
    total = np.zeros(X.shape[1])
    squares = np.zeros(X.shape[1])
    chunks = range(0, len(X), 65_536)
    for start in chunks:
        total += X[start : start + 65_536].sum(axis=0, dtype=np.float64)
    mean = total / len(X)
    for start in chunks:
        squares += ((X[start : start + 65_536] - mean) ** 2).sum(axis=0)
    deviation = np.sqrt(squares / len(X))
    constant = deviation <= 1e-12 * np.maximum(1.0, np.abs(mean))
    deviation[constant] = 1.0
    return tuple(mean.tolist()), tuple(deviation.tolist())


def standardise(
    X: NDArray[Any], mean: tuple[float, ...], deviation: tuple[float, ...]
) -> NDArray[np.float32]:
    """(X - mean) / deviation per column, as float32."""
    out = np.empty(X.shape, dtype=np.float32)
    centre, scale = np.asarray(mean), np.asarray(deviation)
    for start in range(0, len(X), 65_536):
        rows = slice(start, start + 65_536)
        out[rows] = (X[rows] - centre) / scale
    return out


def check_finite(X: NDArray[Any], path: Path, columns: tuple[str, ...] | None = None) -> None:
    """Refuse NaN and infinity, naming the first row and column that holds one."""
    if X.dtype.kind not in "fc":
        return
    for start in range(0, len(X), 65_536):
        bad = ~np.isfinite(X[start : start + 65_536])
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            row, place = start + where[0], where[1:]
            value = X[(row, *place)]
            column = repr(columns[place[0]]) if columns else ", ".join(map(str, place))
            found = "no value (NaN)" if np.isnan(value) else f"the value {value}"
            raise DataError(
                f"{path}: row {row} (the first is 0) has {found} in column {column}; every value "
                f"must be a finite number. Fill it in, or leave the row or the column out."
            )


def check_ids(ids: list[str], path: Path, column: str) -> None:
    """Refuse an id that stands on two rows."""
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in first:
            raise DataError(
                f"{path}: the id {name!r} in column {column!r} stands on rows {first[name]} and "
                f"{row} (the first is 0); ids must be unique. Mend the file, or name another "
                f"column with --id-column."
            )
        first[name] = row
