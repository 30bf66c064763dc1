"""Links drawn uniformly: ACC and NMI of S3C2 as published and of every baseline.

    python experiments/uniform_links.py --device cuda --precision bf16

Pairs of rows are drawn uniformly, so that about one in ten is a must-link where there are ten
classes: the protocol of the strongest published table (SpherePair, NeurIPS 2025). Dense networks,
five link sets; rows in results/uniform.csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plots import (
    finish,
    grid_of_axes,
    known,
    method_curves,
    method_legend,
    save,
    summary,
    table,
)
from runner import Experiment, main
from runs import METHODS, Run, Sizes, grid

SHOWN = {"acc": "ACC", "nmi": "NMI"}


def runs(sizes: Sizes) -> list[Run]:
    return [
        run
        for method in METHODS
        for run in grid(
            method, sizes.uniform, sizes.uniform_budgets, sizes.link_sets, must_share=None
        )
    ]


def draw(rows: Sequence[dict[str, str]], folder: Path) -> None:
    data = summary(table(rows), ("dataset", "name", "n_links"), ("acc", "nmi", "ari"))
    names = known(data["dataset"])
    figure, axes_of = grid_of_axes(len(SHOWN), max(1, len(names)), sharey="row")
    for (score, label), line in zip(SHOWN.items(), axes_of):
        for dataset, axes in zip(names, line):
            method_curves(axes, data[data["dataset"] == dataset], score)
            finish(axes, dataset, data["n_links"], label)
    method_legend(figure, data["name"])
    save(data, figure, folder, "uniform_links")


EXPERIMENT = Experiment("uniform_links", "uniform", runs, draw)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
