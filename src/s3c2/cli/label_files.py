"""Reading labels from tables: which column, which ids, and joining two tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from s3c2.data.columns import check_columns, column_names, read_text_columns
from s3c2.data.data import check_ids
from s3c2.data.parquet import files_of, is_parquet_folder
from s3c2.data.tables import read_ids
from s3c2.errors import DataError


@dataclass(frozen=True)
class LabelColumn:
    """Labels as text, None where a row has none, with ids where the table has them.

    ``beside`` names the other columns.
    """

    path: Path
    labels: list[str | None]
    ids: list[str] | None
    beside: list[str]


def read_label_column(
    path: Path,
    *,
    column: str | None,
    usual: Sequence[str],
    id_columns: Sequence[str],
    option: str,
) -> LabelColumn:
    """Read the column asked for, otherwise a usual name, otherwise the only one there is.

    The ids stand in the first of ``id_columns`` that the table has. A folder of Parquet files, as
    `s3c2 predict` writes them, is one table.
    """
    parts = files_of(path) if is_parquet_folder(path) else [path]
    names = column_names(parts[0])
    id_column = next((name for name in id_columns if name in names), None)
    others = [name for name in names if name != id_column]
    if column is not None:
        check_columns(path, [column], names, f"the {option}")
    else:
        known = [name for name in usual if name in names]
        if not known and len(others) != 1:
            raise DataError(
                f"{path}: which column holds the labels? The file has "
                f"{', '.join(map(repr, names[:10]))}; name it with {option}."
            )
        column = known[0] if known else others[0]
    id_column = id_column if id_column != column else None
    beside = [name for name in names if name not in (column, id_column)]
    labels: list[str | None] = []
    ids: list[str] = []
    for part in parts:
        wanted = [name for name in (column, id_column) if name is not None]
        check_columns(part, wanted, column_names(part), "column")
        labels += [label or None for label in read_text_columns(part, [column])[column]]
        ids += read_ids(part, id_column) or []
    if not labels:
        raise DataError(f"{path}: the table has a header and no rows; expected labels.")
    if id_column is None:
        return LabelColumn(path, labels, None, beside)
    if len(parts) > 1:  # those of one part were checked
        check_ids(ids, path, id_column)
    return LabelColumn(path, labels, ids, beside)


def join(labels: LabelColumn, truth: LabelColumn) -> tuple[list[str], list[str], str]:
    """Pair clusters with classes by id, or by row order when one table has no ids.

    Returns
    -------
    tuple of clusters, classes, and "id" or "row order"
    """
    if labels.ids is None or truth.ids is None:
        for one, other in ((labels, truth), (truth, labels)):
            if one.ids is None and one.beside and other.ids is not None:
                raise DataError(
                    f"{other.path} has ids, and it is not known where those of {one.path} are. "
                    f"Name their column with --id-column: one of "
                    f"{', '.join(map(repr, one.beside[:10]))}. Or give a table of labels alone, "
                    "in the order of the rows."
                )
        if len(labels.labels) != len(truth.labels):
            raise DataError(
                f"{labels.path} has {len(labels.labels)} rows and {truth.path} has "
                f"{len(truth.labels)}, and they cannot be joined by id. Give both an id column "
                f"(see --id-column), or the same rows in the same order."
            )
        pairs, how = list(zip(labels.labels, truth.labels)), "row order"
    else:
        classes = dict(zip(truth.ids, truth.labels))
        pairs = [(own, classes.get(name)) for name, own in zip(labels.ids, labels.labels)]
        how = "id"
    known = [(own, true) for own, true in pairs if own is not None and true is not None]
    if not known:
        raise DataError(
            f"No row of {labels.path} has its class in {truth.path} (joined by {how}). "
            f"Check that the ids are written alike."
        )
    return [own for own, _ in known], [true for _, true in known], how
