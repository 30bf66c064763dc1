"""Every benchmark runs, with tiny settings, and names its rows as the kept tables do."""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path

import pytest
import torch

from s3c2 import labnet_training

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
MODULES = (
    "agreement", "asking", "bits", "cluster", "cost", "gpu_profile", "products", "scale", "scaling",
    "stacks", "tables", "workers",
)  # fmt: skip

pytestmark = pytest.mark.skipif(
    not BENCHMARKS.is_dir(), reason="the benchmarks are not part of an installed package"
)


@pytest.fixture
def benchmark(monkeypatch, tmp_path):
    """Imports a benchmark that writes to tmp_path, on the CPU."""
    monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
    monkeypatch.setenv("S3C2_REPLICAS", "2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # of processes that a benchmark starts
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.syspath_prepend(BENCHMARKS)
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    yield importlib.import_module
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


def table(folder, name):
    with open(folder / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


# (script, its arguments, its table, the columns that name a row)
RUNS = {
    "agreement": (
        ["--steps", "3", "--timed-steps", "1", "--repeats", "1"],
        "agreement",
        ("network", "loop"),
    ),
    "asking": (["--steps", "2", "--answers", "5"], "asking", ("training_beside",)),
    "cost": (["--steps", "2"], "cost", ("data", "rows", "network", "part")),
    "products": (
        ["--repeats", "1", "--seconds", "0.001"],
        "products",
        ("rows", "inputs", "outputs"),
    ),
    "scaling": (
        ["--rows", "1000", "--steps", "2", "--repeats", "1", "--rounds", "1"],
        "scaling",
        ("rows", "columns"),
    ),
    "scale": (
        ["--rows", "300", "--links", "200", "--predict-rows", "2000", "--steps", "2"],
        "scale",
        ("columns", "wanted", "unit"),
    ),
    "cluster": (["--parts", "2", "--part-rows", "1500"], "cluster", ("measure", "workers")),
    "stacks": (
        ["--steps", "3", "--repeats", "1", "--no-nmi"],
        "stacks-cpu",
        ("measure", "reach", "note"),
    ),
}


SLOW = ("scale", "scaling")


@pytest.mark.parametrize(
    "script", [pytest.param(one, marks=pytest.mark.slow if one in SLOW else ()) for one in RUNS]
)
def test_it_writes_the_rows_of_the_kept_table(script, benchmark, tmp_path, monkeypatch):
    arguments, name, keys = RUNS[script]
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    monkeypatch.setattr(labnet_training, "CODE_LAYERS", (8, 4))
    benchmark(script).main()
    rows, kept = table(tmp_path, name), table(BENCHMARKS / "results", name)
    if script in ("cost", "scaling"):
        kept = kept[: len(rows)]  # digits, and one number of rows, are enough here
    if script == "scale":  # the same measures for one number of rows
        kept = list({tuple(row[key] for key in keys): row for row in kept}.values())
    assert list(rows[0]) == list(kept[0])
    assert [[row[key] for key in keys] for row in rows] == [
        [row[key] for key in keys] for row in kept
    ]
    for row in rows:
        assert row["machine"]
        for column, value in row.items():
            if "ms" in column.split("_") or "mb" in column.split("_"):
                assert float(value) > 0
    if script == "cost":
        assert sum(float(row["share"]) for row in rows) == pytest.approx(1, abs=0.02)
    if script == "agreement":
        differences = [row["largest_weight_difference"] for row in rows]
        assert [float(d) for d in differences if d] == [0.0, 0.0]


@pytest.mark.xdist_group("ray")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what Ray leaves behind when it stops
def test_workers_of_ray_are_compared_with_one_process(benchmark, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="needs the extra ray")
    given = ["--rows", "3000", "--parts", "3", "--repeats", "1"]
    monkeypatch.setattr(sys, "argv", ["workers", *given])
    benchmark("workers").main()
    rows = table(tmp_path, "workers")
    assert [row["way"] for row in rows] == ["one process", "Ray, 1 worker", "Ray, 2 workers"]
    assert float(rows[0]["over_one_process"]) == 1
    for row in rows:
        assert row["machine"]
        ratio = float(row["rows_per_second"]) / float(rows[0]["rows_per_second"])
        assert float(row["over_one_process"]) == pytest.approx(ratio, abs=0.01)


def test_the_profile_of_a_gpu_finds_what_it_imports(benchmark):
    assert callable(benchmark("gpu_profile").main)


def test_changed_bits_are_named(benchmark):
    bits = benchmark("bits")
    cases = {"DCPR": bits.CASES["DCPR"]}
    found = [bits.digest(model) for model in cases["DCPR"]()]
    assert bits.differing({"cases": {"DCPR": found}}, cases) == []
    other = [bits.digest(model) for model in bits.CASES["NNClustering"]()]
    assert bits.differing({"cases": {"DCPR": other}}, cases) == ["DCPR"]
