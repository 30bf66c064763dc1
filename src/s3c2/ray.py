"""Prediction on a Ray cluster: the same bits as in one process, however many workers there are.

``predict`` adds clusters to a Ray dataset. `label_parts` writes the parts of ``s3c2 predict`` on
the cluster: a part that a lost worker had under way is made again by another one.
"""

from __future__ import annotations

import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from s3c2.engine.cluster import as_they_come, connected, ray_package
from s3c2.engine.progress import Progress
from s3c2.errors import ClusterError, DataError
from s3c2.estimator import S3C2
from s3c2.files.model_files import MODEL_FILE, model_file
from s3c2.files.parts_folder import PartsFolder
from s3c2.labelling import Labelling, Refused, columns_of, stream_of, top_of

__all__ = ["Predictor", "connected", "label_parts", "predict"]

BATCH_ROWS = 2**16


def predict(
    dataset: Any,
    model_folder: str | Path,
    *,
    workers: int | None = None,
    num_gpus: float = 0,
) -> Any:
    """The dataset with two more columns, cluster and probability.

    Parameters
    ----------
    dataset : ray.data.Dataset with the columns that the model was fitted on, and any others
    model_folder : where ``save`` or ``s3c2 fit`` put the model; it is sent to the workers
    workers : number of actors, each of which loads the model once; by default as many as there is
        room for beside one task that reads
    num_gpus : GPUs of each actor

    Examples
    --------
    >>> import ray, s3c2.ray  # doctest: +SKIP
    >>> rows = ray.data.read_parquet("rows/")  # doctest: +SKIP
    >>> s3c2.ray.predict(rows, "model/").write_parquet("labels/")  # doctest: +SKIP
    """
    ray = ray_package()
    content = model_file(model_folder).read_bytes()
    return dataset.map_batches(
        Predictor,
        fn_constructor_args=(content,),
        batch_format="pyarrow",
        batch_size=BATCH_ROWS,
        zero_copy_batch=True,
        num_gpus=num_gpus,
        num_cpus=0 if _cpus(ray) == 1 else None,  # the only one is needed to read with
        compute=ray.data.ActorPoolStrategy(size=workers or _room(ray, num_gpus)),
    )


class Predictor:
    """Adds cluster and probability to batches; for ``map_batches``.

    Parameters
    ----------
    model : content of a model's file
    """

    def __init__(self, model: bytes) -> None:
        self.model = model_of(model)
        self.columns = columns_of(self.model)

    def __call__(self, batch: Any) -> Any:
        """A pyarrow table with two more columns."""
        import pyarrow as pa

        from s3c2.data.columns import check_columns, numbers_of, numbers_type

        names = batch.column_names
        check_columns(Path("the dataset"), self.columns, names, "column")
        dtype = numbers_type(batch.schema, self.columns)
        X = numbers_of(batch, self.columns, dtype, "the dataset")
        top = top_of(torch.from_numpy(self.model.predict_proba(X))).numpy()
        found = {"cluster": top[:, 0].astype(np.int64), "probability": top[:, 1]}
        for name, values in found.items():
            batch = batch.append_column(name, pa.array(values))
        return batch


# Parts of one command


@dataclass(frozen=True)
class PartsOfRun:
    """What a worker needs to make any part.

    Attributes
    ----------
    model : content of the model's file
    data : path, the same for all workers
    id_column : as asked for
    folder : where parts go, the same for all workers
    skip_damaged : whether files that cannot be used were left out
    key : by which a worker knows what it has loaded
    """

    model: bytes
    data: Path
    id_column: str | None
    folder: PartsFolder
    skip_damaged: bool = False
    key: str = field(default_factory=lambda: uuid.uuid4().hex)


_LOADED: dict[str, Labelling] = {}  # of the run that this worker is at


def label_parts(
    run: PartsOfRun, verbose: int = 1, workers: int | None = None, refused: Refused | None = None
) -> int:
    """Write the missing parts of a run on the cluster that ``connected`` found; rows in all.

    ``refused`` is told of a part that cannot be read, which is then left out.
    """
    missing = run.folder.missing()
    sizes = run.folder.sizes
    done, total = 0, sum(sizes[number] for number in missing)
    at_once = workers or _cpus(ray_package())
    with Progress("predicting", total, verbose, per_second="rows") as progress:
        for place, problem in as_they_come(_write_part, run, missing, {"num_cpus": 1}, at_once):
            if problem is None:
                done += sizes[missing[place]]
                if not progress.before:  # until now the workers were begun
                    progress.count_from(done)
                progress.update(done)
            elif refused is None:
                raise problem
            else:
                refused(problem)
    return sum(sizes) - total + done


def _write_part(run: PartsOfRun, number: int) -> DataError | None:
    """Write one part; what is wrong with it, if anything."""
    labelling = _labelling_of(run)
    try:
        run.folder.write(number, labelling.part(number))
    except DataError as error:
        return error
    return None


def _labelling_of(run: PartsOfRun) -> Labelling:
    """The model and the rows of a run, which each worker loads once."""
    if run.key not in _LOADED:
        refused = (lambda error: None) if run.skip_damaged else None
        model = model_of(run.model)
        stream = stream_of(model, run.data, run.id_column, refused)
        if [part.n_rows for part in stream.parts] != list(run.folder.sizes):
            raise ClusterError(
                f"{run.data}: a worker sees other rows than the one who asked. The path must lead "
                "to the same files on every node."
            )
        _LOADED.clear()
        _LOADED[run.key] = Labelling(model, stream)
    return _LOADED[run.key]


def model_of(content: bytes) -> S3C2:
    """The model of a file's content, on a GPU if this process has one."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / MODEL_FILE).write_bytes(content)
        return S3C2.load(folder).set_params(verbose=0)


def _cpus(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _room(ray: Any, num_gpus: float) -> int:
    """How many actors fit beside a task that reads rows: without one all of them would wait."""
    if num_gpus:
        return max(1, int(ray.cluster_resources().get("GPU", 0) / num_gpus))
    return max(1, _cpus(ray) - 1)
