"""The tables of docs/reproduction-notes.md, each made from the committed rows."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from experiments import printed
from experiments.experiment import Experiment
from experiments.figures import (
    figure_2,
    figure_3,
    figure_4,
    figure_6,
    neighbours,
    settings,
    settings_images,
    uniform_links,
)
from experiments.findings import NOT_RUN, WithSettings, number
from experiments.judges import DENSE, MANY, SEMI
from experiments.markdown import NO_RUNS, by_links, cell, markdown
from experiments.plots import STYLES, TITLES, beside_default, summary, table
from experiments.runs import AS_PUBLISHED, DEFAULT, DESIGNS, FULL

# Name of settings → their variants in ``settings`` and in ``settings_images``
CHANGED = {
    "as published": (AS_PUBLISHED, AS_PUBLISHED),
    "d < 0.3": ("T = 0.09 (d < 0.3)", "T = 0.09 (d < 0.3)"),
    "no dropout": ("neither with dropout", "without dropout"),
    "both": ("… and LabNet without dropout", "without dropout, d < 0.3"),
}
COMPARED = ("CIDEC", "SpherePair")  # CIDEC is IDEC with links


def for_both(of_design: Callable[[str], str]) -> str:
    """A table for uniform links, and one for chained links."""
    found = {design: of_design(design) for design in DESIGNS}
    if set(found.values()) == {NO_RUNS}:
        return NO_RUNS
    return "\n".join(
        f"{design.capitalize()} links: {NOT_RUN}.\n"
        if text == NO_RUNS
        else f"{design.capitalize()} links:\n\n{text}"
        for design, text in found.items()
    )


def methods(experiment: Experiment, design: str) -> str:
    data = summary(table(experiment.rows(design)), ("dataset", "name", "n_links"), ("nmi",))
    return by_links(data, "name", STYLES)


def thresholds(design: str) -> str:
    rows = table(figure_3.EXPERIMENT.rows(design))
    data = summary(rows, ("dataset", "threshold", "n_links"), ("nmi",))
    return by_links(data, "threshold", sorted(data["threshold"].unique()))


def correlations(design: str) -> str:
    data = figure_4.correlations(table(figure_4.EXPERIMENT.rows(design)))
    names = {key: name for key, (name, *_) in figure_4.INDICATORS.items()}
    data["correlation"] = data["correlation"].astype(float)
    data["NMI with"] = data["indicator"].map(names) + ", " + data["over"]
    order = [f"{name}, {over}" for over in figure_4.OVER for name in names.values()]
    return by_links(data, "NMI with", order, "correlation")


def semi_supervised(design: str) -> str:
    found = figure_6.differences(table(figure_6.EXPERIMENT.rows(design)))
    parts = []
    for measure, (name, *_) in figure_6.MEASURES.items():
        part = summary(found, ("dataset", "n_links"), (measure,)).assign(gain=name)
        parts.append(part.rename(columns={measure: "v", f"{measure}_std": "v_std"}))
    order = [name for name, *_ in figure_6.MEASURES.values()]
    return by_links(pd.concat(parts), "gain", order, "v")


def uniform() -> str:
    rows = table(uniform_links.EXPERIMENT.rows("uniform"))
    data = summary(rows, ("dataset", "n_links", "name"), ("acc", "nmi"))
    shown = [name for name in STYLES if name in set(data["name"])]
    lines = []
    for dataset in TITLES:
        for n in sorted(data["n_links"].unique()):
            here = data[(data["dataset"] == dataset) & (data["n_links"] == n)].set_index("name")
            if len(here):
                cells = [f"{cell(here, m, 'acc')} / {cell(here, m, 'nmi')}" for m in shown]
                by = [printed.entry(dataset, n, name) for name in COMPARED]
                lines.append([TITLES[dataset], f"{n:,}", *cells, *by])
    head = ["", "links", *shown, *(f"{name} as printed" for name in COMPARED)]
    return markdown(head, lines) if lines else NO_RUNS


def numbers_of_neighbours(design: str) -> str:
    rows = neighbours.EXPERIMENT.rows(design)
    return by_links(neighbours.variants(rows), "variant", neighbours.STYLES)


def what_it_takes(design: str) -> str:
    """For each variant: NMI averaged over data sets, and how often it is ahead of d-graph."""
    data = settings.variants(settings.EXPERIMENT.rows(design))
    if not len(data):
        return NO_RUNS
    nmi = data.pivot(index=["dataset", "n_links"], columns="variant", values="nmi")
    many = nmi[nmi.index.get_level_values("n_links").isin(MANY)]
    budgets = sorted(data["n_links"].unique())
    lines = []
    for variant in settings.ORDER:
        if variant not in nmi or "d-graph" not in nmi:
            continue
        means = nmi[variant].groupby("n_links").mean()
        # A mean over some of the data sets would mislead.
        whole = nmi[variant].notna().groupby("n_links").all()
        ahead = [
            "" if variant == "d-graph" else _ahead(part[variant] - part["d-graph"])
            for part in (nmi, many)
        ]
        shown = (number(float(means[n])) if whole[n] else "–" for n in budgets)
        lines.append([variant, *shown, *ahead])
    head = ["S3C2", *(f"{n:,}" for n in budgets), "ahead of d-graph", "… at 2,000 and 5,000"]
    return markdown(head, lines)


def _ahead(lead: pd.Series) -> str:
    lead = lead.dropna()
    return f"{(lead > 0).sum()} of {len(lead)}"


def dense_settings(design: str) -> str:
    data = settings.variants(settings.EXPERIMENT.rows(design))
    return by_links(data, "variant", settings.ORDER)


def convolutional_settings() -> str:
    data = settings.variants(settings_images.EXPERIMENT.rows("uniform"))
    return by_links(data, "variant", settings_images.ORDER)


def both_settings(design: str) -> str:
    """S3C2 with both settings changed, and the other methods, on the same link sets."""
    results = WithSettings(design, *CHANGED["both"])
    lines = []
    for kind, means in (("dense", results.dense), ("convolutional", results.convolutional)):
        for dataset in TITLES:
            for method in STYLES:
                cells = [number(means[dataset, method, n]) for n in FULL.budgets]
                if method != SEMI and any(cell != "–" for cell in cells):
                    lines.append([TITLES[dataset], kind, method, *cells])
    if not lines:
        return NO_RUNS
    return markdown(["", "network", "method", *(f"{n:,}" for n in FULL.budgets)], lines)


def chained_beside_uniform() -> str:
    """Mean NMI over data sets with as many links of either design; empty before there are runs."""
    rows = [*figure_2.EXPERIMENT.rows(), *figure_2.EXPERIMENT.others()]
    frame = beside_default([row for row in rows if row["method"] in ("S3C2", DEFAULT)])
    data = summary(frame, ("name", "n_links", "dataset", "design"), ("nmi",))
    nmi = data.pivot(index=["name", "n_links", "dataset"], columns="design", values="nmi")
    if not set(DESIGNS) <= set(nmi.columns):
        return ""
    whole = nmi.dropna().groupby(["name", "n_links"]).filter(lambda one: len(one) == len(DENSE))
    if whole.empty:
        return ""
    budgets = sorted(whole.index.get_level_values("n_links").unique())
    lines, said = [], []
    for name in [name for name in STYLES if name in whole.index.get_level_values("name")]:
        here = whole.loc[name]
        means = here.groupby("n_links").mean().reindex(budgets)
        lines += [[name, design, *map(number, means[design])] for design in DESIGNS]
        gain = here["chained"] - here["uniform"]
        said.append(
            f"{name} is better with chained links in {(gain > 0).sum()} of {len(gain)} cases, and "
            f"the difference is {number(float(gain.mean()))} on average"
        )
    begin = (
        "As many links of either design, mean NMI over the paper's four data sets ([figure "
        "2](reproduction.md#figure-2-dense-networks)):"
    )
    head = ["", "links", *(f"{n:,}" for n in budgets)]
    return f"\n{begin}\n\n{markdown(head, lines)}\n{'; '.join(said)}.\n"
