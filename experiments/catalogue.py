"""All experiments: what is in ``experiments.figures`` is found, and listed nowhere else."""

from __future__ import annotations

import importlib
import pkgutil
import re

from experiments import figures
from experiments.experiment import Experiment


def experiments() -> dict[str, Experiment]:
    """Every experiment by its name, figure_2 before figure_10."""
    names = [module.name for module in pkgutil.iter_modules(figures.__path__)]
    return {name: load(name) for name in sorted(names, key=natural)}


def load(name: str) -> Experiment:
    """The experiment of a file in ``figures``."""
    return importlib.import_module(f"{figures.__name__}.{name}").EXPERIMENT


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key that takes the digits in a name as a number."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
