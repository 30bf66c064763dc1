"""The baselines that are CluNet's network and batch with a loss of their own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from s3c2 import Links, fit_many
from s3c2.baselines import DCPR, DGraph
from s3c2.baselines.dcpr import likelihood_and_entropy
from s3c2.baselines.pair_methods import Replica
from s3c2.engine import scheduling
from s3c2.engine.rows import Rows
from s3c2.pairs import Ends, PairBatch, RandomPairs

SMALL = {"layers": (32, 16), "batch_links": 16, "batch_pairs": 16, "steps": 30, "verbose": 0}
OWN = {DGraph: {"n_neighbors": 5}, DCPR: {}}


def step_loss(model, X, links):
    """The loss of the first step as the model has it, without dropout or learning."""
    model.set_params(dropout=0.0, steps=1, learning_rate=0.0).fit(X, links=links)
    pairs = RandomPairs(len(X), model.batch_pairs, [0]).draw(0)
    p = model.predict_proba(X).astype(np.float64)
    return float(model.history_["loss"][0]), p, pairs.a[0].numpy(), pairs.b[0].numpy()


def test_dgraph_takes_the_closest_pairs_for_must_links(blobs):
    X, y = blobs
    links = Links.from_labels(y, 30, random_state=0)
    model = DGraph(
        3, n_neighbors=7, layers=(8, 4), batch_pairs=40, scale=None, random_state=0, verbose=0
    )
    loss, p, a, b = step_loss(model, X, links)
    given = {frozenset(pair): True for pair in links.must.tolist()}
    given |= {frozenset(pair): False for pair in links.cannot.tolist()}
    d2 = ((X[a] - X[b]) ** 2).sum(1)
    terms = [1 - p[i] @ p[j] for i, j in links.must] + [p[i] @ p[j] for i, j in links.cannot]
    for number, (i, j) in enumerate(zip(a.tolist(), b.tolist())):
        near = i == j or given.get(frozenset((i, j)), number in np.argsort(d2)[:7])
        terms.append(1 - p[i] @ p[j] if near else p[i] @ p[j])
    assert loss == pytest.approx(np.mean(terms), rel=1e-5)


def test_dcpr_is_the_likelihood_of_links_and_the_entropies_of_the_batch(blobs):
    X, y = blobs
    links = Links.from_labels(y, 30, random_state=0)
    model = DCPR(
        3, entropy_weight=0.7, layers=(8, 4), batch_links=30, batch_pairs=40, random_state=0,
        verbose=0,
    )  # fmt: skip
    loss, p, a, b = step_loss(model, X, links)
    likelihood = np.mean(
        [-np.log(p[i] @ p[j]) for i, j in links.must]
        + [-np.log(1 - p[i] @ p[j]) for i, j in links.cannot]
    )
    in_batch = p[np.concatenate([links.must.ravel(), links.cannot.ravel(), a, b])]
    conditional = -(in_batch * np.log(in_batch)).sum(1).mean()
    share = in_batch.mean(0)
    entropy = -(share * np.log(share)).sum()
    assert loss == pytest.approx(likelihood + 0.7 * (conditional - entropy), rel=1e-5)
    assert model.history_["entropy"][0] == pytest.approx(entropy, rel=1e-5)


def test_dcpr_clips_posteriors_before_anything_is_made_of_them():
    """As its script does: two rows that are sure of one cluster are not quite sure to share it."""
    sure = torch.tensor([[[1.0, 0.0]], [[0.6, 0.4]]]).transpose(0, 1)  # (1, 2 rows, 2)
    links = PairBatch(
        *(torch.zeros(1, 2, dtype=torch.int64),) * 2, torch.ones(1, 2), torch.ones(1, 2)
    )
    objective = likelihood_and_entropy([Replica(DCPR(2), None, 0)], Rows(np.zeros((2, 3)), (3,)))
    found = objective([links], [Ends((None, None), (sure, sure))])
    p = np.array([[0.999, 0.001], [0.6, 0.4]])
    assert float(found["likelihood"]) == pytest.approx(-np.log((p * p).sum(1)).mean(), rel=1e-5)
    share = p.mean(0)
    assert float(found["entropy"]) == pytest.approx(-(share * np.log(share)).sum(), rel=1e-5)


@pytest.mark.parametrize("baseline", OWN)
def test_replicas_of_a_grid_are_those_alone(blobs, baseline):
    """Bit for bit, in one stack; also where they differ in the baseline's own parameter."""
    X, y = blobs
    other = {DGraph: {"n_neighbors": 9}, DCPR: {"entropy_weight": 0.1}}[baseline]
    grid = [
        (baseline(3, random_state=i, **{**SMALL, **OWN[baseline], **own}),
         Links.from_labels(y, n, random_state=i))
        for i, (n, own) in enumerate(itertools.product((10, 33, 80), ({}, other)))
    ]  # fmt: skip
    for (model, links), fitted in zip(grid, fit_many(X, grid)):
        alone = clone(model).fit(X, links=links)
        assert (fitted.predict_proba(X) == alone.predict_proba(X)).all()
        assert (fitted.labels_ == alone.labels_).all()
        assert (fitted.history_["loss"] == alone.history_["loss"]).all()
        assert not hasattr(model, "labels_")


@pytest.mark.parametrize("baseline", OWN)
def test_a_grid_is_one_stack(blobs, blob_links, baseline, monkeypatch):
    real, sizes = scheduling.train, []

    def watched(task, run):
        sizes.append(len(task.steps))
        return real(task, run)

    monkeypatch.setattr(scheduling, "train", watched)
    model = baseline(3, **{**SMALL, **OWN[baseline]}, random_state=0)
    fit_many(blobs[0], [(clone(model), blob_links) for _ in range(6)])
    assert sizes == [6]


def test_more_neighbors_than_pairs_are_refused(blobs, blob_links):
    with pytest.raises(ValueError, match=r"'n_neighbors' parameter of DGraph .* \[1, 16\]"):
        DGraph(3, **SMALL).fit(blobs[0], links=blob_links)


def test_convolutional_on_images():
    from sklearn.datasets import load_digits

    data = load_digits(n_class=2)
    links = Links.from_labels(data.target, 100, random_state=0)
    for baseline in OWN:
        model = baseline(
            2, network="convolutional", scale="unit", steps=30, batch_pairs=60, dropout=0.1,
            random_state=0, verbose=0,
        ).fit(data.images, links=links)  # fmt: skip
        assert adjusted_rand_score(data.target, model.labels_) > 0.9
        assert next(model.network_.parameters()).ndim == 4


def test_products_in_bf16_are_left_to_gpus(blobs, blob_links):
    model = DGraph(3, **{**SMALL, **OWN[DGraph]}, random_state=0, device="cpu")
    one = clone(model).fit(blobs[0], links=blob_links)
    two = clone(model).set_params(precision="bf16").fit(blobs[0], links=blob_links)
    assert torch.equal(one.network_[1].weight, two.network_[1].weight)
