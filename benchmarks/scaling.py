"""Time and memory from 10³ to 10⁶ memory-mapped rows.

    python benchmarks/scaling.py              # writes benchmarks/results/scaling.csv

For each number of rows: the median time of a CluNet step, the time of predict, and that of the bare
forward pass (the same network over a tensor that lies in memory, in the fastest of a few batch
sizes). The peak memory is that of a process of its own that fits and predicts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from s3c2 import S3C2, Links

from tables import publish

COLUMNS, CLUSTERS, CENTRES = 128, 10, 10


def make_rows(path: Path, n: int) -> None:
    """Rows around ten centres, written chunk by chunk."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CENTRES, COLUMNS)).astype(np.float32)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n, COLUMNS))
    for start in range(0, n, 10_000):
        stop = min(start + 10_000, n)
        y = np.arange(start, stop) % CENTRES
        noise = rng.normal(size=(stop - start, COLUMNS)).astype(np.float32)
        rows[start:stop] = centres[y] + 0.5 * noise
    rows.flush()


def fitted(X, steps: int, callback=None) -> S3C2:
    links = Links.from_labels(np.arange(len(X)) % CENTRES, 500, random_state=0)
    model = S3C2.as_published(
        CLUSTERS, labnet__epochs=2, clunet__steps=steps, random_state=0, verbose=0,
        callbacks=callback,
    )  # fmt: skip
    return model.fit(X, links=links)


def step_times(X, steps: int) -> list[float]:
    times: list[float] = []

    def note(step):
        if step.stage == "clunet":
            times.append(time.perf_counter())

    fitted(X, steps + 10, note)
    return list(np.diff(times)[10:])  # the first steps warm up


def predict_and_bare(model: S3C2, X, repeats: int) -> tuple[float, float]:
    """Median seconds of predict and of the bare forward pass, taking turns."""
    network = model.clunet_.network_.eval()
    tensor = torch.from_numpy(np.array(X))

    def bare(size: int) -> float:
        began = time.perf_counter()
        with torch.inference_mode():
            for start in range(0, len(tensor), size):
                network(tensor[start : start + size]).argmax(1)
        return time.perf_counter() - began

    def predict() -> float:
        began = time.perf_counter()
        model.predict(X)
        return time.perf_counter() - began

    sizes = [size for size in (1024, 4096, 16384) if size <= 2 * len(tensor)] or [len(tensor)]
    rounds = [(predict(), *(bare(size) for size in sizes)) for _ in range(repeats + 1)]
    medians = np.median(rounds[1:], axis=0)
    return float(medians[0]), float(medians[1:].min())


def peak_megabytes(path: Path, steps: int) -> dict[str, float]:
    """Peak resident memory of a process that fits on the rows and predicts all of them."""
    command = [sys.executable, __file__, "--measure-memory", str(path), "--steps", str(steps)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def measure_memory(path: str, steps: int) -> None:
    def peak() -> float:
        # Of this program alone: getrusage would count what its parent held before the exec.
        status = Path("/proc/self/status").read_text()
        return round(int(status.split("VmHWM:")[1].split()[0]) / 1024, 1)

    imports = peak()
    X = np.load(path, mmap_mode="r")
    model = fitted(X, steps)
    fit = peak()
    model.predict(X)
    print(json.dumps({"imports": imports, "fit": fit, "predict": peak()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3, help="rounds over all sizes, interleaved")
    parser.add_argument("--measure-memory", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure_memory:
        measure_memory(args.measure_memory, args.steps)
        return

    with tempfile.TemporaryDirectory() as folder:
        paths = {n: Path(folder) / f"{n}.npy" for n in args.rows}
        for n, path in paths.items():
            make_rows(path, n)
        mapped = {n: np.load(path, mmap_mode="r") for n, path in paths.items()}
        steps: dict[int, list[float]] = {n: [] for n in args.rows}
        for _ in range(args.rounds):
            for n in args.rows:
                steps[n] += step_times(mapped[n], args.steps)
        smallest = float(np.median(steps[args.rows[0]]))
        table = []
        for n in args.rows:
            model = fitted(mapped[n], 20)
            seconds, bare = predict_and_bare(model, mapped[n], args.repeats)
            memory = peak_megabytes(paths[n], min(50, args.steps))
            step = float(np.median(steps[n]))
            table.append(
                {
                    "rows": n,
                    "columns": COLUMNS,
                    "step_ms": round(1e3 * step, 2),
                    "step_over_smallest": round(step / smallest, 3),
                    "predict_s": round(seconds, 4),
                    "predict_rows_per_s": round(n / seconds),
                    "predict_over_bare": round(bare / seconds, 3),
                    "peak_mb_imports": memory["imports"],
                    "peak_mb_fit": memory["fit"],
                    "peak_mb_fit_and_predict": memory["predict"],
                }
            )
        publish("scaling", table)


if __name__ == "__main__":
    main()
