"""Prediction on Ray: rows a second of one and two workers over those of one process.

    python benchmarks/workers.py              # writes benchmarks/results/workers.csv

A folder of Parquet files of 20 columns becomes a folder of labels: in one process, as by ``s3c2
predict``, and by the workers of a Ray on this machine, as with ``--ray``, in turns. Each has one
thread. Loading the model counts; the start of the cluster and of its workers, some seconds, does
not.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from s3c2.engine.cluster import connected
from s3c2.files.model_files import model_file
from s3c2.labelling import Labelling, folder_of_run, stream_of
from s3c2.ray import PartsOfRun, label_parts

from scale import PREDICT_COLUMNS, make_rows, quick_model
from tables import publish

WAYS = {"one process": None, "Ray, 1 worker": 1, "Ray, 2 workers": 2}


def seconds_of(workers: int | None, data: Path, model_folder: Path, model: object) -> float:
    """Label all rows once, into a folder that is removed again."""
    out = data.with_name("labels")
    began = time.perf_counter()
    stream = stream_of(model, data, "id")
    folder = folder_of_run(out, model_folder, stream)
    if workers is None:
        Labelling(model, stream).into_folder(folder, 0)
    else:
        content = model_file(model_folder).read_bytes()
        label_parts(PartsOfRun(content, data, "id", folder), 0, workers)
    seconds = time.perf_counter() - began
    shutil.rmtree(out)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=8 * 10**6)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)  # as a worker has
    with tempfile.TemporaryDirectory() as name, connected():
        place = Path(name)
        data = make_rows(place / "rows", args.rows, PREDICT_COLUMNS, -(-args.rows // args.parts))
        model = quick_model(data, args.rows)
        model.save(place / "model")
        rounds = [
            [seconds_of(workers, data, place / "model", model) for workers in WAYS.values()]
            for _ in range(args.repeats + 1)
        ]
    times = np.median(rounds[1:], axis=0)  # the first round warms up
    publish(
        "workers",
        [
            {
                "way": way, "rows": args.rows, "columns": PREDICT_COLUMNS,
                "rows_per_second": round(args.rows / seconds),
                "over_one_process": round(times[0] / seconds, 3),
            }
            for way, seconds in zip(WAYS, times)
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
