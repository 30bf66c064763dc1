"""Figure 4 with T on d: how NMI correlates with LabNet's rates, with and without dropout.

    python -m experiments figure_4_on_d --device cuda --precision bf16

Pearson's correlation over the 30 runs of six thresholds and five link sets. The runs are those of
figure_3_on_d. Rows in results/dense.csv.
"""

from __future__ import annotations

import pandas as pd

from experiments.experiment import Experiment
from experiments.figures import figure_3_on_d, figure_4
from experiments.figures.figure_3_on_d import DROPOUT, SHORT
from experiments.ledger import Rows
from experiments.plots import Drawing, designs_of, finish, grid_of_axes, known, part_of, table
from experiments.runs import both_designs


def correlations(frame: pd.DataFrame) -> pd.DataFrame:
    """As in figure 4 over all six thresholds, for both networks with dropout and without."""
    parts = []
    for variant in DROPOUT:
        found = figure_4.correlations(frame[frame["variant"] == variant])
        found = found[found["over"] == figure_4.OVER[0]].drop(columns="over")
        parts.append(found.assign(variant=variant))
    return pd.concat(parts, ignore_index=True)


def draw(rows: Rows) -> Drawing | None:
    data = correlations(figure_3_on_d.on_d(table(rows)))
    if data.empty:
        return None
    names = known(data["dataset"])
    lines = [(design, variant) for design in designs_of(data) for variant in DROPOUT]
    figure, axes_of = grid_of_axes(len(lines), max(1, len(names)))
    for (design, variant), line in zip(lines, axes_of):
        for dataset, axes in zip(names, line):
            here = part_of(data[data["variant"] == variant], design, dataset)
            figure_4.correlation_curves(axes, here)
            finish(axes, dataset, data["n_links"],
                   f"correlation with NMI\n({SHORT[variant]}, {design} links)")  # fmt: skip
    figure_4.correlation_legend(figure)
    return data, figure


EXPERIMENT = Experiment(__name__, "dense", both_designs(figure_3_on_d.runs), draw)
