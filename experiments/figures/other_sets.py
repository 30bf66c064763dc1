"""Data sets on which no setting was chosen: S3C2, d-graph and IDEC with their own defaults.

    python -m experiments other_sets --device cpu

Iris, wine, breast cancer and the digits come with scikit-learn. Three others are parts of the
paper's sets, 3,000 rows at most, with other classes: the five vowels of Letters, the footwear of
Fashion-MNIST (sandals, sneakers, boots), and the digits 0 to 4 of MNIST. Images come as vectors.
Scores are those of a held-out third. Balanced links, 20, 100 and 500, no more than rows; five link
sets. Rows in results/others.csv; what is found without links are those of no_links.
"""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.figures import no_links
from experiments.plots import draw_methods
from experiments.runs import DEFAULT, Run, Sizes, grid

BUDGETS = (20, 100, 500)
SMALL = {"iris": (20, 100), "wine": (20, 100)}  # of 100 and 118 rows
# What the paper's experiments set otherwise: they have data that is scaled.
OWN_DEFAULTS = {DEFAULT: {}, "d-graph": {"scale": "auto"}, "IDEC": {}}


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for method, changes in OWN_DEFAULTS.items()
        for name in sizes.others
        for run in grid(
            method, [name], SMALL.get(name, BUDGETS), sizes.link_sets,
            variant="own defaults", changes=changes,
        )
    ]  # fmt: skip


def without_links(sizes: Sizes) -> list[Run]:
    return no_links.runs_on(sizes.others, sizes)


EXPERIMENT = Experiment(
    __name__, "others", runs, draw_methods, page="results", beside={no_links.LEDGER: without_links}
)
