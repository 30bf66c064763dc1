"""What all estimators promise: few parameters, no rows of X held, one preamble, clear refusals."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links, cross_validate_links, fit_many
from s3c2.baselines import DCPR, IDEC, DGraph, NNClustering
from s3c2.errors import DataError, EmptyClustersWarning, LinksError, LinksWarning, StorageError

TINY = {"layers": (8, 4), "scale": "standard", "random_state": 0, "verbose": 0}
MODELS = {
    "S3C2": S3C2(
        3, labnet=LabNet(code=False, steps=2), clunet=CluNet(steps=2, n_restarts=2), **TINY
    ),
    "LabNet": LabNet(code=False, steps=2, n_committee=2, **TINY),
    "CluNet": CluNet(3, steps=2, **TINY),
    "DGraph": DGraph(3, steps=2, **TINY),
    "DCPR": DCPR(3, steps=2, **TINY),
    "NNClustering": NNClustering(3, steps=2, **TINY),
    "IDEC": IDEC(3, epochs=1, layer_epochs=1, whole_epochs=1, n_init=1, **TINY),
}


def fitted(kind, X, links):
    model = sklearn.clone(MODELS[kind])
    given = {}
    if kind == "CluNet":
        given["labnet"] = fitted("LabNet", X, links)
    return model.fit(X, links=links, **given)


def bits(model, X):
    """What a model says of rows."""
    return model.transform(X) if isinstance(model, LabNet) else model.predict_proba(X)


class TestShape:
    def test_few_parameters(self):
        assert len(S3C2().get_params(deep=False)) <= 14

    @pytest.mark.parametrize("kind", MODELS)
    def test_at_most_three_levels_of_own_classes(self, kind):
        def levels(one):
            own = one.__module__.split(".")[0] == "s3c2"
            return own + max((levels(base) for base in one.__bases__), default=0)

        assert levels(type(MODELS[kind])) <= 3


class TestStages:
    def test_those_given_are_not_touched(self, blobs, blob_links):
        labnet, clunet = LabNet(code=False, steps=2, dropout=0.2), CluNet(steps=3)
        before = labnet.get_params(), clunet.get_params()
        model = S3C2(3, labnet=labnet, clunet=clunet, **TINY).fit(blobs[0], links=blob_links)
        assert model.labnet is labnet
        assert model.clunet is clunet
        assert (labnet.get_params(), clunet.get_params()) == before
        assert not any(name.endswith("_") for one in (labnet, clunet) for name in vars(one))
        assert isinstance(model.labnet_, LabNet)
        assert isinstance(model.clunet_, CluNet)
        assert (model.labnet_.steps, model.labnet_.layers) == (2, (8, 4))
        assert (model.clunet_.steps, model.clunet_.n_clusters) == (3, 3)
        X = blobs[0]
        assert (model.labnet_.transform(X) == model.transform(X)).all()
        assert (model.clunet_.predict(X) == model.predict(X)).all()

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("layers", (3, 2)), ("layers", [3, 2]), ("layers", np.array([3, 2])),
            ("scale", "unit"), ("network", "convolutional"), ("network", nn.Linear(5, 2)),
            ("device", "cpu"), ("precision", "bf16"), ("random_state", 1), ("verbose", 0),
            ("contradictions", "drop"), ("checkpoint", "x"), ("callbacks", print),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("stage", ["labnet", "clunet"])
    def test_what_they_share_is_set_on_the_whole(self, blobs, blob_links, stage, name, value):
        kind = {"labnet": LabNet, "clunet": CluNet}[stage]
        model = S3C2(3, **{stage: kind(**{name: value})})
        words = rf"'{name}' parameter of the {kind.__name__} inside S3C2 .*: set {name} there"
        with pytest.raises(ValueError, match=words):
            model.fit(blobs[0], links=blob_links)

    def test_number_of_clusters_is_that_of_the_whole(self, blobs, blob_links):
        with pytest.raises(ValueError, match="'n_clusters' parameter of the CluNet inside S3C2"):
            S3C2(3, clunet=CluNet(4)).fit(blobs[0], links=blob_links)

    @pytest.mark.filterwarnings("ignore::s3c2.errors.LinksWarning")
    def test_grid_search_makes_a_stage_that_is_not_there(self, blobs):
        X, y = blobs
        links = Links.from_labels(y, 1200, random_state=0)
        model = S3C2(3, clunet=CluNet(steps=2), **TINY)
        grid = {"labnet__threshold": [0.3, 0.2], "labnet__steps": [2], "labnet__code": [False]}
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(model, grid, cv=2, error_score="raise")
            search.fit(X, links=links, sample_id=np.arange(len(X)))
        assert model.labnet is None
        assert search.best_estimator_.threshold_ == search.best_params_["labnet__threshold"]
        assert {p["labnet__threshold"] for p in search.cv_results_["params"]} == {0.3, 0.2}


@pytest.mark.parametrize("kind", MODELS)
class TestFittedModels:
    def test_hold_no_rows(self, kind):
        """Their size grows by the labels alone, and nothing they reach is as large as X."""
        sizes = {}
        for n in (60, 600):
            X = np.random.default_rng(0).normal(size=(n, 40)).astype(np.float32)
            links = Links(must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)], n_samples=n)
            model = fitted(kind, X, links)
            sizes[n] = len(pickle.dumps(model))
            assert max(bytes_of_arrays(model)) < X.nbytes / 2
        per_row = (sizes[600] - sizes[60]) / 540
        assert per_row < 8 * 2 + 2  # labels of S3C2 and of its CluNet; a row of X has 160 bytes

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
    def test_copies_predict_the_same_bits(self, kind, copied, blobs, blob_links):
        X = blobs[0]
        model = fitted(kind, X, blob_links)
        other = copied(model)
        assert (bits(other, X) == bits(model, X)).all()
        if kind == "S3C2":
            assert (other.transform(X) == model.transform(X)).all()
            assert (other.labnet_.distance(X[:3], X[3:6])).shape == (3,)

    def test_refuse_what_is_no_x(self, kind, blobs, blob_links):
        model = fitted(kind, blobs[0], blob_links)
        method = model.transform if kind == "LabNet" else model.predict
        for X in (None, 3, "x", object(), [["a"] * 5], blobs[0][:, :3], blobs[0][0], []):
            with pytest.raises((ValueError, TypeError)):
                method(X)

    def test_refuse_what_are_no_links(self, kind, blobs, blob_links):
        model = fitted(kind, blobs[0], blob_links)
        method = model.rates if kind == "LabNet" else lambda links, X: model.score(X, links=links)
        labnet = {"labnet": fitted("LabNet", blobs[0], blob_links)} if kind == "CluNet" else {}
        for links in (3, "x", [(0, 1)], blobs[0]):
            with pytest.raises(LinksError, match="[Ll]inks"):
                method(links, blobs[0])
            with pytest.raises(LinksError, match="[Ll]inks"):
                sklearn.clone(model).fit(blobs[0], links=links, **labnet)
        with pytest.raises(LinksError, match="[Ll]inks"):
            method(None, blobs[0])
        with pytest.raises((ValueError, TypeError)):
            method(blob_links, None)

    @pytest.mark.parametrize("folder", [None, 3, "a\0b", b"x", ["x"], 1.5])
    def test_refuse_what_is_no_folder(self, kind, folder, blobs, blob_links):
        model = fitted(kind, blobs[0], blob_links)
        with pytest.raises(StorageError, match="must be a path"):
            model.save(folder)
        with pytest.raises(StorageError, match="must be a path"):
            type(model).load(folder)

    def test_are_fitted_before_they_are_saved_or_asked(self, kind, blobs, blob_links, tmp_path):
        model = MODELS[kind]
        with pytest.raises(NotFittedError):
            model.save(tmp_path)
        with pytest.raises(NotFittedError):
            bits(model, blobs[0])


def bytes_of_arrays(thing, seen=None):
    """The size of every array and tensor that can be reached from an object."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, torch.Tensor):
        yield thing.untyped_storage().nbytes()
    elif isinstance(thing, np.ndarray):
        yield getattr(thing.base, "nbytes", thing.nbytes)
    elif isinstance(thing, dict):
        for one in thing.values():
            yield from bytes_of_arrays(one, seen)
    elif isinstance(thing, list | tuple | set):
        for one in thing:
            yield from bytes_of_arrays(one, seen)
    elif hasattr(thing, "__dict__") and not isinstance(thing, type):
        yield from bytes_of_arrays(vars(thing), seen)


