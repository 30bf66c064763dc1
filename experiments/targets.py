"""What was aimed at: NMI of S3C2 with its defaults, and whether the rows reach it."""

from __future__ import annotations

import pandas as pd

from experiments.findings import number
from experiments.plots import TITLES
from experiments.runs import DEFAULT

BUDGETS = (20, 100, 1000, 5000)
DENSE = {
    "mnist": (0.88, 0.905, 0.93, 0.95),
    "fashion-mnist": (0.62, 0.66, 0.735, 0.775),
    "letters": (0.54, 0.575, 0.735, 0.87),
    "reuters": (0.50, 0.58, 0.775, 0.825),
}
CONVOLUTIONAL = {
    "mnist": (0.93, 0.94, 0.96, 0.97),
    "fashion-mnist": (0.63, 0.66, 0.74, 0.80),
}


def judged(data: pd.DataFrame, targets: dict[str, tuple[float, ...]]) -> str:
    """A line for each data set: what was aimed at, and where it was reached.

    Parameters
    ----------
    data : columns dataset, name, n_links and nmi, the mean over link sets
    targets : NMI at each of BUDGETS
    """
    own = data[data["name"] == DEFAULT].set_index(["dataset", "n_links"])["nmi"]
    lines, reached, of = [], 0, 0
    for dataset, aims in targets.items():
        cells = []
        for n, aim in zip(BUDGETS, aims):
            if (dataset, n) in own.index:
                got, of = float(own[dataset, n]), of + 1
                reached += got >= aim
                said = "reached" if got >= aim else "not reached"
                cells.append(f"{number(aim)} at {n:,} links ({said}: {number(got)})")
            else:
                cells.append(f"{number(aim)} at {n:,} links (no runs yet)")
        lines.append(f"- {TITLES[dataset]}: {', '.join(cells)}\n")
    return f"Aimed at, NMI of the default; reached in {reached} of {of} cases:\n\n" + "".join(lines)
