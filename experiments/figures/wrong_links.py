"""Wrong links: S3C2 with its defaults where 0, 10 and 20 % of 1,000 links have the wrong kind.

    python -m experiments wrong_links --device cuda --precision bf16

The kinds of so many links, drawn at random, are exchanged; contradictory links are left out
(contradictions="drop"). Scored are NMI, and which share of the wrong links is found among the first
10 % and 20 % of the links that the model calls suspicious. Balanced links, five link sets. Rows in
results/wrong.csv.
"""

from __future__ import annotations

import pandas as pd

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import TITLES, Drawing, grid_of_axes, known, legend, summary, table
from experiments.runs import DEFAULT, Run, Sizes, grid

SHARES = (0.0, 0.1, 0.2)
SCORES = {
    "nmi": ("NMI", "black", "o"),
    "found_10": ("wrong links found among the first 10 %", "#0072B2", "s"),
    "found_20": ("wrong links found among the first 20 %", "#D55E00", "^"),
}


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for share in SHARES
        for run in grid(
            DEFAULT, sizes.wrong, [sizes.wrong_budget], sizes.link_sets,
            flipped=share, changes={"contradictions": "drop"},
        )
    ]  # fmt: skip


def numbers(rows: Rows) -> pd.DataFrame:
    """Mean and spread for every data set and share of wrong links."""
    return summary(table(rows), ("dataset", "n_links", "flipped"), tuple(SCORES))


def draw(rows: Rows) -> Drawing:
    data = numbers(rows)
    names = known(data["dataset"])
    figure, axes_of = grid_of_axes(1, max(1, len(names)))
    for dataset, axes in zip(names, axes_of[0]):
        here = data[data["dataset"] == dataset].sort_values("flipped")
        for score, (_, colour, marker) in SCORES.items():
            axes.errorbar(100 * here["flipped"], here[score], here[f"{score}_std"].fillna(0),
                          color=colour, marker=marker, capsize=3)  # fmt: skip
        axes.set_title(TITLES[dataset], fontsize=10)
        axes.set_xlabel("% of links that are wrong")
        axes.set_xticks([100 * share for share in SHARES])
        axes.grid(alpha=0.25, linewidth=0.6)
    legend(figure, {name: (colour, marker, "-") for name, colour, marker in SCORES.values()})
    return data, figure


EXPERIMENT = Experiment(__name__, "wrong", runs, draw, page="results")
