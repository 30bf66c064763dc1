"""Siamese twins: one pass for the rows of several batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack
from s3c2.networks import Architecture
from s3c2.pairs import AllPairs, RandomPairs, RandomRows, Twins

SEEDS = [3, 4]


@pytest.fixture
def rows():
    return Rows(np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32), (6,))


def twins(rows, dropout=0.0):
    kind = Architecture("dense", (16, 8, 16), dropout)
    stack = Stack([kind.build_encoder((6,), seed) for seed in (0, 1)])
    return Twins(stack.train(), rows, SEEDS)


def batches():
    return (
        RandomPairs(40, 8, SEEDS).draw(0),
        AllPairs(40, 16, SEEDS).draw(1),
        RandomRows(40, 16, SEEDS).draw(2),
        RandomPairs(40, 16, SEEDS).draw(3),
    )


def test_batches_of_one_pass_are_those_alone(rows):
    pair = twins(rows)
    every = batches()
    for batch, ends in zip(every, pair(0, *every)):
        (alone,) = pair(0, batch)
        for side in (0, 1):
            assert torch.equal(ends.x[side], alone.x[side])
            assert torch.allclose(ends.out[side], alone.out[side], rtol=1e-6, atol=1e-6)


def test_each_end_is_what_the_replicas_network_gives_for_its_row(rows):
    pair = twins(rows)
    every = batches()
    for batch, ends in zip(every, pair(0, *every)):
        for side, numbers in enumerate(batch.twins):
            for r in range(2):
                x = torch.from_numpy(rows.X[numbers[r].numpy()])
                assert torch.equal(ends.x[side][r], x)
                expected = pair.network.network(r)(x)
                assert torch.allclose(ends.out[side][r], expected, rtol=1e-6, atol=1e-6)


def test_rows_pass_as_first_ends_then_second_ends(rows, monkeypatch):
    """In the order that dropout's masks are drawn for."""
    pair, passed = twins(rows), []
    real = rows.take_replicas
    monkeypatch.setattr(rows, "take_replicas", lambda i: passed.append(i) or real(i))
    one, of_points, single, two = batches()
    pair(0, one, of_points, single, two)
    order = [one.a, two.a, one.b, of_points.points, single.rows, two.b]
    assert torch.equal(passed[0], torch.cat(order, dim=1))
    assert len(passed) == 1


def test_dropout_goes_by_replica_and_step(rows):
    pair = twins(rows, dropout=0.5)
    batch = RandomPairs(40, 16, SEEDS).draw(0)
    one, again, other = (pair(step, batch)[0].out[0] for step in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
