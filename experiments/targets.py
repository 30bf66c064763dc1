"""The goals that were set for the defaults of S3C2, and whether the rows reach them."""

from __future__ import annotations

import pandas as pd

from experiments.findings import number
from experiments.plots import TITLES
from experiments.runs import DEFAULT, FULL

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
    """A line for each data set: the goals, and which are reached.

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
    head = f"Goals set beforehand, NMI of the default; {reached} of {of} are reached:"
    return f"{head}\n\n{''.join(lines)}"


def judged_beside(data: pd.DataFrame, *, ahead: bool) -> str:
    """Whether the default is ahead of all other methods, or at least behind none.

    A difference counts if it is more than the larger of both spreads. k-means has no links, and
    stands beside each number of them.

    Parameters
    ----------
    data : columns dataset, name, n_links, nmi and nmi_std, over link sets
    """
    missed, of = [], 0
    linked = data[(data["name"] == DEFAULT) & (data["n_links"] > 0)]
    for (dataset, n), own in linked.groupby(["dataset", "n_links"]):
        here = data[(data["dataset"] == dataset) & data["n_links"].isin([0, n])]
        others = here[here["name"] != DEFAULT]
        if others.empty:
            continue
        of += 1
        ours, best = own.iloc[0], others.loc[others["nmi"].idxmax()]
        lead, spread = ours["nmi"] - best["nmi"], max(ours["nmi_std"], best["nmi_std"])
        if not (lead > spread if ahead else lead >= -spread):
            scores = (f"{number(one['nmi'])} ± {number(one['nmi_std'])}" for one in (ours, best))
            missed.append("{}, {:,} links: {}, {} {}".format(
                TITLES[str(dataset)], n, next(scores), best["name"], next(scores)
            ))  # fmt: skip
    if not of:
        return ""
    goal = "ahead of every other method" if ahead else "behind no other method"
    head = f"Goal: {goal} by more than the spread, reached in {of - len(missed)} of {of} cases"
    lines = "".join(f"- {one}\n" for one in missed)
    return f"{head}; not reached:\n\n{lines}" if missed else f"{head}.\n"


def judged_few(data: pd.DataFrame) -> str:
    """Whether a handful of links helps the default, or at least does not hurt it.

    A difference counts if it is more than the larger of both spreads.

    Parameters
    ----------
    data : columns dataset, name, n_links, nmi and nmi_std, over link sets
    """
    own = data[data["name"] == DEFAULT].set_index(["dataset", "n_links"])
    found: dict[str, list[str]] = {"higher": [], "the same": [], "lower": []}
    for dataset in dict.fromkeys(data["dataset"]):
        if not {(dataset, 0), (dataset, FULL.least)} <= set(own.index):
            continue
        without, few = own.loc[(dataset, 0)], own.loc[(dataset, FULL.least)]
        gain, spread = few["nmi"] - without["nmi"], max(few["nmi_std"], without["nmi_std"])
        word = "the same" if abs(gain) <= spread else "higher" if gain > 0 else "lower"
        scores = (f"{number(one['nmi'])} ± {number(one['nmi_std'])}" for one in (without, few))
        found[word].append(f"{TITLES[str(dataset)]} {' → '.join(scores)}")
    if not any(found.values()):
        return ""
    parts = (f"- {word}: {'; '.join(cases)}\n" for word, cases in found.items() if cases)
    head = f"Goal: {FULL.least} links never hurt beyond the spread. With them NMI is, against none,"
    return f"{head}\n\n{''.join(parts)}"


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
                f"{number(max(fall, 0.0))}, the goal was {number(most)} ({_said(fall <= most)}); "
                f"{number(found)} of the wrong links are among as many of the most suspicious, "
                f"the goal was {number(LEAST_FOUND)} ({_said(found >= LEAST_FOUND)})\n"
            )
    return "".join(lines)


def _said(reached: bool) -> str:
    return "reached" if reached else "not reached"
