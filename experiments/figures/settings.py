"""Settings: S3C2 as published, with one setting of the authors' script at a time, and with all.

    python -m experiments settings --device cuda --precision bf16

The paper does not give some settings, and the authors' script differs in others. Each variant
changes one of them. "The script's settings" changes all that differ, except the output of LabNet on
Reuters, a softmax with an L1 penalty on the hidden weights, which has variants of its own there.
With T = 0 LabNet is not used: every random pair is a cannot-link. Dense networks, balanced links of
both designs, three link sets each, d-graph for comparison. Rows in results/dense.csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import (
    TITLES,
    Drawing,
    designs_of,
    grid_of_axes,
    known,
    part_of,
    short,
    summary,
    table,
)
from experiments.runs import AS_PUBLISHED, Run, Sizes, both_designs, grid

THRESHOLDS = {"T = 0.09 (d < 0.3)": 0.09, "T = 0 (no LabNet)": 0.0}
ON_D = 0.09  # d < 0.3
SEMI_SUPERVISED = "semi-supervised, λ = 0.05"
SCRIPT = {"the script's settings": {"clunet_dropout": 0.0, "clunet_steps": 4000}}
SCRIPT["… and LabNet without dropout"] = SCRIPT["the script's settings"] | {"dropout": 0.0}
# On Reuters alone; on the digits in a quick run
SOFTMAX = {"labnet_output": "softmax", "labnet_l1": 0.001}
SOFTMAX_SETS = ("reuters", "digits")
SOFTMAX_SCRIPT = {
    "the script's settings, softmax": SCRIPT["the script's settings"] | SOFTMAX,
    "… and LabNet without dropout, softmax": SCRIPT["… and LabNet without dropout"] | SOFTMAX,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "CluNet without dropout": {"clunet_dropout": 0.0},
    "neither with dropout": {"dropout": 0.0},
    "LabNet by Adam": {"labnet_optimizer": "adam"},
    "LabNet 500 steps": {"labnet_steps": 500},
    "LabNet 1,500 steps": {"labnet_steps": 1500},
    "CluNet 2,000 steps": {"clunet_steps": 2000},
    "CluNet 4,000 steps": {"clunet_steps": 4000},
    "CluNet 6,000 steps": {"clunet_steps": 6000},
}
ONLY_SOFTMAX = {"LabNet's softmax, L1": SOFTMAX}
ORDER = (
    "d-graph", AS_PUBLISHED, *THRESHOLDS, *VARIANTS, *ONLY_SOFTMAX, *SCRIPT, *SOFTMAX_SCRIPT,
)  # fmt: skip


def runs(sizes: Sizes) -> list[Run]:
    def of(dataset: str, method: str = "S3C2", **settings: Any) -> list[Run]:
        return list(grid(method, [dataset], sizes.budgets, sizes.few_link_sets, **settings))

    found = []
    for dataset in sizes.datasets:
        found += of(dataset, "d-graph") + of(dataset)
        for T in THRESHOLDS.values():
            found += of(dataset, threshold=T)
        softmax = dataset in SOFTMAX_SETS
        for variant, changes in (VARIANTS | (ONLY_SOFTMAX if softmax else {})).items():
            found += of(dataset, variant=variant, changes=changes)
        batch = {"labnet_links": 128} if dataset == "letters" else {}
        for variant, changes in (SCRIPT | (SOFTMAX_SCRIPT if softmax else {})).items():
            found += of(dataset, variant=variant, changes=changes | batch, threshold=ON_D)
    return found


def variants(rows: Rows) -> pd.DataFrame:
    """Mean and spread of every variant."""
    frame = table(rows)
    for name, T in THRESHOLDS.items():
        own = (frame["threshold"] == T) & (frame["variant"] == AS_PUBLISHED)
        frame.loc[own, "variant"] = name
    frame.loc[frame["method"] == "d-graph", "variant"] = "d-graph"
    semi = (frame["semi_supervised"] == "True") & (frame["variant"] == AS_PUBLISHED)
    frame.loc[semi, "variant"] = SEMI_SUPERVISED
    scores = ("nmi", "acc", "accuracy", "ml_rate", "cl_rate")
    return summary(frame, ("design", "dataset", "variant", "n_links"), scores)


def draw(rows: Rows, order: Sequence[str] = ORDER) -> Drawing:
    """NMI of each variant, coloured by its difference from the published settings."""
    data = variants(rows)
    designs, budgets = designs_of(data), sorted(data["n_links"].unique())
    places = [(design, name) for name in known(data["dataset"]) for design in designs]
    columns = min(2, max(1, len(places)))
    figure, axes_of = grid_of_axes(max(1, -(-len(places) // columns)), columns)
    figure.set_size_inches(2.2 + 4.2 * columns, 0.6 + 0.26 * len(order) * len(axes_of))
    for (design, dataset), axes in zip(places, axes_of.flat):
        here = part_of(data, design, dataset).pivot(
            index="variant", columns="n_links", values="nmi"
        )
        nmi = here.reindex(index=list(order), columns=budgets).to_numpy(float)
        cells(axes, nmi, nmi - nmi[order.index(AS_PUBLISHED)])
        axes.set_title(f"{TITLES[dataset]}, {design} links", fontsize=10)
        axes.set_xticks(range(len(budgets)), [short(n) for n in budgets], fontsize=8)
        axes.set_yticks(range(len(order)), order, fontsize=8)
        axes.tick_params(length=0)
    figure.supxlabel("links; purple is better than as published, orange worse", fontsize=9)
    return data, figure


def cells(axes: Axes, nmi: np.ndarray, gain: np.ndarray) -> None:
    """A cell for each variant and number of links: (variants, budgets)."""
    axes.imshow(gain, cmap="PuOr", vmin=-0.4, vmax=0.4, aspect="auto")
    for (line, column), value in np.ndenumerate(nmi):
        if np.isfinite(value):
            ink = "white" if abs(gain[line, column]) > 0.22 else "black"
            text = f"{value:.2f}".replace("0.", ".", 1)
            axes.text(column, line, text, ha="center", va="center", fontsize=8, color=ink)


EXPERIMENT = Experiment(__name__, "dense", both_designs(runs), draw)
