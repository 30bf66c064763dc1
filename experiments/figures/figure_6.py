"""Figure 6: what the semi-supervised LabNet changes: NMI, accuracy, ML rate and CL rate.

    python -m experiments figure_6 --device cuda --precision bf16

Semi-supervised minus supervised on the same links, mean and spread over link sets. The runs are
those of S3C2 in figure 5. Rows in results/convolutional.csv.
"""

from __future__ import annotations

import pandas as pd

from experiments.experiment import Experiment
from experiments.figures import figure_5
from experiments.ledger import Rows
from experiments.plots import (
    INDICATORS,
    Drawing,
    curve,
    finish,
    legend,
    panels_of,
    part_of,
    summary,
    table,
)
from experiments.runs import Run, Sizes, both_designs

MEASURES = {"nmi": ("NMI", "black", "o"), **INDICATORS}


def runs(sizes: Sizes) -> list[Run]:
    return [run for run in figure_5.runs(sizes) if run.method == "S3C2"]


def differences(frame: pd.DataFrame) -> pd.DataFrame:
    """Semi-supervised minus supervised, for every set of links that has both."""
    frame = frame[frame["method"] == "S3C2"]
    of = ["design", "dataset", "n_links", "link_seed"]
    supervised, semi = (
        frame[frame["semi_supervised"] == kind].set_index(of)[list(MEASURES)]
        for kind in ("False", "True")
    )
    return (semi - supervised).dropna(how="all").reset_index()


def draw(rows: Rows) -> Drawing:
    data = summary(differences(table(rows)), ("design", "dataset", "n_links"), tuple(MEASURES))
    figure, axes_of = panels_of(data)
    for (design, dataset), axes in axes_of.items():
        here = part_of(data, design, dataset)
        for measure, (_, colour, marker) in MEASURES.items():
            curve(axes, here, measure, colour, marker, band=0.08, least=-1.0)
        axes.axhline(0, color="0.4", linewidth=0.8)
        finish(axes, dataset, data["n_links"], f"semi-supervised − supervised\n({design} links)")
    legend(figure, {name: (colour, marker, "-") for name, colour, marker in MEASURES.values()})
    return data, figure


EXPERIMENT = Experiment(__name__, "convolutional", both_designs(runs), draw, group=5)
