"""Links that the rest of the data contradicts are found, and count less."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links, fit_many
from s3c2.engine.rows import Rows
from s3c2.prior import find_neighbours, neighbours_of
from s3c2.suspicion import (
    Suspicion,
    doubts_of_links,
    stricter_trust_of,
    trust_of,
    trusted,
    undoubted,
)

SETTINGS = {
    "labnet": LabNet(steps=300), "clunet": CluNet(steps=150), "layers": (32, 16),
    "contradictions": "drop", "random_state": 0, "verbose": 0,
}  # fmt: skip


def flipped(links, share, seed=0):
    """The links with some of them of the other kind, and those, each with its lower row first."""
    rng = np.random.default_rng(seed)
    must, cannot = (rng.random(n) < share for n in (links.n_must, links.n_cannot))
    turned = Links(
        must=np.concatenate([links.must[~must], links.cannot[cannot]]),
        cannot=np.concatenate([links.cannot[~cannot], links.must[must]]),
        n_samples=links.n_samples,
    )
    return turned, as_set(np.concatenate([links.must[must], links.cannot[cannot]]))


def as_set(pairs):
    return {tuple(sorted(pair)) for pair in np.asarray(pairs).tolist()}


@pytest.fixture(scope="module")
def many():
    """Three groups of 300 rows: few rows have a link, as with real data."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(3), 300))
    return (rng.normal(size=(900, 5)) * 0.3 + np.eye(3, 5)[y] * 3).astype(np.float32), y


@pytest.fixture(scope="module")
def wrong_links(many):
    return flipped(Links.from_labels(many[1], 80, random_state=0), 0.15)


@pytest.fixture(scope="module")
def fitted(many, wrong_links):
    return S3C2(3, **SETTINGS).fit(many[0], links=wrong_links[0])


def test_wrong_links_come_first(fitted, wrong_links):
    links, wrong = wrong_links
    found = fitted.suspicious_links_
    assert as_set(found) == as_set(np.concatenate([links.must, links.cannot]))
    assert as_set(found[: len(wrong)]) == wrong
    doubts = fitted.link_doubts_
    assert (np.diff(doubts) <= 0).all()
    assert doubts[len(wrong) - 1] > 0.5 > doubts[len(wrong)]
    assert doubts.min() >= 0
    assert doubts.max() <= 1


def test_they_do_little_harm(fitted, many):
    known = Links.from_labels(many[1], 1000, random_state=5)
    assert fitted.score(many[0], links=known) > 0.99


def test_they_lose_weight_and_others_keep_it():
    links = Links(must=[(0, 1), (2, 3)], cannot=[(0, 2)], n_samples=4, must_weight=[1, 0.5])
    found = trusted(links, trust_of(np.array([0.9, 0.2, 0.0])))
    assert found.must_weight == pytest.approx([1 - 0.9**4, 0.5 * (1 - 0.2**4)])
    assert found.cannot_weight == pytest.approx([1])
    for trust in (trust_of, stricter_trust_of):
        assert trust(np.ones(3)).min() > 0  # a weight of 0 would be no link
        assert (trust(np.zeros(3)) == 1).all()


def test_doubt_is_what_the_neighbours_say():
    """Two groups far apart; a must-link between them, and one inside."""
    X = np.repeat([[0.0], [9.0]], 6, axis=0) + np.tile(np.linspace(0, 0.5, 6), 2)[:, None]
    rows = Rows(X.astype(np.float32), (1,))
    links = Links(must=[(0, 7), (1, 2)], cannot=[(0, 8), (3, 4)], n_samples=12)
    doubts = doubts_of_links(nn.Identity(), rows, links, find_neighbours(rows, 3))
    assert doubts[[0, 3]].min() > 0.8
    assert doubts[[1, 2]].max() < 0.2


def test_doubted_links_do_not_decide_the_label_of_a_pair():
    links = Links(must=[(0, 1), (2, 3)], cannot=[(0, 2)], n_samples=4, must_weight=[1, 0.5])
    kept = undoubted(links, Suspicion.of(links, np.array([0.2, 0.9, 0.4])))
    assert kept == Links(must=[(0, 1)], cannot=[(0, 2)], n_samples=4)


def test_the_neighbours_that_are_asked_are_neighbours():
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    graph = find_neighbours(Rows(X, (2,)), 3)
    known = {
        int(row): set(graph.others[first : first + count].tolist())
        for row, first, count in zip(graph.rows, graph.first, graph.count)
    }
    for row, asked in enumerate(neighbours_of(torch.arange(40), graph).tolist()):
        assert set(asked) == known.get(row, {row})


def test_a_grid_judges_each_models_links_as_its_own_fit_does(many, wrong_links, fitted):
    right = Links.from_labels(many[1], 60, random_state=3)
    both = fit_many(many[0], [(S3C2(3, **SETTINGS), one) for one in (wrong_links[0], right)])
    assert np.array_equal(both[0].link_doubts_, fitted.link_doubts_)
    assert np.array_equal(both[0].suspicious_links_, fitted.suspicious_links_)
    assert len(both[1].suspicious_links_) == 60


def test_they_are_saved(fitted, tmp_path):
    fitted.save(tmp_path)
    loaded = S3C2.load(tmp_path)
    assert np.array_equal(loaded.suspicious_links_, fitted.suspicious_links_)
    assert np.array_equal(loaded.link_doubts_, fitted.link_doubts_)


@pytest.mark.parametrize("how", ["published", "no neighbours", "ended early", "few rows"])
def test_links_that_were_not_judged_are_not_listed(how, blobs, blob_links):
    model = S3C2(3, **SETTINGS).set_params(labnet__steps=6, clunet__steps=3)
    if how == "few rows":  # most of which are neighbours of each other
        model.set_params(labnet__neighbors=60)
    if how == "published":
        model = S3C2.as_published(3, labnet__steps=3, clunet__steps=3, verbose=0, random_state=0)
    elif how == "no neighbours":
        model.set_params(labnet__neighbors=0)
    elif how == "ended early":
        model.set_params(callbacks=lambda step: step.stage == "labnet" and step.step == 1)
    model.fit(blobs[0], links=blob_links)
    assert model.suspicious_links_ is None
    assert model.link_doubts_ is None
