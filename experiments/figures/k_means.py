"""k-means, which has no links: what the other methods start from, on every data set.

    python -m experiments k_means --device cpu

Five seeds on the four data sets and on those of other_sets, scaled as S3C2 scales them. Rows in
results/without_links.csv.
"""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.ledger import Rows
from experiments.plots import TITLES, Drawing, grid_of_axes, known, summary, table
from experiments.runs import K_MEANS, Run, Sizes

LEDGER = "without_links"


def runs(sizes: Sizes) -> list[Run]:
    names = dict.fromkeys([*sizes.datasets, *sizes.others])
    return [Run(name, K_MEANS, 0, seed) for name in names for seed in range(sizes.link_sets)]


def draw(rows: Rows) -> Drawing:
    data = summary(table(rows), ("dataset", "name", "n_links"), ("nmi", "ari", "acc"))
    names = known(data["dataset"])
    figure, axes_of = grid_of_axes(1, 1)
    axes = axes_of[0, 0]
    figure.set_size_inches(6, 1 + 0.3 * len(names))
    nmi = data.set_index("dataset")["nmi"][names]
    axes.barh([TITLES[name] for name in names], nmi, color="0.6")
    axes.set_xlabel("NMI")
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    return data, figure


EXPERIMENT = Experiment(__name__, LEDGER, runs, draw, page="results")
