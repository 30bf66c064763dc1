"""What was aimed at with the defaults of S3C2, and whether the rows reach it."""

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
MOST_FALL = {0.1: 0.03, 0.2: 0.06}  # of NMI, where so many links are wrong
LEAST_FOUND = 0.5  # of the wrong links, among as many of the most suspicious ones


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
                cells.append(f"{number(aim)} at {n:,} links ({_said(got >= aim)}: {number(got)})")
            else:
                cells.append(f"{number(aim)} at {n:,} links (no runs yet)")
        lines.append(f"- {TITLES[dataset]}: {', '.join(cells)}\n")
    return f"Aimed at, NMI of the default; reached in {reached} of {of} cases:\n\n" + "".join(lines)


def judged_wrong_links(data: pd.DataFrame) -> str:
    """A line for each data set and share of wrong links.

    Parameters
    ----------
    data : columns dataset, flipped, nmi, found_10 and found_20, means over link sets
    """
    lines = []
    for dataset, here in data.groupby("dataset", sort=False):
        here = here.set_index("flipped")
        for share, most in MOST_FALL.items():
            if not {0.0, share} <= set(here.index):
                continue
            fall = float(here["nmi"][0.0] - here["nmi"][share])
            found = float(here[f"found_{100 * share:.0f}"][share])
            lines.append(
                f"- {TITLES[str(dataset)]}, {100 * share:.0f} % wrong: NMI falls by "
                f"{number(max(fall, 0.0))}, {number(most)} was aimed at ({_said(fall <= most)}); "
                f"{number(found)} of the wrong links are among as many of the most suspicious, "
                f"{number(LEAST_FOUND)} was aimed at ({_said(found >= LEAST_FOUND)})\n"
            )
    return "".join(lines)


def _said(reached: bool) -> str:
    return "reached" if reached else "not reached"
