"""The rules that decide what the paper says of the threshold and of LabNet's rates."""

from __future__ import annotations

import math

from experiments.figures import figure_3
from experiments.findings import Finding, Results, above, count, largest, number, together
from experiments.judges import BUDGETS, DENSE, FEW, MANY, MARGIN, MEDIUM
from experiments.plots import TITLES, short

SAFE = 0.05  # a safe threshold loses no more than this to the best one


def _best(r: Results, s: str, n: int) -> float:
    return largest([r.thresholds[s, T, n] for T in figure_3.THRESHOLDS])


def _best_threshold(r: Results, s: str, n: int) -> float:
    if math.isnan(_best(r, s, n)):
        return math.nan
    return max(figure_3.THRESHOLDS, key=lambda T: r.thresholds[s, T, n])


def safe_thresholds(r: Results) -> Finding:
    losses = {
        T: {(s, n): _best(r, s, n) - r.thresholds[s, T, n] for s in DENSE for n in BUDGETS}
        for T in (0.2, 0.3)
    }
    cases = [
        together((loss[s, n], loss[s, n] <= SAFE) for loss in losses.values() for n in BUDGETS)
        for s in DENSE
    ]
    shown = []
    for T, loss in losses.items():
        known = {place: value for place, value in loss.items() if not math.isnan(value)}
        if known:
            s, n = max(known, key=lambda place: known[place])
            shown.append(f"T = {T} loses up to {number(known[s, n])} ({TITLES[s]}, {n:,})")
    return count(cases, "; ".join(shown))


def lower_then_higher(r: Results) -> Finding:
    best = {s: {n: _best_threshold(r, s, n) for n in BUDGETS} for s in DENSE}
    cases, undecided = [], 0
    for of in best.values():
        few, many = (_inside([of[n] for n in budgets]) for budgets in (FEW, MANY))
        if few and many:
            cases.append(above(sum(many) / len(many), sum(few) / len(few)))
        elif any(math.isnan(T) for T in of.values()):
            cases.append((math.nan, False))
        else:
            undecided += 1
    shown = (
        f"{TITLES[s]} {' '.join('–' if math.isnan(T) else f'{T:g}' for T in of.values())}"
        for s, of in best.items()
    )
    text = f"best of the six T from 100 to 5,000 links: {'; '.join(shown)}"
    return count(cases, text, undecided=undecided)


def _inside(thresholds: list[float]) -> list[float]:
    """Without those on the edge of the grid: a better T may lie beyond. NaN stays."""
    edges = (figure_3.THRESHOLDS[0], figure_3.THRESHOLDS[-1])
    return [T for T in thresholds if T not in edges]


def one_half(r: Results) -> Finding:
    cases = [above(_best(r, s, n), r.thresholds[s, 0.5, n]) for s in DENSE for n in FEW]
    shown = (
        f"{TITLES[s]} "
        + ", ".join(f"{number(r.thresholds[s, 0.5, n])} / {number(_best(r, s, n))}" for n in FEW)
        for s in DENSE
    )
    return count(cases, f"T = 0.5 / best of the six T at 100, 200: {'; '.join(shown)}")


def cl_rate_leads(r: Results, accuracy: str = "balanced_accuracy") -> Finding:
    c = r.correlations
    cases = [
        above(c[s, "cl_rate", n], largest([c[s, accuracy, n], c[s, "ml_rate", n]]))
        for s in DENSE for n in MEDIUM
    ]  # fmt: skip
    indicators = (accuracy, "ml_rate", "cl_rate")
    shown = (TITLES[s] + " " + " / ".join(number(c[s, i, 500]) for i in indicators) for s in DENSE)
    return count(cases, f"accuracy / ML / CL at 500: {', '.join(shown)}")


def ml_rate_negative(r: Results) -> Finding:
    found = [r.correlations[s, "ml_rate", n] for s in DENSE for n in BUDGETS]
    known = [value for value in found if not math.isnan(value)]
    shown = f"from {number(min(known))} to {number(max(known))}" if known else ""
    return count([(value, value < 0) for value in found], shown, most=True)


def cl_rate_high(r: Results) -> Finding:
    rates = r.six_thresholds.groupby(["dataset", "n_links"])["cl_rate"]
    known = {place: float((group.dropna() > 0.95).mean()) for place, group in rates}
    shares = {(s, n): known.get((s, n), math.nan) for s in DENSE for n in MANY}
    shown = ", ".join(
        f"{TITLES[s]} {short(n)} {100 * share:.0f} %"
        for (s, n), share in shares.items() if not math.isnan(share)
    )  # fmt: skip
    cases = [(share, share > 0.5) for share in shares.values()]
    return count(cases, f"share of runs above 95 %: {shown}")


def cl_rate_negative_on_fashion(r: Results) -> Finding:
    found = {n: r.correlations["fashion-mnist", "cl_rate", n] for n in MANY}
    shown = ", ".join(f"{number(value)} at {n:,}" for n, value in found.items())
    return count([(value, value < 0) for value in found.values()], shown)


def cl_rate_weaker(r: Results) -> Finding:
    def mean(s: str, budgets: tuple[int, ...]) -> float:
        return sum(r.correlations[s, "cl_rate", n] for n in budgets) / len(budgets)

    found = {s: (mean(s, MEDIUM), mean(s, MANY)) for s in DENSE}
    shown = (f"{TITLES[s]} {number(few)} / {number(many)}" for s, (few, many) in found.items())
    cases = [above(few, many, MARGIN) for few, many in found.values()]
    return count(cases, f"mean of 100 to 1,000 / of 2,000 and 5,000: {', '.join(shown)}")


def ml_rate_is_left(r: Results) -> Finding:
    found = {(s, n): r.correlations[s, "ml_rate", n] for s in DENSE for n in MANY}
    shown = (f"{TITLES[s]} {number(found[s, 5000])}" for s in DENSE)
    cases = [(value, value > 0) for value in found.values()]
    return count(cases, f"correlation with the ML rate at 5,000: {', '.join(shown)}")
