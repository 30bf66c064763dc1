"""Write the tables of docs/reproduction.md from the results.

    python experiments/page.py            # write them into the page
    python experiments/page.py --check    # fail if the page is not what they give

A table stands in the page between <!-- table NAME --> and <!-- end -->.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

import figure_2
import figure_3
import figure_4
import figure_5
import figure_6
import neighbours
import settings
import settings_images
import uniform_links
from claims import CLAIMS, COMPARISONS, MANY, SEMI
from findings import Results, WithSettings, number, runs_of
from ledger import key, missing
from plots import STYLES, TITLES, summary, table
from runner import Experiment
from runs import AS_PUBLISHED, FULL

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reproduction.md"
PROFILE = ROOT / "benchmarks" / "results" / "gpu-profile.csv"
MARKED = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
NO_RUNS = "No runs yet.\n"
EXPERIMENTS = {
    "Figure 2": figure_2.EXPERIMENT,
    "Figure 3": figure_3.EXPERIMENT,
    "Figure 5": figure_5.EXPERIMENT,
    "Uniform links": uniform_links.EXPERIMENT,
    "Neighbours": neighbours.EXPERIMENT,
    "Settings": settings.EXPERIMENT,
    "Settings, images": settings_images.EXPERIMENT,
}
# What other settings are called, and which variants of dense and convolutional networks have them
CHANGED = {
    "as published": (AS_PUBLISHED, AS_PUBLISHED),
    "d < 0.3": ("T = 0.09 (d < 0.3)", "T = 0.09 (d < 0.3)"),
    "no dropout": ("neither with dropout", "without dropout"),
    "both": ("… and LabNet without dropout", "without dropout, d < 0.3"),
}
# ACC / NMI in SpherePair's table (NeurIPS 2025): CIDEC, which is IDEC with links, and SpherePair.
PRINTED = {
    ("mnist", 1000): (".880 / .860", ".917 / .828"),
    ("mnist", 5000): (".954 / .907", ".959 / .899"),
    ("mnist", 10_000): (".970 / .926", ".970 / .921"),
    ("fashion-mnist", 1000): (".576 / .603", ".698 / .617"),
    ("fashion-mnist", 5000): (".638 / .604", ".799 / .709"),
    ("fashion-mnist", 10_000): (".740 / .682", ".836 / .742"),
    ("reuters", 1000): (".769 / .605", ".914 / .741"),
    ("reuters", 5000): (".927 / .783", ".948 / .807"),
}


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def by_links(data: pd.DataFrame, by: str, order: Iterable[object], score: str = "nmi") -> str:
    """A line for each data set and kind, a column for each number of links: mean ± spread."""
    budgets = sorted(data["n_links"].unique())
    lines = []
    for dataset in TITLES:
        for kind in order:
            here = data[(data["dataset"] == dataset) & (data[by] == kind)].set_index("n_links")
            if len(here):
                cells = [_cell(here, n, score) for n in budgets]
                lines.append([TITLES[dataset], _named(kind), *cells])
    head = ["", by.replace("name", "method"), *(f"{n:,}" for n in budgets)]
    return markdown(head, lines) if lines else NO_RUNS


def _cell(data: pd.DataFrame, n: int, score: str) -> str:
    if n not in data.index:
        return "–"
    spread = data.get(f"{score}_std")
    found = number(float(data[score][n]))
    return found if spread is None else f"{found} ± {number(float(spread[n]))}"


def _named(kind: object) -> str:
    return f"T = {kind:g}" if isinstance(kind, float) else str(kind)


def methods(experiment: Experiment) -> str:
    data = summary(table(runs_of(experiment)), ("dataset", "name", "n_links"), ("nmi",))
    return by_links(data, "name", STYLES)


def thresholds() -> str:
    rows = table(runs_of(figure_3.EXPERIMENT))
    data = summary(rows, ("dataset", "threshold", "n_links"), ("nmi",))
    return by_links(data, "threshold", sorted(data["threshold"].unique()))


def correlations() -> str:
    data = figure_4.correlations(table(runs_of(figure_4.EXPERIMENT)))
    names = {key: name for key, (name, *_) in figure_4.INDICATORS.items()}
    data["correlation"] = data["correlation"].astype(float)
    data["NMI with"] = data["indicator"].map(names) + ", " + data["over"]
    order = [f"{name}, {over}" for over in figure_4.OVER for name in names.values()]
    return by_links(data, "NMI with", order, "correlation")


def semi_supervised() -> str:
    found = figure_6.differences(table(runs_of(figure_6.EXPERIMENT)))
    parts = []
    for measure, (name, *_) in figure_6.MEASURES.items():
        part = summary(found, ("dataset", "n_links"), (measure,)).assign(gain=name)
        parts.append(part.rename(columns={measure: "v", f"{measure}_std": "v_std"}))
    order = [name for name, *_ in figure_6.MEASURES.values()]
    return by_links(pd.concat(parts), "gain", order, "v")


def uniform() -> str:
    rows = table(runs_of(uniform_links.EXPERIMENT))
    data = summary(rows, ("dataset", "n_links", "name"), ("acc", "nmi"))
    shown = [name for name in STYLES if name in set(data["name"])]
    lines = []
    for dataset in TITLES:
        for n in sorted(data["n_links"].unique()):
            here = data[(data["dataset"] == dataset) & (data["n_links"] == n)].set_index("name")
            if len(here):
                cells = [f"{_cell(here, m, 'acc')} / {_cell(here, m, 'nmi')}" for m in shown]
                printed = PRINTED.get((dataset, n), ("–", "–"))
                lines.append([TITLES[dataset], f"{n:,}", *cells, *printed])
    head = ["", "links", *shown, "CIDEC as printed", "SpherePair as printed"]
    return markdown(head, lines) if lines else NO_RUNS


def neighbours_table() -> str:
    return by_links(
        neighbours.variants(runs_of(neighbours.EXPERIMENT)), "variant", neighbours.STYLES
    )


def what_it_takes() -> str:
    """For each variant: NMI averaged over data sets, and how often it is ahead of d-graph."""
    data = settings.variants(runs_of(settings.EXPERIMENT))
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
        whole = nmi[variant].notna().groupby("n_links").all()  # a mean over fewer sets misleads
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


def settings_table() -> str:
    data = settings.variants(runs_of(settings.EXPERIMENT))
    return by_links(data, "variant", settings.ORDER)


def settings_images_table() -> str:
    data = settings.variants(runs_of(settings_images.EXPERIMENT))
    return by_links(data, "variant", settings_images.ORDER)


def claims_table() -> str:
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
    """How the claims fare that compare S3C2, with other settings of it."""
    judged = [WithSettings(*names) for names in CHANGED.values()]
    lines = []
    for claim in COMPARISONS:
        found = [replace(claim.judge(results), missing=0) for results in judged]
        cells = (f"{one.verdict} ({one.held} of {one.of})" if one.of else "–" for one in found)
        lines.append([claim.figure, claim.says, *cells])
    return markdown(["figure", "the paper says", *CHANGED], lines)


def both_settings() -> str:
    """S3C2 with both settings changed beside the other methods, on the same link sets."""
    results = WithSettings(*CHANGED["both"])
    lines = []
    for kind, means in (("dense", results.dense), ("convolutional", results.convolutional)):
        for dataset in TITLES:
            for method in STYLES:
                cells = [number(means[dataset, method, n]) for n in FULL.budgets]
                if method != SEMI and any(cell != "–" for cell in cells):
                    lines.append([TITLES[dataset], kind, method, *cells])
    return markdown(["", "network", "method", *(f"{n:,}" for n in FULL.budgets)], lines)


def times() -> str:
    """Seconds of training; runs that experiments share count for the first of them."""
    lines: list[list[object]] = []
    seen: set[tuple[str, ...]] = set()
    for title, experiment in EXPERIMENTS.items():
        rows = [row for row in runs_of(experiment) if (experiment.ledger, *key(row)) not in seen]
        seen |= {(experiment.ledger, *key(row)) for row in rows}
        frame = table(rows)
        for (name, device, precision), part in frame.groupby(["name", "device", "precision"]):
            lines.append([title, name, *_time(part), device, precision])
        if title == "Figure 2" and len(frame):
            fast = frame[frame["name"].isin(["S3C2", "d-graph", "DCPR"])]
            lines.append([title, "S3C2, d-graph and DCPR together", *_time(fast), "", ""])
    head = ["", "method", "trainings", "seconds", "device", "precision"]
    return markdown(head, lines) if lines else NO_RUNS


def idec_time() -> str:
    """What IDEC's steps take in kernels, at the profiled time of one model's step in a stack."""
    with open(PROFILE, newline="") as file:
        whole = {row["step"]: float(row["us"]) for row in csv.DictReader(file)
                 if row["kernel"] == "all"}  # fmt: skip
    ms = {
        network: whole[f"{count} {network} IDECs, bf16"] / count / 1000
        for network, count in (("dense", 15), ("convolutional", 5))
    }
    lines = []
    for title in ("Figure 2", "Figure 5", "Uniform links"):
        frame = table(runs_of(EXPERIMENTS[title]))
        for network, part in frame[frame["method"] == "IDEC"].groupby("network"):
            steps, each = part["steps"].sum(), ms[str(network)]
            seconds = f"{steps * each / 1000:,.0f}"
            lines.append([title, network, len(part), f"{steps:,.0f}", f"{each:.2f}", seconds])
    head = ["IDEC", "network", "trainings", "steps", "ms of a step", "seconds"]
    return markdown(head, lines) if lines else NO_RUNS


def _time(frame: pd.DataFrame) -> tuple[int, str]:
    return len(frame), f"{frame['seconds_per_run'].sum():,.0f}"


def provenance() -> str:
    """What made the rows: data, versions and commits."""
    lines = []
    for name in sorted({experiment.ledger for experiment in EXPERIMENTS.values()}):
        rows = [
            row
            for experiment in EXPERIMENTS.values()
            if experiment.ledger == name
            for row in runs_of(experiment)
        ]
        if rows:
            frame = table(rows).drop_duplicates()
            cells = [_distinct(frame[c]) for c in ("source", "s3c2", "torch", "commit")]
            lines.append([f"[`{name}.csv`](../experiments/results/{name}.csv)", len(frame), *cells])
    head = ["file", "rows", "data", "s3c2", "torch", "commit"]
    return markdown(head, lines) if lines else NO_RUNS


def missing_runs() -> str:
    """What a reader would look for in vain."""
    lines = []
    for title, experiment in EXPERIMENTS.items():
        wanted = experiment.runs(FULL)
        todo = missing(wanted, runs_of(experiment))
        if todo:
            kinds = dict.fromkeys(f"{run.method} on {TITLES[run.dataset]}" for run in todo)
            lines.append(f"- {title}: {len(todo)} of {len(wanted)} runs ({', '.join(kinds)})\n")
    if not lines:
        return ""
    return (
        "Still to be run; there the tables have a –, and verdicts are those so far:\n\n"
        + "".join(lines)
    )


def _distinct(column: pd.Series) -> str:
    return ", ".join(sorted(set(column)))


TABLES: dict[str, Callable[[], str]] = {
    "claims": claims_table,
    "claims_with_settings": claims_with_settings,
    "both_settings": both_settings,
    "figure_2": lambda: methods(figure_2.EXPERIMENT),
    "figure_3": thresholds,
    "figure_4": correlations,
    "figure_5": lambda: methods(figure_5.EXPERIMENT),
    "figure_6": semi_supervised,
    "uniform_links": uniform,
    "neighbours": neighbours_table,
    "what_it_takes": what_it_takes,
    "settings": settings_table,
    "settings_images": settings_images_table,
    "times": times,
    "idec_time": idec_time,
    "provenance": provenance,
    "missing": missing_runs,
}


def filled(text: str) -> str:
    """The page with all its tables made anew."""
    return MARKED.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], text)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail if it would")
    parser.add_argument("--page", type=Path, default=PAGE)
    args = parser.parse_args(argv)
    if args.page == PAGE and "S3C2_RESULTS" in os.environ and not args.check:
        raise SystemExit(
            "S3C2_RESULTS names other results than the committed ones, which the page is made "
            "from. Unset it, or name another page with --page."
        )
    before = args.page.read_text()
    after = filled(before)
    if args.check and after != before:
        raise SystemExit(f"{args.page} is not up to date: run python experiments/page.py")
    if after != before:
        args.page.write_text(after)


if __name__ == "__main__":
    main()
