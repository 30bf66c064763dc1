"""S3C2 as its users meet it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links, labnet_training, published
from s3c2.engine.dropout import Dropout
from s3c2.errors import (
    ContradictoryLinksError,
    DataError,
    EmptyClustersWarning,
    LinksError,
    LinksWarning,
)


@pytest.fixture(scope="module")
def fitted(blobs, blob_links):
    model = S3C2(
        3, labnet=LabNet(code=False, steps=30, learning_rate=5e-3),
        clunet=CluNet(steps=40, batch_pairs=60, learning_rate=5e-3), layers=(128, 16),
        scale="standard", random_state=0, verbose=0,
    )  # fmt: skip
    return model.fit(blobs[0], links=blob_links)


class TestFit:
    def test_finds_the_groups(self, fitted, blobs, blob_links):
        X, y = blobs
        assert adjusted_rand_score(y, fitted.labels_) > 0.95
        assert (fitted.predict(X) == fitted.labels_).all()
        assert fitted.score(X, links=blob_links) == 1.0
        assert fitted.n_features_in_ == 5
        assert fitted.transform(X).shape == (120, 16)
        assert list(fitted.get_feature_names_out()[:2]) == ["s3c20", "s3c21"]
        assert len(fitted.history_["labnet"]["loss"]) == 30
        assert len(fitted.history_["clunet"]["loss"]) == 40

    def test_posteriors(self, fitted, blobs):
        p = fitted.predict_proba(blobs[0])
        assert p.shape == (120, 3)
        assert np.allclose(p.sum(1), 1)
        assert (p.argmax(1) == fitted.labels_).all()

    def test_same_seed_same_labels_and_other_seed_other_weights(self, fitted, blobs, blob_links):
        again = clone(fitted).fit(blobs[0], links=blob_links)
        assert (again.predict_proba(blobs[0]) == fitted.predict_proba(blobs[0])).all()
        other = clone(fitted).set_params(random_state=1).fit(blobs[0], links=blob_links)
        assert (other.transform(blobs[0]) != fitted.transform(blobs[0])).any()

    def test_the_callers_generators_and_data_are_untouched(self, blobs, blob_links, small):
        X = blobs[0].copy()
        np.random.seed(3)
        torch.manual_seed(3)
        numpy_state = np.random.get_state()[1].copy()
        torch_state = torch.random.get_rng_state()
        own = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5))
        for network, seed in (("dense", None), (own, 0)):
            torch.random.set_rng_state(torch_state)
            S3C2(3, **{**small, "random_state": seed, "network": network}).fit(X, links=blob_links)
            assert (np.random.get_state()[1] == numpy_state).all()
            assert torch.equal(torch.random.get_rng_state(), torch_state)
        assert (blobs[0] == X).all()

    def test_links_are_used_as_given_never_their_closure(self, blobs, small):
        X, y = blobs
        members = np.flatnonzero(y == 0)
        chain = np.column_stack([members[:-1], members[1:]])
        cannot = [(members[0], np.flatnonzero(y == 1)[0])]
        links = Links(must=chain, cannot=cannot, n_samples=len(X))
        sizes = []

        def note(step):
            sizes.append(step.steps)

        model = S3C2(2, **small, callbacks=note).set_params(labnet__steps=None, labnet__epochs=2)
        model.fit(X, links=links)
        assert sizes[0] == 2  # 40 links are one batch an epoch; their closure would be four

    def test_weights_matter(self, blobs, small):
        """Wrong links of little weight are outvoted by right ones."""
        X, y = blobs
        right = Links.from_labels(y, 120, random_state=0)
        wrong = Links.from_labels(np.random.default_rng(0).permutation(y), 60, random_state=1)
        pairs = {
            "must": np.concatenate([right.must, wrong.must]),
            "cannot": np.concatenate([right.cannot, wrong.cannot]),
            "n_samples": 120,
        }
        weight = np.r_[np.ones(60), np.full(30, 1e-3)]
        rates = {}
        for name, weights in (("none", None), ("low", weight)):
            links = Links(**pairs, must_weight=weights, cannot_weight=weights)
            model = S3C2(3, **small, contradictions="drop").set_params(labnet__neighbors=0)
            with pytest.warns(LinksWarning):
                model.fit(X, links=links)
            known = Links.from_labels(y, 2000, random_state=7)
            rates[name] = model.labnet_.rates(known, X).accuracy
        assert rates["low"] > rates["none"]

    def test_clunet_may_have_a_dropout_of_its_own(self, fitted, blobs, blob_links, small):
        def rates(network):
            return {layer.rate for layer in network.modules() if isinstance(layer, Dropout)}

        model = S3C2(3, **small).set_params(clunet__dropout=0.1).fit(blobs[0], links=blob_links)
        assert rates(model.labnet_.encoder_) == {0.0}
        assert rates(model.clunet_.network_) == {0.1}
        assert np.array_equal(model.transform(blobs[0]), fitted.transform(blobs[0]))
        assert not np.array_equal(model.predict_proba(blobs[0]), fitted.predict_proba(blobs[0]))

    def test_one_cluster_warns(self, blobs, blob_links, small):
        with pytest.warns(UserWarning, match="n_clusters=1 puts every row into one cluster"):
            model = S3C2(1, **small).fit(blobs[0], links=blob_links)
        assert (model.labels_ == 0).all()

    def test_more_groups_than_clusters_are_named(self, blobs, small):
        rows = [0, 10, 20, 30]
        cannot = [(a, b) for a in rows for b in rows if a < b]
        links = Links(must=[(0, 1), (10, 11)], cannot=cannot, n_samples=120)
        with pytest.warns(LinksWarning, match="ask for at least 4 clusters, and n_clusters is 3"):
            S3C2(3, **small).fit(blobs[0], links=links)

    def test_constant_columns_duplicate_rows_and_duplicate_links_are_fine(self, blobs, small):
        X, y = blobs
        X = np.column_stack([X, np.ones(120)])
        X[1] = X[0]
        links = Links.from_labels(y, 60, random_state=0)
        twice = Links(
            must=np.concatenate([links.must, links.must[:, ::-1]]),
            cannot=links.cannot, n_samples=120,
        )  # fmt: skip
        assert twice.n_duplicates == 30
        one, two = (S3C2(3, **small).fit(X, links=each) for each in (links, twice))
        assert np.isfinite(one.predict_proba(X)).all()
        assert (one.labels_ == two.labels_).all()


class TestDefault:
    def test_it_has_all_parts(self):
        labnet, clunet = S3C2(4)._stages()
        assert (labnet.neighbors, labnet.code, labnet.views, labnet.same_share) == (10, 1, 1, 0.25)
        assert (clunet.start, clunet.views, clunet.batch_points) == ("labnet", True, 200)
        assert (labnet.threshold, labnet.smoothing, clunet.smoothing) == ("neighbors", None, 0.1)
        assert (labnet.dropout, clunet.dropout, clunet.kept_share) == (None, 0, 0.5)

    @pytest.mark.parametrize(
        ("network", "rows", "steps"),
        [
            ("dense", 4999, 800), ("dense", 5000, 2500), ("dense", 49_999, 2500),
            ("dense", 50_000, 5000), ("convolutional", 50_000, 2500),
            (nn.Linear(4, 2), 50_000, 2500),
        ],
    )  # fmt: skip
    def test_its_length_is_that_of_few_or_many_rows(self, network, rows, steps):
        labnet, clunet = S3C2(4, network=network)._stages()
        assert labnet._training(rows).n_steps(3) == clunet._training(rows).n_steps(1) == steps

    @pytest.mark.parametrize("stage", ["labnet", "clunet"])
    def test_the_rate_of_each_stage_falls_and_can_be_kept(self, blobs, blob_links, small, stage):
        def posteriors(decay):
            model = S3C2(3, **small).set_params(**{f"{stage}__decay": decay})
            return model.fit(blobs[0], links=blob_links).predict_proba(blobs[0])

        assert S3C2().get_params()[stage] is None  # that is:
        assert LabNet().decay is CluNet().decay is True
        assert not np.array_equal(posteriors(True), posteriors(False))

    def test_it_finds_the_groups_from_few_links(self, blobs, monkeypatch):
        """Nothing is set but the lengths, and the autoencoder is trained as with many rows."""
        monkeypatch.setattr(labnet_training, "CODE_ROWS", 100)
        X, y = blobs
        stages = []
        model = S3C2(3, random_state=0, verbose=0, callbacks=lambda s: stages.append(s.stage))
        model.set_params(labnet__steps=40, clunet__steps=40)
        model.fit(X, links=Links.from_labels(y, 10, random_state=0))
        assert adjusted_rand_score(y, model.labels_) > 0.95
        assert list(dict.fromkeys(stages)) == ["autoencoder", "labnet", "clunet start", "clunet"]
        assert stages.count("autoencoder") == 50
        assert set(model.history_["labnet"]) == {"loss", "contrastive", "attraction", "repulsion"}
        terms = {"loss", "pairs", "links", "smoothness", "vanishing"}
        assert set(model.history_["clunet"]) == terms


class TestRefit:
    """A fit that fails leaves a fitted model as it was."""

    @pytest.mark.parametrize("how", ["bad links", "interrupted", "bad data"])
    def test_a_failed_refit_changes_nothing(self, blobs, blob_links, small, how):
        X = blobs[0]
        model = S3C2(3, **small).fit(X, links=blob_links)
        expected, labels = model.predict_proba(X), model.labels_

        def interrupt(step):
            raise KeyboardInterrupt

        wrong = Links(must=[(0, 1)], cannot=[(0, 1)], n_samples=120)
        links = wrong if how == "bad links" else blob_links
        other = X * 1000 + 5 if how != "bad data" else np.full((120, 4), np.nan)
        if how == "interrupted":
            model.set_params(callbacks=interrupt)
        with pytest.raises((ValueError, KeyboardInterrupt)):
            model.fit(other, links=links)
        assert (model.predict_proba(X) == expected).all()
        assert (model.labels_ == labels).all()

    def test_a_failed_first_fit_leaves_an_unfitted_model(self, blobs, small):
        model = S3C2(3, **small)
        with pytest.raises(LinksError):
            model.fit(blobs[0], links=3)
        with pytest.raises(NotFittedError):
            model.predict(blobs[0])


class TestKindsOfX:
    def fit(self, X, links, small, **changes):
        return S3C2(3, **small).set_params(**changes).fit(X, links=links)

    def test_all_forms_of_the_same_table_agree(self, blobs, blob_links, small, tmp_path):
        X = np.round(blobs[0], 3)
        X[np.abs(X) < 0.2] = 0
        np.save(tmp_path / "X.npy", X)
        forms = {
            "array": X,
            "double": X.astype(np.float64),
            "fortran": np.asfortranarray(X),
            "csr": sparse.csr_matrix(X),
            "csc": sparse.csc_array(X),
            "mapped": np.load(tmp_path / "X.npy", mmap_mode="r"),
            "frame": pd.DataFrame(X, columns=list("abcde")),
            "tensor": torch.tensor(X),
        }
        expected = None
        for name, form in forms.items():
            model = self.fit(form, blob_links, small, scale=None)
            labels = model.predict(form)
            expected = labels if expected is None else expected
            assert (labels == expected).all(), name

    def test_images(self, small):
        data = load_digits(n_class=3)
        links = Links.from_labels(data.target, 100, random_state=0)
        few = {"labnet__steps": 5, "clunet__steps": 5, "scale": "unit"}
        grey = self.fit(data.images, links, small, network="convolutional", **few)
        assert grey.predict(data.images).shape == data.target.shape
        channels = np.stack([data.images] * 3, axis=1).astype(np.uint8)
        coloured = self.fit(channels, links, small, network="convolutional", **few)
        assert coloured.predict(channels[:7]).shape == (7,)
        assert self.fit(data.images, links, small, **few).labels_.shape == data.target.shape

    def test_own_encoder(self, blobs, blob_links, small):
        own = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.BatchNorm1d(64), nn.Linear(64, 8))
        model = self.fit(blobs[0], blob_links, small, network=own, labnet__semi_supervised=True)
        assert model.transform(blobs[0]).shape == (120, 8)
        assert model.score(blobs[0], links=blob_links) > 0.9


class TestPrediction:
    @pytest.mark.parametrize("network", ["dense", "convolutional"])
    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_row_has_the_same_bits_alone_in_any_batch_and_order(self, network, threads):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(3000 if network == "dense" else 700, 8, 8)).astype(np.float32)
        links = Links(must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)], n_samples=len(X))
        model = S3C2.as_published(5, network=network).set_params(
            labnet__epochs=None, labnet__steps=2, clunet__steps=2, random_state=0, verbose=0
        )
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            model.fit(X, links=links)
            for method in (model.predict_proba, model.transform):
                together = method(X)
                order = rng.permutation(len(X))
                assert (method(X[order]) == together[order]).all()
                assert (method(X[5:]) == together[5:]).all()
                for row in rng.choice(len(X), 30):
                    assert (method(X[row : row + 1]) == together[row]).all()
        finally:
            torch.set_num_threads(before)

    def test_before_fit(self, blobs):
        for method in ("predict", "predict_proba", "transform"):
            with pytest.raises(NotFittedError):
                getattr(S3C2(3), method)(blobs[0])

    def test_score_is_pair_accuracy(self, fitted, blobs):
        X, _ = blobs
        links = Links(
            must=[(0, 1), (2, 3)], cannot=[(4, 5)], n_samples=120,
            must_weight=[1.0, 0.5], cannot_weight=0.25,
        )  # fmt: skip
        k = fitted.labels_
        right = [k[0] == k[1], k[2] == k[3], k[4] != k[5]]
        expected = np.average(right, weights=[1, 0.5, 0.25])
        assert fitted.score(X, links=links) == pytest.approx(expected)


class TestAsPublished:
    def test_dense(self):
        model = S3C2.as_published(10)
        labnet, clunet = model.labnet, model.clunet
        assert model.layers == (256, 256, 256)
        assert labnet.threshold == 0.3
        assert labnet.dropout == clunet.dropout == 0.1
        assert (labnet.batch_links, labnet.epochs, labnet.steps) == (256, 100, None)
        assert (clunet.batch_links, clunet.batch_pairs, clunet.steps) == (100, 1000, 3000)
        assert (labnet.optimizer, clunet.optimizer) == ("rmsprop", "adam")
        assert labnet.learning_rate == clunet.learning_rate == 1e-3
        assert clunet.batch_points is None
        assert model.scale is None
        assert not labnet.semi_supervised

    def test_convolutional_and_semi_supervised(self):
        model = S3C2.as_published(10, network="convolutional", semi_supervised=True, dropout=0.3)
        labnet = model.labnet
        assert labnet.dropout == model.clunet.dropout == 0.3
        assert labnet.reconstruction_weight == 0.05
        assert labnet.reconstruction == "sum"
        assert (labnet.batch_links, labnet.batch_pairs, labnet.steps) == (100, 100, 1500)
        # The published pairs are drawn, where the default draws all pairs of some rows.
        assert model.clunet.batch_points is None
        model = S3C2.as_published(10, network="convolutional")
        assert model.labnet.dropout == model.clunet.dropout == 0.5

    @pytest.mark.parametrize("network", ["dense", "convolutional"])
    @pytest.mark.parametrize("semi_supervised", [False, True])
    def test_it_has_the_published_training_and_nothing_else(self, network, semi_supervised):
        model = S3C2.as_published(4, network=network, semi_supervised=semi_supervised)
        labnet, clunet = model._stages()
        assert labnet._training(100) == published.labnet_training(network, semi_supervised)
        assert clunet._training(100) == published.clunet_training()
        assert labnet.learning_rate == clunet.learning_rate == published.LEARNING_RATE
        assert labnet.dropout == clunet.dropout == published.DROPOUT[network]
        assert labnet.semi_supervised == semi_supervised
        assert (labnet.neighbors, labnet.code, labnet.smoothing, labnet.views) == (0, False, 0, 0)
        assert (clunet.start, clunet.smoothing, clunet.views) == ("random", 0, False)
        assert (clunet.labels_worth, clunet.kept_share) == (None, 0)

    def test_every_parameter_may_be_given(self):
        """As a keyword, those of the stages too; nothing else changes."""
        usual = S3C2.as_published(10).get_params()
        assert len(usual) > 40
        own = {"network", "n_clusters", "labnet", "clunet"}  # read, or not to be marked
        for name in usual.keys() - own:
            mark = object()
            given = S3C2.as_published(10, **{name: mark}).get_params()
            changed = {key for key in usual if key not in own and given[key] is not usual[key]}
            assert given[name] is mark
            assert {key for key in changed if given[key] != usual[key]} == {name}
        assert S3C2.as_published(10, random_state=0, clunet__steps=7).clunet.steps == 7
        labnet, clunet = LabNet(steps=1), CluNet(steps=2)
        model = S3C2.as_published(10, labnet=labnet, clunet=clunet)
        assert model.labnet is labnet
        assert model.clunet is clunet

    def test_unknown_names(self):
        with pytest.raises(ValueError, match="'network' .* must be one of 'dense'"):
            S3C2.as_published(3, network="recurrent")
        with pytest.raises(ValueError, match="Invalid parameter 'labnet_steps'"):
            S3C2.as_published(3, labnet_steps=5)
        with pytest.raises(ValueError, match="Invalid parameter 'stepz' for estimator LabNet"):
            S3C2.as_published(3, labnet__stepz=5)


class TestBadInput:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"n_clusters": None}, "'n_clusters' parameter of S3C2 must be an int"),
            (
                {"labnet__threshold": None},
                "'threshold' parameter of LabNet must be 'auto' or 'neighbors' or a",
            ),
            ({"labnet__threshold": "often"}, "'threshold' parameter of LabNet must be 'auto' or"),
            ({"labnet__learning_rate": None}, "'learning_rate' parameter of LabNet"),
            ({"labnet__steps": 0}, "'steps' parameter of LabNet must be an int"),
            ({"clunet__steps": 2.5}, "'steps' parameter of CluNet must be an int"),
            ({"clunet__dropout": 2}, "'dropout' parameter of CluNet must be a number"),
            ({"clunet__batch_pairs": -1}, "'batch_pairs' parameter of CluNet"),
            ({"layers": ()}, "'layers' parameter of S3C2 must be a tuple"),
            ({"layers": 256}, "'layers' parameter of S3C2"),
            ({"layers": (0,)}, "'layers' parameter of S3C2"),
            ({"network": 3}, "'network' parameter of S3C2 must be one of .* torch.nn.Module"),
            ({"clunet__n_restarts": 0}, "'n_restarts' parameter of CluNet"),
            ({"labnet__n_committee": 0}, "'n_committee' parameter of LabNet"),
        ],
    )
    def test_parameters(self, blobs, blob_links, small, given, words):
        model = S3C2(3, **small).set_params(**given)
        with pytest.raises((ValueError, TypeError), match=words):
            model.fit(blobs[0], links=blob_links)

    def test_dates_are_no_numbers(self, blobs, blob_links, small):
        frame = pd.DataFrame(blobs[0]).assign(day=pd.Timestamp("2020-01-01"))
        with pytest.raises(DataError, match="Column 'day' of X is not numeric"):
            S3C2(3, **small).fit(frame, links=blob_links)

    def test_messages_name_the_ids_that_were_given(self, blobs, small):
        names = [f"p{i}" for i in range(120)]
        links = Links(must=[("p0", "p1"), ("p1", "p2")], cannot=[("p0", "p2")])
        with pytest.raises(ContradictoryLinksError, match="'p0'–'p1', 'p1'–'p2'"):
            S3C2(3, **small).fit(blobs[0], links=links, sample_id=names)
        four = ["p0", "p5", "p7", "p9"]
        cannot = [(a, b) for a in four for b in four if a < b]
        links = Links(must=[("p0", "p1")], cannot=cannot)
        with pytest.warns(LinksWarning, match="p0, p5, p7, p9 are all cannot-linked"):
            S3C2(3, **small).fit(blobs[0], links=links, sample_id=names)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda X: np.where(np.arange(600).reshape(120, 5) == 12, np.nan, X),
             "X holds NaN at row 2, column 2. Fill in or leave out"),
            (lambda X: np.where(np.arange(600).reshape(120, 5) == 12, np.inf, X),
             "X holds infinity at row 2, column 2"),
            (lambda X: pd.DataFrame(X).assign(colour="red"),
             "Column 'colour' of X is not numeric .*'red'"),
            (lambda X: X[:, :, None, None, None], "X must have the shape"),
            (lambda X: X[:0], "0 sample"),
        ],
    )  # fmt: skip
    def test_x(self, blobs, blob_links, small, change, words):
        with pytest.raises(ValueError, match=words):
            S3C2(3, **small).fit(change(blobs[0]), links=blob_links)

    def test_nan_in_new_rows_names_the_column(self, blobs, blob_links, small):
        frame = pd.DataFrame(blobs[0], columns=list("abcde"))
        model = S3C2(3, **small).fit(frame, links=blob_links)
        frame.loc[3, "b"] = np.nan
        with pytest.raises(DataError, match="NaN at row 3, column 'b'"):
            model.predict(frame)

    def test_wrong_columns_in_new_rows(self, fitted, blobs, blob_links, small):
        with pytest.raises(ValueError, match="X has 4 features, but S3C2 is expecting 5"):
            fitted.predict(blobs[0][:, :4])
        frame = pd.DataFrame(blobs[0], columns=list("abcde"))
        model = S3C2(3, **small).fit(frame, links=blob_links)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame.rename(columns={"a": "z"}))
        images = np.zeros((120, 5, 6))
        model = S3C2(3, **small).fit(images + np.arange(120)[:, None, None], links=blob_links)
        with pytest.raises(DataError, match=r"rows of shape \(5, 7\).*fitted on .*\(5, 6\)"):
            model.predict(np.zeros((3, 5, 7)))

    @pytest.mark.parametrize(
        ("k", "words"),
        [
            (0, "Got 0"),
            (121, "n_clusters=121 with n_samples=120"),
            (2.5, "must be an int"),
            (-3, "Got -3"),
        ],
    )
    def test_n_clusters(self, blobs, blob_links, small, k, words):
        with pytest.raises(ValueError, match=words):
            S3C2(k, **small).fit(blobs[0], links=blob_links)

    def test_no_links_and_no_links_of_a_kind(self, blobs, small):
        X = blobs[0]
        by_links_alone = S3C2.as_published(3)
        with pytest.raises(LinksError, match="learns from links, and got none"):
            by_links_alone.fit(X)
        with pytest.raises(LinksError, match="no cannot-link among the 1 links"):
            by_links_alone.fit(X, links=Links(must=[(0, 1)], n_samples=120))
        with pytest.raises(LinksError, match="no must-link among the 1 links"):
            by_links_alone.fit(X, links=Links(cannot=[(0, 1)], n_samples=120))
        with pytest.raises(LinksError, match="must be a Links object. Got list"):
            S3C2(3, **small).fit(X, links=[(0, 1)])

    @pytest.mark.parametrize("kind", [S3C2, LabNet])
    def test_links_by_position(self, blobs, blob_links, kind):
        with pytest.raises(LinksError, match="given as y, which is ignored: write fit.X, links=…"):
            kind().fit(blobs[0], blob_links)

    def test_links_of_other_rows(self, blobs, small):
        links = Links(must=[(0, 1)], cannot=[(1, 2)], n_samples=60)
        with pytest.raises(LinksError, match=r"60.*120"):
            S3C2(3, **small).fit(blobs[0], links=links)

    def test_contradictions(self, blobs, blob_links, small):
        links = Links(
            must=[*blob_links.must, (0, 1), (1, 2)], cannot=[*blob_links.cannot, (0, 2)],
            n_samples=120,
        )  # fmt: skip
        with pytest.raises(ContradictoryLinksError, match=r"must-links join them(.|\n)*drop"):
            S3C2(3, **small).fit(blobs[0], links=links)
        with pytest.warns(LinksWarning, match="contradict"):
            S3C2(3, **small, contradictions="drop").fit(blobs[0], links=links)

    @pytest.mark.filterwarnings("default::s3c2.errors.EmptyClustersWarning")
    def test_empty_clusters_are_told(self, blobs, blob_links, small):
        X = blobs[0]
        model = S3C2(3, **small)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, links=blob_links)
        model.set_params(n_clusters=6)
        said = r"[1-4] of 6 clusters stayed empty. More links, a lower threshold or CluNet"
        with pytest.warns(EmptyClustersWarning, match=said) as told:
            model.fit(X, links=blob_links)
        assert told[0].filename == __file__
        assert "CluNet(n_restarts=5) may fill them" in str(told[0].message)
        assert len(np.unique(model.labels_)) < 6
        with pytest.warns(EmptyClustersWarning, match="X is not scaled"):
            model.set_params(scale=None).fit(X, links=blob_links)

    def test_divergence_is_told(self, blobs, blob_links, small):
        model = S3C2(3, **small).set_params(scale=None, labnet__semi_supervised=True)
        with pytest.raises(DataError, match="diverged. Scale the data"):
            model.fit(1e20 * blobs[0], links=blob_links)
