"""Experiments that compare settings of one method: a curve for each, on the four data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from plots import curve, finish, legend, panels, save, summary, table
from runner import Experiment
from runs import AS_PUBLISHED, Run, Sizes, grid


@dataclass(frozen=True)
class Variants:
    """One method with its published settings, whose runs are those of figure 2, and with others.

    Attributes
    ----------
    name : of the picture
    method : a key of runs.METHODS
    published : what the published settings are called here
    changed : name of each other variant → the parameters that differ
    styles : name of each variant → colour, marker and line, in the order of the legend
    """

    name: str
    method: str
    published: str
    changed: Mapping[str, Mapping[str, Any]]
    styles: Mapping[str, tuple[str, str, str]]

    def runs(self, sizes: Sizes) -> list[Run]:
        return [
            run
            for variant, changes in {AS_PUBLISHED: {}, **self.changed}.items()
            for run in grid(
                self.method, sizes.datasets, sizes.budgets, sizes.link_sets,
                variant=variant, changes=changes,
            )
        ]  # fmt: skip

    def summary(self, rows: Sequence[dict[str, str]]) -> pd.DataFrame:
        """Mean and spread of every variant."""
        frame = table(rows)
        frame["variant"] = frame["variant"].replace(AS_PUBLISHED, self.published)
        return summary(frame, ("dataset", "variant", "n_links"), ("nmi", "ari", "acc"))

    def draw(self, rows: Sequence[dict[str, str]], folder: Path) -> None:
        data = self.summary(rows)
        figure, axes_of = panels(data["dataset"])
        for dataset, axes in axes_of.items():
            for variant, (colour, marker, line) in self.styles.items():
                here = data[(data["dataset"] == dataset) & (data["variant"] == variant)]
                curve(axes, here, "nmi", colour, marker, linestyle=line)
            finish(axes, dataset, data["n_links"], "NMI")
        legend(figure, dict(self.styles))
        save(data, figure, folder, self.name)

    @property
    def experiment(self) -> Experiment:
        return Experiment(self.name, "dense", self.runs, self.draw)