class TestLabNet:
    @pytest.mark.parametrize("threshold", ["x", -1, np.nan, True, [0.3], np.inf])
    def test_threshold_of_rates(self, threshold, blobs, blob_links):
        labnet = fitted("LabNet", blobs[0], blob_links)
        with pytest.raises(ValueError, match="'threshold' parameter of rates must be a number"):
            labnet.rates(blob_links, blobs[0], threshold=threshold)
        loose, strict = (labnet.rates(blob_links, blobs[0], threshold=T) for T in (1e9, 0))
        assert (loose.ml_rate, loose.cl_rate) == (1, 0)
        assert (strict.ml_rate, strict.cl_rate) == (0, 1)

    def test_labnet_of_clunet(self, blobs, blob_links):
        for wrong in (None, 3, "x", LabNet, MODELS["S3C2"]):
            with pytest.raises(LinksError, match="CluNet needs a fitted LabNet"):
                CluNet(3).fit(blobs[0], links=blob_links, labnet=wrong)
        with pytest.raises(NotFittedError):
            CluNet(3).fit(blobs[0], links=blob_links, labnet=LabNet())


class TestLoading:
    @pytest.mark.parametrize("network", [3, "dense", nn.Linear, []])
    def test_network(self, network, tmp_path):
        with pytest.raises(TypeError, match="'network' parameter of load must be a torch.nn"):
            S3C2.load(tmp_path, network=network)

    @pytest.mark.parametrize("device", [3, None, "x", "meta", []])
    def test_device(self, device, tmp_path):
        with pytest.raises((ValueError, TypeError), match="'device' parameter"):
            S3C2.load(tmp_path, device=device)


