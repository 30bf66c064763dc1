"""What the study of questions shows: its table, its picture, and whether it shows what it must.

All from the rows of results/questions.csv.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments import ledger, method_changes
from experiments.classical import CLASSICAL
from experiments.findings import number
from experiments.markdown import NO_RUNS, markdown
from experiments.plots import TITLES, curve, grid_of_axes, known, legend, links_axis, save, summary
from experiments.runs import DEFAULT

OURS, RANDOM = "ours", "random"
STRATEGIES = (OURS, RANDOM, *CLASSICAL)
KEY = ("dataset", "strategy", "seed", "n_questions")
COLUMNS = (
    *KEY, "nmi", "ari", "acc", "n_same", "n_different", "n_links", "seconds_per_run", "group_size",
    "device", "precision", "s3c2", "torch", "commit", "source", "settings",
)  # fmt: skip
STYLES = {
    OURS: ("black", "*", "-"),
    RANDOM: ("#0072B2", "o", "-"),
    "Explore-Consolidate": ("#E69F00", "s", "-"),
    "Min-Max": ("#009E73", "^", "-"),
    "NPU": ("#CC79A7", "D", "-"),
}
DEFAULT_ROW = {"method": DEFAULT, "network": "dense"}  # what every row of the study is of
OURS_BEFORE = ("14b83f9",)  # commits at which ours asked about random rows alone
BUDGET, GOAL = 1000, 300  # questions of random pairs, and within how many ours should do as well


def read(path: Path) -> list[dict[str, str]]:
    """The rows; none if there is no file."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def is_earlier(row: dict[str, str]) -> bool:
    """Whether a row is of a version before a change of the default, or of our strategy."""
    if row["strategy"] == OURS and row["commit"] in OURS_BEFORE:
        return True
    return method_changes.is_earlier(row | DEFAULT_ROW)


def table_of(rows: Sequence[dict[str, str]]) -> pd.DataFrame:
    """Mean and spread of every strategy after each number of questions."""
    frame = pd.DataFrame(list(rows), columns=list(COLUMNS))
    for column in ("seed", "n_questions", "nmi", "ari", "acc", "n_same"):
        frame[column] = pd.to_numeric(frame[column])
    return summary(frame, ("dataset", "strategy", "n_questions"), ("nmi", "n_same"))


def draw(folder: Path, found: pd.DataFrame) -> None:
    """A panel for each data set, each with its own NMI axis; the numbers beside it."""
    found = found.rename(columns={"n_questions": "n_links"})
    names = known(found["dataset"])
    figure, axes_of = grid_of_axes(1, max(1, len(names)), sharey=False)
    for dataset, axes in zip(names, axes_of[0]):
        here = found[(found["dataset"] == dataset) & (found["n_links"] > 0)]
        for strategy, (colour, marker, _) in STYLES.items():
            curve(axes, here[here["strategy"] == strategy], "nmi", colour, marker)
        links_axis(axes, here["n_links"])
        axes.set_title(TITLES[dataset], fontsize=10)
        axes.set_xlabel("questions")
    axes_of[0, 0].set_ylabel("NMI")
    legend(figure, {name: STYLES[name] for name in STYLES if name in set(found["strategy"])})
    save((found.rename(columns={"n_links": "questions"}), figure), folder, "questions_summary")


def claims(found: pd.DataFrame) -> list[tuple[str, bool | None, str]]:
    """What must be shown, for each data set: the claim, whether it holds, and the numbers."""
    verdicts: list[tuple[str, bool | None, str]] = []
    for dataset in [name for name in TITLES if name in set(found["dataset"])]:
        here = found[found["dataset"] == dataset]
        ours, random = (
            here[here["strategy"] == name].set_index("n_questions") for name in (OURS, RANDOM)
        )
        title = TITLES[dataset]
        if BUDGET in random.index and GOAL in ours.index:
            aim = float(random["nmi"][BUDGET])
            enough = [n for n in ours.index if ours["nmi"][n] >= aim]
            first = f"{min(enough):,}" if enough else "more"
            verdicts.append((
                f"{title}: the NMI of {BUDGET:,} random pairs in at most {GOAL} questions",
                bool(enough) and min(enough) <= GOAL,
                f"random {number(aim)}; ours {number(float(ours['nmi'][GOAL]))} with {GOAL}, "
                f"as good with {first}",
            ))  # fmt: skip
        both = [n for n in ours.index if n in random.index]
        short = {
            n: float(random["nmi"][n] - ours["nmi"][n])
            - float(np.nanmax([random["nmi_std"][n], ours["nmi_std"][n], 0]))
            for n in both
        }
        worst = max(short, key=lambda n: short[n]) if short else 0
        if short:
            verdicts.append((
                f"{title}: never below random pairs by more than the spread",
                short[worst] <= 0,
                f"nearest at {worst:,}: ours {number(float(ours['nmi'][worst]))}, random "
                f"{number(float(random['nmi'][worst]))} ± "
                f"{number(float(random['nmi_std'][worst]))}",
            ))  # fmt: skip
    return verdicts


def page_table() -> str:
    """The tables for docs/asking.md, from the committed rows."""
    path = ledger.results_folder() / "questions.csv"
    rows = read(path)
    if not rows:
        return NO_RUNS
    found = table_of(rows)
    marks = sorted(found["n_questions"].unique())
    lines = []
    for dataset in [name for name in TITLES if name in set(found["dataset"])]:
        for strategy in STYLES:
            here = found[(found["dataset"] == dataset) & (found["strategy"] == strategy)]
            here = here.set_index("n_questions")
            if len(here):
                cells = [
                    f"{number(float(here['nmi'][n]))} ± {number(float(here['nmi_std'][n]))}"
                    if n in here.index
                    else "–"
                    for n in marks
                ]
                lines.append([TITLES[dataset], strategy, *cells])
    table = markdown(["", "strategy", *(f"{n:,}" for n in marks)], lines)
    said = "".join(
        f"- {claim}: {'yes' if holds else 'no'} ({numbers}).\n"
        for claim, holds, numbers in claims(found)
    )
    before = sum(map(is_earlier, rows))
    more = (
        f"\n{before} of the {len(rows)} trainings behind the table are of a version before a "
        "change of the default or of our strategy, and are to be made anew.\n"
        if before
        else ""
    )
    return f"{table}\n{said}{more}"
