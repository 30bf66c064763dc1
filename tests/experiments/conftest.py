"""Experiments with tiny settings, and results in a temporary folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "experiments").is_dir():  # they are not part of an installed package
    collect_ignore_glob = ["test_*.py"]

FLAGS = ("--quick", "--steps", "2", "--device", "cpu")


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One folder of quick results for all tests: experiments share runs."""
    return tmp_path_factory.mktemp("results") / "quick"


@pytest.fixture(scope="session")
def sizes():
    from experiments.runs import Sizes

    return Sizes(
        ("digits",), ("digits",), ("digits",), (60, 120), (80, 160), (60,), 2, 1,
        wrong=("digits",), wrong_budget=60, others=("iris",),
    )  # fmt: skip


@pytest.fixture(scope="session")
def few_digits():
    """The part of the digits that is trained and tested on."""
    from s3c2 import datasets

    whole = datasets.load("digits")
    return replace(
        whole, X_train=whole.X_train[:300], y_train=whole.y_train[:300],
        X_test=whole.X_test[:100], y_test=whole.y_test[:100],
    )  # fmt: skip


@pytest.fixture(autouse=True)
def tiny(folder, sizes, few_digits, monkeypatch):
    from s3c2 import datasets, labnet_training

    from experiments import command_line, plots, runs

    load = datasets.load
    monkeypatch.setattr(
        datasets, "load", lambda name, *more: few_digits if name == "digits" else load(name, *more)
    )
    monkeypatch.setattr(plots, "DPI", 30)
    monkeypatch.setenv("S3C2_RESULTS", str(folder.parent))
    monkeypatch.setattr(command_line, "QUICK", sizes)
    monkeypatch.setattr(runs, "PRETRAINED", folder / "pretrained")
    monkeypatch.setattr(labnet_training, "CODE_LAYERS", (8, 4))


@pytest.fixture
def start():
    """Run the command of an experiment: start("figure_2", "--only", "DCPR")."""
    from experiments import command_line

    return lambda name, *flags: command_line.main([name, *FLAGS, *flags])


@pytest.fixture
def run():
    """Run an experiment that is not in the catalogue."""
    from experiments import command_line

    args = command_line.parser().parse_args(["figure_2", *FLAGS])
    return lambda experiment: command_line.run(experiment, args)


@pytest.fixture
def no_training():
    """A function to put in the place of a training that must not happen."""

    def fail(*arguments):
        raise AssertionError("something was trained")

    return fail
