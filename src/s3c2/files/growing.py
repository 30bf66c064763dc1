"""A table that is written piece by piece, and is there when all of it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from s3c2.files.arrow import PARQUET
from s3c2.files.atomic import written_atomically
from s3c2.files.tables import check_ending, table_bytes

Add = Callable[[dict[str, Any]], None]


@contextmanager
def growing_table(path: Path) -> Iterator[Add]:
    """A function that adds rows, as columns by name, to the file that this becomes."""
    ending = check_ending(path, "Tables")
    with written_atomically(path) as file:
        if ending in PARQUET:
            with _growing_parquet(file) as add:
                yield add
        else:
            yield growing_text(file.write, ending)


def growing_text(write: Callable[[bytes], Any], ending: str = ".csv") -> Add:
    """A function that adds rows to a text, of which only the first has a header."""
    has_header = ending not in (".jsonl", ".ndjson")
    begun = False

    def add(columns: dict[str, Any]) -> None:
        nonlocal begun
        content = table_bytes({name: _listed(values) for name, values in columns.items()}, ending)
        write(content.partition(b"\n")[2] if begun and has_header else content)
        begun = True

    return add


@contextmanager
def _growing_parquet(file: BinaryIO) -> Iterator[Add]:
    import pyarrow as pa
    from pyarrow import parquet

    writer: Any = None

    def add(columns: dict[str, Any]) -> None:
        nonlocal writer
        table = pa.table(columns)
        if writer is None:
            writer = parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)

    yield add
    if writer is not None:
        writer.close()


def _listed(values: Any) -> list[Any]:
    return list(values) if not hasattr(values, "tolist") else list(values.tolist())
