"""d-graph with 10, 30 and 100 neighbours: the paper's footnote.

    python -m experiments neighbours --device cuda --precision bf16

Dense networks, balanced links of both designs, five link sets each. The runs with 30 are those of
figure 2. Rows in results/dense.csv.
"""

from __future__ import annotations

import pandas as pd

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import Drawing, curve, finish, legend, panels_of, part_of, summary, table
from experiments.runs import AS_PUBLISHED, Run, Sizes, both_designs, grid

CHANGED = {f"{n} neighbours": {"n_neighbors": n} for n in (10, 100)}
STYLES = {
    "10 neighbours": ("#56B4E9", "v", "-"),
    "30 neighbours": ("#E69F00", "s", "-"),
    "100 neighbours": ("#D55E00", "^", "-"),
}


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for variant, changes in {AS_PUBLISHED: {}, **CHANGED}.items()
        for run in grid(
            "d-graph", sizes.datasets, sizes.budgets, sizes.link_sets,
            variant=variant, changes=changes,
        )
    ]  # fmt: skip


def variants(rows: Rows) -> pd.DataFrame:
    """Mean and spread for every number of neighbours."""
    frame = table(rows)
    frame["variant"] = frame["variant"].replace(AS_PUBLISHED, "30 neighbours")
    return summary(frame, ("design", "dataset", "variant", "n_links"), ("nmi", "ari", "acc"))


def draw(rows: Rows) -> Drawing:
    data = variants(rows)
    figure, axes_of = panels_of(data)
    for (design, dataset), axes in axes_of.items():
        here = part_of(data, design, dataset)
        for variant, (colour, marker, _) in STYLES.items():
            curve(axes, here[here["variant"] == variant], "nmi", colour, marker)
        finish(axes, dataset, data["n_links"], f"NMI, {design} links")
    legend(figure, STYLES)
    return data, figure


EXPERIMENT = Experiment(__name__, "dense", both_designs(runs), draw)
