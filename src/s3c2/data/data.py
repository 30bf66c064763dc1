"""What every kind of DATA becomes: numbers, ids, and a recipe for new rows."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from s3c2.data import scaling as scales
from s3c2.data.scaling import Scaling
from s3c2.errors import DataError
from s3c2.naming import named


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

    @property
    def usual_scale(self) -> str | None:
        """The scaling that suits such data, one of ``scaling.SCALES``; the model learns it."""
        return None

    @abstractmethod
    def apply(
        self, path: Path, *, id_column: str | None = None, scaling: Scaling | None = None
    ) -> Data:
        """Read raw data and prepare it exactly as the data of ``fit`` was.

        Parameters
        ----------
        path : data of the same kind
        id_column : column with the ids, if not that of ``fit``
        scaling : of the model, to refuse numbers that it cannot scale; X is not scaled here
        """

    def to_json(self) -> dict[str, Any]:
        """Return a dict that ``json`` can write and `preparation_from_json` reads."""
        return {"kind": self.kind, **dataclasses.asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Build the preparation from the dict that `to_json` made."""
        values = {name: value for name, value in fields.items() if name != "kind"}
        lists = {name: tuple(v) for name, v in values.items() if isinstance(v, list)}
        return cls(**{**values, **lists})


def check_finite(
    X: NDArray[Any],
    path: Path,
    columns: tuple[str, ...] | None = None,
    scaling: Scaling | None = None,
) -> None:
    """Refuse NaN, infinity and what float32 cannot hold, before and after the scaling."""
    scales.check_finite(X, columns, str(path))
    if scaling is not None:
        scales.check_scaled(X, scaling, columns, str(path))


def check_any_rows(n_rows: int, path: Path) -> None:
    """Refuse a table that ends after its header."""
    if n_rows == 0:
        raise DataError(f"{path}: the table has a header and no rows; expected rows of data.")


def check_ids(ids: list[str], path: Path, column: str) -> None:
    """Refuse an id that stands on two rows."""
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in first:
            raise DataError(
                f"{path}: the id {name!r} in column {column!r} stands on rows {first[name]} and "
                f"{row} (the first is 0); ids must be unique. Mend the file, or name another "
                f"column with {named('id_column')}."
            )
        first[name] = row
