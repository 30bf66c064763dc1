"""T calibrated on links that a LabNet did not see, and committees."""

from __future__ import annotations

import numpy as np
import pytest
from torch import nn

from s3c2 import LabNet, Links
from s3c2.errors import LinksWarning
from s3c2.threshold import calibrated_threshold, folds_for_threshold

QUICK = {
    "code": False, "layers": (64, 16), "steps": 80, "learning_rate": 2e-3, "random_state": 0,
    "verbose": 0,
}  # fmt: skip


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
