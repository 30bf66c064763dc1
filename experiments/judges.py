"""The rules that decide what the paper says of methods: functions from results to a finding.

Those of the threshold and of LabNet's rates are in ``labnet_judges``.
"""

from __future__ import annotations

from itertools import pairwise

from experiments.figures import figure_2, neighbours
from experiments.findings import Finding, Results, above, count, largest, number, pairs, together
from experiments.plots import TITLES
from experiments.runs import FULL

MARGIN = 0.02
DENSE, IMAGES, BUDGETS = FULL.datasets, FULL.images, FULL.budgets
FEW, MEDIUM, MANY = (100, 200), (100, 200, 500, 1000), (2000, 5000)
SEMI = "S3C2, semi-supervised LabNet"


def many_links(r: Results) -> Finding:
    cases = [above(r.dense[s, "S3C2", n], r.dense[s, "d-graph", n]) for s in DENSE for n in MANY]
    return count(cases, pairs(r.dense, "S3C2", "d-graph", DENSE, 5000))


def _best_other(r: Results, s: str, n: int, than: str = "S3C2") -> float:
    """The best of the dense methods other than this one."""
    return largest([r.dense[s, m, n] for m in figure_2.COMPARED if m != than])


def good_with_many_links(r: Results) -> Finding:
    cases = [
        above(r.dense[s, "S3C2", n], _best_other(r, s, n), -MARGIN) for s in DENSE for n in MANY
    ]
    shown = (
        f"{TITLES[s]} {number(r.dense[s, 'S3C2', 5000])} / {number(_best_other(r, s, 5000))}"
        for s in DENSE
    )
    return count(cases, f"S3C2 / the best other at 5,000: {', '.join(shown)}")


def idec_many_links(r: Results) -> Finding:
    cases = [above(r.dense[s, "IDEC", n], r.dense[s, "d-graph", n]) for s in DENSE for n in MANY]
    return count(cases, pairs(r.dense, "IDEC", "d-graph", DENSE, 5000))


def few_links(r: Results) -> Finding:
    cases = [above(r.dense[s, "d-graph", n], r.dense[s, "S3C2", n]) for s in DENSE for n in FEW]
    return count(cases, pairs(r.dense, "S3C2", "d-graph", DENSE, 100))


def d_graph_best_with_few(r: Results) -> Finding:
    cases = [
        above(r.dense[s, "d-graph", n], _best_other(r, s, n, "d-graph"))
        for s in DENSE for n in FEW
    ]  # fmt: skip
    shown = (
        f"{TITLES[s]} {number(r.dense[s, 'd-graph', 100])} / "
        f"{number(_best_other(r, s, 100, 'd-graph'))}"
        for s in DENSE
    )
    return count(cases, f"d-graph / the best other at 100: {', '.join(shown)}")


def few_links_others(r: Results) -> Finding:
    cases = [
        above(r.dense[s, "S3C2", n], r.dense[s, other, n], -MARGIN)
        for s in DENSE for n in FEW for other in ("DCPR", "IDEC")
    ]  # fmt: skip
    both = (pairs(r.dense, "S3C2", other, DENSE, 100) for other in ("DCPR", "IDEC"))
    return count(cases, "; ".join(both))


def letters(r: Results) -> Finding:
    cases = [
        above(r.dense["letters", "S3C2", n], _best_other(r, "letters", n))
        for n in (1000, 2000, 5000)
    ]
    shown = ", ".join(f"{m} {number(r.dense['letters', m, 5000])}" for m in figure_2.COMPARED)
    return count(cases, f"Letters at 5,000: {shown}")


def dcpr_on_reuters(r: Results) -> Finding:
    def mean(s: str, method: str) -> float:
        return sum(r.dense[s, method, n] for n in BUDGETS) / len(BUDGETS)

    on_reuters = above(mean("reuters", "DCPR"), mean("reuters", "S3C2"), -MARGIN)
    others = [s for s in DENSE if s != "reuters"]
    cases = [
        together([on_reuters, above(mean(s, "S3C2"), mean(s, "DCPR"), MARGIN)]) for s in others
    ]
    shown = (f"{TITLES[s]} {number(mean(s, 'S3C2'))} / {number(mean(s, 'DCPR'))}" for s in DENSE)
    return count(cases, f"S3C2 / DCPR, mean over budgets: {', '.join(shown)}")


