"""What earlier versions made: rows of methods that were changed since, and verdicts of the page.

``idec_first.csv`` holds IDEC's rows of 6817a29, as they were there but for the name of the variant;
``earlier_verdicts.csv`` the verdicts of docs/reproduction.md at d45726e, which knew uniform links
alone.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

import pandas as pd

from experiments import ledger
from experiments.claims import CLAIMS, Claim
from experiments.figures import figure_2, idec
from experiments.findings import NOT_RUN, Results, number
from experiments.markdown import by_links, markdown
from experiments.method_changes import CHANGES, is_earlier
from experiments.plots import TITLES, summary, table

LEDGERS = ("dense", "uniform", "convolutional")
OF_THE_DEFAULT = ("default", "default_images", "chained", "others", "wrong")
# Versions of IDEC, the oldest first
FIRST, SECOND, NOW = (
    "first: Student's t, pretrained by Adam",
    "second: its code's assignment, pretrained by SGD, rows of mean square 1",
    "now: its authors' rows and rate",
)


def earlier_places(ledgers: Iterable[str] = LEDGERS) -> dict[str, list[str]]:
    """Method → where it has rows from before its change, how many, and which commits made them."""
    found: dict[str, list[str]] = {}
    for name in ledgers:
        rows = ledger.read(ledger.results_folder() / f"{name}.csv")
        for method in CHANGES:
            commits = [r["commit"] for r in rows if r["method"] == method and is_earlier(r)]
            if commits:
                made = ", ".join(sorted(set(commits)))
                place = f"{len(commits)} in `{name}.csv` (made by {made})"
                found.setdefault(method, []).append(place)
    return found


def earlier_rows(ledgers: Iterable[str] = LEDGERS) -> str:
    """Which rows are of versions before a change; empty if there are none."""
    places = earlier_places(ledgers)
    said = [f"{m} ({CHANGES[m].what}): {', '.join(p)}" for m, p in places.items()]
    begin = "These rows are of the version before a change, and are to be made anew."
    return f"{begin} {'; '.join(said)}.\n" if said else ""


def _versions() -> pd.DataFrame:
    """IDEC's rows on dense networks with uniform links, with the version that made them."""
    first = ledger.read(ledger.results_folder() / "idec_first.csv")
    rows = [row | {"version": FIRST} for row in first]
    wanted = {ledger.key(ledger.identity(run)) for run in idec.compared()}
    for row in ledger.read(figure_2.EXPERIMENT.path(ledger.results_folder())):
        if ledger.key(row) in wanted:
            second = row["variant"] == idec.EARLIER or is_earlier(row)
            rows.append(row | {"version": SECOND if second else NOW})
    frame = table(rows)
    return frame.assign(version=[row["version"] for row in rows])


def idec_versions() -> str:
    """NMI of each version, and what each change made better and what worse."""
    rows = _versions()
    data = summary(rows, ("dataset", "version", "n_links"), ("nmi",))
    said = [by_links(data, "version", (FIRST, SECOND, NOW)), "\n"]
    nmi = data.set_index(["version", "dataset", "n_links"])["nmi"]
    for old, new in ((FIRST, SECOND), (SECOND, NOW)):
        said.append(f"- {_compared(nmi, old, new)}\n")
    return "".join(said) + f"- {_collapsed(rows)}\n"


def _compared(nmi: pd.Series, old: str, new: str) -> str:
    names = [name.partition(":")[0] for name in (old, new)]
    begin = f"From the {names[0]} version to the {names[1]}"
    if names[1] == "now":
        begin = f"From the {names[0]} version to that of now"
    if not {old, new} <= set(nmi.index.get_level_values("version")):
        return f"{begin}: {NOT_RUN}."
    both = pd.concat([nmi[old].rename("old"), nmi[new].rename("new")], axis=1).dropna()
    gain = both["new"] - both["old"]
    said = []
    for word, part in (("better", gain[gain > 0]), ("worse", -gain[gain < 0])):
        text = f"{word} in {len(part)} of {len(gain)} cases"
        if len(part):
            dataset, n = part.idxmax()
            before, after = (number(float(both[one][dataset, n])) for one in ("old", "new"))
            text += f", most on {TITLES[dataset]} with {n:,} links ({before} → {after})"
        said.append(text)
    return f"{begin} NMI gets {said[0]}; {said[1]}."


def _collapsed(rows: pd.DataFrame) -> str:
    rows = rows[(rows["dataset"] == "fashion-mnist") & (rows["n_links"] == 5000)]
    said = []
    for version in (FIRST, SECOND, NOW):
        found = rows[rows["version"] == version]["clusters_used"]
        name = version.partition(":")[0]
        none = NOT_RUN if version == NOW else "not run"
        count = f"{(found <= 2).sum()} of {len(found)}" if len(found) else none
        said.append(f"{name} version {count}" if version != NOW else f"now {count}")
    return (
        "Trainings on Fashion-MNIST with 5,000 links that end in one or two clusters: "
        f"{', '.join(said)}."
    )


def _judged() -> Iterator[tuple[Claim, dict[str, str] | None]]:
    """Each claim with its earlier verdict."""
    path = ledger.results_folder() / "earlier_verdicts.csv"
    if path.exists():
        with open(path, newline="") as file:
            before = {row["says"]: row for row in csv.DictReader(file)}
        for claim in CLAIMS:
            yield claim, before.get(claim.says)


def judged_otherwise() -> str:
    """The claims whose verdict, or whose rule, was another one at d45726e."""
    results = Results("uniform")
    lines = []
    for claim, before in _judged():
        found = claim.judge(results)
        then = (
            "–" if before is None else f"{before['verdict']} ({before['held']} of {before['of']})"
        )
        other = before is not None and before["verdict"] != found.word and found.word != NOT_RUN
        if claim.changed or other:
            now = f"{found.verdict} ({found.cases})" if found.cases else found.verdict
            lines.append([claim.says, then, now, claim.changed or "the rows"])
    if not lines:
        return "No claim was.\n"
    return markdown(["the paper says", "then", "now, uniform links", "what was other then"], lines)
