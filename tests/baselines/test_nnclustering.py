"""NNclustering: networks with batch normalisation, trained on the given links alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from torch import nn

from s3c2 import Links, fit_many
from s3c2.baselines import NNClustering
from s3c2.errors import DataError

SMALL = {"layers": (32, 16), "batch_links": 16, "steps": 20, "random_state": 0, "verbose": 0}


def test_only_linked_rows_matter(blobs, blob_links):
    X = blobs[0].copy()
    model = NNClustering(3, scale=None, **SMALL).fit(X, links=blob_links)
    linked = np.unique(np.concatenate([blob_links.must, blob_links.cannot]))
    free = np.setdiff1d(np.arange(len(X)), linked)
    assert len(free) > 0
    X[free] = 17.0
    again = clone(model).fit(X, links=blob_links)
    assert (again.predict_proba(blobs[0]) == model.predict_proba(blobs[0])).all()


def test_a_grid_is_the_models_one_by_one_with_their_running_means(blobs, tmp_path):
    X, y = blobs
    grid = [
        (NNClustering(3, **{**SMALL, "random_state": i}, margin=1.0 + i),
         Links.from_labels(y, 20 + 20 * i, random_state=i))
        for i in range(3)
    ]  # fmt: skip
    means = []
    for (model, links), fitted in zip(grid, fit_many(X, grid)):
        alone = clone(model).fit(X, links=links)
        assert (fitted.predict_proba(X) == alone.predict_proba(X)).all()
        (norm,) = (m for m in fitted.network_ if isinstance(m, nn.BatchNorm1d))
        assert int(norm.num_batches_tracked) == 20
        means.append(norm.running_mean.tolist())
        fitted.save(tmp_path)
        assert (NNClustering.load(tmp_path).predict_proba(X) == alone.predict_proba(X)).all()
    assert means[0] != means[1] != means[2]


def test_lenet_on_small_images(tmp_path):
    data = load_digits(n_class=3)
    links = Links.from_labels(data.target, 200, random_state=0)
    model = NNClustering(
        3, network="convolutional", scale="unit", steps=40, batch_links=64, random_state=0,
        verbose=0,
    ).fit(data.images, links=links)  # fmt: skip
    assert adjusted_rand_score(data.target, model.labels_) > 0.9
    model.save(tmp_path)
    loaded = NNClustering.load(tmp_path)
    assert (loaded.predict_proba(data.images) == model.predict_proba(data.images)).all()
    with pytest.raises(DataError, match="needs images of at least 4 × 4"):
        model.fit(data.data, links=links)


def test_own_encoder(blobs, blob_links):
    own = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
    model = NNClustering(3, network=own, **SMALL).fit(blobs[0], links=blob_links)
    assert model.predict_proba(blobs[0]).shape == (120, 3)
