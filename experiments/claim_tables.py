"""The tables of the paper's claims and their verdicts, made from the committed rows."""

from __future__ import annotations

from dataclasses import replace

from experiments.claims import CLAIMS, COMPARISONS, OF_LABNET
from experiments.figures.figure_3_on_d import DROPOUT, SHORT
from experiments.findings import NOT_RUN, Finding, OnD, Results, WithSettings
from experiments.markdown import NO_RUNS, markdown
from experiments.runs import DESIGNS
from experiments.tables import CHANGED


def claims() -> str:
    """Every claim with its rule, judged for both designs."""
    results = [Results(design) for design in DESIGNS]
    lines = [
        [claim.figure, claim.says, claim.rule, *(said(claim.judge(one), "**") for one in results)]
        for claim in CLAIMS
    ]
    head = ["figure", "the paper says", "rule", *(f"{design} links" for design in DESIGNS)]
    return markdown(head, lines)


def claim_numbers() -> str:
    """The numbers behind the verdicts."""
    results = {design: Results(design) for design in DESIGNS}
    lines = []
    for claim in CLAIMS:
        for design, one in results.items():
            found = claim.judge(one)
            if found.of or found.undecided:
                lines.append([claim.figure, claim.says, design, found.numbers])
    return markdown(["figure", "the paper says", "links", "numbers"], lines)


def claims_with_settings(design: str) -> str:
    """The claims that compare S3C2 with others, judged with other settings of S3C2."""
    judged = [WithSettings(design, *names) for names in CHANGED.values()]
    lines = []
    for claim in COMPARISONS:
        found = [claim.judge(one) for one in judged]
        if any(one.of for one in found):
            lines.append([claim.figure, claim.says, *(said(_so_far(one)) for one in found)])
    return markdown(["figure", "the paper says", *CHANGED], lines) if lines else NO_RUNS


def claims_on_d() -> str:
    """The claims of T and of LabNet's rates, judged with T on d."""
    judged = [OnD(design, variant) for design in DESIGNS for variant in DROPOUT]
    if all(one.six_thresholds.empty for one in judged):
        return f"{NOT_RUN.capitalize()}.\n"
    lines = [
        [claim.figure, claim.says, *(said(claim.judge(one)) for one in judged)]
        for claim in OF_LABNET
    ]
    head = [f"{design}, {SHORT[variant]}" for design in DESIGNS for variant in DROPOUT]
    return markdown(["figure", "the paper says", *head], lines)


def said(found: Finding, around: str = "") -> str:
    """The verdict with its cases, as in "holds in part (3 of 8)"."""
    if not found.of:
        return found.verdict
    return f"{around}{found.verdict}{around} ({found.cases})"


def _so_far(found: Finding) -> Finding:
    """Without the missing cases: some settings were run with few numbers of links."""
    return replace(found, missing=0) if found.of else found
