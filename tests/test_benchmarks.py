"""Every benchmark runs, with tiny settings."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize(
    ("script", "arguments", "table"),
    [
        ("agreement", ["--steps", "3", "--timed-steps", "2", "--repeats", "1"], "agreement"),
        ("scaling", ["--rows", "200", "400", "--steps", "2", "--repeats", "1", "--rounds", "1"],
         "scaling"),
        ("stacks", ["--steps", "3", "--repeats", "1", "--no-nmi"], "stacks-cpu"),
    ],
)  # fmt: skip
def test_it_writes_its_table(script, arguments, table, tmp_path):
    if not BENCHMARKS.is_dir():
        pytest.skip("the benchmarks are not part of an installed package")
    settings = {"S3C2_RESULTS": str(tmp_path), "S3C2_REPLICAS": "2", "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run(
        [sys.executable, str(BENCHMARKS / f"{script}.py"), *arguments],
        env=os.environ | settings, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    with open(tmp_path / f"{table}.csv") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(row["machine"] for row in rows)
    if script == "agreement":
        differences = [row["largest_weight_difference"] for row in rows]
        assert [float(d) for d in differences if d] == [0.0, 0.0]
