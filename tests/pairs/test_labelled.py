"""Pairs that a frozen LabNet labels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from s3c2 import LabNet, Links
from s3c2.engine.rows import Rows
from s3c2.pairs import AllPairs, LabelledPairs, Pool, RandomPairs

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def labnet(blobs, blob_links):
    labnet = LabNet(
        code=False, layers=(64, 16), steps=80, learning_rate=2e-3, scale=None, random_state=0,
        verbose=0,
    )  # fmt: skip
    return labnet.fit(blobs[0], links=blob_links)


@pytest.mark.parametrize("draws", [RandomPairs, AllPairs])
@pytest.mark.parametrize("memory", [2**27, 40 * 16 * 4])
def test_pairs_are_labelled_as_labnet_does(blobs, labnet, memory, draws):
    X = blobs[0]
    pool = Pool(Rows(X, (5,)), labnet.encoder_, memory, seed=0)
    assert len(pool.h) == (120 if memory == 2**27 else 40)
    apart = tuple(int(np.flatnonzero(blobs[1] == k)[0]) for k in (0, 1))
    true_link = Links(cannot=[apart], n_samples=120)
    pairs = LabelledPairs(draws(len(pool.h), 50, [0]), [pool], [0.3], [true_link], CPU)
    seen = set()
    for step in range(20):
        batch = pairs.draw(step)
        a, b = batch.a[0].numpy(), batch.b[0].numpy()
        assert (batch.same[0].numpy() == labnet.same(X[a], X[b])).all()
        seen |= set(a.tolist())
    assert len(seen) == len(pool.h)  # every row of the pool is drawn from


@pytest.mark.parametrize("T", [0.0, 0.3])
def test_given_links_are_not_left_to_labnet(blobs, labnet, T):
    """Random pairs that are links, or a row with itself, keep their given label, also at T = 0."""
    X, y = blobs
    wrong = Links.from_labels(np.random.default_rng(0).permutation(y), 2000, random_state=0)
    pool = Pool(Rows(X, (5,)), labnet.encoder_, 2**27, 0)
    batch = LabelledPairs(RandomPairs(120, 3000, [0]), [pool], [T], [wrong], CPU).draw(1)
    a, b, same = (drawn[0].numpy() for drawn in (batch.a, batch.b, batch.same))
    given = {frozenset(p): 1.0 for p in wrong.must.tolist()}
    given |= {frozenset(p): 0.0 for p in wrong.cannot.tolist()}
    met = 0
    labnets = labnet.distance(X[a], X[b]) < T
    for i, j, label, other in zip(a.tolist(), b.tolist(), same, labnets):
        expected = 1.0 if i == j else given.get(frozenset((i, j)), other)
        met += i != j and frozenset((i, j)) in given
        assert label == expected
    assert met > 100
