"""X as it is: what a fit chooses for each kind of input, and that new rows are treated alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links, fit_many
from s3c2.baselines import DCPR, IDEC, DGraph, NNClustering
from s3c2.errors import DataError

RNG = np.random.default_rng(0)
N = 90
Y = RNG.permutation(np.arange(N) % 3)
LINKS = Links.from_labels(Y, 80, random_state=0)
WORDS = RNG.random((3, 300)) < 0.1
COUNTS = RNG.poisson(0.02 + 0.5 * WORDS[Y])
TFIDF = COUNTS / np.maximum(np.linalg.norm(COUNTS, axis=1, keepdims=True), 1)
BRIGHT = RNG.random((3, 8, 8)) + RNG.random((3, 8, 8)) > 1
GREY = np.clip(200 * BRIGHT[Y] + 120 * RNG.normal(size=(N, 8, 8)), 0, 255).astype(np.uint8)
COLOUR = np.stack([GREY, 255 - GREY, GREY // 2], axis=1)
RAW = np.exp(RNG.normal(size=(N, 5)) + 3 * np.eye(3, 5)[Y]) * 10.0 ** np.arange(-4, 6, 2)
INPUTS = {
    "columns of their own scale": (RAW, "robust", "dense"),
    "pixels in a table": (GREY.reshape(N, -1), "together", "dense"),
    "counts": (COUNTS, "topics", "dense"),
    "sparse counts": (sparse.csr_matrix(COUNTS), "topics", "dense"),
    "tf-idf": (sparse.csr_array(TFIDF), "topics", "dense"),
    "grey images": (GREY, "together", "convolutional"),
    "colour images": (COLOUR, "together", "convolutional"),
    "colours last": (np.moveaxis(COLOUR, 1, -1), "together", "convolutional"),
    "a tensor": (torch.from_numpy(COLOUR), "together", "convolutional"),
    "tiny images": (GREY[:, :3, :3], "together", "dense"),
}


def model(steps=2, **changes):
    settings = {"layers": (32, 8), "random_state": 0, "verbose": 0} | changes
    labnet = LabNet(code=False, steps=steps, dropout=0.0)
    clunet = CluNet(steps=steps, dropout=0.0, batch_links=50, batch_pairs=50)
    return S3C2(3, labnet=labnet, clunet=clunet, **settings)


@pytest.mark.filterwarnings("ignore::s3c2.errors.EmptyClustersWarning")
@pytest.mark.parametrize("kind", INPUTS)
class TestEveryInput:
    def test_the_choice_is_told_and_parameters_stay(self, kind):
        X, scale, network = INPUTS[kind]
        given = model()
        fitted = clone(given).fit(X, links=LINKS)
        assert (fitted.scale_, fitted.network_kind_) == (scale, network)
        for stage in (fitted.labnet_, fitted.clunet_):
            assert (stage.scale_, stage.network_kind_) == (scale, network)
        assert fitted._flat_params() == given._flat_params()
        assert fitted.network == fitted.scale == "auto"
        convolutions = any(isinstance(one, nn.Conv2d) for one in fitted.network_.modules())
        assert convolutions == (network == "convolutional")

    def test_a_loaded_model_is_the_saved_one(self, kind, tmp_path):
        X, scale, network = INPUTS[kind]
        fitted = model().fit(X, links=LINKS)
        fitted.save(tmp_path)
        loaded = S3C2.load(tmp_path)
        assert (loaded.scale_, loaded.network_kind_) == (scale, network)
        assert (loaded.predict_proba(X) == fitted.predict_proba(X)).all()
        assert (loaded.transform(X) == fitted.transform(X)).all()
        assert loaded.n_features_in_ == fitted.n_features_in_

    def test_new_rows_are_scaled_as_those_of_fit(self, kind):
        """A row gives the same alone and among rows of another size."""
        X, _, _ = INPUTS[kind]
        fitted = model().fit(X, links=LINKS)
        assert (fitted.predict(X) == fitted.labels_).all()
        few = [5, 3, 3]
        assert (fitted.predict_proba(X[few]) == fitted.predict_proba(X)[few]).all()


@pytest.mark.parametrize("kind", ["columns of their own scale", "pixels in a table", "tf-idf"])
def test_it_learns(kind):
    X, _, _ = INPUTS[kind]
    fitted = model(steps=150).fit(X, links=LINKS)
    assert fitted.score(X, links=Links.from_labels(Y, 500, random_state=1)) > 0.8


KINDS = [S3C2, LabNet, CluNet, DGraph, DCPR, NNClustering, IDEC]


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_of_every_estimator(kind):
    assert kind().network == "auto"
    assert kind().scale == ("rms" if kind is IDEC else "auto")  # its rates are for such rows


@pytest.mark.parametrize("kind", [DGraph, DCPR, NNClustering, IDEC])
@pytest.mark.filterwarnings("ignore::s3c2.errors.EmptyClustersWarning")
def test_baselines_choose_too(kind, tmp_path):
    short = {"epochs": 1, "layer_epochs": 1, "whole_epochs": 1, "n_init": 1}
    given = short if kind is IDEC else {"steps": 2}
    for X, network in ((COUNTS, "dense"), (GREY, "convolutional")):
        fitted = kind(3, scale="auto", layers=(8, 4), random_state=0, verbose=0, **given)
        fitted.fit(X, links=LINKS).save(tmp_path / network)
        assert fitted.network_kind_ == network
        loaded = kind.load(tmp_path / network)
        assert (loaded.predict_proba(X) == fitted.predict_proba(X)).all()


def test_stages_alone_choose_too():
    settings = {"steps": 2, "layers": (8, 4), "random_state": 0, "verbose": 0}
    labnet = LabNet(code=False, **settings).fit(GREY, links=LINKS)
    clunet = CluNet(3, **settings).fit(GREY, links=LINKS, labnet=labnet)
    assert labnet.network_kind_ == clunet.network_kind_ == "convolutional"
    assert labnet.network == clunet.network == "auto"
    assert labnet.transform(GREY).shape == (N, 128)
    of_topics = LabNet(code=False, **settings).fit(COUNTS, links=LINKS)
    topics = CluNet(3, **settings).fit(COUNTS, links=LINKS, labnet=of_topics)
    assert topics.scale_ == "topics"


def test_a_grid_is_its_models_one_by_one():
    grid = [(model(random_state=seed), LINKS) for seed in (0, 1)]
    for X in (COUNTS, GREY):
        for one, (alone, links) in zip(fit_many(X, grid), grid):
            assert one.network == "auto"
            expected = clone(alone).fit(X, links=links)
            assert (one.predict_proba(X) == expected.predict_proba(X)).all()


def test_sparse_and_dense_have_the_same_labels():
    stored_zeros = sparse.csr_matrix(TFIDF)
    stored_zeros.data[:50] = 0
    dense = model(steps=30).fit(stored_zeros.toarray(), links=LINKS)
    labels = model(steps=30).fit(stored_zeros, links=LINKS).predict_proba(stored_zeros)
    assert (labels == dense.predict_proba(stored_zeros.toarray())).all()
    raw = model(steps=30).fit(sparse.csr_matrix(RAW), links=LINKS)
    assert (raw.labels_ == model(steps=30).fit(RAW, links=LINKS).labels_).all()


def test_colours_may_stand_first_or_last():
    last = np.moveaxis(COLOUR, 1, -1)
    one, two = model().fit(COLOUR, links=LINKS), model().fit(last, links=LINKS)
    assert (one.predict_proba(last) == two.predict_proba(COLOUR)).all()
    assert (one.predict(list(last[:5])) == one.labels_[:5]).all()
    assert one.reading_.input_shape == two.reading_.input_shape == (3, 8, 8)
    with pytest.raises((DataError, ValueError), match="8"):
        one.predict(last[:, :, :7])


def test_a_named_network_is_taken():
    dense = model(network="dense").fit(GREY, links=LINKS)
    assert dense.network_kind_ == "dense"
    for network in (nn.Sequential(nn.Flatten(), nn.Linear(64, 8)), nn.Linear(8, 4)):
        own = model(network=network).fit(GREY, links=LINKS)
        assert own.network_kind_ == "own"
        assert np.array_equal(own.predict(GREY), own.labels_)
    with pytest.raises(DataError, match="needs images of at least 4 × 4"):
        model(network="convolutional").fit(GREY[:, :3, :3], links=LINKS)


def test_an_outlier_changes_no_label_of_the_others():
    X = RNG.normal(size=(N, 5)) * 0.3 + np.eye(3, 5)[Y] * 3
    outlier = X.copy()
    outlier[0, 3] = 1e6
    links = LINKS.restrict(np.arange(1, N))
    links = Links(must=links.must + 1, cannot=links.cannot + 1, n_samples=N)
    usual, other = (model(steps=150).fit(rows, links=links).labels_[1:] for rows in (X, outlier))
    assert ((usual[:, None] == usual) == (other[:, None] == other)).all()


class TestWords:
    """What ``fit`` says of its choices."""

    @pytest.mark.parametrize(
        ("X", "words"),
        [
            (RAW, "scale: robust (columns of their own scale); network: dense\n"),
            (COUNTS, "scale: topics (nearly only zeros, 300 columns); network: dense\n"),
            (GREY, "scale: together (images); network: convolutional\n"),
            (
                GREY[:, :3, :3],
                "scale: together (images); network: dense (images of 3 × 3 are too small for "
                "convolutions)\n",
            ),
        ],
    )
    def test_both_choices_in_one_line(self, X, words, capsys):
        model(verbose=1).fit(X, links=LINKS)
        assert capsys.readouterr() == ("", words)
        model(verbose=0).fit(X, links=LINKS)
        assert capsys.readouterr() == ("", "")

    def test_only_what_was_left_open(self, capsys):
        model(verbose=1, scale=None).fit(COUNTS, links=LINKS)
        assert capsys.readouterr().err == "network: dense\n"
        model(verbose=1, scale="unit", network="dense").fit(GREY, links=LINKS)
        assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("ignore::s3c2.errors.EmptyClustersWarning")
class TestPoorInput:
    @pytest.mark.parametrize(
        "X",
        [
            np.zeros((N, 4)), np.full((N, 300), 7), np.zeros((N, 300)), np.zeros((N, 8, 8)),
            np.column_stack([RAW, np.ones(N)]), np.repeat(COUNTS[:1], N, axis=0),
            np.where(np.arange(N)[:, None] < 9, 0, COUNTS), RNG.integers(-9, 9, (N, 3)) * 10**12,
            RAW * 1e-30, np.full((N, 2), 3e38) * np.sign(RNG.normal(size=(N, 2))), RAW > 1,
            sparse.csr_matrix((N, 300)), RNG.normal(size=(N, 1)),
        ],
    )  # fmt: skip
    def test_constant_empty_and_extreme_numbers(self, X):
        assert np.isfinite(model().fit(X, links=LINKS).predict_proba(X)).all()

    @pytest.mark.parametrize("X", [RAW, COUNTS, sparse.csr_matrix(COUNTS), GREY])
    @pytest.mark.parametrize("n", [3, 5])
    def test_few_rows(self, X, n):
        links = Links(must=[(0, 1)], cannot=[(0, 2)], n_samples=n)
        assert np.isfinite(model().fit(X[:n], links=links).predict_proba(X)).all()

    @pytest.mark.parametrize("kind", ["columns of their own scale", "tf-idf", "grey images"])
    def test_nan_is_named(self, kind):
        X = INPUTS[kind][0].astype(float)
        fitted = model().fit(X, links=LINKS)
        if sparse.issparse(X):
            X.data[-1] = np.nan
        else:
            X[(N - 1,) + (2,) * (X.ndim - 1)] = np.nan
        for method in (fitted.predict, lambda rows: model().fit(rows, links=LINKS)):
            with pytest.raises(DataError, match=f"NaN at row {N - 1}"):
                method(X)


class TestAsPublished:
    @pytest.mark.parametrize("network", ["dense", "convolutional"])
    def test_nothing_is_chosen(self, network):
        for one in (
            S3C2.as_published(3, network=network),
            LabNet.as_published(network),
            CluNet.as_published(network),
        ):
            assert (one.scale, one.network) == (None, network)

    def test_its_stages_take_what_the_whole_says(self):
        S3C2.as_published(3, scale="standard", network="convolutional")._check_parameters()
        S3C2.as_published(3).set_params(scale="auto", network="auto")._check_parameters()


@pytest.mark.filterwarnings("ignore::s3c2.errors.EmptyClustersWarning")
def test_images_in_lists_are_images():
    X = np.moveaxis(COLOUR, 1, -1)  # colours last
    expected = model().fit(X, links=LINKS)
    for given in (list(X), X.tolist(), list(torch.from_numpy(X))):
        fitted = model().fit(given, links=LINKS)
        assert (fitted.network_kind_, fitted.reading_.input_shape) == ("convolutional", (3, 8, 8))
        assert (fitted.labels_ == expected.labels_).all()
        assert (expected.predict(given) == expected.labels_).all()


@pytest.mark.filterwarnings("ignore::s3c2.errors.EmptyClustersWarning")
def test_tensors_that_numpy_does_not_know():
    X = torch.from_numpy(RAW).bfloat16()
    fitted = model().fit(X, links=LINKS)
    assert (fitted.predict(X.float().to_sparse()) == fitted.labels_).all()


@pytest.mark.filterwarnings("ignore::s3c2.errors.EmptyClustersWarning")
def test_images_of_another_shape_are_told_by_their_shape():
    fitted = model().fit(COLOUR, links=LINKS)
    for wrong in (COLOUR.reshape(N, -1), COLOUR[0], GREY):
        with pytest.raises(DataError, match=r"was fitted on rows of shape \(3, 8, 8\)"):
            fitted.predict(wrong)


def test_two_columns_of_one_name_are_named():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(RAW[:, :3], columns=["width", "height", "width"])
    with pytest.raises(DataError, match="Two columns of X are named 'width'"):
        model().fit(X, links=LINKS)


@pytest.mark.filterwarnings("ignore::s3c2.errors.EmptyClustersWarning")
def test_numbers_far_beyond_those_of_fit_get_no_result():
    fitted = model(scale="standard").fit(RAW / RAW.max(0), links=LINKS)
    X = RAW / RAW.max(0)
    X[4, 2] = -3.4e38  # stands for a missing number in many files
    for ask in (fitted.predict, fitted.predict_proba, fitted.transform):
        with pytest.raises(DataError, match="no result for row 4 of X"):
            ask(X)
        ask(X[:4])
