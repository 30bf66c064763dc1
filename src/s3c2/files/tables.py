"""Tables as files, for the whole project: CSV, TSV, JSON Lines and Parquet, by the ending.

`read_table` reads whole columns as they stand, with the line of each row, for messages that lead
to it; `arrow` reads some columns of large tables. `table_bytes` and `write_table` write.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from s3c2.errors import TableError
from s3c2.files import arrow
from s3c2.files.arrow import DELIMITERS, PARQUET, Columns
from s3c2.files.atomic import write_atomically

Lines = npt.NDArray[np.int64]

ENDINGS = (*DELIMITERS, ".jsonl", ".ndjson", *PARQUET)

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
# Quoted in CSV: what would end a field, blanks that other programs strip, and the empty text,
# which alone in its row would read as a blank line.
_NEEDS_QUOTES = re.compile(r'[",\t\r\n]|^\s|\s$|^$')


@dataclass(frozen=True)
class Table:
    """Columns as found in a file, and the line of each row (None where there are no lines)."""

    name: str
    columns: dict[str, Sequence[Any]]
    line: Lines | None
    is_text: bool  # every value came as text, so that 7 and "7" look alike

    def where(self, row: int) -> str:
        place = f"row {row + 1}" if self.line is None else f"line {self.line[row]}"
        return f"{self.name}, {place}"


# Reading


@dataclass(frozen=True)
class _Wanted:
    """The columns that a table must and may have."""

    required: Sequence[str]
    optional: Sequence[str]

    def check(self, found: Sequence[str], where: str) -> None:
        twice = [column for column in set(found) if found.count(column) > 1]
        if twice:
            raise TableError(f"{where}: the column {twice[0]!r} is there more than once.")
        missing = [column for column in self.required if column not in found]
        if missing:
            raise TableError(
                f"{where}: no column {' and no column '.join(missing)}. The columns must be "
                f"{', '.join(self.required)} and, optionally, {', '.join(self.optional)}. "
                f"Found: {', '.join(found[:10])}{' …' if len(found) > 10 else '.'}"
            )

    def of(self, columns: Columns) -> dict[str, Sequence[Any]]:
        return {c: columns[c] for c in (*self.required, *self.optional) if c in columns}

    def empty(self, name: str) -> TableError:
        columns = ", ".join(self.required)
        return TableError(f"{name} is empty. Expected the columns {columns} and rows.")


def check_ending(path: Path, what: str) -> str:
    """The ending of a table's file, in small letters; another one is refused."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise TableError(
            f"{path} has an ending that is not known: {path.suffix!r}. "
            f"{what} are kept in files that end in {', '.join(ENDINGS)}."
        )
    return ending


def read_table(
    path: Path, required: Sequence[str], optional: Sequence[str] = (), what: str = "Tables"
) -> Table:
    """Read these columns; further ones are ignored.

    Parameters
    ----------
    path : a file with one of ENDINGS
    required, optional : names of columns
    what : what the file holds, in a word for messages
    """
    ending, wanted = check_ending(path, what), _Wanted(required, optional)
    content, name = _content(path), str(path)
    if not content.strip():
        raise wanted.empty(name)
    if ending in PARQUET:
        names, columns = arrow.parquet_columns(name, content)
        wanted.check(names, name)
        return Table(name, wanted.of(dict(zip(names, columns))), line=None, is_text=False)
    text = _text(name, content)
    if ending in DELIMITERS:
        return _from_csv(name, text, DELIMITERS[ending], wanted)
    return _from_json_lines(name, text, wanted)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise TableError(f"{path} is not there. Check the path.") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from error


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{name}, line {line}: this is not UTF-8 text. Save the file as UTF-8."
        ) from None


def _from_csv(name: str, text: str, delimiter: str, wanted: _Wanted) -> Table:
    first = text.lstrip().partition("\n")[0]
    arrow.check_separator(first.split(delimiter), f"{name}, line 1", delimiter)
    header, columns, line = _split_plain(text, delimiter) or _parse(name, text, delimiter, wanted)
    wanted.check(header, f"{name}, line 1")
    return Table(name, wanted.of(dict(zip(header, columns))), line, is_text=True)