class TestOnePreamble:
    """What ``fit`` tells and refuses, ``fit_many`` and the stages do too."""

    @pytest.mark.filterwarnings("default::s3c2.errors.EmptyClustersWarning")
    def test_fit_many_tells_of_empty_clusters(self, blobs, blob_links):
        model = sklearn.clone(MODELS["S3C2"]).set_params(n_clusters=20)
        with pytest.warns(EmptyClustersWarning, match="of 20 clusters stayed empty"):
            (one,) = fit_many(blobs[0], [(model, blob_links)])
        assert len(np.unique(one.labels_)) < 20

    def test_a_clunet_tells_of_too_many_groups(self, blobs, blob_links):
        labnet = fitted("LabNet", blobs[0], blob_links)
        rows = [0, 10, 20, 30]
        cannot = [(a, b) for a in rows for b in rows if a < b]
        links = Links(must=[(0, 1), (10, 11)], cannot=cannot, n_samples=120)
        with pytest.warns(LinksWarning, match="ask for at least 4 clusters, and n_clusters is 3"):
            sklearn.clone(MODELS["CluNet"]).fit(blobs[0], links=links, labnet=labnet)
        with pytest.warns(LinksWarning, match="ask for at least 4 clusters, and n_clusters is 3"):
            fit_many(blobs[0], [(MODELS["S3C2"], links)])

    @pytest.mark.parametrize(
        "configurations",
        [3, None, "x", [3], [(S3C2(3),)], [(S3C2(3), 3)], [(S3C2, 3)], [(3, "links")]],
    )
    def test_fit_many_takes_pairs(self, configurations, blobs):
        with pytest.raises(TypeError, match="fit_many takes"):
            fit_many(blobs[0], configurations)

    def test_fit_many_refuses_what_fit_does(self, blobs, blob_links):
        model = MODELS["S3C2"]
        for X in (None, "x", np.full((120, 5), np.nan)):
            with pytest.raises((ValueError, TypeError)):
                fit_many(X, [(model, blob_links)])
        bad = sklearn.clone(model).set_params(labnet__steps=0)
        with pytest.raises(ValueError, match="'steps' parameter of LabNet"):
            fit_many(blobs[0], [(bad, blob_links)])
        for wrong in (3, S3C2, object()):
            with pytest.raises(TypeError, match="fit_many trains S3C2 and the baselines"):
                fit_many(blobs[0], [(wrong, blob_links)])


def test_clones_of_models_with_own_networks_train_together(blobs, blob_links, small):
    """A clone has a copy of the module, which computes the same."""
    own = S3C2(3, **small | {"network": nn.Linear(5, 8)})
    own.set_params(labnet__steps=2, clunet__steps=2)
    grid = [(clone(own).set_params(labnet__threshold=T), blob_links) for T in (0.1, 0.3)]
    one, two = fit_many(blobs[0], grid)
    assert (one.transform(blobs[0]) == two.transform(blobs[0])).all()
    other = clone(own).set_params(network=nn.Linear(5, 7))
    with pytest.raises(ValueError, match="'network' is Linear"):
        fit_many(blobs[0], [(own, blob_links), (other, blob_links)])


@pytest.mark.parametrize(
    "equal_values",
    [
        lambda: S3C2(3, layers=[8, 4], labnet=LabNet(layers=[8, 4])),
        lambda: S3C2(int("1000"), clunet=CluNet(n_clusters=int("1000"))),
        lambda: S3C2(3, scale="unit", labnet=LabNet(scale="unit"), clunet=CluNet(scale="unit")),
    ],
)
def test_a_shared_parameter_may_be_said_twice(equal_values):
    equal_values()._check_parameters()