def idec_unstable(r: Results) -> Finding:
    sets = ("mnist", "letters")
    curves = {s: [r.dense[s, "IDEC", n] for n in BUDGETS] for s in sets}
    falls = {s: largest([a - b for a, b in pairwise(v)]) for s, v in curves.items()}
    shown = (f"{TITLES[s]} {' '.join(number(v) for v in curves[s])}" for s in sets)
    return count([(fall, fall > MARGIN) for fall in falls.values()], f"IDEC: {'; '.join(shown)}")


def thirty_neighbours(r: Results) -> Finding:
    cases = [
        above(r.neighbours[s, "30 neighbours", n],
              largest([r.neighbours[s, other, n] for other in neighbours.CHANGED]))
        for s in DENSE for n in BUDGETS
    ]  # fmt: skip
    shown = (
        TITLES[s] + " " + " / ".join(number(r.neighbours[s, v, 1000]) for v in neighbours.STYLES)
        for s in DENSE
    )
    return count(cases, f"10 / 30 / 100 at 1,000: {', '.join(shown)}")


def convolutions_help(r: Results) -> Finding:
    cases = [
        above(r.convolutional[s, "S3C2", n], r.dense[s, "S3C2", n])
        for s in IMAGES for n in BUDGETS
    ]  # fmt: skip
    shown = (
        f"{TITLES[s]} {number(r.convolutional[s, 'S3C2', n])} / {number(r.dense[s, 'S3C2', n])} "
        f"at {n:,}"
        for s in IMAGES for n in (100, 5000)
    )  # fmt: skip
    return count(cases, f"convolutional / dense: {', '.join(shown)}")


def convolutional_lead(r: Results, variants: tuple[str, ...] = ("S3C2", SEMI)) -> Finding:
    others = ("d-graph", "DCPR", "NNclustering")
    cases = [
        above(r.convolutional[s, variant, n], r.convolutional[s, other, n])
        for s in IMAGES for n in BUDGETS for variant in variants for other in others
    ]  # fmt: skip
    shown = (
        f"{TITLES[s]} "
        + ", ".join(f"{m} {number(r.convolutional[s, m, 1000])}" for m in (*variants, *others))
        for s in IMAGES
    )
    return count(cases, f"at 1,000: {'; '.join(shown)}")


def idec_is_inferior(r: Results) -> Finding:
    variants, others = ("S3C2", SEMI), ("d-graph", "DCPR", "NNclustering")
    cases, shown = [], []
    for s in IMAGES:
        for n in BUDGETS:
            exception = (s, n) == ("mnist", 5000)
            rivals = (*variants, *others) if exception else variants
            rival = largest([r.convolutional[s, m, n] for m in rivals])
            idec = r.convolutional[s, "IDEC", n]
            cases.append(above(idec, rival) if exception else above(rival, idec))
            if n in (100, 1000, 5000):
                shown.append(f"{TITLES[s]} {number(idec)} / {number(rival)} at {n:,}")
    return count(cases, f"IDEC / the better S3C2, or the best other: {', '.join(shown)}")


def semi_supervised_positive(r: Results) -> Finding:
    gains = {(s, n): r.differences[s, "nmi", n] for s in IMAGES for n in BUDGETS}
    shown = (f"{TITLES[s]} {' '.join(number(gains[s, n]) for n in BUDGETS)}" for s in IMAGES)
    return count([above(gain, 0) for gain in gains.values()], f"gain in NMI: {'; '.join(shown)}")


def semi_supervised_helps(r: Results) -> Finding:
    d = r.differences
    few = {s: sum(d[s, "nmi", n] for n in FEW) / len(FEW) for s in IMAGES}
    many = {s: sum(d[s, "nmi", n] for n in MANY) / len(MANY) for s in IMAGES}
    cases = [above(few[s], abs(many[s])) for s in IMAGES]
    shown = (f"{TITLES[s]} {number(few[s])} / {number(many[s])}" for s in IMAGES)
    return count(cases, f"gain in NMI at 100–200 / at 2,000–5,000: {', '.join(shown)}")


def semi_supervised_cl_rate(r: Results) -> Finding:
    found = {(s, n): r.differences[s, "cl_rate", n] for s in IMAGES for n in FEW}
    shown = (f"{TITLES[s]} {number(value)} at {n}" for (s, n), value in found.items())
    cases = [(value, value > 0) for value in found.values()]
    return count(cases, f"gain in CL rate: {', '.join(shown)}")