def _split_plain(text: str, delimiter: str) -> tuple[list[str], list[list[str]], Lines] | None:
    """Header, columns and lines of a CSV without quotes and faults, four times faster.

    None for any other file, which is then parsed with care for its faults.
    """
    text = text.replace("\r\n", "\n").removesuffix("\n")
    n_more = text.partition("\n")[0].count(delimiter)
    if '"' in text or "\r" in text or n_more == 0:
        return None
    lines = text.split("\n")
    if set(map(str.count, lines, repeat(delimiter))) != {n_more}:
        return None
    n_columns = n_more + 1
    fields = text.replace("\n", delimiter).split(delimiter)
    header = [field.strip() for field in fields[:n_columns]]
    columns = [fields[n_columns + i :: n_columns] for i in range(n_columns)]
    return header, columns, np.arange(2, len(lines) + 1)


def _parse(
    name: str, text: str, delimiter: str, wanted: _Wanted
) -> tuple[list[str], list[list[str]], Lines]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise TableError(f"{name}, line {reader.line_num}: not proper CSV, {error}.") from None
    line = _first_lines(rows)
    filled = [i for i, row in enumerate(rows) if row]  # not the blank lines
    rows, line = [rows[i] for i in filled], line[filled]
    if not rows:
        raise wanted.empty(name)
    header, rows, line = [column.strip() for column in rows[0]], rows[1:], line[1:]
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise TableError(
                f"{name}, line {line[i]}: {len(row)} fields, but the header has {len(header)} "
                f"({', '.join(header)}). Put fields that hold commas in quotes."
            )
    columns = [[row[i] for row in rows] for i in range(len(header))]
    return header, columns, line


def _first_lines(rows: list[list[str]]) -> Lines:
    """The line each row starts at, counted from 1; a quoted field may hold line breaks."""
    n_lines = [1 + sum(len(_LINE_BREAK.findall(field)) for field in row) for row in rows]
    return np.cumsum([1, *n_lines])[:-1]


def _from_json_lines(name: str, text: str, wanted: _Wanted) -> Table:
    rows, line = [], []
    for number, each in enumerate(text.split("\n"), start=1):
        if each and not each.isspace():
            rows.append(_json_row(each, f"{name}, line {number}", wanted))
            line.append(number)
    columns: dict[str, Sequence[Any]] = {c: [row[c] for row in rows] for c in wanted.required}
    columns |= {c: [row.get(c) for row in rows] for c in wanted.optional}
    return Table(name, columns, np.array(line), is_text=False)


def _json_row(text: str, where: str, wanted: _Wanted) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        example = ", ".join(f'"{column}": …' for column in wanted.required)
        raise TableError(f"{where}: not a JSON object. Expected a line such as {{{example}}}.")
    if not all(column in row for column in wanted.required):
        wanted.check(list(row), where)
    return row


# Writing


def write_table(path: str | os.PathLike[str], columns: Columns) -> None:
    """Write columns to a file with one of ENDINGS, all of it or nothing."""
    write_atomically(path, table_bytes(columns, check_ending(Path(path), "Tables")))


def table_bytes(columns: Columns, ending: str = ".csv") -> bytes:
    """The columns in the format that an ending names."""
    try:
        if ending in PARQUET:
            return arrow.parquet_bytes(columns)
        if ending in DELIMITERS:
            return _as_csv(columns, DELIMITERS[ending]).encode()
        return _as_json_lines(columns).encode()
    except UnicodeEncodeError as error:
        raise TableError(
            f"A value holds a character that UTF-8 cannot write: {error.object[:50]!r}. Change it."
        ) from None


def _as_csv(columns: Columns, delimiter: str) -> str:
    # Not csv.writer: before Python 3.13 it leaves a lone carriage return without quotes.
    texts = [list(map(_csv_field, values)) for values in columns.values()]
    lines = map(delimiter.join, zip(*texts))
    return "\n".join([delimiter.join(map(_csv_field, columns)), *lines, ""])


def _csv_field(value: Any) -> str:
    text = "" if value is None else str(value)
    if value is None or not _NEEDS_QUOTES.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _as_json_lines(columns: Columns) -> str:
    rows = (dict(zip(columns, row)) for row in zip(*columns.values()))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
