"""Rows and pairs of rows drawn uniformly."""

from __future__ import annotations

import pytest
import torch

from s3c2.pairs import AllPairs, RandomPairs, RandomRows


def test_random_pairs_are_uniform_over_all_rows():
    drawn = [RandomPairs(4, 1000, [0]).draw(step) for step in range(40)]
    place = torch.cat([pairs.a * 4 + pairs.b for pairs in drawn], dim=1)
    counts = torch.bincount(place.flatten(), minlength=16)
    assert ((counts - 2500).abs() < 250).all()


def test_random_rows_are_uniform():
    rows = RandomRows(4, 1000, [0, 1])
    drawn = torch.stack([rows.draw(step).rows for step in range(20)])  # (steps, replicas, rows)
    for r in range(2):
        counts = torch.bincount(drawn[:, r].flatten(), minlength=4)
        assert ((counts - 5000).abs() < 350).all()
    assert not torch.equal(drawn[:, 0], drawn[:, 1])


def test_all_pairs_of_drawn_points_are_uniform_like_random_pairs():
    pairs = AllPairs(4, 20, [0])
    counts = torch.zeros(16)
    for step in range(400):
        batch = pairs.draw(step)
        counted = batch.weight[0] > 0
        assert int(counted.sum()) == 20 * 19
        counts += torch.bincount((batch.a * 4 + batch.b)[0, counted], minlength=16)
    assert ((counts / counts.sum() - 1 / 16).abs() < 0.004).all()


def test_all_pairs_come_in_the_order_of_a_matrix():
    batch = AllPairs(50, 3, [7, 8]).draw(5)
    for r in range(2):
        for i in range(3):
            for j in range(3):
                assert batch.a[r, 3 * i + j] == batch.points[r, i]
                assert batch.b[r, 3 * i + j] == batch.points[r, j]
                assert (batch.weight[r, 3 * i + j] == 0) == (i == j)


@pytest.mark.parametrize("weight", [1.0, 60, 1000])
def test_all_pairs_together_weigh_as_many_random_pairs(weight):
    """A draw paired with itself weighs nothing, the others weigh alike."""
    given = AllPairs(50, 7, [0, 1], weight=weight).draw(3).weight
    assert torch.allclose(given.sum(1), torch.tensor(float(weight)))
    assert torch.equal(given.view(2, 7, 7).diagonal(dim1=1, dim2=2), torch.zeros(2, 7))
    assert given[given > 0].unique().numel() == 1
    alone = AllPairs(50, 7, [0, 1]).draw(3).weight
    assert torch.equal(alone.sum(1), torch.full((2,), 42.0))  # each like one random pair


def test_posteriors_of_all_pairs_are_those_of_the_pairs_one_by_one():
    """A batch of points has each pair's pˢ from the points alone."""
    p = torch.rand(2, 50, 4, generator=torch.Generator().manual_seed(0)).softmax(-1)
    batch = AllPairs(50, 6, [0, 1]).draw(0)
    replica = torch.arange(2)[:, None]
    found = batch.same_probability((p[:, :0], p[replica, batch.points]))
    expected = (p[replica, batch.a] * p[replica, batch.b]).sum(-1)
    assert torch.allclose(found, expected)
