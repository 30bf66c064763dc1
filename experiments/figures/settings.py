"""Settings: S3C2 as published, with one setting of the authors' script at a time, and with all.

    python -m experiments settings --device cuda --precision bf16

The paper does not give some settings, and the authors' script differs in others. Each variant
changes one of them. "The script's settings" changes all that differ, except the softmax output of
LabNet on Reuters. With T = 0 LabNet is not used: every random pair is a cannot-link. Dense
networks, balanced links, three link sets, d-graph for comparison. Rows in results/dense.csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import TITLES, Drawing, grid_of_axes, known, short, summary, table
from experiments.runs import AS_PUBLISHED, Run, Sizes, grid

THRESHOLDS = {"T = 0.09 (d < 0.3)": 0.09, "T = 0 (no LabNet)": 0.0}
ON_D = 0.09  # d < 0.3
SEMI_SUPERVISED = "semi-supervised, λ = 0.05"
SCRIPT = {"the script's settings": {"clunet_dropout": 0.0, "clunet_steps": 4000}}
SCRIPT["… and LabNet without dropout"] = SCRIPT["the script's settings"] | {"dropout": 0.0}
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
ORDER = ("d-graph", AS_PUBLISHED, *THRESHOLDS, *VARIANTS, *SCRIPT)


def runs(sizes: Sizes) -> list[Run]:
    def of(dataset: str, method: str = "S3C2", **settings: Any) -> list[Run]:
        return list(grid(method, [dataset], sizes.budgets, sizes.few_link_sets, **settings))

    found = []
    for dataset in sizes.datasets:
        found += of(dataset, "d-graph") + of(dataset)
        for T in THRESHOLDS.values():
            found += of(dataset, threshold=T)
        for variant, changes in VARIANTS.items():
            found += of(dataset, variant=variant, changes=changes)
        batch = {"labnet_links": 128} if dataset == "letters" else {}
        for variant, changes in SCRIPT.items():
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
    return summary(frame, ("dataset", "variant", "n_links"), scores)


def draw(rows: Rows, order: Sequence[str] = ORDER) -> Drawing:
    """NMI of each variant, coloured by its difference from the published settings."""
    data = variants(rows)
    names, budgets = known(data["dataset"]), sorted(data["n_links"].unique())
    columns = min(2, max(1, len(names)))
    figure, axes_of = grid_of_axes(max(1, -(-len(names) // columns)), columns)
    figure.set_size_inches(2.2 + 4.2 * columns, 0.6 + 0.26 * len(order) * len(axes_of))
    for dataset, axes in zip(names, axes_of.flat):
        here = data[data["dataset"] == dataset].pivot(
            index="variant", columns="n_links", values="nmi"
        )
        nmi = here.reindex(index=list(order), columns=budgets).to_numpy(float)
        cells(axes, nmi, nmi - nmi[order.index(AS_PUBLISHED)])
        axes.set_title(TITLES[dataset], fontsize=10)
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


EXPERIMENT = Experiment(__name__, "dense", runs, draw)
