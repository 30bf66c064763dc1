"""What every kind of DATA becomes: numbers, ids, and a recipe for new rows."""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from numpy.typing import NDArray

from s3c2.data import passes
from s3c2.data.scaling import Scaling, check_scaled
from s3c2.data.streams import Stream, memory_stream
from s3c2.errors import DataError
from s3c2.naming import named

LARGEST_SIZE = 2**31 - 1


@dataclass(frozen=True)
class Data:
    """Rows ready for the networks.

    Attributes
    ----------
    X : ndarray or SciPy sparse matrix, one entry a row; a Stream where that would be too large
    ids : list of str, or None when rows are known by their number, 0 to n - 1
    texts : list of str, or None; each row's text, for the report
    """

    X: Any
    ids: list[str] | None = None
    texts: list[str] | None = None

    @property
    def n_rows(self) -> int:
        return self.X.n if isinstance(self.X, Stream) else int(self.X.shape[0])

    @property
    def names(self) -> list[str]:
        """The rows' ids, or their numbers as text."""
        return self.ids if self.ids is not None else [str(row) for row in range(self.n_rows)]


class Preparation(ABC):
    """How raw data becomes X: learned on the rows of ``fit``, stored as JSON with the model."""

    kind: ClassVar[str]

    @property
    def usual_scale(self) -> str | None:
        """The scale that suits such data, one of ``scaling.SCALES``; pictures need none."""
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

    def stream(
        self,
        path: Path,
        *,
        id_column: str | None = None,
        scaling: Scaling | None = None,
        refused: Callable[[DataError], None] | None = None,
    ) -> Stream:
        """Prepare raw data block by block where its kind can be read so; by default all at once.

        ``refused`` is told of files of a folder that are damaged or lack a column, which are then
        left out; by default they are an error.
        """
        data = self.apply(path, id_column=id_column, scaling=scaling)
        return memory_stream(data.X, data.ids, str(path))

    @property
    @abstractmethod
    def prepared_shape(self) -> tuple[int, ...]:
        """The shape of a row of X that comes out."""

    def to_json(self) -> dict[str, Any]:
        """Return a dict that ``json`` can write and `preparation_from_json` reads."""
        return {"kind": self.kind, **dataclasses.asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Build the preparation from the dict that `to_json` made; others are a TypeError."""
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fields.items()
            if name != "kind"
        }
        hints = get_type_hints(cls)
        for name, value in values.items():
            if name in hints and not _is_a(value, hints[name]):
                raise TypeError(f"its '{name}' is {repr(value)[:60]}")
        preparation = cls(**values)
        preparation._check_lengths()
        return preparation

    def _check_lengths(self) -> None:  # noqa: B027
        """Refuse lists that do not go with each other; by default there are none."""


def check_lengths(length: int, **lists: Any) -> None:
    """Refuse a list, or whatever there is in its place, that has not this length."""
    for name, values in lists.items():
        if isinstance(values, tuple) and len(values) != length:
            raise TypeError(f"its '{name}' has {len(values)} values in place of {length}")


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value is of the type of a field; numbers are finite, and whole ones sizes."""
    if get_origin(hint) in (Union, UnionType):
        return any(_is_a(value, one) for one in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_is_a(one, get_args(hint)[0]) for one in value)
    if hint is int:
        return type(value) is int and 1 <= value <= LARGEST_SIZE
    if hint is float:
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return isinstance(value, hint)


def check_finite(
    X: NDArray[Any],
    path: Path,
    columns: tuple[str, ...] | None = None,
    scaling: Scaling | None = None,
) -> None:
    """Refuse NaN, infinity and what float32 cannot hold, before and after the scaling."""
    passes.check_finite(X, columns, str(path))
    if scaling is not None:
        check_scaled(X, scaling, columns, str(path))


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
