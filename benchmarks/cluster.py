"""A billion rows of 768 columns on paper: measured task times, and a simulation of a cluster.

    python benchmarks/cluster.py              # writes benchmarks/results/cluster.csv

A task is a part of ``s3c2 predict``. The times of reading and of labelling some parts are measured
in one process of one thread, which is what a worker has. The simulation hands the tasks of a
billion rows to workers: each task's time is drawn from the measured ones. Stragglers are tasks that
take five times as long; a lost worker takes its task with it, which is made again, and comes back
after a while.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from pyarrow import parquet

from s3c2 import S3C2, Links
from s3c2.data.parquet import parquet_stream
from s3c2.data.streams import PART_ROWS
from s3c2.labelling import Labelling

from tables import publish

ROWS, COLUMNS, CENTRES = 10**9, 768, 10
STRAGGLERS, SLOWER = 0.02, 5.0  # share of tasks, and how much longer they take
AWAY = 300.0  # seconds until a lost worker is replaced


def make_parts(folder: Path, n_parts: int, rows: int) -> Path:
    """One Parquet file a part."""
    rng = np.random.default_rng(0)
    for number in range(n_parts):
        X = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
        X[:, 0] += 3 * (np.arange(rows) % CENTRES)
        table = pa.table({f"x{place}": X[:, place] for place in range(COLUMNS)})
        parquet.write_table(table, folder / f"{number}.parquet", compression="none")
    return folder


def measured(folder: Path) -> tuple[list[float], list[float]]:
    """Seconds to read each part, and to read and label it."""
    stream = parquet_stream(folder)
    X = next(stream.blocks()).X[:1000]
    links = Links.from_labels(np.arange(1000) % CENTRES, 100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few steps leave clusters empty
        model = S3C2.as_published(
            CENTRES, scale="standard", labnet__epochs=1, clunet__steps=5, random_state=0, verbose=0
        ).fit(X, links=links)
    labelling = Labelling(model, stream)
    reading, labelled = [], []
    labelling.part(0)  # warms up
    for number, part in enumerate(stream.parts):
        began = time.perf_counter()
        for _ in stream.blocks_of(part):
            pass
        reading.append(time.perf_counter() - began)
        began = time.perf_counter()
        labelling.part(number)
        labelled.append(time.perf_counter() - began)
    return reading, labelled


def hours_of(
    times: np.ndarray, workers: int, lost_an_hour: float, rng: np.random.Generator
) -> float:
    """Hours until all tasks are done, each by the worker that is free first."""
    free = [(0.0, worker) for worker in range(workers)]
    heapq.heapify(free)
    left, end = list(times), 0.0
    while left:
        now, worker = heapq.heappop(free)
        task = left.pop()
        fails = rng.exponential(3600 / lost_an_hour) if lost_an_hour else np.inf
        if fails < task:
            left.append(task)  # made again by whoever is free next
            heapq.heappush(free, (now + fails + AWAY, worker))
            continue
        end = max(end, now + task)
        heapq.heappush(free, (now + task, worker))
    return end / 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--part-rows", type=int, default=2**16)
    parser.add_argument("--workers", type=int, nargs="+", default=[16, 64, 256])
    args = parser.parse_args()
    torch.set_num_threads(1)  # of a worker
    with tempfile.TemporaryDirectory() as name:
        reading, labelled = measured(make_parts(Path(name), args.parts, args.part_rows))
    table: list[dict[str, object]] = []

    def note(measure: str, workers: int, measured: float, unit: str) -> None:
        table.append({"measure": measure, "workers": workers, "measured": measured, "unit": unit})
        print(table[-1], file=sys.stderr, flush=True)

    rate = args.part_rows / float(np.median(labelled))
    read = args.part_rows / float(np.median(reading))
    note("bytes", 1, ROWS * COLUMNS * 4, "bytes")
    note("read", 1, round(read * COLUMNS * 4 / 1e6), "MB/s")
    note("labelled", 1, round(rate), "rows/s")
    note("worker hours", 1, round(ROWS / rate / 3600, 2), "h")
    note("worker hours of reading alone", 1, round(ROWS / read / 3600, 2), "h")
    rng = np.random.default_rng(0)
    tasks = rng.choice(labelled, -(-ROWS // PART_ROWS)) * PART_ROWS / args.part_rows
    slow = np.where(rng.random(len(tasks)) < STRAGGLERS, SLOWER, 1.0)
    for workers in args.workers:
        ideal = tasks.sum() / workers / 3600
        note("evenly shared", workers, round(ideal, 4), "h")
        for what, times, lost in (
            ("as measured", tasks, 0.0),
            ("with stragglers", tasks * slow, 0.0),
            ("with stragglers, each worker lost once in ten hours", tasks * slow, 0.1),
            ("with stragglers, each worker lost once an hour", tasks * slow, 1.0),
        ):
            note(what, workers, round(hours_of(times, workers, lost, rng), 4), "h")
    publish("cluster", table)


if __name__ == "__main__":
    main()
