"""Folders of Parquet files and Arrow datasets as streams of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from s3c2.data.columns import check_columns, numbers_of, numbers_type
from s3c2.data.streams import PART_ROWS, Block, Stream, rows_of_block
from s3c2.errors import DataError, MissingExtraError
from s3c2.files.arrow import PARQUET
from s3c2.naming import named

READ_BYTES = 2**16  # of a column at a time, so that a large row group is never held whole
READ_AHEAD = 2  # blocks
Refused = Callable[[DataError], None]


@dataclass(frozen=True)
class FragmentPart:
    """Some row groups of a file, or another piece of a dataset.

    Attributes
    ----------
    fragment : pyarrow.dataset.Fragment
    source : the file
    n_rows : int
    first : number of its first row in the file
    columns, id_column : which are read
    dtype : of the numbers
    """

    fragment: Any
    source: str
    n_rows: int
    first: int
    columns: tuple[str, ...]
    id_column: str | None
    dtype: Any

    def blocks(self) -> Iterator[Block]:
        import pyarrow as pa

        start = self.first
        try:
            for batch in self._batches():
                if batch.num_rows == 0:
                    continue
                X = numbers_of(batch, self.columns, self.dtype, self.source, start)
                ids = None if self.id_column is None else batch.column(self.id_column)
                if ids is not None and ids.null_count:
                    row = start + int(np.flatnonzero(ids.is_null())[0])
                    raise DataError(
                        f"{self.source}: row {row} (the first is 0) has no id in column "
                        f"{self.id_column!r}; every row needs one."
                    )
                yield Block(X, ids, start)
                start += len(X)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(self.source, error) from None

    def _batches(self) -> Iterator[Any]:
        from pyarrow import dataset

        ids = [] if self.id_column is None else [self.id_column]
        wanted = list(dict.fromkeys([*self.columns, *ids]))  # numbers may be ids, too
        options = {}
        if isinstance(self.fragment, dataset.ParquetFileFragment):
            options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=READ_BYTES, pre_buffer=False
            )
        found: Iterator[Any] = self.fragment.to_batches(
            schema=self.fragment.physical_schema,
            columns=wanted,
            batch_size=rows_of_block((len(self.columns),)),
            batch_readahead=READ_AHEAD,
            **options,
        )
        return found


def ids_alone(stream: Stream) -> Stream:
    """The same rows; of files their numbers are not read."""
    parts = [
        replace(part, columns=()) if isinstance(part, FragmentPart) else part
        for part in stream.parts
    ]
    return replace(stream, parts=parts)


def is_parquet_folder(path: Path) -> bool:
    """Whether a folder holds Parquet files, at any depth."""
    return path.is_dir() and next(_files(path), None) is not None


def parquet_stream(
    path: Path,
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    refused: Refused | None = None,
) -> Stream:
    """The rows of a Parquet file, or of all Parquet files of a folder in the order of their names.

    Parameters
    ----------
    columns : by default those of the first file, without the ids and the dropped ones
    refused : told of each file that is damaged or lacks a column, which is then left out; by
        default the first such file is an error
    """
    return _stream(_fragments(path), columns, id_column, drop, refused, str(path))


def first_names(path: Path) -> list[str]:
    """The columns of the first file that can be read."""
    for fragment in _fragments(path):
        try:
            return list(_schema(fragment, str(path)).names)
        except DataError:
            continue
    return []


def files_of(path: Path) -> list[Path]:
    """The Parquet files of a folder in the order of their names, or the file itself."""
    return sorted(_files(path)) if path.is_dir() else [path]


def _fragments(path: Path) -> Any:
    dataset = _pyarrow_dataset()
    found = dataset.FileSystemDataset.from_paths(
        [str(file) for file in files_of(path)],
        format=dataset.ParquetFileFormat(),
        filesystem=_local(),
        schema=_no_schema(),
    )
    return found.get_fragments()


def dataset_stream(
    X: Any, *, columns: Sequence[str] | None = None, id_column: str | None = None
) -> Stream:
    """The rows of an Arrow dataset in the order of its fragments."""
    return _stream(X.get_fragments(), columns, id_column, (), None, "the dataset")


def _stream(
    fragments: Any,
    columns: Sequence[str] | None,
    id_column: str | None,
    drop: Sequence[str],
    refused: Refused | None,
    what: str,
) -> Stream:
    good: list[tuple[Any, str]] = []
    types = set()
    for fragment in fragments:
        source = str(getattr(fragment, "path", "") or what)
        try:
            schema = _schema(fragment, source)
            if columns is None:
                columns = _learned_columns(source, schema.names, id_column, drop)
            check_columns(Path(source), columns, schema.names, "column")
            if id_column is not None:
                check_columns(Path(source), [id_column], schema.names, f"the {named('id_column')}")
        except DataError as error:
            if refused is None:
                raise
            refused(error)
            continue
        types.add(numbers_type(schema, columns))
        good.append((fragment, source))
    if columns is None or not good:
        raise DataError(f"{what}: there is no Parquet file that can be read in it.")
    names = tuple(columns)
    dtype = np.float64 if np.float64 in types else np.float32
    parts = [
        FragmentPart(piece, source, n_rows, first, names, id_column, dtype)
        for fragment, source in good
        for piece, n_rows, first in _pieces(fragment)
    ]
    if not parts:
        raise DataError(f"{what}: the table has a header and no rows; expected rows of data.")
    return Stream(parts, (len(names),), np.dtype(dtype), names, id_column is not None)


def _learned_columns(
    source: str, names: list[str], id_column: str | None, drop: Sequence[str]
) -> list[str]:
    check_columns(
        Path(source), [id_column] if id_column else [], names, f"the {named('id_column')}"
    )
    check_columns(Path(source), drop, names, f"the column to {named('drop')}")
    kept = [name for name in names if name != id_column and name not in drop]
    if not kept:
        raise DataError(f"{source}: no column of numbers is left; keep at least one.")
    return kept


def _pieces(fragment: Any) -> Iterator[tuple[Any, int, int]]:
    """The fragment in pieces of whole row groups: piece, its rows, and the first one's number."""
    groups = getattr(fragment, "row_groups", None)
    if groups is None:
        n_rows = fragment.count_rows()
        if n_rows:
            yield fragment, n_rows, 0
        return
    some: list[int] = []
    first = n_rows = 0
    for group in groups:
        if n_rows and n_rows + group.num_rows > PART_ROWS:
            yield fragment.subset(row_group_ids=some), n_rows, first
            some, first, n_rows = [], first + n_rows, 0
        some.append(group.id)
        n_rows += group.num_rows
    if n_rows:
        yield fragment.subset(row_group_ids=some), n_rows, first


def _schema(fragment: Any, source: str) -> Any:
    import pyarrow as pa

    try:
        return fragment.physical_schema
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(source, error) from None


def _damaged(source: str, error: BaseException) -> DataError:
    why = (str(error).splitlines() or ["unreadable"])[0].rstrip(".")[:150]
    return DataError(
        f"{source}: cannot be read as Parquet ({why}). Write the file again, or leave it out."
    )


def _files(folder: Path) -> Iterator[Path]:
    """Parquet files; names that begin with a dot or an underscore are notes of other programs."""
    for file in folder.rglob("*"):
        hidden = any(name[0] in "._" for name in file.relative_to(folder).parts)
        if file.suffix.lower() in PARQUET and not hidden:
            yield file


def _pyarrow_dataset() -> Any:
    try:
        from pyarrow import dataset
    except ImportError:
        raise MissingExtraError("Reading Parquet", "pyarrow", "app") from None
    return dataset


def _local() -> Any:
    from pyarrow import fs

    return fs.LocalFileSystem()


def _no_schema() -> Any:
    """Each file has its own schema; that of the whole is not used."""
    import pyarrow as pa

    return pa.schema([])
