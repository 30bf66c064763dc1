"""CluNet and the pairs LabNet labels for it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from s3c2 import S3C2, CluNet, LabNet, Links, clunet_training, losses, representation
from s3c2.clunet_losses import weights_of_links
from s3c2.clunet_training import (
    STAGE,
    CluNetReplica,
    Pools,
    judged_pairs,
    pair_loss,
    random_pairs,
    train_clunets,
)
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.errors import EmptyClustersWarning, LinksError
from s3c2.labnet_training import LabNetResult
from s3c2.pairs import AllPairs, LabelledPairs, RandomPairs
from s3c2.suspicion import Suspicion

CPU = torch.device("cpu")
EQUATION_3 = {  # and nothing else
    "start": "random", "smoothing": 0, "labels_worth": None, "kept_share": 0, "batch_points": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def labnet(blobs, blob_links):
    settings = {"layers": (64, 16), "scale": None, "random_state": 0, "verbose": 0}
    return LabNet(code=False, steps=80, learning_rate=2e-3, **settings).fit(
        blobs[0], links=blob_links
    )


def labelled_pairs(clunet, labnet, links, X, pairs):
    """The labelled pairs of a CluNet of random_state 0, drawn like this."""
    learned = LabNetResult(labnet.encoder_, labnet.threshold_, labnet.history_)
    replica = CluNetReplica(links, derived_seed(0, Purpose.STAGE, STAGE), learned, 0)
    return Pools(clunet, Rows(X, (5,))).labelled([replica], pairs)


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
        3, layers=(8, 4), steps=1, batch_pairs=40, learning_rate=1e-12, **EQUATION_3,
        random_state=0, verbose=0, callbacks=lambda step: kept.append(step.loss),
    ).fit(X, links=links, labnet=labnet)  # fmt: skip
    total, weight = 0.0, 0.0
    p = clunet.predict_proba(X).astype(np.float64)
    # All 30 links are in the batch of at most 100.
    for pairs, must, w in ((links.must, True, 1.0), (links.cannot, False, 0.25)):
        for a, b in pairs:
            total += w * (1 - p[a] @ p[b] if must else p[a] @ p[b])
            weight += w
    batch = labelled_pairs(clunet, labnet, links, X, random_pairs(clunet, 40)).draw(0)
    for i, j, same in zip(batch.a[0], batch.b[0], batch.same[0]):
        total += 1 - p[i] @ p[j] if same else p[i] @ p[j]
        weight += 1
    assert kept[0] == pytest.approx(total / weight, rel=1e-5)


def test_given_links_have_a_steeper_loss_beside_the_labelled_pairs(blobs, labnet):
    """One step, recomputed pair by pair: 30 links weigh 30 / (30 + 90) of the labelled pairs."""
    X, y = blobs
    links = Links.from_labels(y, 30, random_state=0)
    kept = []
    clunet = CluNet(
        3, layers=(8, 4), steps=1, batch_pairs=40, learning_rate=1e-12,
        **EQUATION_3 | {"labels_worth": 90}, random_state=0, verbose=0,
        callbacks=lambda step: kept.append({k: float(v) for k, v in step.terms.items()}),
    ).fit(X, links=links, labnet=labnet)  # fmt: skip
    p = clunet.predict_proba(X).astype(np.float64)
    of_must = [2 - 2 * np.sqrt(p[a] @ p[b]) for a, b in links.must]
    of_cannot = [2 - 2 * np.sqrt(1 - p[a] @ p[b]) for a, b in links.cannot]
    batch = labelled_pairs(clunet, labnet, links, X, random_pairs(clunet, 40)).draw(0)
    of_pairs = [
        1 - p[i] @ p[j] if same else p[i] @ p[j]
        for i, j, same in zip(batch.a[0], batch.b[0], batch.same[0])
    ]
    assert kept[0]["links"] == pytest.approx(np.mean(of_must + of_cannot), rel=1e-5)
    assert kept[0]["pairs"] == pytest.approx(np.mean(of_pairs), rel=1e-5)
    assert kept[0]["loss"] == pytest.approx(kept[0]["pairs"] + kept[0]["links"] / 4, rel=1e-5)


@pytest.mark.parametrize(
    ("weight", "worth", "counts"), [(1, 90, 30 / 120), (0.5, 90, 15 / 105), (1, 0, 1)]
)
def test_links_of_low_weight_count_less_against_the_labelled_pairs(weight, worth, counts):
    links = Links(must=[(i, i + 1) for i in range(30)], n_samples=31, must_weight=[weight] * 30)
    none = Links(n_samples=31)
    assert weights_of_links([links, none], worth) == pytest.approx([counts, 0])


def test_a_kind_of_link_counts_with_the_root_of_its_number_and_doubted_links_little(
    blobs, labnet, monkeypatch
):
    """What GivenLinks is handed: the links as CluNet trusts them, evened unless as published."""
    X, y = blobs
    links = Links.from_labels(y, 30, random_state=0)
    handed = []
    drawn = clunet_training.GivenLinks

    def note(links, *rest, **named):
        handed.append((links[0], named["evened"]))
        return drawn(links, *rest, **named)

    monkeypatch.setattr(clunet_training, "GivenLinks", note)
    doubts = np.linspace(0, 1, 30)
    learned = LabNetResult(
        labnet.encoder_, labnet.threshold_, labnet.history_, Suspicion.of(links, doubts)
    )
    for worth in (1000, None):
        clunet = CluNet(3, layers=(8, 4), steps=1, **EQUATION_3 | {"labels_worth": worth})
        clunet.set_params(verbose=0)
        rows = Rows(X, (5,))
        replica = CluNetReplica(links, 0, learned, 0)
        train_clunets(clunet, [replica], Pools(clunet, rows), rows, FitRun(None))
    (trusted, evened), (_, as_published) = handed
    weights = np.concatenate([trusted.must_weight, trusted.cannot_weight])
    assert weights == pytest.approx(np.maximum((1 - doubts) ** 4, 1e-3))
    assert (evened, as_published) == (True, False)


def test_clusters_that_labnet_takes_for_one_do_not_vanish(monkeypatch):
    # A cluster then begins with about a third of the rows: this T would take uneven clusters.
    monkeypatch.setattr(representation, "MERGERS", 0)
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = (rng.normal(size=(300, 5)) * 0.5 + np.eye(3, 5)[y] * 1.5).astype(np.float32)
    links = Links.from_labels(y, 40, random_state=0)
    blind = LabNet(threshold=10.0, steps=100)  # every pair is a must-link
    settings = {"labnet": blind, "layers": (32, 16), "random_state": 0, "verbose": 0}
    free = S3C2(3, clunet=CluNet(steps=150, kept_share=0), **settings)
    with pytest.warns(EmptyClustersWarning):
        free.fit(X, links=links)
    kept = S3C2(3, clunet=CluNet(steps=150), **settings).fit(X, links=links)
    assert "vanishing" in kept.history_["clunet"]
    assert "vanishing" not in free.history_["clunet"]
    # It keeps half of that third.
    assert np.bincount(kept.labels_, minlength=3).min() > 0.12 * len(X)


def test_labnet_is_frozen(blobs, blob_links, labnet):
    before = [p.detach().clone() for p in labnet.encoder_.parameters()]
    CluNet(3, layers=(8, 4), steps=3, verbose=0).fit(blobs[0], links=blob_links, labnet=labnet)
    assert all(torch.equal(a, b) for a, b in zip(before, labnet.encoder_.parameters()))


def test_equal_sized_clusters_are_what_threshold_0_asks_for():
    """With every pair a cannot-link the loss is Σ p̂², least for equal shares."""
    n, K = 12, 3
    equal = torch.eye(K).repeat(n // K, 1)
    lopsided = torch.eye(K)[torch.tensor([0] * 8 + [1] * 3 + [2])]
    cannot, weight = torch.zeros(n * n), torch.ones(n * n)

    def loss(p):
        same = losses.same_probability(p[:, None], p[None]).ravel()
        return float(losses.misclassification(same, cannot, weight))

    assert loss(equal) == pytest.approx(1 / K)
    assert loss(lopsided) > loss(equal)


def test_the_restart_of_the_lowest_pair_loss_is_kept(blobs, blob_links, labnet):
    X, _ = blobs
    clunet = CluNet(
        3,
        layers=(32, 8),
        steps=60,
        batch_pairs=60,
        n_restarts=5,
        scale=None,
        random_state=0,
        verbose=0,
    ).fit(X, links=blob_links, labnet=labnet)
    assert clunet.pair_losses_.shape == (5,)
    assert clunet.pair_losses_.max() > clunet.pair_losses_.min()
    judged = labelled_pairs(clunet, labnet, blob_links, X, judged_pairs)
    kept = pair_loss(clunet.network_, Rows(X, (5,)), blob_links, judged)
    assert kept == pytest.approx(clunet.pair_losses_.min())
    clunet.set_params(n_restarts=1).fit(X, links=blob_links, labnet=labnet)
    assert clunet.pair_losses_ is None


def test_diverged_restarts_are_told_and_left_out(blobs, blob_links, labnet, monkeypatch):
    answers = iter([False, True, True])
    monkeypatch.setattr(clunet_training, "converged", lambda history: next(answers))
    clunet = CluNet(3, layers=(8, 4), steps=5, n_restarts=3, random_state=0, verbose=0)
    with pytest.warns(UserWarning, match="1 of 3 CluNets diverged"):
        clunet.fit(blobs[0], links=blob_links, labnet=labnet)
    assert np.isnan(clunet.pair_losses_).tolist() == [True, False, False]


def test_the_pair_loss_is_equation_3(blobs, labnet):
    X, y = blobs
    links = Links.from_labels(y, 30, random_state=0)
    clunet = CluNet(3, layers=(8, 4), steps=5, scale=None, random_state=0, verbose=0)
    clunet.fit(X, links=links, labnet=labnet)
    p = clunet.predict_proba(X).astype(np.float64)
    judged = labelled_pairs(clunet, labnet, links, X, random_pairs(clunet, 200))
    batch = judged.draw(0)
    a, b, same = (one[0].numpy() for one in (batch.a, batch.b, batch.same))
    labelled = np.mean([1 - p[i] @ p[j] if s else p[i] @ p[j] for i, j, s in zip(a, b, same)])
    given = np.mean(
        [1 - p[i] @ p[j] for i, j in links.must] + [p[i] @ p[j] for i, j in links.cannot]
    )
    expected = (100 * given + 1000 * labelled) / 1100
    found = pair_loss(clunet.network_, Rows(X, (5,)), links, judged)
    assert found == pytest.approx(expected, rel=1e-4)


def test_labnet_keeps_its_own_scaling(blobs, blob_links, monkeypatch):
    """CluNet's pairs are labelled from rows as LabNet scales them, whatever CluNet's scale is."""
    X = blobs[0]
    labnet = LabNet(code=False, layers=(64, 16), steps=60, scale="standard", random_state=0)
    labnet.set_params(verbose=0).fit(X, links=blob_links)
    batches, draw = [], LabelledPairs.draw

    def watched(self, step):
        batches.append(draw(self, step))
        return batches[-1]

    monkeypatch.setattr(LabelledPairs, "draw", watched)
    for scale in (None, "unit"):
        clunet = CluNet(3, layers=(8, 4), steps=1, scale=scale, verbose=0)
        clunet.fit(X, links=blob_links, labnet=labnet)
        batch = batches.pop()
        a, b, same = (one[0].numpy() for one in (batch.a, batch.b, batch.same))
        assert (same == labnet.same(X[a], X[b])).mean() > 0.99
    with pytest.raises(ValueError, match="n_clusters=121 with n_samples=120"):
        CluNet(121, verbose=0).fit(X, links=blob_links, labnet=labnet)


@pytest.mark.parametrize("points", [None, 21])
def test_all_pairs_give_the_loss_of_random_pairs_in_expectation(blobs, labnet, points):
    """Without learning, the mean loss of many batches is eq. (3) over all n × n pairs.

    Either way 100 links stand against 1,000 pairs.
    """
    X, y = blobs
    links = Links.from_labels(y, 100, random_state=0)
    clunet = CluNet(
        3, layers=(16, 8), steps=300, learning_rate=0.0, random_state=0, verbose=0,
        **EQUATION_3 | {"batch_points": points},
    ).fit(X, links=links, labnet=labnet)  # fmt: skip
    p = clunet.predict_proba(X).astype(np.float64)
    n = len(X)
    h = labnet.transform(X)
    same = ((h[:, None] - h) ** 2).sum(-1) < 0.3
    for ends, label in ((links.must, True), (links.cannot, False)):
        same[ends[:, 0], ends[:, 1]] = same[ends[:, 1], ends[:, 0]] = label
    same[np.arange(n), np.arange(n)] = True
    terms = np.where(same, 1 - p @ p.T, p @ p.T)
    of_links = np.mean([terms[i, j] for i, j in np.concatenate([links.must, links.cannot])])
    expected = (100 * of_links + 1000 * terms.mean()) / 1100
    loss = clunet.history_["loss"].astype(np.float64)
    assert abs(loss.mean() - expected) < 4 * loss.std() / len(loss) ** 0.5
    assert abs(of_links - terms.mean()) > 0.05  # so that the links' share matters


def own_network():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8))


@pytest.mark.parametrize(
    ("clunet", "kind", "rows", "weight"),
    [
        (CluNet(), AllPairs, 200, 1000),
        (CluNet(batch_points=None), RandomPairs, 2000, 1000),
        (CluNet(batch_points=None, batch_pairs=300), RandomPairs, 600, 300),
        (CluNet(batch_points=7), AllPairs, 7, 1000),
        (CluNet(network="convolutional", batch_points=7, batch_pairs=300), AllPairs, 7, 300),
        (CluNet(network=own_network()), AllPairs, 200, 1000),
        (S3C2(network="convolutional")._stages()[1], AllPairs, 200, 1000),
        (S3C2.as_published(8, network="convolutional")._stages()[1], RandomPairs, 2000, 1000),
        (S3C2.as_published(8)._stages()[1], RandomPairs, 2000, 1000),
    ],
)
def test_pairs_are_all_of_some_rows(clunet, kind, rows, weight):
    """Unless random pairs are asked for, as the paper does; either way they weigh as much."""
    pairs = random_pairs(clunet, clunet._training(500).pairs)(500, [0], CPU)
    assert isinstance(pairs, kind)
    assert float(pairs.draw(0).weight.sum()) == pytest.approx(weight, rel=1e-5)


def test_a_step_takes_200_rows_beside_the_links(monkeypatch):
    images = np.random.default_rng(0).random((150, 8, 8), dtype=np.float32)
    links = Links.from_labels(np.arange(150) % 2, 60, random_state=0)
    settings = {"network": "convolutional", "batch_links": 20, "verbose": 0, "random_state": 0}
    labnet = LabNet(code=False, steps=1, **settings).fit(images, links=links)
    taken, take = [], Rows.take_replicas
    monkeypatch.setattr(
        Rows, "take_replicas", lambda self, i: taken.append(i.shape) or take(self, i)
    )
    for given in ({}, {"batch_points": None, "batch_pairs": 30}):
        given |= {"start": "random", "smoothing": 0}
        CluNet(2, steps=1, **settings, **given).fit(images, links=links, labnet=labnet)
    assert taken == [(1, 40 + 200), (1, 40 + 60)]


def test_all_pairs_find_the_groups_too(blobs, blob_links, labnet):
    X, y = blobs
    clunet = CluNet(3, layers=(64, 16), steps=200, batch_points=24, random_state=0, verbose=0)
    clunet.fit(X, links=blob_links, labnet=labnet)
    same = clunet.labels_[:, None] == clunet.labels_
    assert (same == (y[:, None] == y)).mean() > 0.9
