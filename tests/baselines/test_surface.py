"""What every baseline has in common: learning, files, checkpoints, grids."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import GridSearchCV

from s3c2 import S3C2, CluNet, LabNet, Links, baselines, fit_many
from s3c2 import pretraining as autoencoder
from s3c2.baselines import DCPR, IDEC, DGraph, NNClustering
from s3c2.engine import checkpoint
from s3c2.errors import LinksError, NoLinksWarning, StorageError

# (baseline, settings for the blobs, settings for digits)
DENSE = {"layers": (64, 64, 1), "steps": 250, "learning_rate": 4e-3}
CASES = {
    "DGraph": (
        DGraph,
        {"layers": (32, 16), "batch_pairs": 60, "steps": 60},
        {**DENSE, "batch_pairs": 150, "n_neighbors": 15},
    ),
    "DCPR": (
        DCPR,
        {"layers": (32, 16), "batch_pairs": 60, "steps": 60},
        {**DENSE, "batch_pairs": 300},
    ),
    "NNClustering": (
        NNClustering,
        {"layers": (32, 16), "batch_links": 32, "steps": 60},
        {"layers": (64, 64, 1), "steps": 150},
    ),
    "IDEC": (
        IDEC,
        {"layers": (32, 4), "layer_epochs": 5, "whole_epochs": 5, "epochs": 8, "batch_size": 32},
        {
            "layers": (64, 10),
            "layer_epochs": 2,
            "whole_epochs": 20,
            "epochs": 12,
            "batch_size": 128,
            "n_init": 3,
            "learning_rate": 2e-3,
        },
    ),
}
SHARED = {"scale": "standard", "learning_rate": 5e-3, "random_state": 0, "verbose": 0}


@pytest.fixture(params=CASES)
def model(request):
    baseline, quick, _ = CASES[request.param]
    return baseline(3, **quick, **SHARED)


def test_all_are_exported():
    assert set(baselines.__all__) == set(CASES) == set(dir(baselines))
    for name in baselines.__all__:
        assert getattr(baselines, name).__name__ == name
    assert not hasattr(baselines, "nothing_of_that_name")


@pytest.mark.parametrize("name", CASES)
def test_digits_better_than_chance_and_better_with_more_links(name):
    X, y = load_digits(return_X_y=True)
    baseline, _, settings = CASES[name]
    model = baseline(10, scale="unit", random_state=0, verbose=0, **settings)
    grid = [(model, Links.from_labels(y, n, random_state=0)) for n in (50, 1000)]
    few, many = (normalized_mutual_info_score(y, one.labels_) for one in fit_many(X, grid))
    assert few > 0.15  # labels at random have an NMI of 0.01
    assert many > max(0.5, few + 0.05)


def test_surface(model, blobs, blob_links):
    X, _ = blobs
    labels = model.fit_predict(X, links=blob_links)
    assert (labels == model.labels_).all()
    assert (model.predict(X) == labels).all()
    p = model.predict_proba(X)
    assert p.shape == (120, 3)
    assert np.allclose(p.sum(1), 1, atol=1e-5)
    assert (p.argmax(1) == labels).all()
    assert model.score(X, links=blob_links) > 0.9
    assert np.isfinite(model.history_["loss"]).all()
    assert clone(model).get_params() == model.get_params()
    again = clone(model).fit(X, links=blob_links)
    assert (again.predict_proba(X) == p).all()
    if isinstance(model, IDEC):  # it clusters without links, too
        with pytest.warns(NoLinksWarning):
            assert clone(model).fit(X).labels_.shape == (120,)
        return
    with pytest.raises(LinksError, match="learns from links, and got none"):
        model.fit(X)
    assert (model.predict(X) == labels).all()  # a fit that fails leaves the model usable


def test_a_loaded_model_is_the_saved_one(model, blobs, blob_links, tmp_path):
    X, _ = blobs
    model.fit(X, links=blob_links).save(tmp_path)
    loaded = type(model).load(tmp_path)
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    assert (loaded.labels_ == model.labels_).all()
    assert loaded.get_params() == model.get_params() | {"verbose": 1}
    for name, values in model.history_.items():
        assert np.array_equal(loaded.history_[name], values, equal_nan=True)
    with pytest.raises(StorageError, match=f"holds a model of {type(model).__name__}, not of S3C2"):
        S3C2.load(tmp_path)


class InterruptError(Exception):
    pass


def test_an_interrupted_fit_ends_as_an_uninterrupted_one(
    model, blobs, blob_links, tmp_path, monkeypatch
):
    X, _ = blobs
    monkeypatch.setattr(autoencoder, "RATE_EPOCHS", 2)  # of IDEC: the rate falls, too
    expected = clone(model).fit(X, links=blob_links)
    steps = []
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)

    def interrupt(step):
        steps.append(step)
        if len(steps) in (5, 37):
            raise InterruptError

    model.set_params(checkpoint=tmp_path / "state", callbacks=interrupt)
    for _ in range(2):
        with pytest.raises(InterruptError):
            model.fit(X, links=blob_links)
    model.fit(X, links=blob_links)
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()
    assert not (tmp_path / "state").exists()


def test_metadata_routing(model, blobs):
    X, y = blobs
    names = np.array([f"row-{i}" for i in range(len(X))])
    rows = Links.from_labels(y, 1200, random_state=0)
    links = Links(must=names[rows.must], cannot=names[rows.cannot])
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(model, {"random_state": [0]}, cv=2, error_score="raise")
        with pytest.warns(UserWarning, match="of 1200 links"):
            search.fit(X, links=links, sample_id=names)
    assert search.best_score_ > 0.8


def test_one_cluster(model, blobs, blob_links):
    with pytest.warns(UserWarning, match="n_clusters=1 puts every row"):
        labels = model.set_params(n_clusters=1).fit_predict(blobs[0], links=blob_links)
    assert (labels == 0).all()


@pytest.mark.parametrize(
    ("name", "weight"),
    [("DCPR", "entropy_weight"), ("NNClustering", "margin"), ("IDEC", "clustering_weight")],
)
def test_a_diverging_configuration_is_left_unfitted(name, weight, blobs, blob_links):
    kind, quick, _ = CASES[name]
    settings = {**quick, **SHARED}
    default = kind().get_params()[weight]
    grid = [(kind(3, **{weight: w}, **settings), blob_links) for w in (1e39, default, default)]
    with pytest.warns(UserWarning, match="1 of 3 configurations diverged .* unfitted: 0"):
        bad, good, other = fit_many(blobs[0], grid)
    alone = clone(grid[1][0]).fit(blobs[0], links=blob_links)
    assert (good.labels_ == other.labels_).all()
    assert (good.predict_proba(blobs[0]) == alone.predict_proba(blobs[0])).all()
    with pytest.raises(sklearn.exceptions.NotFittedError):
        bad.predict(blobs[0])


def test_grids_of_different_kinds_are_refused(blobs, blob_links):
    X = blobs[0]
    with pytest.raises(ValueError, match="configuration 0 is DGraph and configuration 1 is DCPR"):
        fit_many(X, [(DGraph(3), blob_links), (DCPR(3), blob_links)])
    with pytest.raises(ValueError, match="'steps' is 1 in .* differ in random_state, n_neighbors"):
        fit_many(X, [(DGraph(3, steps=1), blob_links), (DGraph(3, steps=2), blob_links)])
    with pytest.raises(TypeError, match="fit_many trains S3C2 and the baselines. Got CluNet"):
        fit_many(X, [(CluNet(3), blob_links)])
    with pytest.raises(TypeError, match="fit_many trains S3C2 and the baselines. Got LabNet"):
        fit_many(X, [(LabNet(), blob_links)])
