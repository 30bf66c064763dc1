"""Cross-validation over links."""

from __future__ import annotations

import numpy as np
import pytest

from s3c2 import S3C2, LabNet, Links, cross_validate_links
from s3c2.errors import LinksWarning
from s3c2.tuning import LinkScores


def test_links_are_held_out_and_all_rows_stay(blobs, small):
    X, y = blobs
    links = Links.from_labels(y, 60, random_state=0)
    scores = cross_validate_links(S3C2(3, **small), X, links, k=3, random_state=0)
    assert scores.n_held_out.sum() == 60
    assert scores.accuracy.shape == scores.fit_seconds.shape == (3,)
    assert scores.accuracy.mean() > 0.9
    assert "in 3 folds" in str(scores)


def test_it_tells_good_settings_from_bad(blobs, small):
    X, y = blobs
    published = {"clunet__start": "random", "clunet__smoothing": 0}  # T alone decides
    links = Links.from_labels(y, 60, random_state=0)
    good, bad = (
        cross_validate_links(
            S3C2(3, **small).set_params(labnet__threshold=T, **published),
            X,
            links,
            k=2,
            random_state=0,
        )
        for T in (0.3, 1e9)
    )
    assert good.accuracy.mean() > bad.accuracy.mean() + 0.2
    # With every pair a must-link, clusters are merged.
    assert np.nanmean(bad.cl_rate) < np.nanmean(good.cl_rate) - 0.3


def test_the_model_is_not_changed_and_ids_resolve(blobs, small):
    X, y = blobs
    names = np.array([f"r{i}" for i in range(120)])
    rows = Links.from_labels(y, 60, random_state=0)
    links = Links(must=names[rows.must], cannot=names[rows.cannot])
    model = S3C2(3, **small)
    scores = cross_validate_links(model, X, links, k=2, sample_id=names, random_state=0)
    assert scores.accuracy.min() > 0.8
    assert not hasattr(model, "labels_")


def test_too_many_folds(blobs, small):
    links = Links(must=[(0, 1)], cannot=[(2, 3)], n_samples=120)
    with pytest.raises(ValueError, match="5"):
        cross_validate_links(S3C2(3, **small), blobs[0], links, k=5)


def test_links_that_are_dropped_are_not_scored(blobs, small):
    X, y = blobs
    links = Links.from_labels(y, 60, random_state=0)
    both = [(i, i + 1) for i in range(0, 40, 2)]
    given = Links([*links.must, *both], [*links.cannot, *both], n_samples=len(X))
    model = S3C2(3, **small, contradictions="drop")
    with pytest.warns(LinksWarning, match="were left out because they contradict"):
        scores = cross_validate_links(model, X, given, k=2, random_state=0)
    assert scores.n_held_out.sum() == given.without_contradictions()[0].n_links


def test_rates_without_links_of_a_kind():
    known, none = np.array([1.0, 0.5]), np.array([np.nan, np.nan])
    words = str(LinkScores(known, known, none, np.array([3, 4]), known))
    assert "ML rate 0.750, CL rate – on 7" in words


def test_what_gives_no_clusters_is_refused(blobs, blob_links):
    with pytest.raises(TypeError, match="must be an S3C2 or a baseline. Got LabNet"):
        cross_validate_links(LabNet(), blobs[0], blob_links)
