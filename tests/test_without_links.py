"""Without links the neighbours of the rows decide; with links, which of them may be wrong."""

import warnings

import numpy as np
import pytest

from s3c2 import S3C2, CluNet, LabNet, Links, fit_many
from s3c2.errors import LinksError, LinksWarning, NoLinksWarning
from s3c2.metrics import ari

pytestmark = pytest.mark.filterwarnings("ignore::s3c2.errors.NoLinksWarning")

NONE = Links(must=[], cannot=[])


def usable(model, X, n_clusters):
    """Whether the model predicts what it learned, with finite numbers."""
    posteriors = model.predict_proba(X)
    assert np.isfinite(posteriors).all()
    assert np.isfinite(model.threshold_)
    assert model.labels_.max() < n_clusters
    np.testing.assert_array_equal(posteriors.argmax(1), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    return model


@pytest.mark.parametrize("links", [None, NONE, Links(must=[], cannot=[], n_samples=120)])
def test_clear_groups_are_found_and_it_is_said(blobs, small, links):
    X, y = blobs
    with pytest.warns(NoLinksWarning, match=r"There are no links.*Links say what belongs together"):
        model = S3C2(3, **small).fit(X, links=links)
    assert ari(y, model.labels_) == 1
    assert model.suspicious_links_ is None
    assert model.link_doubts_ is None
    assert issubclass(NoLinksWarning, LinksWarning)


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_links_of_one_kind_are_enough(blobs, blob_links, small, kind):
    X, y = blobs
    links = Links(**{kind: getattr(blob_links, kind)}, n_samples=len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = S3C2(3, **small).fit(X, links=links)
    assert ari(y, model.labels_) == 1
    assert model.suspicious_links_.shape == (links.n_links, 2)


@pytest.mark.parametrize("links", [None, NONE, Links(must=[(0, 1)], n_samples=120)])
def test_the_published_method_needs_links_of_both_kinds(blobs, links):
    with pytest.raises(LinksError, match="S3C2 learns from links, and got none|no cannot-link"):
        S3C2.as_published(3, verbose=0).fit(blobs[0], links=links)


@pytest.mark.parametrize(
    "settings",
    [
        {"labnet__threshold": "auto"},
        {"labnet__semi_supervised": True},
        {"labnet__n_committee": 2, "clunet__n_restarts": 2},
        {"labnet__steps": None, "labnet__epochs": 40},
        {"clunet__start": "random", "clunet__batch_points": None},
    ],
    ids=lambda settings: next(iter(settings)),
)
@pytest.mark.filterwarnings("ignore:threshold='auto' takes T = 0.3")
def test_every_setting_does_without_links(blobs, small, settings):
    X, _ = blobs
    model = usable(S3C2(3, **small).set_params(**settings).fit(X), X, 3)
    assert model.suspicious_links_ is None


def test_stages_by_themselves(blobs):
    X, y = blobs
    labnet = LabNet(code=False, steps=100, random_state=0, verbose=0).fit(X)
    assert (labnet.threshold_, labnet.suspicious_links_, labnet.link_doubts_) == (0.3, None, None)
    same, other = np.flatnonzero(y == 0)[:2], np.flatnonzero(y == 1)[:2]
    assert (labnet.distance(X[same[:1]], X[same[1:]]) < labnet.distance(X[same], X[other])).all()
    assert np.isnan(labnet.rates(Links(must=[], cannot=[], n_samples=len(X)), X).accuracy)
    with pytest.warns(NoLinksWarning):
        clunet = CluNet(n_clusters=3, steps=100, random_state=0, verbose=0).fit(X, labnet=labnet)
    assert ari(y, clunet.labels_) == 1


def test_grids_may_hold_models_without_links(blobs, blob_links, small):
    X, _ = blobs
    base = S3C2(3, **small)
    grid = [
        (base, None),
        (base, blob_links),
        (S3C2(3, **{**small, "random_state": 1}), None),
        (base, NONE),
    ]
    for together, (model, links) in zip(fit_many(X, grid), grid):
        alone = S3C2(**model.get_params(deep=False)).fit(X, links=links)
        np.testing.assert_array_equal(together.labels_, alone.labels_)
        np.testing.assert_array_equal(together.predict_proba(X), alone.predict_proba(X))
        judged = links is blob_links
        assert (together.suspicious_links_ is not None) == judged
        assert (alone.suspicious_links_ is not None) == judged


def test_saved_and_loaded(tmp_path, blobs, small):
    X, _ = blobs
    model = S3C2(3, **small).fit(X)
    model.save(tmp_path)
    loaded = usable(S3C2.load(tmp_path), X, 3)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.suspicious_links_ is None
    assert loaded.link_doubts_ is None


RNG = np.random.default_rng(0)
TWO_FAR = np.concatenate([RNG.normal(size=(40, 3)), RNG.normal(size=(40, 3)) + 1e4])
FEW = np.concatenate([RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3)) + 9])
HARD = {
    "all rows equal": (np.ones((20, 4)), 3, [20]),
    "fewer different rows than clusters": (np.repeat(np.eye(3), 10, axis=0), 5, [10, 10, 10]),
    "fewer rows than neighbours": (FEW, 2, None),  # each is a neighbour of all others
    "two far components": (TWO_FAR, 2, [40, 40]),
    "two rows": (RNG.normal(size=(2, 3)), 2, [1, 1]),
    "one row a cluster": (RNG.normal(size=(8, 3)), 8, None),  # not all need be told apart
}


@pytest.mark.parametrize(("X", "n_clusters", "sizes"), HARD.values(), ids=HARD)
def test_hard_rows(small, X, n_clusters, sizes):
    model = usable(S3C2(n_clusters, **small).fit(X), X, n_clusters)
    found = np.bincount(model.labels_)
    if sizes is not None:
        assert sorted(found[found > 0]) == sizes


def test_images(small):
    X = np.random.default_rng(0).uniform(size=(20, 8, 8))
    quick = {"labnet__steps": 5, "clunet__steps": 5, "scale": "auto"}
    model = usable(S3C2(2, **small).set_params(**quick).fit(X), X, 2)
    assert model.network_kind_ == "convolutional"


def test_wrong_links_are_the_most_doubted(tmp_path, many_blobs, small):
    X, y = many_blobs
    links = Links.from_labels(y, 300, random_state=0)
    wrong = Links(must=links.cannot[:2], cannot=links.must[:2], n_samples=len(X))
    given = Links(
        must=np.concatenate([wrong.must, links.must[2:]]),
        cannot=np.concatenate([wrong.cannot, links.cannot[2:]]),
        n_samples=len(X),
    )
    # Longer than usual here: a doubt is worth what the representation is worth halfway.
    model = S3C2(3, contradictions="drop", **small).set_params(labnet__steps=400)
    model.fit(X, links=given)
    first = {tuple(pair) for pair in np.sort(model.suspicious_links_[:4]).tolist()}
    assert first == {tuple(pair) for pair in np.sort(np.r_[wrong.must, wrong.cannot]).tolist()}
    assert (np.diff(model.link_doubts_) <= 0).all()
    assert model.link_doubts_[3] > 0.5 > model.link_doubts_[4]
    assert ari(y, model.labels_) == 1
    model.save(tmp_path)
    np.testing.assert_array_equal(S3C2.load(tmp_path).link_doubts_, model.link_doubts_)
