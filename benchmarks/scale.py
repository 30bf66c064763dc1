"""Past memory: 10⁴ … 10⁷ rows of 64 columns in Parquet files on disk.

    python benchmarks/scale.py              # writes benchmarks/results/scale.csv

- step: the median time of a CluNet step of a fit on a dataset, over that of the smallest one.
- memory: the peak of a process of its own that fits the default model on the dataset (few steps, no
  autoencoder, which has as many rows whatever the data) and labels all rows.
- links: seconds to find the rows of a million links by string id among all rows, which are read on
  the way, and to turn the links into row numbers.
- predict: rows a second from a Parquet folder of 20 columns into Parquet parts, and the share of
  the bare forward pass (torch's module over a tensor that lies in memory, in the fastest of a few
  batch sizes), and of the same with the library's own products, in turns.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from pyarrow import dataset, parquet

from s3c2 import S3C2, CluNet, LabNet, Links
from s3c2.data.parquet import dataset_stream, parquet_stream
from s3c2.engine.inference import outputs_of
from s3c2.labelling import Labelling, folder_of_run
from s3c2.sampled import MEMORY, sample

from tables import publish

COLUMNS, PREDICT_COLUMNS, CENTRES = 64, 20, 10
FILE_ROWS = 500_000
SEEN_LINKS = 500


def make_rows(folder: Path, n: int, columns: int, file_rows: int = FILE_ROWS) -> Path:
    """Rows around ten centres with ids, as Parquet files."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CENTRES, columns)).astype(np.float32)
    for number, start in enumerate(range(0, n, file_rows)):
        stop = min(start + file_rows, n)
        X = 0.5 * rng.standard_normal((stop - start, columns), dtype=np.float32)
        X += centres[np.arange(start, stop) % CENTRES]
        ids = pa.array([f"row-{row}" for row in range(start, stop)])
        table = {"id": ids, **{f"x{place}": X[:, place] for place in range(columns)}}
        parquet.write_table(pa.table(table), folder / f"{number:05d}.parquet", compression="none")
    return folder


