"""Columns of CSV and Parquet files through pyarrow, which reads large ones fast."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from s3c2.errors import MissingExtraError, TableError

Columns = Mapping[str, Sequence[Any]]

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")


def column_names(path: Path) -> list[str]:
    """The names of the columns of a CSV or Parquet file, without reading its rows."""
    ending = path.suffix.lower()
    if ending not in PARQUET:
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                rows = csv.reader(file, delimiter=DELIMITERS[ending])
                names = next((row for row in rows if row), [])  # not a blank line
        except (UnicodeDecodeError, csv.Error) as error:
            raise TableError(
                f"{path}: this is not a CSV file in UTF-8 ({error}). Save it as UTF-8."
            ) from None
        check_separator(names, str(path), DELIMITERS[ending])
        return names
    arrow, parquet = _pyarrow("Reading a table")
    try:
        return list(parquet.read_schema(path).names)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{path}: cannot be read as Parquet ({_first_line(error)}).") from None


def check_separator(header: Sequence[str], where: str, delimiter: str) -> None:
    """Refuse a header that is one name only because its names are separated by something else."""
    if len(header) != 1:
        return
    words = {";": "semicolons", "\t": "tabs", ",": "commas"}
    expected = words.pop(delimiter)
    for one, other in words.items():
        if one in header[0] and f"{one} " not in header[0]:  # with a space it may be a sentence
            raise TableError(
                f"{where}: its columns are separated by {other}, and {expected} are expected. "
                f"Save the file with {expected}, and with points in its decimal numbers."
            )


def parquet_size(path: Path) -> tuple[int, int]:
    """Rows and columns of a Parquet file; (0, 0) if it cannot be read."""
    arrow, parquet = _pyarrow("Reading a table")
    try:
        found = parquet.read_metadata(path)
        return found.num_rows, found.num_columns
    except (arrow.ArrowException, OSError, ValueError):
        return 0, 0


def read_columns(path: Path, columns: Sequence[str], *, as_numbers: bool) -> Any:
    """Some columns of a CSV or Parquet file as a pyarrow table.

    A CSV's values come as text, or as numbers where all of them are; Parquet has its own types.
    """
    arrow, parquet = _pyarrow("Reading a table")
    if path.suffix.lower() in PARQUET:
        try:
            return parquet.read_table(path, columns=list(columns))
        except (arrow.ArrowException, OSError, ValueError) as error:
            raise TableError(f"{path}: cannot be read as Parquet ({_first_line(error)}).") from None
    if as_numbers:
        try:
            return _arrow_csv(path, columns, arrow.float64())
        except arrow.ArrowInvalid:
            pass  # some value is no number, or the file is damaged: read it as text to find out
    try:
        return _arrow_csv(path, columns, arrow.string())
    except arrow.ArrowException as error:
        raise TableError(
            f"{path}: cannot be read as CSV ({_first_line(error)}). Expected a header row, and "
            f"as many values in every row, in UTF-8."
        ) from None


def _arrow_csv(path: Path, columns: Sequence[str], kind: Any) -> Any:
    from pyarrow import csv as arrow_csv

    return arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(
            delimiter=DELIMITERS[path.suffix.lower()], newlines_in_values=True
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(columns), column_types=dict.fromkeys(columns, kind)
        ),
    )


def parquet_columns(name: str, content: bytes) -> tuple[list[str], list[list[Any]]]:
    """The names and the values of all columns of a Parquet file, which messages call `name`."""
    arrow, parquet = _pyarrow("Reading Parquet")
    try:
        table = parquet.ParquetFile(io.BytesIO(content)).read()
        return table.column_names, [column.to_pylist() for column in table.columns]
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = _first_line(error)
        raise TableError(f"{name} is not a Parquet file that can be read: {reason}.") from None


def parquet_bytes(columns: Columns) -> bytes:
    """The columns as a Parquet file."""
    arrow, parquet = _pyarrow("Writing Parquet")
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(dict(columns)), buffer)
    return buffer.getvalue()


def _pyarrow(what: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError(what, "pyarrow", "app") from None
    return pyarrow, parquet


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["unreadable"])[0].rstrip(".")[:150]
