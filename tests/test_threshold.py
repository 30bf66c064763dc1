"""T from neighbours of linked rows, or links that a LabNet did not see, and committees."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links
from s3c2.engine.rows import Rows
from s3c2.errors import LinksWarning
from s3c2.prior import find_neighbours
from s3c2.threshold import (
    best_threshold,
    calibrated_threshold,
    folds_for_threshold,
    threshold_of_neighbours,
)

QUICK = {
    "code": False, "layers": (64, 16), "steps": 80, "learning_rate": 2e-3, "random_state": 0,
    "verbose": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def on_a_line():
    """Four groups of 50 rows, a third of a margin apart; h is where they are."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(4), 50))
    X = (y[:, None] / 3 + 0.01 * rng.normal(size=(200, 1))).astype(np.float32)
    rows = Rows(X, (1,), None, torch.device("cpu"))
    return rows, Links.from_labels(y, 40, random_state=0), find_neighbours(rows, 5)


def test_t_tells_neighbours_of_linked_rows_apart(on_a_line):
    T = threshold_of_neighbours(nn.Identity(), *on_a_line, 0.25)
    assert 0.06**2 < T < 0.3**2


def test_t_does_not_come_from_links_that_were_learned_by_heart(on_a_line):
    """An encoder that has put linked rows where the links want them, and no other row."""
    rows, links, prior = on_a_line
    linked = {float(x) for x in rows.block(0, 200)[np.unique(links.cannot[:, 0])].flatten()}

    class ByHeart(nn.Module):
        def forward(self, x):
            far = torch.tensor([[float(one) in linked] for one in x.flatten()])
            return x + 100 * far

    T = threshold_of_neighbours(ByHeart(), rows, links, prior, 0.25)
    assert T < 0.3**2


def test_t_is_half_at_most_and_the_published_one_without_evidence(on_a_line):
    rows, links, prior = on_a_line

    class Stretched(nn.Module):
        def forward(self, x):
            return 100 * x

    assert threshold_of_neighbours(Stretched(), rows, links, prior, 0.25) == 0.5
    only_must = Links(must=links.must, cannot=[], n_samples=200)
    assert threshold_of_neighbours(nn.Identity(), rows, only_must, prior, 0.25) == 0.3
    assert threshold_of_neighbours(nn.Identity(), rows, links, None, 0.25) == 0.3

    class Collapsed(nn.Module):
        def forward(self, x):
            return 0 * x

    assert threshold_of_neighbours(Collapsed(), rows, links, prior, 0.25) == 0.3


def test_equal_distances_and_no_threshold():
    one = np.ones(4)
    assert best_threshold(np.ones(4, np.float32), np.zeros(4, bool), one) == 0
    assert best_threshold(np.ones(4, np.float32), np.ones(4, bool), one) > 1
    d2, same = np.array([0, 0, 0, 2], np.float32), np.array([True, True, False, False])
    assert 0 < best_threshold(d2, same, one) < 2


def test_the_best_threshold_makes_the_lightest_mistakes():
    rng = np.random.default_rng(0)
    same, weight = rng.random(400) < 0.2, rng.random(400)
    d2 = np.where(same, rng.gamma(2, 0.1, 400), rng.gamma(4, 0.3, 400)).astype(np.float32)

    def mistakes(T):
        return weight[(d2 < T) != same].sum()

    found = mistakes(best_threshold(d2, same, weight))
    assert found == pytest.approx(min(mistakes(T) for T in [*d2, 10.0]))


def test_a_fitted_t_labels_pairs_well(blobs):
    X, y = blobs
    links = Links.from_labels(y, 60, random_state=0)
    settings = {"clunet": CluNet(steps=5), "layers": (16, 8), "random_state": 0, "verbose": 0}
    model = S3C2(3, labnet=LabNet(steps=150), **settings).fit(X, links=links)
    assert 0 < model.threshold_ <= 0.5
    assert model.labnet_.rates(Links.from_labels(y, 500, random_state=1), X).accuracy > 0.95


def test_largest_threshold_that_secures_the_cl_rate():
    rng = np.random.default_rng(0)
    folds = [
        (rng.uniform(0, 0.5, 40).astype(np.float32), rng.uniform(0.2, 2, 33).astype(np.float32))
        for _ in range(5)
    ]
    T = calibrated_threshold(folds)
    cannot = np.concatenate([fold[1] for fold in folds])
    assert (cannot >= T).mean() >= 0.95
    above = np.sort(cannot[cannot > T])[0]
    assert (cannot >= above).mean() < 0.95


def test_auto_is_used_and_kept(many_blobs, tmp_path):
    X, y = many_blobs
    links = Links.from_labels(y, 300, random_state=0)
    labnet = LabNet(threshold="auto", scale="standard", **QUICK).fit(X, links=links)
    assert labnet.threshold_ != 0.3
    rates = labnet.rates(Links.from_labels(y, 2000, random_state=9), X)
    assert rates.cl_rate > 0.9
    assert rates.ml_rate > 0.9
    labnet.save(tmp_path)
    assert LabNet.load(tmp_path).threshold_ == labnet.threshold_


def test_a_collapsed_labnet_falls_back(many_blobs):
    """An encoder that gives every row the same representation."""

    class Collapsed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(5, 3)

        def forward(self, x):
            return self.layer(x) * 0

    X, y = many_blobs
    links = Links.from_labels(y, 300, random_state=0)
    labnet = LabNet(network=Collapsed(), threshold="auto", code=False, steps=3, verbose=0)
    with pytest.warns(LinksWarning, match="takes T = 0.3.*does not tell them apart"):
        labnet.fit(X, links=links)
    assert labnet.threshold_ == 0.3


def test_too_few_cannot_links_fall_back(blobs):
    X, y = blobs
    links = Links.from_labels(y, 60, random_state=0)
    with pytest.warns(LinksWarning, match="a fold holds . cannot-links, and 20 are needed"):
        labnet = LabNet(threshold="auto", **QUICK).fit(X, links=links)
    assert labnet.threshold_ == 0.3
    few = Links(must=[(0, 1)], cannot=[(1, 2)], n_samples=120)
    with pytest.warns(LinksWarning, match="takes T = 0.3"):
        assert folds_for_threshold(few, 0) == []


def test_a_committee_averages_squared_distances(blobs, blob_links):
    X = blobs[0]
    committee = LabNet(n_committee=3, **QUICK).fit(X, links=blob_links)
    members = committee.encoder_.members
    assert len(members) == 3
    assert committee.transform(X).shape == (120, 48)
    singles = []
    for member in members:
        one = LabNet(**QUICK).fit(X, links=blob_links)
        one.encoder_ = member
        singles.append(one.distance(X[:60], X[60:]))
    assert np.allclose(committee.distance(X[:60], X[60:]), np.mean(singles, axis=0), atol=1e-5)
    first = LabNet(**QUICK).fit(X, links=blob_links)
    assert np.array_equal(first.distance(X[:60], X[60:]), singles[0])
