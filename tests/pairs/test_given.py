"""Batches of the given links."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from s3c2 import Links
from s3c2.pairs import GivenLinks


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
        assert torch.equal(pairs.same, (gap == 200).float())
        real = pairs.weight > 0
        assert torch.equal(pairs.weight[real], torch.where(gap == 200, 1.0, 0.5)[real])


@pytest.mark.parametrize(("n_must", "n_cannot", "ratio"), [(4, 36, 3), (36, 4, 1 / 3), (8, 8, 1)])
def test_a_kind_of_link_may_count_with_the_root_of_its_number(n_must, n_cannot, ratio):
    links = Links(
        must=[(i, i + 200) for i in range(n_must)],
        cannot=[(i, i + 300) for i in range(n_cannot)],
        n_samples=400,
    )
    batch = GivenLinks([links], n_must + n_cannot, [0], evened=True).draw(0)
    of_must, of_cannot = (float(batch.weight[batch.same == kind].sum()) for kind in (1, 0))
    assert of_cannot == pytest.approx(ratio * of_must, rel=1e-5)
    assert of_must + of_cannot == pytest.approx(links.n_links, rel=1e-5)


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_links_of_one_kind_have_nothing_to_be_evened_with(kind):
    links = Links(**{kind: [(0, 1), (2, 3)]}, n_samples=4)
    assert (GivenLinks([links], 2, [0], evened=True).draw(0).weight == 1).all()


def test_links_meet_each_other_in_batches_as_in_a_shuffle():
    """Every pair of links shares a batch about equally often."""
    n, batch, epochs = 40, 10, 1000
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
