"""Runs: their groups, their models and their scores."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression

from s3c2 import Links, fit_many

from experiments import catalogue, data, ledger, runs, scoring
from experiments.figures import figure_1, figure_3, figure_4


def test_groups_keep_thresholds_of_one_labnet_together():
    wanted = figure_3.runs(runs.FULL)
    groups = runs.groups(wanted, 60)
    assert sorted(map(str, wanted)) == sorted(str(run) for group in groups for run in group)
    assert max(map(len, groups)) <= 60
    for group in groups:
        assert len({run.dataset for run in group}) == 1
        for seed, n in {(run.link_seed, run.n_links) for run in group}:
            same = [run for run in group if (run.link_seed, run.n_links) == (seed, n)]
            assert len(same) == len(figure_3.THRESHOLDS) + len(figure_3.SUPPLEMENT)


def test_runs_on_the_same_links_share_them_whatever_the_method():
    y = np.arange(200) % 4
    few = [run for method in ("S3C2", "IDEC") for run in runs.grid(method, ["x"], [40], 2)]
    links = data.links_of([*few, *(replace(run, design="chained") for run in few)], y)
    assert len({id(one) for one in links}) == 4  # two seeds, two designs
    assert links[0] is links[2]
    rows = [[set(kind.ravel()) for kind in (one.must, one.cannot)] for one in (links[0], links[4])]
    shared = [len(must & cannot) / len(must) for must, cannot in rows]
    assert shared[1] > 0.8 > shared[0]  # chained: most rows are in links of both kinds


def test_idec_has_its_authors_rows_on_images():
    run = next(runs.grid("IDEC", ["fashion-mnist"], [100], 1))
    assert run.row_factor == pytest.approx(5.1)
    assert run.model().scale is None
    for other in (replace(run, dataset="letters"), replace(run, network="convolutional")):
        assert (other.row_factor, other.model().scale) == (1, "rms")
    assert replace(run, method="S3C2").row_factor == 1


def test_the_published_settings_of_each_data_set():
    run = next(runs.grid("S3C2", ["reuters"], [100], 1))
    given = run.model().get_params()
    assert given["labnet__dropout"] == given["clunet__dropout"] == 0.5
    assert given["labnet__threshold"] == 0.3
    assert replace(run, method="d-graph", threshold=None).model().dropout == 0.5
    given = replace(run, dataset="letters").model().get_params()
    assert given["labnet__dropout"] == given["clunet__dropout"] == 0.1
    assert replace(run, method="IDEC", threshold=None).model().must_weight == 0.1
    fashion = replace(run, dataset="fashion-mnist", method="IDEC", threshold=None)
    assert fashion.model().must_weight == 1.0


def test_rates_are_those_of_uniform_test_pairs_and_distances_are_computed_once(
    many_blobs, monkeypatch
):
    X, y = many_blobs
    links = Links.from_labels(y[:600], 80, random_state=0)
    short = {"layers": (128, 16), "labnet_steps": 20, "clunet_steps": 2, "clunet_pairs": 60}
    wanted = [runs.Run("digits", "S3C2", 80, 0, threshold=T, changes=short) for T in (0.1, 0.3)]
    models = [run.model().set_params(n_clusters=3, scale="standard") for run in wanted]
    models = fit_many(X[:600], [(model, links) for model in models])
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


def test_settings_of_estimators_within_a_model_are_recorded():
    model = BaggingClassifier(LogisticRegression(C=2), n_estimators=3, random_state=0)
    assert ledger.changed_settings(model) == {"estimator__C": 2, "n_estimators": 3}


class TestParameters:
    def test_the_names_of_rows_become_the_parameters_of_the_stages(self):
        changes = {"layers": (64, 64), "labnet_links": 128, "clunet_steps": 4000, "threshold": 0.09}
        assert runs.parameters("S3C2", changes) == {
            "layers": (64, 64), "labnet__batch_links": 128, "clunet__steps": 4000,
            "labnet__threshold": 0.09,
        }  # fmt: skip

    def test_the_dropout_of_one_stage_wins_over_that_of_both(self):
        expected = {"labnet__dropout": 0.2, "clunet__dropout": 0.0}
        assert runs.parameters("S3C2", {"dropout": 0.2, "clunet_dropout": 0.0}) == expected
        assert runs.parameters("S3C2", {"clunet_dropout": 0.0, "dropout": 0.2}) == expected

    def test_other_methods_keep_their_names(self):
        changes = {"dropout": 0.1, "steps": 5, "batch_links": 30, "n_neighbors": 5}
        assert runs.parameters("d-graph", changes) == changes

    def test_every_run_of_every_experiment_has_a_model(self):
        for experiment in catalogue.experiments().values():
            full, quick = experiment.runs(runs.FULL), experiment.runs(runs.QUICK)
            every = [*full, *(runs.shortened(run, 2) for run in quick)]
            kinds = {(run.method, run.network, runs.as_json(run.changes)): run for run in every}
            for run in kinds.values():
                given = run.model().get_params()
                wanted = runs.parameters(run.method, run.changes)
                assert {name: given[name] for name in wanted} == wanted
