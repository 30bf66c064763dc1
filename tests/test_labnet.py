"""LabNet by itself: a pair verifier."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.datasets import load_digits
from torch import nn

from s3c2 import S3C2, LabNet, Links, labnet_training
from s3c2.engine.dropout import Dropout
from s3c2.engine.rows import Rows
from s3c2.errors import StorageError
from s3c2.prior import find_neighbours

QUICK = {
    "code": False, "layers": (64, 16), "steps": 80, "learning_rate": 2e-3, "random_state": 0,
    "verbose": 0,
}  # fmt: skip
LINKS_ALONE = {"neighbors": 0, "smoothing": 0}


@pytest.fixture(scope="module")
def fitted(blobs, blob_links):
    return LabNet(scale="standard", **QUICK).fit(blobs[0], links=blob_links)


@pytest.fixture(scope="module")
def digits():
    data = load_digits(n_class=4)
    return data.images / 16, data.target


def test_unseen_pairs_are_labelled(fitted, blobs):
    rates = fitted.rates(Links.from_labels(blobs[1], 1000, random_state=5), blobs[0])
    assert min(rates.accuracy, rates.ml_rate, rates.cl_rate) > 0.95


def test_rates_are_the_papers(fitted, blobs):
    X, y = blobs
    links = Links.from_labels(y, 100, random_state=5)
    h = fitted.transform(X).astype(np.float64)
    for T in (0.001, 0.3, 0.9):
        rates = fitted.rates(links, X, threshold=T)
        must = [((h[a] - h[b]) ** 2).sum() < T for a, b in links.must]
        cannot = [((h[a] - h[b]) ** 2).sum() >= T for a, b in links.cannot]
        assert rates.ml_rate == np.mean(must)
        assert rates.cl_rate == np.mean(cannot)
        assert rates.accuracy == np.mean(must + cannot)


def test_a_rate_of_no_pairs_is_nan(fitted, blobs):
    rates = fitted.rates(Links(must=[(0, 1)], n_samples=120), blobs[0])
    assert np.isnan(rates.cl_rate)
    assert np.isfinite(rates.accuracy)


def test_distance_and_same_agree_with_the_threshold(fitted, blobs):
    X, y = blobs
    a, b = X[:60], X[60:]
    d2 = fitted.distance(a, b)
    assert (fitted.same(a, b) == (d2 < 0.3)).all()
    assert (fitted.same(a, b) == (y[:60] == y[60:])).mean() > 0.95
    assert (fitted.distance(X, X) == 0).all()
    with pytest.raises(ValueError, match="X_a has 60 rows and X_b 59"):
        fitted.distance(a, b[1:])


@pytest.mark.parametrize("semi_supervised", [False, True])
@pytest.mark.parametrize("network", ["dense", "convolutional"])
def test_every_combination_learns_digits(digits, network, semi_supervised):
    X, y = digits
    links = Links.from_labels(y, 300, random_state=0)
    labnet = LabNet.as_published(network, semi_supervised, dropout=0.1).set_params(
        layers=(64, 32), steps=120, batch_links=50, batch_pairs=20, reconstruction_weight=0.005,
        random_state=0, verbose=0,
    ).fit(X, links=links)  # fmt: skip
    assert labnet.rates(Links.from_labels(y, 1000, random_state=5), X).accuracy > 0.85
    assert ("reconstruction" in labnet.history_) == semi_supervised
    if semi_supervised:
        errors = labnet.history_["reconstruction"]
        assert errors[-20:].mean() < 0.9 * errors[:5].mean()


def test_semi_supervised_loss_is_equation_2(blobs, blob_links):
    """The first step's loss from the fitted networks' starting weights, term by term."""
    X = blobs[0]
    kept = {}

    def keep(step):
        kept.setdefault("terms", {k: float(v) for k, v in step.terms.items()})

    once = {**QUICK, **LINKS_ALONE, "steps": 1, "scale": None, "semi_supervised": True}
    LabNet(callbacks=keep, **once).fit(X, links=blob_links)
    terms = kept["terms"]
    assert terms["loss"] == pytest.approx(terms["contrastive"] + 0.05 * terms["reconstruction"])
    # A network with small weights reconstructs near 0, so a pair costs about 2·E‖x‖².
    assert terms["reconstruction"] == pytest.approx(2 * (X**2).sum(1).mean(), rel=0.35)
    kept.clear()
    LabNet(callbacks=keep, reconstruction="mean", **once).fit(X, links=blob_links)
    assert kept["terms"]["reconstruction"] == pytest.approx(terms["reconstruction"] / 5, rel=1e-5)


def test_the_scripts_output_on_reuters_is_a_softmax_and_a_penalty_on_hidden_weights(
    blobs, blob_links
):
    X, _ = blobs
    alone = {**QUICK, **LINKS_ALONE, "scale": None, "output": "softmax"}
    labnet = LabNet(**{**alone, "layers": (6, 5, 4), "steps": 1, "learning_rate": 0.0}, l1=0.01)
    labnet.fit(X, links=blob_links)
    h = labnet.transform(X)
    assert np.allclose(h.sum(1), 1, atol=1e-5)
    hidden = [layer.weight for layer in labnet.encoder_ if isinstance(layer, nn.Linear)][:-1]
    total = sum(float(weight.detach().abs().sum()) for weight in hidden)
    history = {name: float(values[0]) for name, values in labnet.history_.items()}
    assert history["weights"] == pytest.approx(total, rel=1e-5)
    assert history["loss"] == pytest.approx(history["contrastive"] + 0.01 * total, rel=1e-5)
    # The penalty drives most hidden weights to nothing, the output's are free.
    labnet = LabNet(**{**alone, "optimizer": "rmsprop"}, l1=0.01).fit(X, links=blob_links)
    first, last = (np.abs(labnet.encoder_[i].weight.detach().numpy()).mean() for i in (1, -2))
    assert first < 0.5 * last
    loaded = pickle.loads(pickle.dumps(labnet))
    assert (loaded.transform(X) == labnet.transform(X)).all()


def test_lengths(blobs):
    X, y = blobs
    links = Links.from_labels(y, 300, random_state=0)

    def n_steps(labnet):
        labnet.set_params(layers=(8, 4), random_state=0, verbose=0)
        return len(labnet.fit(X, links=links).history_["loss"])

    # 100 epochs of two batches (256 and 44 links); semi-supervised, of six batches of 50.
    assert n_steps(LabNet.as_published()) == 200
    assert n_steps(LabNet.as_published(semi_supervised=True)) == 600
    assert n_steps(LabNet(code=False, epochs=3)) == 15  # five batches of 64 links at most
    assert n_steps(LabNet(code=False, epochs=3, steps=5)) == 5


@pytest.mark.parametrize(
    ("n_links", "given", "size"),
    [(0, None, 1), (20, None, 20), (500, None, 64), (2000, None, 125), (9000, None, 256),
     (9000, 300, 300)],
)  # fmt: skip
def test_a_batch_holds_a_sixteenth_of_the_links(n_links, given, size):
    """64 at least, if there are as many, and 256 at most."""
    y = np.arange(400) % 3
    links = (
        Links.from_labels(y, n_links, random_state=0)
        if n_links
        else Links(must=[], cannot=[], n_samples=400)
    )
    rows = Rows(np.zeros((400, 2), np.float32), (2,))
    prior = find_neighbours(rows, 3)
    replica = labnet_training.LabNetReplica(links, 0, 0.0)
    assert labnet_training._links_in_batch(LabNet(batch_links=given), replica, rows, prior) == size


def test_texts_have_dropout_in_labnet_and_tables_have_none(tmp_path):
    rng = np.random.default_rng(0)
    counts = scipy.sparse.csr_array(rng.poisson(0.05, size=(60, 300)).astype(np.float32))
    table = rng.normal(size=(60, 4)).astype(np.float32)
    rates = {}
    for name, X in (("texts", counts), ("table", table)):
        labnet = LabNet(code=False, steps=3, layers=(8, 4), random_state=0, verbose=0)
        labnet.fit(X, links=Links.from_labels(np.arange(60) % 3, 20, random_state=0))
        found = [one.rate for one in labnet.encoder_.modules() if isinstance(one, Dropout)]
        rates[name] = (labnet.scale_, found)
        labnet.save(tmp_path / name)
        assert repr(LabNet.load(tmp_path / name).encoder_) == repr(labnet.encoder_)
    assert rates == {"texts": ("topics", [0.3]), "table": ("robust", [0.0])}
    alone = LabNet(neighbors=0, steps=3, layers=(8, 4), random_state=0, verbose=0)
    alone.fit(counts, links=Links.from_labels(np.arange(60) % 3, 20, random_state=0))
    assert {one.rate for one in alone.encoder_.modules() if isinstance(one, Dropout)} == {0.0}


def test_own_encoder_and_decoder(blobs, blob_links):
    own = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(5, 32), nn.ReLU(), nn.Dropout(0.1),
                        nn.Linear(32, 8))  # fmt: skip
    decoder = nn.Linear(8, 5)
    start = own[1].weight.detach().clone()
    before = blobs[0].copy()
    quick = {k: v for k, v in QUICK.items() if k != "layers"}
    one, two = (
        LabNet(network=own, decoder=decoder, semi_supervised=True, **quick).fit(
            blobs[0], links=blob_links
        )
        for _ in range(2)
    )
    assert torch.equal(own[1].weight, start)  # the caller's module is not trained
    assert (blobs[0] == before).all()  # and an in-place layer does not reach the caller's X
    assert (one.transform(blobs[0]) == two.transform(blobs[0])).all()
    assert one.transform(blobs[0]).shape == (120, 8)


def test_own_decoder_with_random_layers_repeats_itself(blobs, blob_links):
    decoder = nn.Sequential(nn.Dropout(0.5), nn.Linear(16, 5))
    losses = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        labnet = LabNet(decoder=decoder, semi_supervised=True, **QUICK)
        losses.append(labnet.fit(blobs[0], links=blob_links).history_["loss"])
    assert (losses[0] == losses[1]).all()


def test_copies_give_the_same_and_none_carries_the_data(fitted, blobs, blob_links):
    X = blobs[0]
    for copied in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert (copied.transform(X) == fitted.transform(X)).all()
    links = Links(must=blob_links.must, cannot=blob_links.cannot, n_samples=6000)
    of_more = LabNet(scale="standard", **QUICK).fit(np.tile(X, (50, 1)), links=links)
    sizes = [len(pickle.dumps(one)) for one in (fitted, of_more)]
    assert abs(sizes[1] - sizes[0]) < 500


def test_save_and_load(fitted, blobs, tmp_path):
    X, y = blobs
    fitted.save(tmp_path / "labnet")
    loaded = LabNet.load(tmp_path / "labnet")
    assert (loaded.transform(X) == fitted.transform(X)).all()
    links = Links.from_labels(y, 100, random_state=5)
    assert loaded.rates(links, X) == fitted.rates(links, X)
    with pytest.raises(StorageError, match="holds a model of LabNet, not of S3C2"):
        S3C2.load(tmp_path / "labnet")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"network": "recurrent"}, "'network' parameter of LabNet must be one of 'auto', 'dense'"),
        ({"dropout": 1.5}, r"'dropout' .* range \[0, 0.99\]. Got 1.5"),
        ({"threshold": -1}, "'threshold' .* Got -1"),
        ({"steps": 2.5}, "'steps' .* must be an int .* Got 2.5"),
        ({"optimizer": "sgd"}, "'optimizer' .* 'adam'"),
        ({"scale": "rank"}, "'scale' .* 'standard', 'unit'"),
        ({"device": "tpu-9"}, "'device' parameter is 'tpu-9'"),
        ({"callbacks": [3]}, "'callbacks' parameter"),
    ],
)
def test_bad_parameters(blobs, blob_links, given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        LabNet(**{**QUICK, **given}).fit(blobs[0], links=blob_links)
