"""Benchmark tables: printed, and kept as CSV with the machine named.

They go to benchmarks/results, or to the folder that S3C2_RESULTS names.
"""

from __future__ import annotations

import csv
import os
import platform
from pathlib import Path

import torch

from s3c2.engine.devices import processor

RESULTS = Path(os.environ.get("S3C2_RESULTS", Path(__file__).parent / "results"))


def machine() -> str:
    """The processor and what runs on it, in one line."""
    model = processor("model name") or platform.processor() or platform.machine()
    if torch.cuda.is_available():
        model = f"{torch.cuda.get_device_name()}, {model}"
    return (
        f"{model}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def publish(name: str, rows: list[dict[str, object]]) -> None:
    """Print the table and write it to results/NAME.csv."""
    rows = [{**row, "machine": machine()} for row in rows]
    RESULTS.mkdir(parents=True, exist_ok=True)
    with open(RESULTS / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    shown = [column for column in rows[0] if column != "machine"]
    widths = {c: max(len(c), *(len(str(row[c])) for row in rows)) for c in shown}
    print(f"\n{name} on {machine()}")
    print("  ".join(c.ljust(widths[c]) for c in shown))
    for row in rows:
        print("  ".join(str(row[c]).ljust(widths[c]) for c in shown))
