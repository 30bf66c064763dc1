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
    figure_3_on_d,
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
    """Mean NMI and rates of every figure with links of one design; NaN if runs are missing."""

    def __init__(self, design: str = "uniform") -> None:
        self.design = design

    @cached_property
    def dense(self) -> dict[Any, float]:
        return _means(_on_shared_links(table(figure_2.EXPERIMENT.rows(self.design))), "name")

    @cached_property
    def convolutional(self) -> dict[Any, float]:
        return _means(_on_shared_links(table(figure_5.EXPERIMENT.rows(self.design))), "name")

    @cached_property
    def thresholds(self) -> dict[Any, float]:
        return _means(table(figure_3.EXPERIMENT.rows(self.design)), "threshold")

    @cached_property
    def neighbours(self) -> dict[Any, float]:
        found = neighbours.variants(neighbours.EXPERIMENT.rows(self.design))
        return _lookup(found, "variant", "nmi")

    @cached_property
    def six_thresholds(self) -> pd.DataFrame:
        """The runs of figure 4, where all six thresholds have rows."""
        return figure_3.complete(table(figure_4.EXPERIMENT.rows(self.design)))

    @cached_property
    def correlations(self) -> dict[Any, float]:
        found = figure_4.correlations(self.six_thresholds)
        return _lookup(found[found["over"] == figure_4.OVER[0]], "indicator", "correlation")

    @cached_property
    def differences(self) -> dict[Any, float]:
        found = figure_6.differences(table(figure_6.EXPERIMENT.rows(self.design)))
        means = summary(found, ("dataset", "n_links"), tuple(figure_6.MEASURES))
        long = means.melt(["dataset", "n_links"], list(figure_6.MEASURES), "measure")
        return _lookup(long, "measure", "value")


class OnD(Results):
    """Figures 3 and 4 with the thresholds on d, as the authors' script has them.

    Parameters
    ----------
    design : of the links
    variant : a key of ``figure_3_on_d.DROPOUT``
    """

    def __init__(self, design: str, variant: str) -> None:
        super().__init__(design)
        self._variant = variant

    @cached_property
    def six_thresholds(self) -> pd.DataFrame:
        rows = table(figure_3_on_d.EXPERIMENT.rows(self.design))
        return figure_3_on_d.on_d(rows[rows["variant"] == self._variant])

    @cached_property
    def thresholds(self) -> dict[Any, float]:
        return _means(self.six_thresholds, "threshold")


class WithSettings(Results):
    """The same with other settings of S3C2.

    The other methods are averaged over the link sets that S3C2 was run on with these settings.

    Parameters
    ----------
    design : of the links
    dense, convolutional : names of variants in ``settings`` and in ``settings_images``
    """

    def __init__(self, design: str, dense: str, convolutional: str) -> None:
        super().__init__(design)
        self._dense = dense
        self._convolutional = convolutional

    @cached_property
    def dense(self) -> dict[Any, float]:
        return _changed(figure_2.EXPERIMENT, settings.EXPERIMENT, self._dense, self.design)

    @cached_property
    def convolutional(self) -> dict[Any, float]:
        changed = settings_images.EXPERIMENT
        return _changed(figure_5.EXPERIMENT, changed, self._convolutional, self.design)


def _changed(
    figure: Experiment, changed: Experiment, variant: str, design: str
) -> dict[Any, float]:
    """The means of a figure, but S3C2 with the settings of a variant."""
    rows = table(figure.rows(design))
    few = rows[(rows["link_seed"] < FULL.few_link_sets) & (rows["name"] != "S3C2")]
    own = settings.variants(changed.rows(design))
    own = own[own["variant"] == variant].assign(name="S3C2")
    return _OrNaN({**_means(few, "name"), **_lookup(own, "name", "nmi")})


def _on_shared_links(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows on those link sets that all methods were run on, of the methods that were run."""
    place = ["dataset", "n_links"]
    methods = frame.groupby(place)["name"].transform("nunique")
    return frame[frame.groupby([*place, "link_seed"])["name"].transform("nunique") == methods]


def _means(frame: pd.DataFrame, by: str) -> dict[Any, float]:
    return _lookup(summary(frame, ("dataset", by, "n_links"), ("nmi",)), by, "nmi")


class _OrNaN(dict[Any, float]):
    def __missing__(self, key: Any) -> float:
        return math.nan


def _lookup(frame: pd.DataFrame, by: str, value: str) -> dict[Any, float]:
    """(data set, value of ``by``, number of links) → number."""
    keys = zip(frame["dataset"], frame[by], frame["n_links"])
    return _OrNaN(zip(keys, frame[value].astype(float)))


NOT_RUN = "not run yet"


@dataclass(frozen=True)
class Finding:
    """How many cases of a claim are true, and the numbers to show.

    ``missing`` cases have no runs yet; ``undecided`` ones were run, and decide nothing.
    """

    held: int
    of: int
    numbers: str
    most: bool = False
    missing: int = 0
    undecided: int = 0

    @property
    def verdict(self) -> str:
        if self.of == 0:
            return "undecided" if self.undecided and not self.missing else NOT_RUN
        return f"{self.word} so far" if self.missing else self.word

    @property
    def word(self) -> str:
        """The verdict of the cases that were run."""
        if self.of == 0:
            return self.verdict
        if self.held == self.of or (self.most and 2 * self.held > self.of):
            return "holds"
        return "holds in part" if 3 * self.held >= self.of else "does not hold"

    @property
    def cases(self) -> str:
        return f"{self.held} of {self.of}" if self.of else ""


def count(
    cases: Iterable[tuple[float, bool]], numbers: str, most: bool = False, undecided: int = 0
) -> Finding:
    """Count the cases: each is (a number, NaN if runs are missing; whether it is true)."""
    cases = list(cases)
    known = [true for number, true in cases if not math.isnan(number)]
    return Finding(sum(known), len(known), numbers, most, len(cases) - len(known), undecided)


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
