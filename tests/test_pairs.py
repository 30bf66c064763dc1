"""Batches of links and of random pairs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from s3c2 import Links
from s3c2.pairs import AllPairs, GivenLinks, RandomPairs


def some_links(n_must, n_cannot):
    return Links(
        must=[(i, i + 200) for i in range(n_must)],
        cannot=[(i, i + 300) for i in range(n_cannot)],
        n_samples=400,
        cannot_weight=0.5,
    )


@pytest.mark.parametrize(("n", "batch"), [(11, 4), (12, 4), (1, 4), (2, 1), (7, 100), (97, 10)])
def test_an_epoch_meets_every_link_once(n, batch):
    given = GivenLinks([some_links(n - n // 2, n // 2)], batch, [0])
    (steps,) = given.steps_per_epoch
    assert steps == -(-n // batch)
    orders = set()
    for epoch in range(5):
        drawn = [given.draw(epoch * steps + i) for i in range(steps)]
        assert all(pairs.a.shape == (1, batch) for pairs in drawn)
        met = [
            (int(a), int(b))
            for pairs in drawn
            for a, b, w in zip(pairs.a[0], pairs.b[0], pairs.weight[0])
            if w > 0
        ]
        assert len(met) == len(set(met)) == n
        orders.add(tuple(met))
    assert len(orders) > 1 or n < 3


def test_labels_and_weights_stay_with_their_links():
    given = GivenLinks([some_links(6, 5)], 5, [0])
    for step in range(40):
        pairs = given.draw(step)
        gap = pairs.b - pairs.a
        assert torch.equal(pairs.must, gap == 200)
        real = pairs.weight > 0
        assert torch.equal(pairs.weight[real], torch.where(gap == 200, 1.0, 0.5)[real])


def test_links_meet_each_other_in_batches_as_in_a_shuffle():
    """Every pair of links shares a batch about equally often."""
    n, batch, epochs = 40, 10, 4000
    given = GivenLinks([some_links(n, 0)], batch, [0])
    together = np.zeros((n, n))
    for step in range(epochs * 4):
        a = given.draw(step).a[0].numpy()
        together[np.ix_(a, a)] += 1
    off = together[~np.eye(n, dtype=bool)] / epochs
    assert (np.abs(off - (batch - 1) / (n - 1)) < 0.12).all()
    assert (np.diag(together) == epochs).all()


def test_fresh_batches_hold_distinct_links_in_an_order_of_their_own():
    given = GivenLinks([some_links(6, 5)], 8, [0], fresh=True)
    batches = set()
    for step in range(50):
        pairs = given.draw(step)
        ends = tuple(zip(pairs.a[0].tolist(), pairs.b[0].tolist()))
        assert len(set(ends)) == 8
        batches.add(ends)
    assert len(batches) > 25


def test_a_replica_draws_the_same_whatever_runs_beside_it():
    several = [some_links(30, 20), some_links(3, 2), some_links(60, 80)]
    seeds = [5, 6, 7]
    stacked = GivenLinks(several, 16, seeds)
    pairs = RandomPairs(1000, 9, seeds)
    for r in range(3):
        alone = GivenLinks(several[r : r + 1], 16, seeds[r : r + 1])
        alone_pairs = RandomPairs(1000, 9, seeds[r : r + 1])
        for step in (0, 1, 2, 50, 10**6):
            together, by_itself = stacked.draw(step), alone.draw(step)
            for name in ("a", "b", "must", "weight"):
                assert torch.equal(getattr(together, name)[r], getattr(by_itself, name)[0])
            for one, two in zip(pairs.draw(step), alone_pairs.draw(step)):
                assert torch.equal(one[r], two[0])


def test_a_step_may_be_a_tensor():
    given = GivenLinks([some_links(30, 20)], 16, [3])
    for step in (0, 5, 123):
        one, two = given.draw(step), given.draw(torch.tensor(step))
        assert torch.equal(one.a, two.a)


def test_random_pairs_are_uniform_over_all_rows():
    drawn = [RandomPairs(4, 1000, [0]).draw(step) for step in range(40)]
    a, b = (torch.cat([pairs[i] for pairs in drawn], dim=1) for i in (0, 1))
    counts = torch.bincount((a * 4 + b).flatten(), minlength=16)
    assert ((counts - 2500).abs() < 250).all()


def test_all_pairs_of_drawn_points_are_uniform_like_random_pairs():
    pairs = AllPairs(4, 20, [0])
    counted = pairs.counts.bool()
    assert int(counted.sum()) == 20 * 19
    counts = torch.zeros(16)
    for step in range(400):
        a, b = (end[0, counted] for end in pairs.draw(step))
        counts += torch.bincount(a * 4 + b, minlength=16)
    assert ((counts / counts.sum() - 1 / 16).abs() < 0.004).all()


def test_all_pairs_come_in_the_order_of_a_matrix():
    pairs = AllPairs(50, 3, [7, 8])
    points = pairs.points(5)
    a, b = pairs.draw(5)
    for r in range(2):
        for i in range(3):
            for j in range(3):
                assert a[r, 3 * i + j] == points[r, i]
                assert b[r, 3 * i + j] == points[r, j]
