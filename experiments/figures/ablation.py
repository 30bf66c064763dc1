"""Ablation: S3C2 with its defaults, and with one part switched off, or on, at a time.

    python -m experiments ablation --device cuda --precision bf16

The numbers are NMI without the part minus NMI of the default on the same links. Dense networks,
balanced links, three link sets. The runs of the default are those of best. Rows in
results/default.csv.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from experiments.experiment import Experiment
from experiments.figures import best
from experiments.figures.settings import cells
from experiments.ledger import Rows
from experiments.plots import TITLES, Drawing, grid_of_axes, known, short, summary, table
from experiments.runs import AS_IT_COMES, DEFAULT, Run, Sizes, grid

# What is switched off, or on → the parameters that do it
PARTS: dict[str, dict[str, Any]] = {
    "clusters may vanish": {"clunet__kept_share": 0},
    "256 links in a step": {"labnet__batch_links": 256},
    "LabNet with dropout": {"labnet__dropout": 0.3},
    "LabNet without dropout": {"labnet__dropout": 0},
    "neighbours in the rows": {"labnet__code": False},
    "no neighbours": {"labnet__neighbors": 0},
    "no correction by τ": {"labnet__same_share": 0},
    "T = 0.3": {"labnet__threshold": 0.3},
    "CluNet not smoothed": {"clunet__smoothing": 0},
    "CluNet from random weights": {"clunet__start": "random"},
    "links count as labels": {"clunet__labels_worth": None},
    "the rate stays": {"labnet__decay": False, "clunet__decay": False},
    "LabNet smoothed": {"labnet__smoothing": 0.5},
    "LabNet not smoothed": {"labnet__smoothing": 0},
}
TEXTS = ("reuters",)
SWITCHED_ON = ("LabNet with dropout", "LabNet smoothed")  # texts have them by default
OF_TEXTS = ("LabNet without dropout", "LabNet not smoothed")  # all others are so by default


def runs(sizes: Sizes) -> list[Run]:
    same = {True: SWITCHED_ON, False: OF_TEXTS}  # as the default, for texts and for others
    return [
        run
        for run in switched_off(PARTS, sizes.datasets, sizes)
        if run.variant not in same[run.dataset in TEXTS]
    ]


def switched_off(
    parts: Mapping[str, Mapping[str, Any]], names: Iterable[str], sizes: Sizes, **settings: Any
) -> list[Run]:
    """The default, and the default without each part."""
    budgets, link_sets = sizes.image_budgets, sizes.few_link_sets
    return [
        run
        for part, changes in {AS_IT_COMES: {}, **parts}.items()
        for run in grid(
            DEFAULT, names, budgets, link_sets, variant=part, changes=changes, **settings
        )
    ]


def differences(rows: Rows) -> pd.DataFrame:
    """NMI and ACC without a part minus those of the default, and NMI without it.

    Mean and spread over link sets with both.
    """
    frame = table(rows)
    of = ["dataset", "n_links", "link_seed"]
    whole = frame[frame["variant"] == AS_IT_COMES].set_index(of)[["nmi", "acc"]]
    frame = frame[frame["variant"] != AS_IT_COMES].join(whole.add_suffix("_whole"), on=of)
    frame["difference"] = frame["nmi"] - frame["nmi_whole"]
    frame["acc_difference"] = frame["acc"] - frame["acc_whole"]
    shown = ("difference", "acc_difference", "nmi")
    return summary(frame, ("dataset", "variant", "n_links"), shown)


def draw(rows: Rows) -> Drawing | None:
    data = differences(rows)
    if data.empty:
        return None
    names, budgets = known(data["dataset"]), sorted(data["n_links"].unique())
    of_rows = {row["variant"]: None for row in rows if row["variant"] != AS_IT_COMES}
    parts = [part for part in {**PARTS, **of_rows} if part in of_rows]
    figure, axes_of = grid_of_axes(1, len(names))
    figure.set_size_inches(2.2 + 2.4 * len(names), 1 + 0.3 * len(parts))
    for dataset, axes in zip(names, axes_of[0]):
        here = data[data["dataset"] == dataset].pivot(
            index="variant", columns="n_links", values="difference"
        )
        loss = here.reindex(index=parts, columns=budgets).to_numpy(float)
        cells(axes, loss, loss)
        axes.set_title(TITLES[dataset], fontsize=10)
        axes.set_xticks(range(len(budgets)), [short(n) for n in budgets], fontsize=8)
        axes.set_yticks(range(len(parts)), parts, fontsize=8)
        axes.tick_params(length=0)
    figure.supxlabel("links; NMI without the part minus NMI of the default", fontsize=9)
    return data, figure


EXPERIMENT = Experiment(__name__, best.LEDGER, runs, draw, page="results")
