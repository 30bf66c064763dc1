"""Figure 1: the contrastive loss of LabNet for both kinds of pairs, against the squared distance.

    python -m experiments figure_1

The two losses cross at d² = 1/4. The paper argues for T = 1/2 with
equal losses, which is a mistake: there the cannot-link loss is 0.086, the must-link loss 0.5.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from s3c2 import losses, published

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import Drawing

MUST, CANNOT = "#0072B2", "#D55E00"
CROSSING = 0.25


def curves() -> pd.DataFrame:
    """Both losses of a single pair, from d² = 0 to 1."""
    d2 = torch.linspace(0, 1, 201, dtype=torch.float64)
    one = torch.ones(len(d2), 1, dtype=torch.float64)
    must, cannot = (losses.contrastive(d2[:, None], same * one, one) for same in (1, 0))
    return pd.DataFrame({"d2": d2, "must_link_loss": must, "cannot_link_loss": cannot}).round(6)


def draw(rows: Rows) -> Drawing:
    data = curves()
    figure = Figure(figsize=(5.2, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(data["d2"], data["must_link_loss"], color=MUST, label="must-link: d²")
    axes.plot(data["d2"], data["cannot_link_loss"], color=CANNOT, ls="--",
              label="cannot-link: max(1 − d, 0)²")  # fmt: skip
    axes.plot([CROSSING], [CROSSING], "o", color="black", markersize=5)
    axes.annotate("equal at d² = 1/4", (CROSSING, CROSSING), (0.54, 0.31), fontsize=9,
                  arrowprops={"arrowstyle": "-", "linewidth": 0.7})  # fmt: skip
    for x, text in ((published.THRESHOLD, "T = 0.3"), (0.5, "1/2")):
        axes.axvline(x, color="0.6", linewidth=0.8, linestyle=":")
        axes.text(x + 0.01, 0.97, text, fontsize=8, color="0.35")
    at_half = float(np.interp(0.5, data["d2"], data["cannot_link_loss"]))
    axes.annotate(f"{at_half:.3f}", (0.5, at_half), (0.56, 0.17), fontsize=9, color=CANNOT,
                  arrowprops={"arrowstyle": "-", "linewidth": 0.7})  # fmt: skip
    axes.set(xlabel="squared distance d²", ylabel="loss", xlim=(0, 1), ylim=(0, 1.05))
    axes.legend(
        edgecolor="none", framealpha=1, fontsize=9, loc="upper center", bbox_to_anchor=(0.36, 0.9)
    )
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return data, figure


EXPERIMENT = Experiment(__name__, "dense", lambda sizes: [], draw)
