"""Batches of links and of random pairs."""

from __future__ import annotations

import numpy as np
import pytest

from s3c2 import Links
from s3c2.pairs import GivenLinks, random_pairs


@pytest.fixture
def links():
    return Links(
        must=[(i, i + 20) for i in range(6)],
        cannot=[(i, i + 30) for i in range(5)],
        n_samples=40,
        cannot_weight=0.5,
    )


def test_an_epoch_meets_every_link_once(links):
    given = GivenLinks(links, batch=4, seed=0)
    assert given.steps_per_epoch == 3
    for epoch in range(3):
        batches = [given.in_epochs(epoch * 3 + i) for i in range(3)]
        assert [b.a.shape for b in batches] == [(1, 4), (1, 4), (1, 3)]
        met = {(int(a), int(c)) for b in batches for a, c in zip(b.a[0], b.b[0])}
        assert len(met) == 11


def test_labels_and_weights_stay_with_their_links(links):
    given = GivenLinks(links, batch=5, seed=0)
    for step in range(20):
        for batch in (given.in_epochs(step), given.at_random(step)):
            gap = batch.b - batch.a
            assert (batch.must == (gap == 20)).all()
            assert (batch.weight == np.where(gap == 20, 1, 0.5)).all()


def test_a_batch_of_a_step_is_the_same_in_any_order(links):
    forward, backward = (GivenLinks(links, 4, seed=3) for _ in range(2))
    there = [forward.in_epochs(step).a.tolist() for step in range(9)]
    back = [backward.in_epochs(step).a.tolist() for step in reversed(range(9))]
    assert there == back[::-1]


def test_random_batches_hold_distinct_links(links):
    given = GivenLinks(links, batch=8, seed=0)
    for step in range(50):
        batch = given.at_random(step)
        assert len(set(zip(batch.a[0], batch.b[0]))) == 8
    assert GivenLinks(links, batch=100, seed=0).at_random(0).a.shape == (1, 11)


def test_random_pairs_are_uniform_over_all_rows():
    pairs = np.concatenate([random_pairs(4, 1000, 0, step) for step in range(40)], axis=2)
    counts = np.bincount((pairs[0] * 4 + pairs[1]).ravel(), minlength=16)
    assert (np.abs(counts - 2500) < 250).all()
