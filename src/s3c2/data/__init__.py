"""From DATA to X: tables, arrays, folders of pictures and texts.

`prepare` reads the data of ``fit`` and learns a `Preparation` from it (column names, vocabulary,
picture size). Stored as JSON with the model, it prepares raw new data alike. Scaling is learned by
the model (`scaling`), in one way for Python and the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from s3c2.data.arrays import ArrayPreparation, refuse_id_column
from s3c2.data.columns import check_file, is_table
from s3c2.data.data import Data, Preparation
from s3c2.data.images import ImagePreparation
from s3c2.data.parquet import Refused, is_parquet_folder
from s3c2.data.tables import TablePreparation
from s3c2.data.texts import TextPreparation
from s3c2.errors import DataError, StorageError
from s3c2.files.arrow import PARQUET, parquet_size
from s3c2.files.paths import as_path
from s3c2.naming import named

__all__ = ["Data", "Preparation", "preparation_from_json", "prepare"]

_KINDS: dict[str, type[Preparation]] = {
    kind.kind: kind
    for kind in (TablePreparation, ArrayPreparation, ImagePreparation, TextPreparation)
}


def prepare(
    path: str | Path,
    *,
    id_column: str | None = None,
    text_column: str | None = None,
    drop: str | Sequence[str] = (),
    memory: int | None = None,
    refused: Refused | None = None,
) -> tuple[Data, Preparation]:
    """Read data for ``fit``, and learn how to prepare new data in the same way.

    Parameters
    ----------
    path : CSV, Parquet, NPY or NPZ file, a folder of Parquet files, or a folder of pictures
    id_column : column of a table that holds the rows' ids; without it rows go by number
    text_column : column of a table that holds texts, which become tf-idf vectors
    drop : column or columns of a table to leave out
    memory : bytes; a Parquet or NPY file that takes more is not read, and comes as a stream
    refused : told of files of a folder that are damaged or lack a column, and left out; by default
        they are an error
    """
    path = as_path(path, DataError)
    drop = [drop] if isinstance(drop, str) else drop
    if text_column is None and (is_parquet_folder(path) or _is_large_parquet(path, memory)):
        stream, table = TablePreparation.learn_stream(
            path, id_column=id_column, drop=drop, refused=refused
        )
        return Data(stream), table
    if is_table(path) and not path.is_dir():
        if text_column is not None:
            return TextPreparation.learn(
                path, text_column=text_column, id_column=id_column, drop=drop
            )
        return TablePreparation.learn(path, id_column=id_column, drop=drop)
    if not path.is_dir():
        check_file(path)
        if path.suffix.lower() not in (".npy", ".npz"):
            raise DataError(
                f"{path}: files ending in {path.suffix or 'nothing'!r} are not read; expected "
                ".csv, .parquet, .npy, .npz, or a folder of Parquet files or of pictures."
            )
    refuse_id_column(path, id_column)
    if text_column is not None or drop:
        raise DataError(
            f"{path}: {named('text_column')} and {named('drop')} are for CSV and Parquet tables; "
            f"leave them out here."
        )
    if path.is_dir():
        return ImagePreparation.learn(path)
    return ArrayPreparation.learn(path, memory)


def _is_large_parquet(path: Path, memory: int | None) -> bool:
    """Whether the numbers of a Parquet file take more than so many bytes."""
    if memory is None or path.suffix.lower() not in PARQUET or not path.is_file():
        return False
    n_rows, n_columns = parquet_size(path)
    return 8 * n_rows * n_columns > memory


def preparation_from_json(fields: dict[str, Any]) -> Preparation:
    """Build a preparation from what `Preparation.to_json` made."""
    kind = _KINDS.get(str(fields.get("kind")))
    if kind is None:
        raise StorageError(
            f"The model's data preparation is of the unknown kind {fields.get('kind')!r}; it may "
            f"come from a newer s3c2. Install that version, or fit the model again."
        )
    try:
        return kind.from_json(fields)
    except TypeError as error:
        raise StorageError(
            f"The model's data preparation cannot be read ({error}); it may come from another "
            f"version of s3c2. Install that version, or fit the model again."
        ) from None
