"""Tables of links as files: CSV, JSON Lines and Parquet, by the ending of the file.

Here a file becomes columns and columns become a file; what the values mean is checked in
`files`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from s3c2.errors import LinksError, MissingExtraError
from s3c2.links.ids import Ints

_T = TypeVar("_T")

_COLUMNS = ("a", "b", "link")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")

# Quoted in CSV: what would end a field, and blanks that other programs strip.
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$')


@dataclass
class LinkTable:
    """The columns of a file as found, and the line of each row (None where there are no lines)."""

    name: str
    a: Sequence[Any]
    b: Sequence[Any]
    link: Sequence[Any]
    weight: Sequence[Any] | None
    line: Ints | None
    is_text: bool  # every value came as text, so that 7 and "7" look alike

    def fail(self, row: int, problem: str) -> NoReturn:
        raise LinksError(f"{self.where(row)}: {problem}")

    def where(self, row: int) -> str:
        place = f"row {row + 1}" if self.line is None else f"line {self.line[row]}"
        return f"{self.name}, {place}"


def read_table(path: Any) -> LinkTable:
    """Read the columns of a file."""
    file = Path(path)
    read = _by_ending(file, _READERS)
    return read(file.name, _content(file))


def table_content(file: Path, columns: dict[str, list[Any]]) -> bytes:
    """The columns in the format that the file's ending names."""
    try:
        return _by_ending(file, _WRITERS)(columns)
    except UnicodeEncodeError as error:
        raise LinksError(
            f"An id holds a character that UTF-8 cannot write: {error.object[:50]!r}."
        ) from None


def _by_ending(file: Path, by_ending: dict[str, _T]) -> _T:
    try:
        return by_ending[file.suffix.lower()]
    except KeyError:
        raise LinksError(
            f"{file.name} has an ending that is not known: {file.suffix!r}. "
            f"Links are kept in files that end in {', '.join(by_ending)}."
        ) from None


def _content(file: Path) -> bytes:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise LinksError(f"{file} is not there. Check the path of the links file.") from None
    except OSError as error:
        raise LinksError(f"{file} cannot be read: {error.strerror or error}.") from error
    if not content.strip():
        raise LinksError(f"{file.name} is empty. Expected the columns a, b, link and rows.")
    return content


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LinksError(
            f"{name}, line {line}: this is not UTF-8 text. Save the file as UTF-8."
        ) from None


def _read_csv(name: str, content: bytes) -> LinkTable:
    text = _text(name, content)
    header, columns, line = _split_plain_csv(text) or _parse_csv(name, text)
    _check_columns(header, f"{name}, line 1")
    found = dict(zip(header, columns))
    a, b, link = (found[c] for c in _COLUMNS)
    return LinkTable(name, a, b, link, found.get("weight"), line=line, is_text=True)


def _split_plain_csv(text: str) -> tuple[list[str], list[list[str]], Ints] | None:
    """Header, columns and lines of a CSV without quotes and faults, four times faster.

    None for any other file, which is then parsed with care for its faults.
    """
    text = text.replace("\r\n", "\n").removesuffix("\n")
    n_commas = text.partition("\n")[0].count(",")
    if '"' in text or "\r" in text or n_commas == 0:
        return None
    lines = text.split("\n")
    if set(map(str.count, lines, repeat(","))) != {n_commas}:
        return None
    n_columns = n_commas + 1
    fields = text.replace("\n", ",").split(",")
    header = [field.strip() for field in fields[:n_columns]]
    columns = [fields[n_columns + i :: n_columns] for i in range(n_columns)]
    return header, columns, np.arange(2, len(lines) + 1)


def _parse_csv(name: str, text: str) -> tuple[list[str], list[list[str]], Ints]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise LinksError(f"{name}, line {reader.line_num}: not proper CSV, {error}.") from None
    line = _first_lines(rows)
    filled = [i for i, row in enumerate(rows) if row]  # not the blank lines
    rows, line = [rows[i] for i in filled], line[filled]
    if not rows:
        raise LinksError(f"{name} is empty. Expected the columns a, b, link and rows.")
    header, rows, line = [column.strip() for column in rows[0]], rows[1:], line[1:]
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise LinksError(
                f"{name}, line {line[i]}: {len(row)} fields, but the header has {len(header)} "
                f"({', '.join(header)}). Put fields that hold commas in quotes."
            )
    columns = [[row[i] for row in rows] for i in range(len(header))]
    return header, columns, line


def _first_lines(rows: list[list[str]]) -> Ints:
    """The line each row starts at, counted from 1; a quoted field may hold line breaks."""
    n_lines = [1 + sum(len(_LINE_BREAK.findall(field)) for field in row) for row in rows]
    return np.cumsum([1, *n_lines])[:-1]


def _check_columns(found: Sequence[str], where: str) -> None:
    twice = [column for column in set(found) if found.count(column) > 1]
    if twice:
        raise LinksError(f"{where}: the column {twice[0]!r} is there more than once.")
    missing = [column for column in _COLUMNS if column not in found]
    if missing:
        raise LinksError(
            f"{where}: no column {' and no column '.join(missing)}. The columns must be a, b, "
            f"link and, optionally, weight. Found: {', '.join(found)}."
        )


def _read_jsonl(name: str, content: bytes) -> LinkTable:
    lines = _text(name, content).split("\n")
    a, b, link, weight, line = [], [], [], [], []
    for number, text in enumerate(lines, start=1):
        if text and not text.isspace():
            row = _json_row(text, f"{name}, line {number}")
            a.append(row["a"])
            b.append(row["b"])
            link.append(row["link"])
            weight.append(row.get("weight"))
            line.append(number)
    return LinkTable(name, a, b, link, weight, line=np.array(line), is_text=False)


def _json_row(text: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise LinksError(
            f"{where}: not a JSON object. Expected a line such as "
            '{"a": 3, "b": 9, "link": "must"}.'
        )
    if not ("a" in row and "b" in row and "link" in row):
        _check_columns(list(row), where)
    return row


def _read_parquet(name: str, content: bytes) -> LinkTable:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("Reading Parquet", "pyarrow", "app") from None
    try:
        table = parquet.ParquetFile(io.BytesIO(content)).read()
        columns = dict(zip(table.column_names, (c.to_pylist() for c in table.columns)))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise LinksError(f"{name} is not a Parquet file that can be read: {error}.") from None
    _check_columns(table.column_names, name)
    a, b, link = (columns[c] for c in _COLUMNS)
    return LinkTable(name, a, b, link, columns.get("weight"), line=None, is_text=False)


_READERS: dict[str, Callable[[str, bytes], LinkTable]] = {
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".parquet": _read_parquet,
}


def _write_csv(columns: dict[str, list[Any]]) -> bytes:
    # Not csv.writer: before Python 3.13 it leaves a lone carriage return without quotes.
    texts = [list(map(_csv_field, values)) for values in columns.values()]
    lines = map(",".join, zip(*texts))
    return "\n".join([",".join(columns), *lines, ""]).encode()


def _csv_field(value: Any) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _write_jsonl(columns: dict[str, list[Any]]) -> bytes:
    rows = (dict(zip(columns, row)) for row in zip(*columns.values()))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _write_parquet(columns: dict[str, list[Any]]) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("Writing Parquet", "pyarrow", "app") from None
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


_WRITERS: dict[str, Callable[[dict[str, list[Any]]], bytes]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".ndjson": _write_jsonl,
    ".parquet": _write_parquet,
}
