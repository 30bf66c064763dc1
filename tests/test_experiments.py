"""Every experiment runs, with tiny settings; a second start does only what is missing."""

from __future__ import annotations

import csv
import importlib
import itertools
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from s3c2 import Links
from s3c2.engine import checkpoint
from s3c2.engine import loop as training
from s3c2.errors import DatasetError

EXPERIMENTS = Path(__file__).parent.parent / "experiments"
if not EXPERIMENTS.is_dir():
    pytest.skip("the experiments are not part of an installed package", allow_module_level=True)
sys.path.insert(0, str(EXPERIMENTS))

import figure_1  # noqa: E402
import page  # noqa: E402

import claims  # noqa: E402
import figure_4  # noqa: E402
import findings  # noqa: E402
import ledger  # noqa: E402
import plots  # noqa: E402
import runner  # noqa: E402
import runs  # noqa: E402
import scoring  # noqa: E402

SCRIPTS = (
    "figure_1", "figure_2", "figure_3", "figure_4", "figure_5", "figure_6", "uniform_links",
    "neighbours", "settings", "settings_images",
)  # fmt: skip
TINY = runs.Sizes(("digits",), ("digits",), ("digits",), (60, 120), (80, 160), (60,), 2, 1)
FLAGS = ["--quick", "--steps", "2", "--device", "cpu"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder of quick results for all tests: experiments share runs."""
    return tmp_path_factory.mktemp("results") / "quick"


@pytest.fixture(autouse=True)
def tiny(folder, monkeypatch):
    monkeypatch.setenv("S3C2_RESULTS", str(folder.parent))
    monkeypatch.setattr(runner, "QUICK", TINY)
    monkeypatch.setattr(runs, "PRETRAINED", folder / "pretrained")


def start(script: str, *flags: str) -> runner.Experiment:
    module = importlib.import_module(script)
    runner.main(module.EXPERIMENT, module.__doc__, [*FLAGS, *flags])
    return module.EXPERIMENT


def expected_keys(experiment: runner.Experiment) -> set[tuple[str, ...]]:
    wanted = [runs.shortened(run, 2) for run in experiment.runs(TINY)]
    return {ledger.key(ledger.identity(run)) for run in wanted}


def no_training(*arguments):
    raise AssertionError("something was trained")


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_trains_writes_rows_and_draws_and_a_second_start_trains_nothing(
    script, folder, monkeypatch
):
    experiment = start(script)
    path = folder / f"{experiment.ledger}.csv"
    keys = expected_keys(experiment)
    rows = [row for row in ledger.read(path) if ledger.key(row) in keys]
    assert len(rows) == len(keys)
    for row in rows:
        assert all(0 <= float(row[score]) <= 1 for score in ("nmi", "nmi_geometric", "acc"))
        assert int(row["steps"]) > 0
        assert row["commit"]
        assert row["source"]
        if row["method"] == "S3C2":
            rates = [float(row[name]) for name in ("ml_rate", "cl_rate")]
            assert float(row["balanced_accuracy"]) == pytest.approx(sum(rates) / 2, abs=2e-5)
    before = path.read_bytes() if path.exists() else b""
    pictures = {kind: folder / f"{script}.{kind}" for kind in ("png", "csv")}
    drawn = {kind: picture.read_bytes() for kind, picture in pictures.items()}
    assert drawn["png"].startswith(b"\x89PNG")
    assert drawn["csv"].count(b"\n") > 1

    monkeypatch.setattr(runner, "fit_many", no_training)
    for flags in ((), ("--plot-only",)):
        start(script, *flags)
        assert (path.read_bytes() if path.exists() else b"") == before
        assert {kind: picture.read_bytes() for kind, picture in pictures.items()} == drawn


class TestResume:
    @pytest.fixture(autouse=True)
    def own_folder(self, tiny, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        self.path = tmp_path / "quick" / "dense.csv"

    def neighbours(self, *flags: str) -> list[dict[str, str]]:
        start("neighbours", *flags)
        return ledger.read(self.path)

    def test_only_lost_rows_are_trained_again(self, monkeypatch):
        rows = self.neighbours()
        lines = self.path.read_text().splitlines(keepends=True)
        # A kill can leave a part of a row, and rows of another commit are done as well.
        kept = [line.replace(rows[0]["commit"], "elsewhere") for line in lines[1:6]]
        self.path.write_text("".join([lines[0], *kept, lines[6][:40]]))
        trained = []
        fit_many = runner.fit_many
        monkeypatch.setattr(
            runner, "fit_many", lambda X, grid: trained.extend(grid) or fit_many(X, grid)
        )
        again = self.neighbours()
        assert len(trained) == len(rows) - 5
        assert [row["commit"] for row in again].count("elsewhere") == 5
        assert {ledger.key(row) for row in again} == {ledger.key(row) for row in rows}
        assert {ledger.key(r): r["nmi"] for r in again} == {ledger.key(r): r["nmi"] for r in rows}

    def test_a_stop_loses_the_group_in_progress_at_most(self, monkeypatch):
        fit_many, groups = runner.fit_many, []

        def stop_in_the_third(X, grid):
            groups.append(grid)
            if len(groups) == 3:
                raise KeyboardInterrupt
            return fit_many(X, grid)

        monkeypatch.setattr(runner, "fit_many", stop_in_the_third)
        with pytest.raises(SystemExit) as stopped:
            self.neighbours("--group", "2")
        assert stopped.value.code == 130
        assert [len(group) for group in groups] == [2, 2, 2]
        assert len(ledger.read(self.path)) == 4

    def test_a_group_that_was_stopped_goes_on(self, monkeypatch, capsys):
        monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
        train_step, taken, stop_at = training.train_step, [], []

        def counted(*arguments):
            taken.append(arguments)
            if len(taken) in stop_at:
                raise KeyboardInterrupt
            return train_step(*arguments)

        monkeypatch.setattr(training, "train_step", counted)
        expected = self.neighbours()
        self.path.unlink()
        needed = len(taken)
        stop_at.append(needed + 2)  # the second step of the second start
        capsys.readouterr()
        with pytest.raises(SystemExit):
            self.neighbours()
        said = capsys.readouterr().err
        assert "runs begin\n" in said
        assert said.endswith("stopped; the same command goes on from here\n")
        (state,) = self.path.parent.glob("unfinished-*")
        again = self.neighbours()
        assert "runs go on\n" in capsys.readouterr().err
        assert len(taken) == 2 * needed + 1  # one step was taken twice
        assert not state.exists()
        assert [row["nmi"] for row in again] == [row["nmi"] for row in expected]

    def test_no_group_begins_after_the_budget(self, monkeypatch):
        clock = SimpleNamespace(perf_counter=itertools.count().__next__)  # a second a look
        monkeypatch.setattr(runner, "time", clock)
        assert len(self.neighbours("--group", "2", "--budget-seconds", "2")) == 2

    def test_methods_data_sets_and_budgets_can_be_chosen(self):
        start("figure_2", "--only", "dcpr", "--dataset", "digits", "--links", "60")
        found = {(row["method"], row["n_links"]) for row in ledger.read(self.path)}
        assert found == {("DCPR", "60")}

    @pytest.mark.parametrize(
        ("flags", "said"),
        [
            (
                ["--dataset", "mnist"],
                "figure_2 has no such runs, but of S3C2, d-graph, DCPR, IDEC on digits",
            ),  # a quick run is of digits
            (["--links", "7"], "with 60, 120 links"),
            (["--dataset", "nonesuch"], "invalid choice: 'nonesuch'"),
            (["--group", "0"], "'0' is not a whole number of at least 1"),
            (["--links", "many"], "'many' is not a whole number of at least 1"),
            (["--only", "k-means"], "invalid choice: 'k-means'"),
        ],
    )
    def test_what_cannot_be_run_is_refused(self, flags, said, capsys):
        with pytest.raises(SystemExit) as refused:
            start("figure_2", *flags)
        assert refused.value.code == 2
        assert said in capsys.readouterr().err
        assert not self.path.exists()

    def test_experiments_side_by_side_write_a_run_once(self):
        rows = self.neighbours()
        others = [row | {"commit": "of the other"} for row in rows]
        self.path.unlink()
        ledger.append(self.path, rows[:3])
        program = (
            "import json, sys, ledger, pathlib\n"
            "rows = json.loads(sys.stdin.read())\n"
            "for row in rows: ledger.append(pathlib.Path(sys.argv[1]), [row])\n"
        )
        command = [sys.executable, "-c", program, str(self.path)]
        both = [
            subprocess.Popen(command, stdin=subprocess.PIPE, cwd=EXPERIMENTS, text=True)
            for _ in range(2)
        ]
        for process in both:
            process.stdin.write(json.dumps(others))
            process.stdin.close()
        assert [process.wait(timeout=120) for process in both] == [0, 0]
        written = ledger.read(self.path)
        assert written[:3] == rows[:3]
        assert sorted(map(ledger.key, written)) == sorted(map(ledger.key, rows))

    def test_data_that_is_missing_is_told_before_anything_is_trained(self, monkeypatch):
        def load(name, network):
            if name == "mnist":
                raise DatasetError("mnist is missing. Put it there.")

        monkeypatch.setattr(runner, "load", load)
        wanted = [
            run for name in ("mnist", "letters") for run in runs.grid("DCPR", [name], [100], 1)
        ]
        with pytest.raises(DatasetError, match="Put it there. Or do without: --dataset letters"):
            runner.check_data(wanted)
        with pytest.raises(DatasetError, match="Put it there.$"):
            runner.check_data(wanted[:1])

    def test_nothing_is_drawn_from_nothing(self):
        with pytest.raises(SystemExit, match="no rows of these runs to draw from"):
            start("neighbours", "--plot-only")
        assert not self.path.parent.exists()

    def test_precisions_are_not_mixed(self, monkeypatch):
        rows = self.neighbours("--links", "60")
        monkeypatch.setattr(runner, "fit_many", no_training)
        with pytest.raises(SystemExit, match=r"holds runs in float32: use --precision float32, or"):
            start("neighbours", "--precision", "bf16")
        assert ledger.read(self.path) == rows

    def test_a_device_that_is_not_there_is_one_line(self):
        with pytest.raises(SystemExit, match="'device' parameter is 'tpu', which is not to be had"):
            start("figure_2", "--device", "tpu")

    def test_a_file_with_other_columns_is_refused(self):
        self.path.parent.mkdir()
        self.path.write_text("dataset,nmi\ndigits,1\n")
        with pytest.raises(SystemExit, match="other columns"):
            self.neighbours()


def test_it_is_a_command(tmp_path):
    environment = os.environ | {"S3C2_RESULTS": str(tmp_path)}
    command = [sys.executable, str(EXPERIMENTS / "figure_1.py"), "--quick"]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    with open(tmp_path / "quick" / "figure_1.csv") as file:
        losses = {float(row["d2"]): row for row in csv.DictReader(file)}
    at_quarter, at_half = losses[0.25], losses[0.5]
    assert float(at_quarter["must_link_loss"]) == float(at_quarter["cannot_link_loss"]) == 0.25
    assert float(at_half["cannot_link_loss"]) == pytest.approx(0.086, abs=5e-4)


def test_quick_results_never_land_among_those_of_full_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
    assert ledger.results_folder(quick=False) == tmp_path
    assert ledger.results_folder(quick=True) == tmp_path / "quick"
    monkeypatch.delenv("S3C2_RESULTS")
    assert ledger.results_folder(quick=False) == EXPERIMENTS / "results"
    assert ledger.results_folder(quick=True) == EXPERIMENTS / "quick"
    experiment = importlib.import_module("figure_2").EXPERIMENT
    with pytest.raises(SystemExit):
        runner.main(experiment, "", ["--steps", "2"])


def test_a_run_that_diverged_has_a_row_and_does_not_count(folder, tmp_path):
    identities = [ledger.identity(run) for run in runs.grid("DCPR", ["letters"], [100], 3)]
    rows = [one | {"nmi": nmi} for one, nmi in zip(identities, (0.4, 0.6, ""))]
    ledger.append(tmp_path / "dense.csv", rows)
    found = plots.summary(
        plots.table(ledger.read(tmp_path / "dense.csv")), ("dataset", "n_links"), ("nmi",)
    )
    assert found[["n", "nmi"]].to_numpy().tolist() == [[2, 0.5]]


def test_a_group_that_diverges_has_rows_and_the_next_one_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
    diverging = runs.Run("digits", "DCPR", 60, 0, changes={"entropy_weight": 1e39, "steps": 2})
    healthy = runs.Run("digits", "DCPR", 60, 0, changes={"steps": 2})
    experiment = runner.Experiment("x", "dense", lambda sizes: [diverging, healthy], no_drawing)
    monkeypatch.setattr(runner, "shortened", lambda run, steps: run)
    runner.main(experiment, "", FLAGS)
    assert "training diverged" in capsys.readouterr().err
    assert [row["nmi"] != "" for row in ledger.read(tmp_path / "quick/dense.csv")] == [False, True]
    monkeypatch.setattr(runner, "train_group", no_training)
    runner.main(experiment, "", FLAGS)


def no_drawing(rows, folder):
    pass


def test_the_page_is_not_made_from_other_results(monkeypatch, tmp_path):
    monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
    before = page.PAGE.read_text()
    with pytest.raises(SystemExit, match="S3C2_RESULTS names other results"):
        page.main([])
    assert page.PAGE.read_text() == before


def test_groups_keep_thresholds_of_one_labnet_together():
    figure_3 = importlib.import_module("figure_3")
    wanted = figure_3.runs(runs.FULL)
    groups = runs.groups(wanted, 60)
    assert sorted(map(str, wanted)) == sorted(str(run) for group in groups for run in group)
    assert max(map(len, groups)) <= 60
    for group in groups:
        assert len({run.dataset for run in group}) == 1
        for seed, n in {(run.link_seed, run.n_links) for run in group}:
            same = [run for run in group if (run.link_seed, run.n_links) == (seed, n)]
            assert len(same) == len(figure_3.THRESHOLDS) + len(figure_3.SUPPLEMENT)


def test_the_published_settings_of_each_data_set():
    run = next(runs.grid("S3C2", ["reuters"], [100], 1))
    assert run.model().dropout == 0.5
    assert run.threshold == 0.3
    assert replace(run, method="d-graph", threshold=None).model().dropout == 0.5
    assert replace(run, dataset="letters").model().dropout == 0.1
    assert replace(run, method="IDEC", threshold=None).model().must_weight == 0.1
    fashion = replace(run, dataset="fashion-mnist", method="IDEC", threshold=None)
    assert fashion.model().must_weight == 1.0


def test_rates_are_those_of_uniform_test_pairs_and_distances_are_computed_once(
    many_blobs, small, monkeypatch
):
    from s3c2 import S3C2, fit_many

    X, y = many_blobs
    links = Links.from_labels(y[:600], 80, random_state=0)
    settings = small | {"clunet_steps": 2, "labnet_steps": 20}
    grid = [(S3C2(3, **settings, threshold=T), links) for T in (0.1, 0.3)]
    models = fit_many(X[:600], grid)
    pairs = scoring.test_pairs(y[600:])
    assert pairs.n_links == 300 * 299 // 2  # all there are
    assert scoring.test_pairs(np.arange(2000) % 4).n_links == 200_000
    seen = []
    monkeypatch.setattr(
        scoring, "pair_distances",
        lambda *given, real=scoring.pair_distances: seen.append(1) or real(*given),
    )  # fmt: skip
    rows = scoring.scores(models, X[600:], y[600:], pairs)
    assert len(seen) == 1
    for row, model in zip(rows, models):
        rates = model.labnet_.rates(pairs, X[600:])
        found = [row[name] for name in ("accuracy", "ml_rate", "cl_rate")]
        expected = [rates.accuracy, rates.ml_rate, rates.cl_rate]
        assert found == pytest.approx(expected, abs=1e-4)
    assert rows[0]["ml_rate"] < rows[1]["ml_rate"]


def test_correlation():
    x, y = np.random.default_rng(0).normal(size=(2, 30))
    assert figure_4.pearson(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-4)
    assert math.isnan(figure_4.pearson(x, np.ones(30)))
    assert figure_1.CROSSING == 0.25


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
        found = claims.many_links(self.results(s3c2, lambda s, n: 0.5))
        assert found.verdict == verdict
        assert f"{found.held} of {found.of}" == held

    @pytest.mark.parametrize(("fall", "verdict"), [(0.03, "holds"), (0.01, "does not hold")])
    def test_a_method_is_unstable_where_it_falls_by_more_than_the_margin(self, fall, verdict):
        curve = dict(zip(runs.FULL.budgets, (0.5, 0.5 - fall, 0.6, 0.7, 0.7, 0.7)))
        dense = {(s, "IDEC", n): v for s in ("mnist", "letters") for n, v in curve.items()}
        assert claims.idec_unstable(SimpleNamespace(dense=dense)).verdict == verdict

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
        assert claims.safe_thresholds(results).verdict == safe
        assert claims.lower_then_higher(results).verdict == moves

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
        assert claims.one_half(SimpleNamespace(thresholds=values)).verdict == verdict

    @pytest.mark.parametrize(
        ("reuters", "others", "verdict"),
        [(0.5, 0.3, "holds"), (0.5, 0.6, "does not hold"), (0.3, 0.3, "does not hold")],
    )
    def test_competitive_in_one_place_alone(self, reuters, others, verdict):
        dense = {(s, "S3C2", n): 0.5 for s in runs.FULL.datasets for n in runs.FULL.budgets}
        dense |= {(s, "DCPR", n): reuters if s == "reuters" else others for s, _, n in list(dense)}
        assert claims.dcpr_on_reuters(SimpleNamespace(dense=dense)).verdict == verdict

    def test_the_semi_supervised_labnet_helps_with_few_links(self):
        gains = dict(zip(runs.FULL.budgets, (0.2, 0.1, 0.0, 0.0, -0.1, -0.1)))
        results = SimpleNamespace(
            differences={(s, m, n): gain for s in runs.FULL.images for m in ("nmi", "cl_rate")
                         for n, gain in gains.items()}
        )  # fmt: skip
        assert claims.semi_supervised_helps(results).verdict == "holds"
        assert claims.semi_supervised_cl_rate(results).verdict == "holds"
        assert claims.semi_supervised_positive(results).verdict == "holds in part"  # 4 of 12
        losses = SimpleNamespace(differences={k: -v for k, v in results.differences.items()})
        assert claims.semi_supervised_helps(losses).verdict == "does not hold"

    def test_idec_is_inferior_but_in_one_case(self):
        others = ("S3C2", claims.SEMI, "d-graph", "DCPR", "NNclustering")
        places = [(s, n) for s in runs.FULL.images for n in runs.FULL.budgets]
        values = {(s, m, n): 0.5 for s, n in places for m in others}
        values |= {(s, "IDEC", n): 0.4 + 0.2 * ((s, n) == ("mnist", 5000)) for s, n in places}
        results = SimpleNamespace(convolutional=values)
        assert claims.idec_is_inferior(results).verdict == "holds"
        lead = claims.convolutional_lead(results)
        assert (lead.held, lead.of) == (0, 72)  # a tie is not ahead
        values["mnist", "IDEC", 100] = 0.9
        values["mnist", "DCPR", 200] = 0.3  # it is S3C2 that it must be below
        values["mnist", "DCPR", 5000] = 0.7  # where it must be the best of all
        found = claims.idec_is_inferior(results)
        assert (found.held, found.of) == (10, 12)
        values["mnist", "IDEC", 5000] = math.nan
        assert claims.idec_is_inferior(results).verdict == "holds in part so far"

    def test_s3c2_is_good_where_no_other_is_far_ahead(self):
        methods = ("S3C2", "d-graph", "DCPR", "IDEC")
        dense = {(s, m, n): 0.5 for s in runs.FULL.datasets for m in methods for n in (2000, 5000)}
        dense |= {("mnist", "IDEC", n): 0.51 for n in (2000, 5000)}
        assert claims.good_with_many_links(SimpleNamespace(dense=dense)).verdict == "holds"
        dense |= {("mnist", "IDEC", n): 0.53 for n in (2000, 5000)}
        found = claims.good_with_many_links(SimpleNamespace(dense=dense))
        assert (found.held, found.of) == (6, 8)

    def test_correlations_with_many_links(self):
        values = {(s, i, n): -0.5 if i == "ml_rate" else 0.9 - 0.1 * (n >= 2000)
                  for s in runs.FULL.datasets for i in ("cl_rate", "ml_rate")
                  for n in runs.FULL.budgets}  # fmt: skip
        results = SimpleNamespace(correlations=values)
        assert claims.cl_rate_weaker(results).verdict == "holds"
        assert claims.ml_rate_is_left(results).verdict == "does not hold"
        upside_down = SimpleNamespace(correlations={k: -v for k, v in values.items()})
        assert claims.cl_rate_weaker(upside_down).verdict == "does not hold"
        assert claims.ml_rate_is_left(upside_down).verdict == "holds"

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


class TestPage:
    def test_the_page_is_what_the_committed_results_give(self, monkeypatch):
        monkeypatch.delenv("S3C2_RESULTS")
        page.main(["--check"])

    def test_missing_runs_are_named(self, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        done = [run for run in page.figure_2.EXPERIMENT.runs(runs.FULL) if run.n_links != 500]
        ledger.append(tmp_path / "dense.csv", [ledger.identity(run) for run in done])
        said = page.missing_runs()
        assert "- Figure 2: 80 of 480 runs (S3C2 on MNIST, S3C2 on Fashion-MNIST," in said
        monkeypatch.setattr(page, "missing", lambda wanted, rows: [])
        assert page.missing_runs() == ""

    def test_tables_come_from_the_rows(self, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        rows = [
            ledger.identity(run) | {"nmi": 0.5 + run.link_seed / 100, "seconds_per_run": 2}
            for run in runs.grid("DCPR", ["letters"], [100, 5000], 2)
        ]
        ledger.append(tmp_path / "dense.csv", rows)
        copy = tmp_path / "page.md"
        copy.write_text(
            "before\n<!-- table figure_2 -->\nold\n<!-- end -->\nafter\n"
            "<!-- table times -->\n<!-- end -->\n<!-- table figure_5 -->\n<!-- end -->\n"
        )
        with pytest.raises(SystemExit, match="not up to date"):
            page.main(["--check", "--page", str(copy)])
        page.main(["--page", str(copy)])
        text = copy.read_text()
        assert "old" not in text
        assert "| Letters | DCPR | .505 ± .007 | .505 ± .007 |" in text
        assert "| Figure 2 | DCPR | 4 | 8 |" in text
        assert "<!-- table figure_5 -->\nNo runs yet.\n<!-- end -->" in text
        assert text.startswith("before\n")
        page.main(["--check", "--page", str(copy)])