@pytest.mark.parametrize("kind", [S3C2, LabNet, CluNet])
@pytest.mark.parametrize("network", ["x", nn.Linear(5, 3)])
def test_only_the_papers_networks_are_as_published(kind, network):
    first = (3,) if kind is S3C2 else ()
    with pytest.raises(ValueError, match="'network' parameter .* must be one of 'dense', 'conv"):
        kind.as_published(*first, network=network)


def test_a_misspelt_parameter_leaves_the_model_as_it_was():
    model = S3C2(3)
    with pytest.raises(ValueError, match="Invalid parameter 'treshold'"):
        model.set_params(labnet__treshold=0.1)
    assert model.labnet is None
    assert model.set_params(labnet=None, labnet__threshold=0.1).labnet.threshold == 0.1


def test_a_wrong_stage_in_a_grid_is_named(blobs, blob_links):
    with pytest.raises(TypeError, match="'labnet' parameter of S3C2 must be a LabNet"):
        fit_many(blobs[0], [(S3C2(3, labnet="x"), blob_links)])


def test_pair_losses_are_saved(blobs, blob_links, small, tmp_path):
    model = S3C2(3, **small).set_params(labnet__steps=2, clunet__steps=2, clunet__n_restarts=2)
    model.fit(blobs[0], links=blob_links).save(tmp_path)
    assert (S3C2.load(tmp_path).clunet_.pair_losses_ == model.clunet_.pair_losses_).all()


def test_a_network_for_a_model_that_has_none_of_its_own_is_refused(
    blobs, blob_links, small, tmp_path
):
    model = LabNet(code=False, steps=2, layers=(8, 4), verbose=0).fit(blobs[0], links=blob_links)
    model.save(tmp_path)
    with pytest.raises(StorageError, match="has no network of your own: leave network= out"):
        LabNet.load(tmp_path, network=nn.Linear(5, 3))


def test_warnings_show_the_line_of_the_caller(blobs, blob_links, small):
    model = S3C2(1, **small).set_params(labnet__steps=2)
    with pytest.warns(UserWarning, match="n_clusters=1 puts") as caught:
        model.fit(blobs[0], links=blob_links)
    with pytest.warns(UserWarning, match="n_clusters=1 puts") as again:
        fit_many(blobs[0], [(model, blob_links)])
    assert {one.filename for one in (caught[0], again[0])} == {__file__}


def test_labnet_takes_links_in_a_pipeline(blobs, blob_links):
    labnet = LabNet(code=False, steps=2, layers=(8, 4), verbose=0)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(labnet, KMeans(3, n_init=1, random_state=0))
        assert pipeline.fit(blobs[0], links=blob_links)[-1].labels_.shape == (120,)
    assert labnet.__sklearn_tags__().input_tags.sparse


def test_cross_validation_names_what_is_no_links(blobs, small):
    with pytest.raises(LinksError, match="must be a Links object. Got list"):
        cross_validate_links(S3C2(3, **small), blobs[0], [(0, 1)])


@pytest.mark.filterwarnings("ignore::s3c2.errors.EmptyClustersWarning")
def test_what_torch_is_set_to_changes_nothing(blobs, blob_links, tmp_path):
    X = blobs[0]
    expected = fitted("S3C2", X, blob_links)
    expected.save(tmp_path)
    with torch.no_grad():
        without_gradients = fitted("S3C2", X, blob_links)
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        in_inference = fitted("S3C2", X, blob_links)
    torch.set_default_dtype(torch.float64)
    try:
        in_double = fitted("S3C2", X, blob_links)
        loaded = S3C2.load(tmp_path)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    for one in (without_gradients, in_inference, in_double, loaded):
        assert (bits(one, X) == bits(expected, X)).all()


OWN = {
    "no parameters that learn": nn.Linear(5, 4).requires_grad_(False),
    "no parameters that learn.": nn.Identity(),
    "cannot take a batch of shape": nn.Linear(6, 4),
    "parameters of torch.float64": nn.Linear(5, 4).double(),
    "sizes are still open": nn.LazyLinear(4),
}


@pytest.mark.parametrize("words", OWN)
@pytest.mark.parametrize("kind", ["S3C2", "LabNet", "DGraph"])
def test_an_own_network_that_cannot_be_trained_is_refused(kind, words, blobs, blob_links):
    model = clone(MODELS[kind]).set_params(network=OWN[words])
    with pytest.raises((ValueError, DataError), match=words):
        model.fit(blobs[0], links=blob_links)
