"""Links in files: what the columns a, b, link and weight mean, and how links become columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from s3c2.errors import LinksError, RowNumberError, TableError
from s3c2.files.atomic import write_atomically
from s3c2.files.paths import as_path
from s3c2.files.tables import Table, check_ending, read_table, table_bytes
from s3c2.links.checked import CheckedPairs, check_n_samples, check_pairs
from s3c2.links.ids import IdIndex, Ids, as_ids, kind

_MUST_WORDS = ("must", "must-link", "ml", "same", "1")
_CANNOT_WORDS = ("cannot", "cannot-link", "cl", "different", "0")
_IS_MUST = {**dict.fromkeys(_MUST_WORDS, True), **dict.fromkeys(_CANNOT_WORDS, False)}


@dataclass(frozen=True)
class LinkTable:
    """The columns of a file of links as found."""

    table: Table
    a: Sequence[Any]
    b: Sequence[Any]
    link: Sequence[Any]
    weight: Sequence[Any] | None

    @classmethod
    def read(cls, path: Any) -> LinkTable:
        file = as_path(path, LinksError)
        try:
            table = read_table(file, ("a", "b", "link"), ("weight",), what="Links")
        except TableError as error:
            raise LinksError(str(error)) from error.__cause__
        a, b, link = (table.columns[name] for name in ("a", "b", "link"))
        if len(a) == 0:
            raise LinksError(
                f"{table.name} holds no links. Expected the columns a, b, link and rows."
            )
        return cls(table, a, b, link, table.columns.get("weight"))

    @property
    def is_text(self) -> bool:
        return self.table.is_text

    def where(self, row: int) -> str:
        return self.table.where(row)

    def fail(self, row: int, problem: str) -> NoReturn:
        raise LinksError(f"{self.where(row)}: {problem}")


def read_links(
    path: Any, ids: Any, n_samples: Any
) -> tuple[CheckedPairs, CheckedPairs, int | None]:
    """Must-links, cannot-links and the number of rows (None for ids); see `Links.read`."""
    if ids is not None and n_samples is not None:
        raise LinksError("Give ids or n_samples, not both: the file holds ids or row numbers.")
    table = LinkTable.read(path)
    is_must, weight = _link_words(table), _weights(table)
    _check_filled(table)
    n_rows = None
    if ids is not None:
        index = IdIndex(as_ids(ids, "ids"), "ids")
        ends, n_rows = _rows_of_ids(table, index), len(index.ids)
    elif n_samples is not None:
        ends, n_rows = _row_numbers(table), check_n_samples(n_samples)
    else:
        ends = _ids_as_found(table)

    lines = table.table.line

    def pairs_at(rows: npt.NDArray[np.int64], kind_of_link: str) -> CheckedPairs:
        line = None if lines is None else lines[rows]
        return check_pairs(
            ends[rows],
            weight[rows],
            kind_of_link,
            n_rows,
            line,
            lambda i: f"{table.where(rows[i])}:",
        )

    must = pairs_at(np.flatnonzero(is_must), "must")
    cannot = pairs_at(np.flatnonzero(~is_must), "cannot")
    if len(must) + len(cannot) == 0:
        raise LinksError(
            f"{table.table.name} holds only must-links of rows to themselves, which say nothing. "
            "Give links between different rows."
        )
    return must, cannot, n_rows


def _link_words(table: LinkTable) -> npt.NDArray[np.bool_]:
    """Mask of the must-links."""
    try:
        meaning = {word: _IS_MUST.get(str(word).strip().lower()) for word in set(table.link)}
        answers = [meaning[word] for word in table.link]
    except TypeError:  # a JSON list or object
        answers = [_IS_MUST.get(str(word).strip().lower()) for word in table.link]
    if None in answers:
        i = answers.index(None)
        table.fail(
            i,
            f"link is {table.link[i]!r}. Allowed are {', '.join(_MUST_WORDS)} for must-links "
            f"and {', '.join(_CANNOT_WORDS)} for cannot-links.",
        )
    return np.array(answers, dtype=bool)


def _weights(table: LinkTable) -> npt.NDArray[np.float64]:
    """One weight per row; a blank is 1."""
    if table.weight is None:
        return np.ones(len(table.a))
    weights = np.empty(len(table.a))
    for i, value in enumerate(table.weight):
        if value is None or (isinstance(value, str) and not value.strip()):
            weights[i] = 1
        elif isinstance(value, bool) or not isinstance(value, (int, float, str)):
            table.fail(i, f"weight is {value!r}, which is not a number.")
        else:
            try:
                weights[i] = float(value)
            except (ValueError, OverflowError):
                table.fail(i, f"weight is {value!r}, which is not a number.")
    bad = ~((weights > 0) & (weights <= 1))
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        table.fail(i, f"weight is {table.weight[i]}. A weight is a number above 0 and at most 1.")
    return weights


def _integers(values: Sequence[str]) -> list[int] | None:
    """The integers that all the texts spell, or None; "007" is an id of its own, not 7."""
    try:
        numbers = list(map(int, values))
    except ValueError:
        return None
    spelled = all(map(str.__eq__, map(str, numbers), map(str.strip, values)))
    fits = spelled and (not numbers or (min(numbers) >= -(2**63) and max(numbers) < 2**63))
    return numbers if fits else None


def _check_filled(table: LinkTable) -> None:
    for column, values in (("a", table.a), ("b", table.b)):
        for empty in (None, ""):
            if empty in values:
                table.fail(values.index(empty), f"{column} is empty. Expected a row or an id.")


def _row_numbers(table: LinkTable) -> Ids:
    columns = []
    for column, values in (("a", table.a), ("b", table.b)):
        numbers = _integers(values) if table.is_text else _if_integers(values)
        if numbers is None:
            bad = next(i for i, v in enumerate(values) if not _is_one_integer(v, table.is_text))
            raise RowNumberError(
                f"{table.where(bad)}: {column} is {values[bad]!r}, which is not a row number.",
                "If the file holds ids, pass ids (the ids of all rows, in order).",
            )
        columns.append(np.array(numbers, dtype=np.int64))
    return np.stack(columns, axis=1)


def _if_integers(values: Sequence[Any]) -> Sequence[int] | None:
    if set(map(type, values)) != {int} or min(values) < -(2**63) or max(values) >= 2**63:
        return None
    return values


def _is_one_integer(value: Any, is_text: bool) -> bool:
    if is_text:
        return _integers([value]) is not None
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _ids_as_found(table: LinkTable) -> Ids:
    """Integers when every value is one, strings otherwise."""
    ends = np.empty((len(table.a), 2), dtype=object)
    if table.is_text:
        numbers_a, numbers_b = _integers(table.a), _integers(table.b)
        if numbers_a is not None and numbers_b is not None:
            return np.array([numbers_a, numbers_b], dtype=np.int64).T
    else:
        _check_one_kind(table)
    ends[:, 0], ends[:, 1] = list(table.a), list(table.b)
    return ends


def _check_one_kind(table: LinkTable) -> None:
    types = set(map(type, table.a)) | set(map(type, table.b))
    if types == {str}:
        return
    first = table.a[0]
    for i, pair in enumerate(zip(table.a, table.b)):
        for column, value in zip("ab", pair):
            if not isinstance(value, str) and not _is_one_integer(value, False):
                table.fail(i, f"{column} is {value!r}, which is neither an integer nor a string.")
            if isinstance(value, str) != isinstance(first, str):
                table.fail(
                    i,
                    f"{column} is {value!r}, but a in {table.where(0)} is {first!r}: ids are all "
                    "integers or all strings.",
                )


def _rows_of_ids(table: LinkTable, index: IdIndex) -> Ids:
    if not table.is_text:
        _check_one_kind(table)
    spelled = index
    strip = table.is_text and kind(index.ids) == "integers"
    if strip:  # compare spellings: "007" is not the id 7
        spelled = IdIndex(as_ids(list(map(str, index.ids.tolist())), "ids"), "ids")
    wanted = {
        column: as_ids(list(map(str.strip, values)) if strip else values, column)
        for column, values in (("a", table.a), ("b", table.b))
    }
    rows = np.stack([spelled.positions(ids) for ids in wanted.values()], axis=1)  # (links, 2)
    unknown = (rows < 0).any(axis=1)
    if unknown.any():
        i, n = int(unknown.argmax()), int(unknown.sum())
        column, values = ("a", table.a) if rows[i, 0] < 0 else ("b", table.b)
        hint = index.suggestion(values[i]) or " Correct the line or remove it."
        if kind(wanted[column]) != kind(spelled.ids):
            hint = f" The file holds {kind(wanted[column])}, but ids are {kind(index.ids)}."
        others = f" Lines with an id that is not there: {n:,}." if n > 1 else ""
        table.fail(
            i,
            f"{column} is {values[i]!r}, which is not among the {len(index.ids)} ids."
            f"{hint}{others}",
        )
    return rows


def write_links(path: Any, must: CheckedPairs, cannot: CheckedPairs, ids: Ids | None) -> None:
    """Write must-links, then cannot-links; `ids` are the names of row numbers."""
    file = as_path(path, LinksError)
    filled = [pairs.ends for pairs in (must, cannot) if len(pairs)]
    if not filled:
        raise LinksError(f"There are no links to write to {file}.")
    ends = np.concatenate(filled) if ids is None else ids[np.concatenate(filled)]
    weight = np.concatenate([must.weight, cannot.weight])
    columns: dict[str, list[Any]] = {
        "a": ends[:, 0].tolist(),
        "b": ends[:, 1].tolist(),
        "link": ["must"] * len(must) + ["cannot"] * len(cannot),
    }
    if np.any(weight != 1):
        columns["weight"] = weight.tolist()
    try:
        content = table_bytes(columns, check_ending(file, "Links"))
    except TableError as error:
        raise LinksError(str(error)) from None
    write_atomically(file, content)
