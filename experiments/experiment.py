"""What an experiment is: the runs it needs, and a picture of their rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from experiments import ledger
from experiments.ledger import Rows
from experiments.plots import Drawing, save
from experiments.runs import FULL, Run, Sizes


@dataclass(frozen=True)
class Experiment:
    """One figure or table.

    Attributes
    ----------
    module : ``__name__`` of its file, which gives its name and its text
    ledger : name of the CSV that holds its runs; experiments may share one
    runs : sizes → the runs it needs
    draw : the rows of its runs → a picture and its numbers; None where the rows are too few
    group : how many runs are trained together at most
    beside : ledger → runs of other experiments that are drawn, too, where they have rows
    page : the page in docs that tells of it
    """

    module: str
    ledger: str
    runs: Callable[[Sizes], list[Run]]
    draw: Callable[[Rows], Drawing | None]
    group: int = 60
    beside: Mapping[str, Callable[[Sizes], list[Run]]] = field(default_factory=dict)
    page: str = "reproduction"

    @property
    def name(self) -> str:
        """The name of its file, as in ``figure_2``."""
        return self.module.rpartition(".")[2]

    @property
    def title(self) -> str:
        """The name as a page shows it, as in ``Figure 2``."""
        return self.name.replace("_", " ").capitalize()

    @property
    def text(self) -> str:
        """The docstring of its file."""
        return getattr(sys.modules.get(self.module), "__doc__", None) or ""

    @cached_property
    def full(self) -> dict[tuple[str, ...], Run]:
        """Its full runs by their keys in the ledger. A page asks for them a hundred times."""
        return {ledger.key(ledger.identity(run)): run for run in self.runs(FULL)}

    def path(self, folder: Path) -> Path:
        """The CSV of its runs."""
        return folder / f"{self.ledger}.csv"

    def rows(self, design: str | None = None) -> Rows:
        """The rows of its full runs; of one design of the links, if it is named."""
        wanted = {key for key, run in self.full.items() if design in (None, run.design)}
        return rows_with(wanted, self.path(ledger.results_folder()))

    def others(self) -> Rows:
        """The rows of full runs of other experiments that are shown beside its own."""
        folder = ledger.results_folder()
        return [
            row
            for name, runs in self.beside.items()
            for row in rows_of(runs(FULL), folder / f"{name}.csv")
        ]

    def write(self, rows: Rows, folder: Path) -> bool:
        """Draw the rows: NAME.png, and its numbers in NAME.csv; whether there was anything."""
        drawing = self.draw(rows)
        if drawing is not None:
            save(drawing, folder, self.name)
        return drawing is not None


def rows_of(runs: Sequence[Run], path: Path) -> list[dict[str, str]]:
    """The rows of these runs."""
    return rows_with({ledger.key(ledger.identity(run)) for run in runs}, path)


def rows_with(wanted: Collection[tuple[str, ...]], path: Path) -> list[dict[str, str]]:
    """The rows with these keys."""
    return [dict(row) for key, row in ledger.keyed(path) if key in wanted]
