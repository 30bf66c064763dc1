"""CluNet and the pairs LabNet labels for it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from s3c2.pool import Pool, PoolPairs

from s3c2 import CluNet, LabNet, Links, losses
from s3c2.clunet import pair_loss
from s3c2.engine.rows import Rows
from s3c2.errors import LinksError


@pytest.fixture(scope="module")
def labnet(blobs, blob_links):
    return LabNet(layers=(64, 16), steps=80, learning_rate=2e-3, random_state=0, verbose=0).fit(
        blobs[0], links=blob_links
    )


@pytest.mark.parametrize("memory", [2**27, 40 * 16 * 4])
def test_pool_labels_pairs_as_labnet_does(blobs, labnet, memory):
    X = blobs[0]
    pool = Pool(Rows(X, (5,)), labnet, memory, seed=0)
    assert len(pool.h) == (120 if memory == 2**27 else 40)
    apart = tuple(int(np.flatnonzero(blobs[1] == k)[0]) for k in (0, 1))
    true_link = Links(cannot=[apart], n_samples=120)
    pairs = PoolPairs([pool], [0.3], [true_link], 50, [0], torch.device("cpu"))
    seen = set()
    for step in range(20):
        a, b, must = pairs.draw(step)
        assert a.shape == b.shape == must.shape == (1, 50)
        assert (must[0].numpy() == labnet.same(X[a[0].numpy()], X[b[0].numpy()])).all()
        seen |= set(a[0].tolist())
    assert len(seen) == len(pool.h)  # every row of the pool is drawn from


def test_by_itself(blobs, blob_links, labnet):
    X, y = blobs
    clunet = CluNet(3, layers=(64, 16), steps=150, batch_pairs=60, random_state=0, verbose=0)
    clunet.fit(X, links=blob_links, labnet=labnet)
    assert (clunet.predict(X) == clunet.labels_).all()
    p = clunet.predict_proba(X)
    assert np.allclose(p.sum(1), 1)
    assert (p.argmax(1) == clunet.labels_).all()
    same = clunet.labels_[:, None] == clunet.labels_
    assert (same == (y[:, None] == y)).mean() > 0.9
    with pytest.raises(LinksError, match="labnet=labnet"):
        clunet.fit(X, links=blob_links)


def test_step_loss_is_equation_3_over_links_and_labelled_pairs(blobs, labnet):
    """One step with weights and without dropout, recomputed pair by pair."""
    X, y = blobs
    links = Links.from_labels(y, 30, random_state=0)
    links = Links(must=links.must, cannot=links.cannot, n_samples=120, cannot_weight=0.25)
    kept = []
    clunet = CluNet(
        3, layers=(8, 4), dropout=0.0, steps=1, batch_pairs=40, learning_rate=1e-12,
        random_state=0, verbose=0, callbacks=lambda step: kept.append(step.loss),
    ).fit(X, links=links, labnet=labnet)  # fmt: skip
    total, weight = 0.0, 0.0
    p = clunet.predict_proba(X).astype(np.float64)
    # All 30 links are in the batch of at most 100.
    for pairs, must, w in ((links.must, True, 1.0), (links.cannot, False, 0.25)):
        for a, b in pairs:
            total += w * (1 - p[a] @ p[b] if must else p[a] @ p[b])
            weight += w
    pool = Pool(Rows(X, (5,)), labnet, 2**27, 0)
    pairs = PoolPairs([pool], [0.3], [links], 40, [clunet_seed(0)], torch.device("cpu"))
    a, b, musts = pairs.draw(0)
    for i, j, must in zip(a[0], b[0], musts[0]):
        total += 1 - p[i] @ p[j] if must else p[i] @ p[j]
        weight += 1
    assert kept[0] == pytest.approx(total / weight, rel=1e-5)


def clunet_seed(seed):
    from s3c2.clunet import STAGE
    from s3c2.engine.randomness import Purpose, derived_seed

    return derived_seed(seed, Purpose.STAGE, STAGE)


def test_labnet_is_frozen(blobs, blob_links, labnet):
    before = [p.detach().clone() for p in labnet.encoder_.parameters()]
    CluNet(3, layers=(8, 4), steps=3, verbose=0).fit(blobs[0], links=blob_links, labnet=labnet)
    assert all(torch.equal(a, b) for a, b in zip(before, labnet.encoder_.parameters()))


def test_equal_sized_clusters_are_what_threshold_0_asks_for():
    """With every pair a cannot-link the loss is Σ p̂², least for equal shares."""
    n, K = 12, 3
    equal = torch.eye(K).repeat(n // K, 1)
    lopsided = torch.eye(K)[torch.tensor([0] * 8 + [1] * 3 + [2])]
    cannot, weight = torch.zeros(n * n, dtype=torch.bool), torch.ones(n * n)

    def loss(p):
        same = losses.same_probability(p[:, None], p[None]).ravel()
        return float(losses.misclassification(same, cannot, weight))

    assert loss(equal) == pytest.approx(1 / K)
    assert loss(lopsided) > loss(equal)


def test_the_restart_of_the_lowest_pair_loss_is_kept(blobs, blob_links, labnet):
    X, _ = blobs
    clunet = CluNet(
        3, layers=(32, 8), steps=60, batch_pairs=60, n_restarts=5, random_state=0, verbose=0
    ).fit(X, links=blob_links, labnet=labnet)
    assert clunet.pair_losses_.shape == (5,)
    assert clunet.pair_losses_.max() > clunet.pair_losses_.min()
    replica, rows = clunet._replicas(blob_links, labnet, 0)[0], Rows(X, (5,))
    judged = replica.pool_pairs(rows, 2**27, 50_000)
    kept = pair_loss(clunet.network_, rows, blob_links, judged)
    assert kept == pytest.approx(clunet.pair_losses_.min())
    clunet.set_params(n_restarts=1).fit(X, links=blob_links, labnet=labnet)
    assert not hasattr(clunet, "pair_losses_")


def test_diverged_restarts_are_told_and_left_out(blobs, blob_links, labnet, monkeypatch):
    answers = iter([False, True, True])
    monkeypatch.setattr("s3c2.clunet.converged", lambda history: next(answers))
    clunet = CluNet(3, layers=(8, 4), steps=5, n_restarts=3, random_state=0, verbose=0)
    with pytest.warns(UserWarning, match="1 of 3 CluNets diverged"):
        clunet.fit(blobs[0], links=blob_links, labnet=labnet)
    assert np.isnan(clunet.pair_losses_).tolist() == [True, False, False]


def test_the_pair_loss_is_equation_3(blobs, labnet, monkeypatch):
    monkeypatch.setattr("s3c2.clunet.JUDGED_PAIRS", 200)
    X, y = blobs
    links = Links.from_labels(y, 30, random_state=0)
    clunet = CluNet(3, layers=(8, 4), steps=5, random_state=0, verbose=0)
    clunet.fit(X, links=links, labnet=labnet)
    p = clunet.predict_proba(X).astype(np.float64)
    replica = clunet._replicas(links, labnet, 0)[0]
    rows = Rows(X, (5,))
    judged = replica.pool_pairs(rows, 2**27, 200)
    a, b, must = (drawn[0].numpy() for drawn in judged.draw(0))
    labelled = np.mean([1 - p[i] @ p[j] if m else p[i] @ p[j] for i, j, m in zip(a, b, must)])
    given = np.mean(
        [1 - p[i] @ p[j] for i, j in links.must] + [p[i] @ p[j] for i, j in links.cannot]
    )
    expected = (100 * given + 1000 * labelled) / 1100
    assert pair_loss(clunet.network_, rows, links, judged) == pytest.approx(expected, rel=1e-4)


def test_given_links_are_not_left_to_labnet(blobs, labnet):
    """Random pairs that are links, or a row with itself, keep their given label, also at T = 0."""
    X, y = blobs
    wrong = Links.from_labels(np.random.default_rng(0).permutation(y), 2000, random_state=0)
    pool = Pool(Rows(X, (5,)), labnet, 2**27, 0)
    for T in (0.0, 0.3):
        pairs = PoolPairs([pool], [T], [wrong], 3000, [0], torch.device("cpu"))
        a, b, must = (drawn[0].numpy() for drawn in pairs.draw(1))
        given = {frozenset(p): True for p in wrong.must.tolist()}
        given |= {frozenset(p): False for p in wrong.cannot.tolist()}
        met = 0
        labnets = labnet.distance(X[a], X[b]) < T
        for i, j, label, other in zip(a.tolist(), b.tolist(), must, labnets):
            expected = True if i == j else given.get(frozenset((i, j)), other)
            met += i != j and frozenset((i, j)) in given
            assert label == expected
        assert met > 100


def test_labnet_keeps_its_own_scaling(blobs, blob_links):
    X = blobs[0]
    labnet = LabNet(layers=(64, 16), steps=60, scale="standard", random_state=0, verbose=0)
    labnet.fit(X, links=blob_links)
    for scale in (None, "unit"):
        clunet = CluNet(3, layers=(8, 4), steps=1, scale=scale, verbose=0)
        clunet.fit(X, links=blob_links, labnet=labnet)
        rows = clunet._read(X, reset=False)
        replica = clunet._replicas(Links(must=[(0, 1)], n_samples=120), labnet, 0)[0]
        a, b, must = (d[0].numpy() for d in replica.pool_pairs(rows, 2**27, 500).draw(0))
        assert (must == labnet.same(X[a], X[b])).mean() > 0.99
    with pytest.raises(ValueError, match="n_clusters=121 with n_samples=120"):
        CluNet(121, verbose=0).fit(X, links=blob_links, labnet=labnet)


def test_all_pairs_give_the_loss_of_random_pairs_in_expectation(blobs, labnet):
    """Without learning, the mean loss over many batches of either kind is the same."""
    X, y = blobs
    links = Links.from_labels(y, 100, random_state=0)
    means = {}
    for name, given in (("pairs", {"batch_pairs": 400}), ("points", {"batch_points": 21})):
        clunet = CluNet(
            3, layers=(16, 8), dropout=0.0, steps=300, learning_rate=0.0, random_state=0,
            verbose=0, **given,
        ).fit(X, links=links, labnet=labnet)  # fmt: skip
        loss = clunet.history_["loss"]
        means[name] = loss.mean(), loss.std() / len(loss) ** 0.5
    # 100 links against 400 pairs, or against 21 · 20 = 420 of them, and they weigh about the same.
    apart = abs(means["pairs"][0] - means["points"][0])
    assert apart < 4 * np.hypot(means["pairs"][1], means["points"][1]) + 0.005


def test_all_pairs_find_the_groups_too(blobs, blob_links, labnet):
    X, y = blobs
    clunet = CluNet(3, layers=(64, 16), steps=200, batch_points=24, random_state=0, verbose=0)
    clunet.fit(X, links=blob_links, labnet=labnet)
    same = clunet.labels_[:, None] == clunet.labels_
    assert (same == (y[:, None] == y)).mean() > 0.9