def some_links(n: int, n_links: int) -> Links:
    """Links between random rows, by id."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, n, (2, n_links))
    b = np.where(a == b, (b + 1) % n, b)
    ids = np.char.add("row-", np.stack([a, b], axis=1).astype(str)).astype(object)
    same = a % CENTRES == b % CENTRES
    return Links(ids[same], ids[~same])


def step_times(folder: Path, n: int, steps: int) -> list[float]:
    times: list[float] = []

    def note(step):
        if step.stage == "clunet":
            times.append(time.perf_counter())

    model = S3C2.as_published(
        CENTRES, scale="auto", labnet__epochs=2, clunet__steps=steps + 10, random_state=0,
        verbose=0, callbacks=note,
    )  # fmt: skip
    fit(model, folder, n)
    return list(np.diff(times)[10:])  # the first steps warm up


def fit(model: S3C2, folder: Path, n: int) -> S3C2:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few steps leave clusters empty
        links = some_links(n, SEEN_LINKS)
        return model.fit(dataset.dataset(folder), links=links, sample_id="id")


def in_own_process(what: str, *values: object) -> dict[str, float]:
    command = [sys.executable, __file__, "--own-process", what, *map(str, values)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def measure_memory(folder: str, n: str) -> dict[str, float]:
    model = S3C2(
        CENTRES, labnet=LabNet(steps=20, code=False), clunet=CluNet(steps=20), random_state=0,
        verbose=0,
    )  # fmt: skip
    began = time.perf_counter()
    fit(model, Path(folder), int(n))
    # Of this program alone: getrusage would count what its parent held before the exec.
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    return {"peak_mb": peak, "seconds": time.perf_counter() - began}


def measure_links(folder: str, n: str, n_links: str) -> dict[str, float]:
    links = some_links(int(n), int(n_links))
    # All linked rows are kept, whatever memory they take: the time is what is measured.
    memory = max(MEMORY, 4 * COLUMNS * 3 * int(n_links))
    began = time.perf_counter()
    found = sample(dataset_stream(dataset.dataset(folder), id_column="id"), [links], memory)
    by_number = found.resolve(links)
    seconds = time.perf_counter() - began
    assert by_number.n_links == links.n_links
    return {"seconds": seconds}


def quick_model(folder: Path, n: int) -> S3C2:
    """A model of these rows that learned little: its labels take as long as those of a good one."""
    model = S3C2(
        CENTRES, labnet=LabNet(steps=5, code=False), clunet=CluNet(steps=5), random_state=0,
        verbose=0, memory=4 * PREDICT_COLUMNS * 5000,
    )  # fmt: skip
    return fit(model, folder, n)


def predict_and_bare(folder: Path, n: int, out: Path, repeats: int) -> tuple[float, float, float]:
    """Median seconds of the streamed prediction and of both forward passes, taking turns."""
    model = quick_model(folder, n)
    model.save(out / "model")
    columns = [f"x{place}" for place in range(PREDICT_COLUMNS)]
    network = model.clunet_.network_.eval()
    tensor = torch.randn(n, PREDICT_COLUMNS)

    def streamed() -> float:
        shutil.rmtree(out / "labels", ignore_errors=True)
        began = time.perf_counter()
        stream = parquet_stream(folder, columns=columns, id_column="id")
        Labelling(model, stream).into_folder(
            folder_of_run(out / "labels", out / "model", stream), 0
        )
        return time.perf_counter() - began

    def bare(forward: Callable[[torch.Tensor], torch.Tensor], size: int) -> float:
        began = time.perf_counter()
        with torch.inference_mode():
            for start in range(0, n, size):
                forward(tensor[start : start + size]).argmax(1)
        return time.perf_counter() - began

    sizes = (1024, 4096, 16384)
    ways = [(network, size) for size in sizes]
    ways += [(outputs_of(network, torch.device("cpu"), size), size) for size in sizes]
    rounds = [(streamed(), *(bare(*way) for way in ways)) for _ in range(repeats + 1)]
    medians = np.median(rounds[1:], axis=0)
    plain, own = medians[1 : 1 + len(sizes)], medians[1 + len(sizes) :]
    return float(medians[0]), float(plain.min()), float(own.min())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--links", type=int, default=10**6)
    parser.add_argument("--predict-rows", type=int, default=4 * 10**6)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3, help="rounds over all sizes, interleaved")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--own-process", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.own_process:
        what, *values = args.own_process
        print(json.dumps({"memory": measure_memory, "links": measure_links}[what](*values)))
        return

    table: list[dict[str, object]] = []

    def note(
        measure: str, rows: int, columns: int, wanted: str, measured: float, unit: str
    ) -> None:
        row = {"measure": measure, "rows": rows, "columns": columns, "wanted": wanted}
        table.append({**row, "measured": measured, "unit": unit})
        print(table[-1], file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        folders = {n: make_rows(place / str(n), n, COLUMNS) for n in args.rows}
        steps: dict[int, list[float]] = {n: [] for n in args.rows}
        for _ in range(args.rounds):
            for n in args.rows:
                steps[n] += step_times(folders[n], n, args.steps)
        smallest = float(np.median(steps[args.rows[0]]))
        for n in args.rows:
            ratio = round(float(np.median(steps[n])) / smallest, 3)
            note("step over smallest", n, COLUMNS, "≤ 1.2", ratio, "×")
        for n in args.rows:
            peak = round(in_own_process("memory", folders[n], n)["peak_mb"])
            note("peak memory of fit", n, COLUMNS, "≤ 1,500", peak, "MB")
        n = args.rows[-1]
        seconds = round(in_own_process("links", folders[n], n, args.links)["seconds"], 2)
        note(f"{args.links:,} links found by id", n, COLUMNS, "≤ 30", seconds, "s")
        shutil.rmtree(place / str(n))
        n = args.predict_rows
        folder = make_rows(place / "predict", n, PREDICT_COLUMNS)
        seconds, bare, own = predict_and_bare(folder, n, place, args.repeats)
        note("streamed prediction", n, PREDICT_COLUMNS, "≥ 1,000,000", round(n / seconds), "rows/s")
        for what, wanted, other in (("bare", "≥ 0.8", bare), ("bare, own products", "–", own)):
            note(
                f"streamed over {what}", n, PREDICT_COLUMNS, wanted, round(other / seconds, 3), "×"
            )
    publish("scale", table)


if __name__ == "__main__":
    main()
