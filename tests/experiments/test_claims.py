"""Verdicts on the paper's claims, from made-up results."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from experiments import findings, judges, ledger, runs


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
            (lambda s, n: math.nan, "not run", "0 of 0"),
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
        sets, budgets = runs.FULL.datasets, runs.FULL.budgets
        values = {
            (s, T, n): 0.8 - abs(T - best(s, n)) / 3
            for s in sets for n in budgets for T in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
        }  # fmt: skip
        results = SimpleNamespace(thresholds=values)
        assert judges.safe_thresholds(results).verdict == safe
        assert judges.lower_then_higher(results).verdict == moves

    @pytest.mark.parametrize(
        ("best", "verdict"),
        [
            (lambda n: 0.5 if n == 5000 else 0.1, "holds"),
            (lambda n: 0.1, "does not hold"),  # bad with few links, and with many
            (lambda n: 0.5, "does not hold"),  # good with few, too
        ],
    )
    def test_a_claim_of_two_halves_needs_both(self, best, verdict):
        values = {
            (s, T, n): 0.8 - abs(T - best(n)) / 3
            for s in runs.FULL.datasets for n in runs.FULL.budgets
            for T in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
        }  # fmt: skip
        assert judges.one_half(SimpleNamespace(thresholds=values)).verdict == verdict

    @pytest.mark.parametrize(
        ("reuters", "others", "verdict"),
        [(0.5, 0.3, "holds"), (0.5, 0.6, "does not hold"), (0.3, 0.3, "does not hold")],
    )
    def test_competitive_in_one_place_alone(self, reuters, others, verdict):
        dense = {(s, "S3C2", n): 0.5 for s in runs.FULL.datasets for n in runs.FULL.budgets}
        dense |= {(s, "DCPR", n): reuters if s == "reuters" else others for s, _, n in list(dense)}
        assert judges.dcpr_on_reuters(SimpleNamespace(dense=dense)).verdict == verdict

    def test_the_semi_supervised_labnet_helps_with_few_links(self):
        gains = dict(zip(runs.FULL.budgets, (0.2, 0.1, 0.0, 0.0, -0.1, -0.1)))
        results = SimpleNamespace(
            differences={(s, m, n): gain for s in runs.FULL.images for m in ("nmi", "cl_rate")
                         for n, gain in gains.items()}
        )  # fmt: skip
        assert judges.semi_supervised_helps(results).verdict == "holds"
        assert judges.semi_supervised_cl_rate(results).verdict == "holds"
        assert judges.semi_supervised_positive(results).verdict == "holds in part"  # 4 of 12
        losses = SimpleNamespace(differences={k: -v for k, v in results.differences.items()})
        assert judges.semi_supervised_helps(losses).verdict == "does not hold"

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

    def test_correlations_with_many_links(self):
        values = {(s, i, n): -0.5 if i == "ml_rate" else 0.9 - 0.1 * (n >= 2000)
                  for s in runs.FULL.datasets for i in ("cl_rate", "ml_rate")
                  for n in runs.FULL.budgets}  # fmt: skip
        results = SimpleNamespace(correlations=values)
        assert judges.cl_rate_weaker(results).verdict == "holds"
        assert judges.ml_rate_is_left(results).verdict == "does not hold"
        upside_down = SimpleNamespace(correlations={k: -v for k, v in values.items()})
        assert judges.cl_rate_weaker(upside_down).verdict == "does not hold"
        assert judges.ml_rate_is_left(upside_down).verdict == "holds"

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
        found = findings.WithSettings("neither with dropout", "without dropout").dense
        assert found["letters", "S3C2", 5000] == 0.6
        assert found["letters", "d-graph", 5000] == 0.5
        assert math.isnan(found["letters", "IDEC", 5000])

    def test_most_cases_are_enough_where_the_paper_says_most(self):
        assert findings.Finding(13, 24, "", most=True).verdict == "holds"
        assert findings.Finding(12, 24, "", most=True).verdict == "holds in part"

    def test_numbers(self):
        assert [findings.number(v) for v in (0.7432, -0.0121, 1.0, math.nan)] == [
            ".743", "−.012", "1.000", "–",
        ]  # fmt: skip
