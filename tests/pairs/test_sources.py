"""What all sources of pairs have in common."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from s3c2 import Links
from s3c2.engine.rows import Rows
from s3c2.pairs import AllPairs, GivenLinks, LabelledPairs, PairBatch, Pool, RandomPairs

N = 60
CPU = torch.device("cpu")
SEEDS = [5, 6, 7]
LINKS = [Links.from_labels(np.arange(N) % 3, n, random_state=n) for n in (50, 5, 140)]
LINKS[1] = Links(must=LINKS[1].must, cannot=LINKS[1].cannot, n_samples=N, cannot_weight=0.25)


def pools(replicas):
    """Of replica 1 one of its own, of the others the same; half of the rows in each."""
    rows = Rows(np.random.default_rng(0).normal(size=(N, 4)).astype(np.float32), (4,))
    made = [Pool(rows, nn.Linear(4, 2), memory=30 * 2 * 4, seed=seed) for seed in (0, 1)]
    with torch.no_grad():
        for pool in made:
            pool.h[:] = torch.from_numpy(rows.X[pool.numbers.numpy(), :2])
    return [made[r == 1] for r in replicas]


def labelled(pairs, replicas):
    links = [LINKS[r] for r in replicas]
    return LabelledPairs(pairs, pools(replicas), [0.4 * (r + 1) for r in replicas], links, CPU)


def seeds(replicas):
    return [SEEDS[r] for r in replicas]


# Name → (source of some replicas, pairs of a batch, rows that go through a network)
SOURCES = {
    "given": (lambda r: GivenLinks([LINKS[i] for i in r], 16, seeds(r)), 16, 32),
    "given, fresh": (
        lambda r: GivenLinks([LINKS[i] for i in r], 16, seeds(r), fresh=True), 16, 32,
    ),
    "random": (lambda r: RandomPairs(N, 9, seeds(r)), 9, 18),
    "all": (lambda r: AllPairs(N, 5, seeds(r)), 25, 5),
    "all, weighed": (lambda r: AllPairs(N, 5, seeds(r), weight=300), 25, 5),
    "labelled": (lambda r: labelled(RandomPairs(30, 9, seeds(r)), r), 9, 18),
    "labelled, all": (lambda r: labelled(AllPairs(30, 5, seeds(r), weight=9), r), 25, 5),
}  # fmt: skip
NAMES = ("a", "b", "same", "weight")


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_labelled_pairs_of_rows(name):
    build, n_pairs, n_rows = SOURCES[name]
    source = build([0, 1, 2])
    seen = set()
    for step in (0, 1, 2, 50, 10**6):
        batch = source.draw(step)
        assert isinstance(batch, PairBatch)
        for tensor in (getattr(batch, one) for one in NAMES):
            assert tensor.shape == (3, n_pairs)
        for ends in (batch.a, batch.b):
            assert ends.dtype == torch.int64
            assert ends.min() >= 0
            assert ends.max() < N
        assert batch.same.dtype == batch.weight.dtype == torch.float32
        assert batch.same.min() >= 0
        assert batch.same.max() <= 1
        assert batch.weight.min() >= 0
        assert (batch.weight.sum(1) > 0).all()
        first, second = batch.twins
        assert first.shape[1] + second.shape[1] == n_rows
        seen.add(tuple(batch.a.flatten().tolist()))
    assert len(seen) == 5  # every step has a batch of its own


@pytest.mark.parametrize("name", SOURCES)
def test_a_replica_draws_the_same_whatever_runs_beside_it(name):
    build, _, _ = SOURCES[name]
    stacked = build([0, 1, 2])
    for r in range(3):
        alone = build([r])
        for step in (0, 1, 2, 50, 10**6):
            together, by_itself = stacked.draw(step), alone.draw(step)
            for one in NAMES:
                assert torch.equal(getattr(together, one)[r], getattr(by_itself, one)[0])


@pytest.mark.parametrize("name", SOURCES)
def test_a_step_may_be_a_tensor(name):
    source = SOURCES[name][0]([0, 1, 2])
    for step in (0, 5, 123):
        one, two = source.draw(step), source.draw(torch.tensor(step))
        for part in NAMES:
            assert torch.equal(getattr(one, part), getattr(two, part))
