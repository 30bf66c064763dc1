"""What docs/reproduction.md says in short: sentences that are made from the rows and verdicts."""

from __future__ import annotations

import math
from collections import Counter

import pandas as pd

from experiments import earlier, judges, labnet_judges
from experiments.claim_tables import said
from experiments.claims import CLAIMS, OF_LABNET
from experiments.figures import figure_2
from experiments.findings import NOT_RUN, OnD, Results, WithSettings, number
from experiments.judges import DENSE
from experiments.plots import summary, table
from experiments.runs import AS_PUBLISHED, DEFAULT, DESIGNS, K_MEANS
from experiments.tables import CHANGED

BUDGET = 1000  # the number of links that a sentence speaks of
CLEAR = 0.05  # a smaller difference in NMI is said to be hardly one
# Verdict → how one claim, and how several, are said to have it
WORDS = {
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "undecided": ("is undecided", "are undecided"),
    NOT_RUN: (f"is {NOT_RUN}", f"are {NOT_RUN}"),
}
# What the paper says, in short → the judge whose verdicts follow
TOPICS = {
    "S3C2 is as good as the best of four with 2,000 and 5,000 links": judges.good_with_many_links,
    "S3C2 is ahead of d-graph with 2,000 and 5,000 links": judges.many_links,
    "S3C2 is behind d-graph with 100 and 200 links": judges.few_links,
    "T from 0.2 to 0.3 is safe": labnet_judges.safe_thresholds,
    "NMI goes most with LabNet's CL rate": labnet_judges.cl_rate_leads,
    "Convolutional S3C2 beats d-graph, DCPR and NNclustering": judges.convolutional_lead,
    "The semi-supervised LabNet helps most with few links": judges.semi_supervised_helps,
}


def in_short() -> str:
    """What holds, what does not, and what it depends on: ten lines."""
    results = {design: Results(design) for design in DESIGNS}
    lines = [f"Of the paper's {len(CLAIMS)} claims {_tally(results)}."]
    for topic, judge in TOPICS.items():
        verdicts = (f"{design} links: {said(judge(one), '**')}" for design, one in results.items())
        lines.append(f"*{topic}* – {'; '.join(verdicts)}.")
    lines += [_on_links(), f"{_on_settings()} {_on_d(results)}"]
    text = "".join(f"- {line}\n" for line in lines)
    old = " and ".join(earlier.earlier_places())
    if old:
        text += (
            f"\nSome rows of {old} are of a version before a change of these methods: see the "
            "[notes](reproduction-notes.md#where-the-rows-come-from).\n"
        )
    return text


def _tally(results: dict[str, Results]) -> str:
    parts = []
    for design, one in results.items():
        words = Counter(claim.judge(one).word for claim in CLAIMS)
        if words[NOT_RUN] == len(CLAIMS):
            parts.append(f"{design} links: {NOT_RUN}")
            continue
        counts = (f"{words[w]} {forms[words[w] > 1]}" for w, forms in WORDS.items() if words[w])
        parts.append(f"with {design} links {', '.join(counts)}")
    return "; ".join(parts)


def _on_links() -> str:
    """NMI of S3C2, and of what is beside it, for both designs."""
    rows = [*figure_2.EXPERIMENT.rows(), *figure_2.EXPERIMENT.others()]
    data = summary(table(rows), ("design", "name", "n_links", "dataset"), ("nmi",))
    at = data[data["n_links"] == BUDGET]
    names = {"S3C2": "S3C2 as published", "d-graph": "d-graph", DEFAULT: "the default `S3C2()`"}
    means = {
        name: [_mean(at[(at["name"] == name) & (at["design"] == design)]) for design in DESIGNS]
        for name in names
    }
    uniform, chained = means["S3C2"]
    if math.isnan(uniform + chained):
        begin = "Whether it depends on how links are drawn is not known yet"
    elif abs(chained - uniform) > CLEAR:
        begin = "It depends on how links are drawn"
    else:
        begin = "It hardly depends on how links are drawn"
    parts = [
        f"{names[name]} {', '.join(f'{d} {_or_not_run(m)}' for d, m in zip(DESIGNS, found))}"
        for name, found in means.items()
    ]
    without = _or_not_run(_mean(data[data["name"] == K_MEANS]))
    parts.append(f"k-means, which has no links, {without}")
    return f"**{begin}.** Mean NMI over the four sets with {BUDGET:,} links: {'; '.join(parts)}."


def _mean(data: pd.DataFrame) -> float:
    """Over all four data sets: a mean of some would mislead."""
    return float(data["nmi"].mean()) if len(data) == len(DENSE) else math.nan


def _or_not_run(mean: float) -> str:
    return NOT_RUN if math.isnan(mean) else number(mean)


def _on_settings() -> str:
    """How often S3C2 is ahead of d-graph with many links, by its settings."""
    parts = []
    for design in DESIGNS:
        published, both = (
            judges.many_links(WithSettings(design, *CHANGED[name]))
            for name in ("as published", "both")
        )
        cases = f"in {both.cases} cases, as published in {published.cases}" if both.of else NOT_RUN
        parts.append(f"{design} links: {cases}")
    return (
        "**With two settings changed**, T on d, as in the authors' script, and no dropout, S3C2 is "
        f"ahead of d-graph with 2,000 and 5,000 links – {'; '.join(parts)}."
    )


def _on_d(results: dict[str, Results]) -> str:
    """How many claims of the threshold and of LabNet's rates hold with T on d², and with T on d."""
    parts = []
    for design, published in results.items():
        on_d = OnD(design, AS_PUBLISHED)
        found = NOT_RUN
        if not on_d.six_thresholds.empty:
            squared, plain = (
                sum(claim.judge(one).word == "holds" for claim in OF_LABNET)
                for one in (published, on_d)
            )
            n = len(OF_LABNET)
            found = f"{plain} of {n} hold ({squared} of {n} with T on d²)"
        parts.append(f"{design} links: {found}")
    return (
        "With T on d alone, of the claims of figures 3 and 4, on the threshold and on LabNet's "
        f"rates – {'; '.join(parts)}."
    )
