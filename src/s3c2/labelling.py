"""Clusters of all rows of a stream, in order and block by block, into a table or a folder of parts.

What a part becomes depends on the model and the part alone: it is the same bit for bit in this
process, in another one, and after a kill.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from s3c2.data import Preparation, preparation_from_json
from s3c2.data.arrays import ArrayPreparation
from s3c2.data.streams import Stream
from s3c2.data.tables import TablePreparation
from s3c2.engine.ahead import side_by_side
from s3c2.engine.inference import batch_size, outputs_of
from s3c2.engine.progress import Progress
from s3c2.engine.rows import RowBlock
from s3c2.errors import DataError
from s3c2.files.model_files import model_file
from s3c2.files.parts_folder import PartsFolder

Columns = dict[str, Any]
Found = tuple[int, RowBlock | DataError]  # the place of a part, and what was read of it
Refused = Callable[[DataError], None]
DIGITS = 6  # of a probability


def label_columns(top: NDArray[np.float32], ids: Any, first: int) -> Columns:
    """Id, cluster and probability of rows; ``first`` is the number of the first one.

    ``top`` holds the cluster of each row and its posterior, (rows, 2).
    """
    return {
        "id": _as_text(ids, first, len(top)),
        "cluster": top[:, 0].astype(np.int64),
        "probability": np.round(top[:, 1].astype(np.float64), DIGITS),
    }


def top_of(posteriors: Tensor) -> Tensor:
    """The cluster of each row and its posterior: (rows, 2)."""
    highest = posteriors.max(dim=-1)
    return torch.stack([highest.indices.to(posteriors.dtype), highest.values], dim=-1)


def _as_text(ids: Any, first: int, n: int) -> Any:
    if isinstance(ids, np.ndarray) and ids.dtype == object:
        return ids
    if ids is None:
        ids = np.arange(first, first + n)
    if isinstance(ids, np.ndarray):
        return ids.astype(str).astype(object)
    import pyarrow as pa
    import pyarrow.compute as pc

    if ids.type == pa.string():
        return ids
    try:
        return pc.cast(ids, pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return np.array([str(one) for one in ids.to_pylist()], dtype=object)


@dataclass(frozen=True)
class Labelling:
    """A fitted model and rows to label.

    Parameters
    ----------
    model : S3C2, or another clusterer
    stream : rows like those of fit
    """

    model: Any
    stream: Stream

    def blocks(self, numbers: Sequence[int]) -> Generator[tuple[int, Columns | DataError]]:
        """The labels of parts, block by block, each with the number of its part.

        Rows are read ahead, those of the next part, too. Where a part cannot be read, an error is
        the last that comes of it. A network of the library takes several blocks at a time on a CPU.
        """
        rows = self.model._in_order(self.stream)
        size = batch_size(rows)
        outputs = outputs_of(self.model.network_, rows.device, size)

        def labelled(found: Found) -> tuple[int, Any, Any]:
            place, block = found
            if isinstance(block, DataError):
                return place, None, block
            some = [
                top_of(outputs(block.x[start : start + size].to(rows.device)))
                for start in range(0, len(block.x), size)
            ]
            return place, block.ids, torch.cat(some).cpu().numpy()

        several = rows.device.type == "cpu" and isinstance(self.model.network, str)
        every_first = self.stream.first_rows
        firsts = [every_first[number] for number in numbers]
        with closing(rows.blocks([self.stream.parts[number] for number in numbers])) as read:
            work = side_by_side(labelled, read) if several else map(labelled, read)
            for place, ids, top in work:
                if isinstance(top, DataError):
                    yield numbers[place], top
                    continue
                yield numbers[place], label_columns(top, ids, firsts[place])
                firsts[place] += len(top)

    def part(self, number: int) -> Columns:
        """The labels of one part."""
        return _joined([_or_raise(columns) for _, columns in self.blocks([number])])

    def into_table(self, add: Callable[[Columns], None], verbose: int) -> int:
        """Hand the labels of all rows to ``add``, block by block; how many rows there were."""
        done = 0
        with Progress("predicting", self.stream.n, verbose, per_second="rows") as progress:
            for _, columns in self.blocks(range(len(self.stream.parts))):
                columns = _or_raise(columns)
                add(columns)
                done += len(columns["cluster"])
                progress.update(done)
        return done

    def into_folder(self, folder: PartsFolder, verbose: int, refused: Refused | None = None) -> int:
        """Write the parts that are missing; how many rows the folder now holds.

        ``refused`` is told of a part that cannot be read, which is then left out.
        """
        sizes = [part.n_rows for part in self.stream.parts]
        missing = folder.missing()
        total = sum(sizes[number] for number in missing)
        done, n_rows = 0, self.stream.n - total
        writing: Future[None] | None = None
        with (
            closing(self.blocks(missing)) as blocks,
            ThreadPoolExecutor(1) as writer,
            Progress("predicting", total, verbose, per_second="rows") as progress,
        ):
            found = next(blocks, None)
            for number in missing:
                some: list[Columns] = []
                error: DataError | None = None
                while found is not None and found[0] == number:
                    if isinstance(found[1], DataError):
                        error = found[1]
                    else:
                        some.append(found[1])
                        done += len(found[1]["cluster"])
                        progress.update(done)
                    found = next(blocks, None)
                if error is not None:
                    if refused is None:
                        raise error
                    refused(error)
                    continue
                if writing is not None:
                    writing.result()  # an error of the last part, if there was one
                writing = writer.submit(folder.write, number, _joined(some))
                n_rows += sizes[number]
            if writing is not None:
                writing.result()
        return n_rows


def _or_raise(columns: Columns | DataError) -> Columns:
    """Labels; an error is raised."""
    if isinstance(columns, DataError):
        raise columns
    return columns


def columns_of(model: Any) -> tuple[str, ...]:
    """The columns of tables that a model labels."""
    preparation = preparation_of(model)
    if not isinstance(preparation, TablePreparation):
        raise DataError(
            "This model was not fitted on a table whose columns have names. Fit it on a Parquet or "
            "CSV file, a DataFrame, or an Arrow dataset."
        )
    return preparation.columns


def preparation_of(model: Any) -> Preparation | None:
    """How a model prepares raw data; None if it does not say."""
    names = model.reading_.feature_names_in
    if model.preparation_ is not None:
        return preparation_from_json(model.preparation_)
    return None if names is None else TablePreparation(tuple(map(str, names)))


def stream_of(
    model: Any, path: Path, id_column: str | None = None, refused: Refused | None = None
) -> Stream:
    """Raw data as rows that a model labels.

    Parameters
    ----------
    path : data of the kind that the model was fitted on
    id_column : column with the ids, if not that of ``fit``
    refused : told of files that cannot be used, which are left out; by default they are an error
    """
    preparation = preparation_of(model)
    if preparation is None:
        if path.suffix.lower() not in (".npy", ".npz"):
            raise DataError(
                f"{path}: this model was saved from Python and does not say how raw data is "
                "prepared. Give an NPY or NPZ file of rows as fit got them."
            )
        preparation = ArrayPreparation(row_shape=model.reading_.input_shape)
    return preparation.stream(
        path, id_column=id_column, scaling=model.reading_.scaling, refused=refused
    )


def id_column_of(model: Any, asked: str | None = None) -> str | None:
    """The column with the ids: the one asked for, or that of ``fit``."""
    return asked or getattr(preparation_of(model), "id_column", None)


def folder_of_run(
    path: Path, model_folder: Path, stream: Stream, id_column: str | None = None
) -> PartsFolder:
    """The folder for the labels of this data by this model, with the ids of this column."""
    sources = sorted({part.source for part in stream.parts})
    run = {
        "labels": 1,
        "model": hashlib.sha256(model_file(model_folder).read_bytes()).hexdigest(),
        "data": [[Path(source).name, *_state(source)] for source in sources],
        "ids": id_column if stream.has_ids else None,
    }
    return PartsFolder.of_run(path, run, [part.n_rows for part in stream.parts])


def _state(source: str) -> list[int]:
    """Size and time of change of a file: what tells it from a later one."""
    try:
        found = Path(source).stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]


def _joined(some: Sequence[Columns]) -> Columns:
    if len(some) == 1:
        return some[0]
    return {name: _concatenated([one[name] for one in some]) for name in some[0]}


def _concatenated(arrays: Sequence[Any]) -> Any:
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays)
    import pyarrow as pa

    return pa.chunked_array(arrays)
