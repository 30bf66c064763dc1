"""docs/results.md: how good S3C2 with its defaults is, all of it from the CSVs.

A section whose experiment has no rows yet is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from experiments import earlier, ledger, printed, provenance, targets
from experiments.experiment import Experiment
from experiments.figures import (
    ablation,
    ablation_images,
    best,
    best_images,
    best_uniform,
    other_sets,
    wrong_links,
)
from experiments.findings import number
from experiments.markdown import by_links, cell, markdown
from experiments.plots import DEFAULT_ALONE, STYLES, TITLES, beside_default, summary, table
from experiments.runs import DEFAULT

NOTICED = 0.03  # a change of NMI or ACC that one would notice
PAGE = Path(__file__).parent.parent / "docs" / "results.md"
INTRODUCTION = """# How good the default is

`S3C2(n_clusters)` with nothing else set, on the paper's data sets and on others, beside the method
as published, the baselines and k-means. `python -m experiments page` writes this page from the CSVs
in [`experiments/results`](../experiments/results); only what another paper printed ("as printed")
was typed. Scores are those of the test part; ± is the standard deviation over link sets. What each
experiment runs is said by `python -m experiments NAME --help`. Each row was made by the commit that
is [named below](#where-the-rows-come-from).
"""


def text() -> str:
    """The whole page."""
    sections = [section() for section in SECTIONS]
    earlier_rows = earlier.earlier_rows(earlier.OF_THE_DEFAULT)
    return "\n".join([INTRODUCTION, *(one for one in (earlier_rows, *sections) if one)])


def picture(experiment: Experiment) -> str:
    """The picture of an experiment; empty before it is drawn."""
    name = f"{experiment.name}.png"
    if not (ledger.results_folder() / name).exists():
        return ""
    return f"![{experiment.title}](../experiments/results/{name})\n\n"


def _section(title: str, experiment: Experiment, said: str, *parts: str) -> str:
    """Title, what is shown, picture, and then tables and verdicts."""
    return f"## {title}\n\n{said}\n\n{picture(experiment)}" + "\n".join(parts)


def _methods(experiment: Experiment) -> pd.DataFrame | None:
    """Means of the default and of the methods beside it; None if the default has no rows."""
    own = experiment.rows()
    if not own:
        return None
    frame = beside_default([*own, *experiment.others()])
    frame["name"] = frame["name"].replace(DEFAULT_ALONE, DEFAULT)
    return summary(frame, ("dataset", "name", "n_links"), ("nmi", "acc"))


def dense() -> str:
    data = _methods(best.EXPERIMENT)
    if data is None:
        return ""
    said = (
        "NMI on the four data sets with dense networks and balanced links. The column of 0 is what "
        "is found without any link, on a CPU in float32."
    )
    verdicts = (
        targets.judged(data, targets.DENSE),
        targets.judged_beside(data, ahead=True),
        targets.judged_few(data),
    )
    table_ = by_links(data, "name", STYLES)
    return _section("Dense networks", best.EXPERIMENT, said, table_, *verdicts)


def images() -> str:
    data = _methods(best_images.EXPERIMENT)
    if data is None:
        return ""
    said = "NMI with images as they are, (n, h, w), which get convolutional networks."
    verdicts = targets.judged(data, targets.CONVOLUTIONAL), targets.judged_beside(data, ahead=True)
    table_ = by_links(data, "name", STYLES)
    return _section("Images", best_images.EXPERIMENT, said, table_, *verdicts)


def uniform() -> str:
    data = _methods(best_uniform.EXPERIMENT)
    if data is None:
        return ""
    shown = [name for name in STYLES if name in set(data["name"])]
    lines, reached, of = [], 0, 0
    for dataset in TITLES:
        for n in sorted(data["n_links"].unique()):
            here = data[(data["dataset"] == dataset) & (data["n_links"] == n)].set_index("name")
            if not len(here):
                continue
            cells = [f"{cell(here, m, 'acc')} / {cell(here, m, 'nmi')}" for m in shown]
            typed = [printed.entry(dataset, n, name) for name in printed.NAMES]
            lines.append([TITLES[dataset], f"{n:,}", *cells, *typed])
            aim = printed.best(dataset, n)
            if aim is not None and DEFAULT in here.index:
                of += 2
                reached += sum(here[s][DEFAULT] >= a for s, a in zip(("acc", "nmi"), aim))
    head = ["", "links", *shown, *(f"{name} as printed" for name in printed.NAMES)]
    said = (
        "ACC / NMI with links drawn uniformly, the protocol of SpherePair's table (NeurIPS 2025)."
    )
    verdict = (
        "Goal: the default above the best printed ACC and the best printed NMI of each line, "
        f"reached in {reached} of {of} cases.\n"
    )
    return _section(
        "Beside printed numbers", best_uniform.EXPERIMENT, said, markdown(head, lines), verdict
    )


def calibration() -> str:
    parts = []
    kinds = {
        "dense": best, "convolutional": best_images, "dense, links drawn uniformly": best_uniform,
    }  # fmt: skip
    for kind, module in kinds.items():
        frame = table(module.EXPERIMENT.rows()).dropna(subset=["ece"])
        if len(frame):
            data = summary(frame, ("dataset", "n_links"), ("ece",))
            parts.append(data.assign(network=kind))
    if not parts:
        return ""
    said = (
        "Expected calibration error of `predict_proba`: how far the probability of a row's cluster "
        "is from the share of such rows that are right, clusters matched to classes at best. 0 is "
        "perfect."
    )
    return f"## Calibration\n\n{said}\n\n" + by_links(pd.concat(parts), "network", kinds, "ece")


def wrong() -> str:
    rows = wrong_links.EXPERIMENT.rows()
    if not rows:
        return ""
    data = wrong_links.numbers(rows)
    lines = []
    for dataset in TITLES:
        here = data[data["dataset"] == dataset].set_index("flipped")
        for share in sorted(here.index):
            cells = (cell(here, share, score) for score in wrong_links.SCORES)
            n = f"{here['n_links'][share]:,}"
            lines.append([TITLES[dataset], n, f"{100 * share:.0f} %", *cells])
    head = ["", "links", "wrong", *(name for name, *_ in wrong_links.SCORES.values())]
    said = (
        "Some links have the wrong kind. Found is which share of the wrong links is among the "
        "first 10 % or 20 % of the links that `suspicious_links_` names."
    )
    verdict = targets.judged_wrong_links(data)
    return _section("Wrong links", wrong_links.EXPERIMENT, said, markdown(head, lines), verdict)


def others() -> str:
    data = _methods(other_sets.EXPERIMENT)
    if data is None:
        return ""
    said = (
        "NMI on sets on which no setting was chosen, every method with its own defaults. Vowels, "
        "footwear and 0 to 4 are parts of the paper's sets, 3,000 rows at most, with other "
        "classes; the others come with scikit-learn. A third of the rows is held out for the "
        "scores, of the digits 500 of 1,797. The column of 0 is what is found without any link, on "
        "a CPU in float32."
    )
    verdicts = targets.judged_beside(data, ahead=False), targets.judged_few(data)
    table_ = by_links(data, "name", STYLES)
    return _section("Other data sets", other_sets.EXPERIMENT, said, table_, *verdicts)


def parts() -> str:
    found = []
    for title, module in (("Dense networks", ablation), ("Images", ablation_images)):
        data = ablation.differences(module.EXPERIMENT.rows())
        if not len(data):
            continue
        harm, most = (data["difference"] > 0).sum(), data["difference"].max()
        verdict = (
            f"NMI is higher with the change in {harm} of {len(data)} cases, "
            f"by {number(max(0.0, most))} at most.\n{only_in_acc(data)}"
        )
        shown = by_links(data, "variant", module.PARTS, "difference")
        drawn = picture(module.EXPERIMENT)
        found.append(f"### {title}\n\n{drawn}{shown}\n{verdict}")
    said = (
        "NMI with one part of the default switched off, or one that it lacks switched on, minus "
        "that of the default on the same links."
    )
    return f"## What each part does\n\n{said}\n\n" + "\n".join(found) if found else ""


def only_in_acc(data: pd.DataFrame) -> str:
    """Where ACC changes without a part, and NMI hardly does."""
    hardly = data["difference"].abs() < NOTICED
    changed = data[hardly & (data["acc_difference"].abs() >= NOTICED)]
    lines = [
        f"- {TITLES[one.dataset]}, {one.variant}, {one.n_links:,} links: NMI "
        f"{number(one.difference)}, ACC {number(one.acc_difference)}\n"
        for one in changed.itertuples()
    ]
    if not lines:
        return ""
    return f"\nACC changes by {number(NOTICED)} or more, and NMI by less:\n\n" + "".join(lines)


def origin() -> str:
    if not any(len(frame) for _, frame in provenance.own_rows("results")):
        return "No runs yet.\n"
    shared = (
        "Several processes shared the GPU. Neighbours and their autoencoder, which depend "
        "on no link, were made once for a data set, in the seconds of its first runs.\n"
    )
    told = (provenance.provenance("results"), provenance.times("results"), shared)
    missing = provenance.missing_runs("results")
    return "## Where the rows come from\n\n" + "\n".join(one for one in (*told, missing) if one)


SECTIONS: tuple[Callable[[], str], ...] = (
    dense, images, uniform, others, wrong, calibration, parts, origin,
)  # fmt: skip
