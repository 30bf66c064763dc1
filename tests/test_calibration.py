"""Posteriors are as sure as links allow."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links
from s3c2.calibration import calibrate, temperature_of
from s3c2.engine.rows import Rows
from s3c2.prior import find_neighbours


@pytest.fixture(scope="module")
def groups():
    """Two groups on a line that overlap; the log odds of the second are 2x."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = (rng.normal(size=(2000, 1)) + np.where(y, 1, -1)[:, None]).astype(np.float32)
    return X, y


def sure(times: float) -> nn.Module:
    """The right posteriors, with log odds so many times too large."""
    head = nn.Linear(1, 2)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[-times], [times]]))
        head.bias.zero_()
    return nn.Sequential(head, nn.Softmax(-1))


@pytest.fixture(scope="module")
def given(groups):
    X, y = groups
    rows = Rows(X, (1,), None, torch.device("cpu"))
    return rows, Links.from_labels(y, 1500, random_state=0), find_neighbours(rows, 10)


@pytest.mark.parametrize("times", [0.7, 1.0, 2.0, 5.0])
def test_the_temperature_undoes_what_is_too_sure(given, times):
    assert temperature_of(sure(times), *given) == pytest.approx(times, rel=0.15)


def test_a_calibrated_network_says_the_same_and_is_less_sure(groups, given):
    X, network = torch.from_numpy(groups[0]), sure(5.0)
    before = network(X)
    assert calibrate(network, *given) > 1
    after = network(X)
    assert (after.argmax(1) == before.argmax(1)).all()
    assert after.max(1).values.mean() < before.max(1).values.mean()


def test_without_links_nothing_changes(groups, given):
    rows, _, prior = given
    none = Links(must=[], cannot=[], n_samples=len(groups[0]))
    assert temperature_of(sure(5.0), rows, none, prior) == 1


def test_doubted_links_say_little(groups, given):
    rows, links, prior = given
    turned = Links(
        must=np.concatenate([links.must, links.cannot]),
        cannot=links.must[:0],
        must_weight=np.concatenate([links.must_weight, np.full(links.n_cannot, 1e-3)]),
        n_samples=links.n_samples,
    )
    only_must = Links(must=links.must, cannot=links.must[:0], n_samples=links.n_samples)
    with_turned = temperature_of(sure(2.0), rows, turned, prior)
    assert with_turned == pytest.approx(temperature_of(sure(2.0), rows, only_must, prior), rel=0.1)


def test_a_fitted_model_is_as_sure_as_it_is_right(groups):
    X, y = groups
    model = S3C2(
        2, labnet=LabNet(steps=100), clunet=CluNet(steps=100), layers=(16, 8), random_state=0,
        verbose=0,
    ).fit(X, links=Links.from_labels(y, 500, random_state=0))  # fmt: skip
    assert (model.labels_ == model.predict(X)).all()
    right = max(np.mean(model.labels_ == y), np.mean(model.labels_ != y))
    assert model.predict_proba(X).max(1).mean() == pytest.approx(right, abs=0.06)
