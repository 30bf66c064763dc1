"""IDEC: without pretraining, without links, and with rows and rate as they were before.

    python -m experiments idec --device cuda --precision bf16

Its authors have pixels times 0.02 and half of the mean squared error. Earlier runs had rows with a
mean square of 1, and the same rate on the whole of the error, which is twice as fast. Without
pretraining the autoencoder starts from random weights, with 100, 1,000 and 5,000 links and three
link sets. Without links: five seeds. Dense networks, balanced links drawn uniformly. Those as
published are those of figure 2. Rows in results/dense.csv.
"""

from __future__ import annotations

import pandas as pd

from experiments.experiment import Experiment
from experiments.figures import figure_2
from experiments.ledger import Rows
from experiments.method_changes import is_earlier
from experiments.plots import Drawing, curve, finish, legend, panels, summary, table
from experiments.runs import AS_PUBLISHED, FULL, Run, Sizes, grid

UNTRAINED = "no pretraining"
EARLIER = "mean square 1, rate 0.1"
WITHOUT_LINKS = "no links"
STYLES = {
    AS_PUBLISHED: ("#CC79A7", "D", "-"),
    EARLIER: ("0.5", "s", "--"),
    UNTRAINED: ("#56B4E9", "v", "-"),
    WITHOUT_LINKS: ("black", "", ":"),
}


def runs(sizes: Sizes) -> list[Run]:
    return [
        *(run for run in figure_2.runs(sizes) if run.method == "IDEC"),
        *figure_2.idec_without_links(sizes),
        *grid(
            "IDEC", sizes.datasets, sizes.image_budgets, sizes.few_link_sets,
            variant=UNTRAINED, changes={"layer_epochs": 0, "whole_epochs": 0},
        ),
        *grid(
            "IDEC", sizes.datasets, sizes.budgets, sizes.link_sets,
            variant=EARLIER, changes={"scale": "rms", "pretrain_learning_rate": 0.1},
        ),
    ]  # fmt: skip


def compared() -> list[Run]:
    """The full runs of figure 2, and those with rows and rate as they were before."""
    return [run for run in runs(FULL) if run.variant in (AS_PUBLISHED, EARLIER) and run.n_links]


def variants(rows: Rows) -> pd.DataFrame:
    """Mean and spread of each variant."""
    frame = table(rows)
    frame.loc[[is_earlier(row) for row in rows], "variant"] = EARLIER
    frame.loc[frame["n_links"] == 0, "variant"] = WITHOUT_LINKS
    return summary(
        frame, ("dataset", "variant", "n_links"), ("nmi", "acc", "clusters_used", "steps")
    )


def draw(rows: Rows) -> Drawing:
    data = variants(rows)
    figure, axes_of = panels(data["dataset"])
    for dataset, axes in axes_of.items():
        here = data[data["dataset"] == dataset]
        for variant, (colour, marker, line) in STYLES.items():
            one = here[here["variant"] == variant]
            if variant != WITHOUT_LINKS:
                curve(axes, one, "nmi", colour, marker, linestyle=line)
            elif len(one):
                axes.axhline(float(one["nmi"].iloc[0]), color=colour, linestyle=line)
        finish(axes, dataset, data["n_links"], "NMI")
    legend(figure, {name: look for name, look in STYLES.items() if name in set(data["variant"])})
    return data, figure


EXPERIMENT = Experiment(__name__, "dense", runs, draw)
