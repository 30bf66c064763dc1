"""Verdicts on the paper's claims, from made-up results."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pandas as pd
import pytest

from experiments import claims, findings, judges, labnet_judges, ledger, runs
from experiments.figures.figure_3 import THRESHOLDS

SETS, IMAGES, BUDGETS = runs.FULL.datasets, runs.FULL.images, runs.FULL.budgets
FEW, MANY = (100, 200), (2000, 5000)


def by_threshold(best):
    """NMI that falls with the distance of T from the best one."""
    return {
        (s, T, n): 0.8 - abs(T - best(s, n)) / 3 for s in SETS for n in BUDGETS for T in THRESHOLDS
    }


def of_links(few, medium, many):
    return lambda n: few if n in FEW else many if n in MANY else medium


def cl_rates(rate):
    rows = [{"dataset": s, "n_links": n, "cl_rate": rate} for s in SETS for n in BUDGETS]
    return pd.DataFrame(rows)


def as_the_paper_says():
    """Made-up results with which all of its claims are true."""
    s3c2, d_graph = of_links(0.48, 0.65, 0.8), of_links(0.6, 0.6, 0.6)
    idec = dict(zip(BUDGETS, (0.45, 0.4, 0.5, 0.5, 0.7, 0.75)))
    best = of_links(0.2, 0.2, 0.3)
    indicators = {
        "cl_rate": lambda s, n: (-0.3 if s == "fashion-mnist" else 0.5) if n in MANY else 0.9,
        "ml_rate": lambda s, n: 0.4 if n in MANY else -0.6,
        "accuracy": lambda s, n: 0.7,
        "balanced_accuracy": lambda s, n: 0.6,
    }
    convolutional = {
        "S3C2": 0.9,
        judges.SEMI: 0.92,
        "d-graph": 0.7,
        "DCPR": 0.7,
        "NNclustering": 0.7,
    }
    gain = of_links(0.2, 0.1, 0.05)
    found = SimpleNamespace(
        dense={
            (s, m, n): nmi
            for s in SETS
            for n in BUDGETS
            for m, nmi in {
                "S3C2": s3c2(n), "d-graph": d_graph(n), "IDEC": idec[n],
                "DCPR": s3c2(n) - (0.0 if s == "reuters" else 0.1),
            }.items()
        },
        thresholds=by_threshold(lambda s, n: best(n)),
        neighbours={
            (s, f"{k} neighbours", n): 0.6 - abs(k - 30) / 1000
            for s in SETS for n in BUDGETS for k in (10, 30, 100)
        },
        correlations={
            (s, i, n): value(s, n) for i, value in indicators.items() for s in SETS for n in BUDGETS
        },
        six_thresholds=cl_rates(0.97),
        convolutional={
            (s, m, n): nmi
            for s in IMAGES
            for n in BUDGETS
            for m, nmi in {
                **convolutional, "IDEC": 0.95 if (s, n) == ("mnist", 5000) else 0.8
            }.items()
        },
        differences={
            (s, m, n): gain(n) for s in IMAGES for m in ("nmi", "cl_rate") for n in BUDGETS
        },
    )  # fmt: skip
    return found


def as_it_does_not_say():
    """Made-up results with which all of them are false."""
    s3c2, d_graph = of_links(0.5, 0.5, 0.3), of_links(0.4, 0.5, 0.7)
    best = of_links(0.5, 0.4, 0.1)
    indicators = {
        "cl_rate": lambda s, n: 0.9 if n in MANY else 0.4,
        "ml_rate": lambda s, n: 0.0 if n in MANY else 0.6,
        "accuracy": lambda s, n: 0.7,
        "balanced_accuracy": lambda s, n: 0.6,
    }
    convolutional = {
        "S3C2": 0.2,
        judges.SEMI: 0.1,
        "d-graph": 0.7,
        "DCPR": 0.7,
        "NNclustering": 0.7,
    }
    gain = of_links(-0.1, -0.1, -0.2)
    world = as_the_paper_says()
    world.dense = {
        (s, m, n): nmi
        for s in SETS
        for n in BUDGETS
        for m, nmi in {
            "S3C2": s3c2(n), "d-graph": d_graph(n), "IDEC": 0.6, "DCPR": 0.65,
        }.items()
    }  # fmt: skip
    world.thresholds = by_threshold(lambda s, n: best(n))
    world.neighbours = {key: 1 - nmi for key, nmi in world.neighbours.items()}
    world.correlations = {
        (s, i, n): value(s, n) for i, value in indicators.items() for s in SETS for n in BUDGETS
    }
    world.six_thresholds = cl_rates(0.9)
    world.convolutional = {
        (s, m, n): nmi
        for s in IMAGES
        for n in BUDGETS
        for m, nmi in {**convolutional, "IDEC": 0.6}.items()
    }
    world.differences = {
        (s, m, n): gain(n) for s in IMAGES for m in ("nmi", "cl_rate") for n in BUDGETS
    }
    return world


@pytest.mark.parametrize(
    "claim", claims.CLAIMS, ids=[f"{claim.figure}: {claim.says}" for claim in claims.CLAIMS]
)
class TestEveryRule:
    def test_it_holds_where_all_is_as_the_paper_says(self, claim):
        assert claim.judge(as_the_paper_says()).verdict == "holds"

    def test_it_does_not_hold_where_nothing_is(self, claim):
        found = claim.judge(as_it_does_not_say())
        # T = 1/2, on the edge, is the best with few links here.
        of_the_edge = claim.judge is labnet_judges.lower_then_higher
        assert found.verdict == ("undecided" if of_the_edge else "does not hold")
        assert found.held == 0

    def test_without_rows_it_is_not_run_yet(self, claim, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        for design in runs.DESIGNS:
            found = claim.judge(findings.Results(design))
            assert (found.verdict, found.of) == ("not run yet", 0)


class TestClaims:
    def results(self, s3c2, d_graph):
        sets, budgets = runs.FULL.datasets, runs.FULL.budgets
        values = {(s, "S3C2", n): s3c2(s, n) for s in sets for n in budgets}
        values |= {(s, "d-graph", n): d_graph(s, n) for s in sets for n in budgets}
        return SimpleNamespace(dense=values)

    @pytest.mark.parametrize(
        ("s3c2", "verdict", "held"),
        [
            (lambda s, n: 0.6, "holds", "8 of 8"),
            (lambda s, n: 0.4, "does not hold", "0 of 8"),
            (lambda s, n: 0.6 if s == "letters" else 0.4, "does not hold", "2 of 8"),
            (lambda s, n: 0.6 if s[0] in "lr" else 0.4, "holds in part", "4 of 8"),
            (lambda s, n: 0.6 if s == "letters" else math.nan, "holds so far", "2 of 2"),
            (lambda s, n: math.nan, "not run yet", "0 of 0"),
        ],
    )
    def test_many_links(self, s3c2, verdict, held):
        found = judges.many_links(self.results(s3c2, lambda s, n: 0.5))
        assert found.verdict == verdict
        assert f"{found.held} of {found.of}" == held

    @pytest.mark.parametrize(("fall", "verdict"), [(0.03, "holds"), (0.01, "does not hold")])
    def test_a_method_is_unstable_where_it_falls_by_more_than_the_margin(self, fall, verdict):
        curve = dict(zip(runs.FULL.budgets, (0.5, 0.5 - fall, 0.6, 0.7, 0.7, 0.7)))
        dense = {(s, "IDEC", n): v for s in ("mnist", "letters") for n, v in curve.items()}
        assert judges.idec_unstable(SimpleNamespace(dense=dense)).verdict == verdict

    @pytest.mark.parametrize(
        ("best", "safe", "moves"),
        [
            (lambda s, n: 0.25, "holds", "does not hold"),
            (lambda s, n: 0.1 if n < 500 else 0.3, "does not hold", "holds"),
            (lambda s, n: 0.25 if "mnist" in s else 0.5, "holds in part", "does not hold"),
        ],
    )
    def test_thresholds(self, best, safe, moves):
        results = SimpleNamespace(thresholds=by_threshold(best))
        assert labnet_judges.safe_thresholds(results).verdict == safe
        assert labnet_judges.lower_then_higher(results).verdict == moves

    @pytest.mark.parametrize(
        ("best", "verdict", "of"),
        [
            (lambda s, n: 0.05, "undecided", 0),  # a lower T may be better still
            (lambda s, n: 0.05 if n < 5000 else 0.1, "undecided", 0),
            (lambda s, n: 0.5 if n > 1000 else 0.3, "undecided", 0),
            # 200 and 2,000 links decide
            (lambda s, n: {100: 0.05, 200: 0.1, 2000: 0.3, 5000: 0.5}.get(n, 0.2), "holds", 4),
            (lambda s, n: 0.05 if s != "letters" else 0.1 + (n > 500) / 10, "holds", 1),
        ],
    )
    def test_a_best_threshold_on_the_edge_decides_nothing(self, best, verdict, of):
        found = labnet_judges.lower_then_higher(SimpleNamespace(thresholds=by_threshold(best)))
        assert (found.verdict, found.of) == (verdict, of)
        assert found.undecided == 4 - of

    @pytest.mark.parametrize(
        ("best", "verdict"),
        [
            (lambda s, n: 0.5 if n == 5000 else 0.1, "holds"),
            (lambda s, n: 0.1, "holds"),  # not that it suits many links, but that it suits no few
            (lambda s, n: 0.5, "does not hold"),
            (lambda s, n: 0.5 if n == 100 else 0.1, "holds in part"),
        ],
    )
    def test_one_half_is_never_the_best_with_few_links(self, best, verdict):
        results = SimpleNamespace(thresholds=by_threshold(best))
        assert labnet_judges.one_half(results).verdict == verdict

    def test_the_cl_rate_leads_accuracy_on_balanced_pairs(self):
        results = as_the_paper_says()
        results.correlations |= {(s, "accuracy", n): 0.95 for s in SETS for n in BUDGETS}
        assert labnet_judges.cl_rate_leads(results).verdict == "holds"
        on_uniform = labnet_judges.cl_rate_leads(results, accuracy="accuracy")
        assert on_uniform.verdict == "does not hold"

    @pytest.mark.parametrize(
        ("idec", "held"), [(0.3, 8), (0.5, 8), (0.7, 0)], ids=["below", "near", "above"]
    )
    def test_d_graph_is_the_best_with_few_links(self, idec, held):
        results = as_the_paper_says()
        results.dense |= {(s, "IDEC", n): idec for s in SETS for n in FEW}
        found = judges.d_graph_best_with_few(results)
        assert (found.held, found.of) == (held, 8)

    @pytest.mark.parametrize(
        ("reuters", "others", "verdict"),
        [(0.5, 0.3, "holds"), (0.5, 0.6, "does not hold"), (0.3, 0.3, "does not hold")],
    )
    def test_competitive_in_one_place_alone(self, reuters, others, verdict):
        dense = {(s, "S3C2", n): 0.5 for s in runs.FULL.datasets for n in runs.FULL.budgets}
        dense |= {(s, "DCPR", n): reuters if s == "reuters" else others for s, _, n in list(dense)}
        assert judges.dcpr_on_reuters(SimpleNamespace(dense=dense)).verdict == verdict

    @pytest.mark.parametrize(
        ("few", "many", "verdict"),
        [
            (0.2, 0.1, "holds"),
            (0.2, -0.1, "holds"),
            (0.1, 0.2, "does not hold"),
            (0.1, -0.2, "does not hold"),  # it hurts more with many links than it helps with few
            (-0.1, -0.2, "does not hold"),
        ],
    )
    def test_the_semi_supervised_labnet_helps_most_with_few_links(self, few, many, verdict):
        gain = of_links(few, 0.0, many)
        results = SimpleNamespace(
            differences={(s, "nmi", n): gain(n) for s in IMAGES for n in BUDGETS}
        )
        assert judges.semi_supervised_helps(results).verdict == verdict

    def test_idec_is_inferior_but_in_one_case(self):
        others = ("S3C2", judges.SEMI, "d-graph", "DCPR", "NNclustering")
        places = [(s, n) for s in runs.FULL.images for n in runs.FULL.budgets]
        values = {(s, m, n): 0.5 for s, n in places for m in others}
        values |= {(s, "IDEC", n): 0.4 + 0.2 * ((s, n) == ("mnist", 5000)) for s, n in places}
        results = SimpleNamespace(convolutional=values)
        assert judges.idec_is_inferior(results).verdict == "holds"
        lead = judges.convolutional_lead(results)
        assert (lead.held, lead.of) == (0, 72)  # a tie is not ahead
        values["mnist", "IDEC", 100] = 0.9
        values["mnist", "DCPR", 200] = 0.3  # it is S3C2 that it must be below
        values["mnist", "DCPR", 5000] = 0.7  # where it must be the best of all
        found = judges.idec_is_inferior(results)
        assert (found.held, found.of) == (10, 12)
        values["mnist", "IDEC", 5000] = math.nan
        assert judges.idec_is_inferior(results).verdict == "holds in part so far"

    def test_s3c2_is_good_where_no_other_is_far_ahead(self):
        methods = ("S3C2", "d-graph", "DCPR", "IDEC")
        dense = {(s, m, n): 0.5 for s in runs.FULL.datasets for m in methods for n in (2000, 5000)}
        dense |= {("mnist", "IDEC", n): 0.51 for n in (2000, 5000)}
        assert judges.good_with_many_links(SimpleNamespace(dense=dense)).verdict == "holds"
        dense |= {("mnist", "IDEC", n): 0.53 for n in (2000, 5000)}
        found = judges.good_with_many_links(SimpleNamespace(dense=dense))
        assert (found.held, found.of) == (6, 8)

    def test_other_settings_are_compared_on_the_link_sets_that_they_have(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        d_graph = runs.grid("d-graph", ["letters"], [5000], 5)
        changed = {"variant": "neither with dropout", "changes": {"dropout": 0.0}}
        s3c2 = runs.grid("S3C2", ["letters"], [5000], 3, **changed)
        published = runs.grid("S3C2", ["letters"], [5000], 5)
        nmi = {"d-graph": [0.5, 0.5, 0.5, 0.9, 0.9], "S3C2": [0.6] * 3}
        rows = [ledger.identity(run) | {"nmi": nmi[run.method][run.link_seed]}
                for run in (*d_graph, *s3c2)]  # fmt: skip
        rows += [ledger.identity(run) | {"nmi": 0.1} for run in published]
        ledger.append(tmp_path / "dense.csv", rows)
        found = findings.WithSettings("uniform", "neither with dropout", "without dropout").dense
        assert found["letters", "S3C2", 5000] == 0.6
        assert found["letters", "d-graph", 5000] == 0.5
        assert math.isnan(found["letters", "IDEC", 5000])

    def test_methods_are_compared_on_the_link_sets_that_all_have(self, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        rows = [
            ledger.identity(run) | {"nmi": 0.5 + 0.1 * run.link_seed}
            for method, sets in (("S3C2", 5), ("IDEC", 3))
            for run in runs.grid(method, ["letters"], [100, 200] if sets == 5 else [100], sets)
        ]
        ledger.append(tmp_path / "dense.csv", rows)
        found = findings.Results("uniform").dense
        assert found["letters", "S3C2", 100] == found["letters", "IDEC", 100] == pytest.approx(0.6)
        assert found["letters", "S3C2", 200] == pytest.approx(0.7)  # no other was run there

    def test_designs_and_thresholds_on_d_are_judged_apart(self, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        on_d = {"variant": "neither with dropout", "changes": {"dropout": 0.0}, "design": "chained"}
        wanted = [
            run for T in THRESHOLDS
            for run in runs.grid("S3C2", ["letters"], [100], 2, threshold=round(T**2, 4), **on_d)
        ]  # fmt: skip
        few = runs.grid("S3C2", ["letters"], [200], 2, threshold=0.01, **on_d)
        rows = [ledger.identity(run) | {"nmi": 0.5 + run.threshold} for run in (*wanted, *few)]
        ledger.append(tmp_path / "dense.csv", rows)
        found = findings.OnD("chained", "neither with dropout").thresholds
        assert found["letters", 0.3, 100] == pytest.approx(0.59)
        assert math.isnan(found["letters", 0.1, 200])  # only one of six thresholds
        assert findings.OnD("uniform", "neither with dropout").six_thresholds.empty
        assert findings.OnD("chained", "as published").six_thresholds.empty

    def test_most_cases_are_enough_where_the_paper_says_most(self):
        assert findings.Finding(13, 24, "", most=True).verdict == "holds"
        assert findings.Finding(12, 24, "", most=True).verdict == "holds in part"

    def test_numbers(self):
        assert [findings.number(v) for v in (0.7432, -0.0121, 1.0, math.nan)] == [
            ".743", "−.012", "1.000", "–",
        ]  # fmt: skip
