"""Results by data set, method and number of links; and how the cases of a claim are counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from experiments.experiment import Experiment
from experiments.figures import (
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    neighbours,
    settings,
    settings_images,
)
from experiments.plots import TITLES, summary, table
from experiments.runs import FULL


class Results:
    """Mean NMI and rates of every figure; NaN if runs are missing."""

    @cached_property
    def dense(self) -> dict[Any, float]:
        return _means(table(figure_2.EXPERIMENT.rows("uniform")), "name")

    @cached_property
    def convolutional(self) -> dict[Any, float]:
        return _means(table(figure_5.EXPERIMENT.rows("uniform")), "name")

    @cached_property
    def thresholds(self) -> dict[Any, float]:
        return _means(table(figure_3.EXPERIMENT.rows("uniform")), "threshold")

    @cached_property
    def neighbours(self) -> dict[Any, float]:
        return _lookup(neighbours.variants(neighbours.EXPERIMENT.rows("uniform")), "variant", "nmi")

    @cached_property
    def six_thresholds(self) -> pd.DataFrame:
        return table(figure_4.EXPERIMENT.rows("uniform"))

    @cached_property
    def correlations(self) -> dict[Any, float]:
        found = figure_4.correlations(self.six_thresholds)
        return _lookup(found[found["over"] == figure_4.OVER[0]], "indicator", "correlation")

    @cached_property
    def differences(self) -> dict[Any, float]:
        found = figure_6.differences(table(figure_6.EXPERIMENT.rows("uniform")))
        means = summary(found, ("dataset", "n_links"), tuple(figure_6.MEASURES))
        long = means.melt(["dataset", "n_links"], list(figure_6.MEASURES), "measure")
        return _lookup(long, "measure", "value")


class WithSettings(Results):
    """The same with other settings of S3C2.

    The other methods are averaged over the link sets that S3C2 was run on with these settings.

    Parameters
    ----------
    dense, convolutional : names of variants in ``settings`` and in ``settings_images``
    """

    def __init__(self, dense: str, convolutional: str) -> None:
        self._dense = dense
        self._convolutional = convolutional

    @cached_property
    def dense(self) -> dict[Any, float]:
        return _changed(figure_2.EXPERIMENT, settings.EXPERIMENT, self._dense)

    @cached_property
    def convolutional(self) -> dict[Any, float]:
        return _changed(figure_5.EXPERIMENT, settings_images.EXPERIMENT, self._convolutional)


def _changed(figure: Experiment, changed: Experiment, variant: str) -> dict[Any, float]:
    """The means of a figure, but S3C2 with the settings of a variant."""
    rows = table(figure.rows("uniform"))
    few = rows[(rows["link_seed"] < FULL.few_link_sets) & (rows["name"] != "S3C2")]
    own = settings.variants(changed.rows("uniform"))
    own = own[own["variant"] == variant].assign(name="S3C2")
    return _OrNaN({**_means(few, "name"), **_lookup(own, "name", "nmi")})


def _means(frame: pd.DataFrame, by: str) -> dict[Any, float]:
    return _lookup(summary(frame, ("dataset", by, "n_links"), ("nmi",)), by, "nmi")


class _OrNaN(dict[Any, float]):
    def __missing__(self, key: Any) -> float:
        return math.nan


def _lookup(frame: pd.DataFrame, by: str, value: str) -> dict[Any, float]:
    """(data set, value of ``by``, number of links) → number."""
    keys = zip(frame["dataset"], frame[by], frame["n_links"])
    return _OrNaN(zip(keys, frame[value].astype(float)))


@dataclass(frozen=True)
class Finding:
    """How many cases of a claim are true, how many were not run, and the numbers to show."""

    held: int
    of: int
    numbers: str
    most: bool = False
    missing: int = 0

    @property
    def verdict(self) -> str:
        if self.of == 0:
            return "not run"
        if self.held == self.of or (self.most and 2 * self.held > self.of):
            found = "holds"
        else:
            found = "holds in part" if 3 * self.held >= self.of else "does not hold"
        return f"{found} so far" if self.missing else found


def count(cases: Iterable[tuple[float, bool]], numbers: str, most: bool = False) -> Finding:
    """Count the cases: each is (a number, NaN if runs are missing; whether it is true)."""
    cases = list(cases)
    known = [true for number, true in cases if not math.isnan(number)]
    return Finding(sum(known), len(known), numbers, most, len(cases) - len(known))


def above(a: float, b: float, margin: float = 0.0) -> tuple[float, bool]:
    """A case: is a more than b + margin? A negative margin allows a to be a little below b."""
    return (a - b, a > b + margin)


def together(cases: Iterable[tuple[float, bool]]) -> tuple[float, bool]:
    """One case that is true if all of these are."""
    numbers, true = zip(*cases)
    return (sum(numbers), all(true))  # NaN if one is missing


def pairs(values: dict[Any, float], a: str, b: str, sets: Sequence[str], n: int) -> str:
    """Two methods at n links, on every data set."""
    shown = (f"{TITLES[s]} {number(values[s, a, n])} / {number(values[s, b, n])}" for s in sets)
    return f"{a} / {b} at {n:,}: {', '.join(shown)}"


def number(value: float) -> str:
    """.743, −.012, 1.000, or – if runs are missing."""
    if math.isnan(value):
        return "–"
    return f"{value:.3f}".replace("0.", ".", 1).replace("-", "−")


def largest(values: Sequence[float]) -> float:
    """The largest; NaN if any is missing."""
    return math.nan if any(map(math.isnan, values)) else max(values)
