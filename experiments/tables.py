"""The tables of docs/reproduction.md, each made from the committed rows."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from experiments import printed
from experiments.claims import CLAIMS, COMPARISONS
from experiments.experiment import Experiment
from experiments.figures import (
    figure_3,
    figure_4,
    figure_6,
    neighbours,
    settings,
    settings_images,
    uniform_links,
)
from experiments.findings import Results, WithSettings, number
from experiments.judges import MANY, SEMI
from experiments.markdown import NO_RUNS, by_links, cell, markdown
from experiments.plots import STYLES, TITLES, summary, table
from experiments.runs import AS_PUBLISHED, FULL

# Name of settings → their variants in ``settings`` and in ``settings_images``
CHANGED = {
    "as published": (AS_PUBLISHED, AS_PUBLISHED),
    "d < 0.3": ("T = 0.09 (d < 0.3)", "T = 0.09 (d < 0.3)"),
    "no dropout": ("neither with dropout", "without dropout"),
    "both": ("… and LabNet without dropout", "without dropout, d < 0.3"),
}
COMPARED = ("CIDEC", "SpherePair")  # CIDEC is IDEC with links


def methods(experiment: Experiment) -> str:
    data = summary(table(experiment.rows("uniform")), ("dataset", "name", "n_links"), ("nmi",))
    return by_links(data, "name", STYLES)


def thresholds() -> str:
    rows = table(figure_3.EXPERIMENT.rows("uniform"))
    data = summary(rows, ("dataset", "threshold", "n_links"), ("nmi",))
    return by_links(data, "threshold", sorted(data["threshold"].unique()))


def correlations() -> str:
    data = figure_4.correlations(table(figure_4.EXPERIMENT.rows("uniform")))
    names = {key: name for key, (name, *_) in figure_4.INDICATORS.items()}
    data["correlation"] = data["correlation"].astype(float)
    data["NMI with"] = data["indicator"].map(names) + ", " + data["over"]
    order = [f"{name}, {over}" for over in figure_4.OVER for name in names.values()]
    return by_links(data, "NMI with", order, "correlation")


def semi_supervised() -> str:
    found = figure_6.differences(table(figure_6.EXPERIMENT.rows("uniform")))
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


def numbers_of_neighbours() -> str:
    return by_links(
        neighbours.variants(neighbours.EXPERIMENT.rows("uniform")), "variant", neighbours.STYLES
    )


def what_it_takes() -> str:
    """For each variant: NMI averaged over data sets, and how often it is ahead of d-graph."""
    data = settings.variants(settings.EXPERIMENT.rows("uniform"))
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


def dense_settings() -> str:
    data = settings.variants(settings.EXPERIMENT.rows("uniform"))
    return by_links(data, "variant", settings.ORDER)


def convolutional_settings() -> str:
    data = settings.variants(settings_images.EXPERIMENT.rows("uniform"))
    return by_links(data, "variant", settings_images.ORDER)


def claims() -> str:
    results = Results()
    lines = []
    for claim in CLAIMS:
        found = claim.judge(results)
        held = f"{found.held} of {found.of}"
        lines.append(
            [claim.figure, claim.says, f"**{found.verdict}**", f"{held}: {claim.rule}",
             found.numbers if found.of else ""]
        )  # fmt: skip
    head = ["figure", "the paper says", "verdict", "cases", "numbers"]
    return markdown(head, lines)


def claims_with_settings() -> str:
    """The claims that compare S3C2 with others, judged with other settings of S3C2."""
    judged = [WithSettings(*names) for names in CHANGED.values()]
    lines = []
    for claim in COMPARISONS:
        found = [replace(claim.judge(results), missing=0) for results in judged]
        cells = (f"{one.verdict} ({one.held} of {one.of})" if one.of else "–" for one in found)
        lines.append([claim.figure, claim.says, *cells])
    return markdown(["figure", "the paper says", *CHANGED], lines)


def both_settings() -> str:
    """S3C2 with both settings changed, and the other methods, on the same link sets."""
    results = WithSettings(*CHANGED["both"])
    lines = []
    for kind, means in (("dense", results.dense), ("convolutional", results.convolutional)):
        for dataset in TITLES:
            for method in STYLES:
                cells = [number(means[dataset, method, n]) for n in FULL.budgets]
                if method != SEMI and any(cell != "–" for cell in cells):
                    lines.append([TITLES[dataset], kind, method, *cells])
    return markdown(["", "network", "method", *(f"{n:,}" for n in FULL.budgets)], lines)
