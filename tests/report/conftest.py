"""A stand-in for a fitted S3C2 that answers at once: these tests are of what is shown."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits


class FakeModel:
    def __init__(self, X, n_clusters):
        self.kmeans = KMeans(n_clusters, n_init=1, random_state=0).fit(X)
        self.threshold_ = 0.3
        noise = np.random.default_rng(0).normal(1, 0.1, 300)
        self.history_ = {
            "labnet": {"loss": noise / np.arange(1, 301), "reconstruction": noise},
            "clunet": {"loss": noise[:30]},
        }
        self.threshold = 0.3
        self.labnet_ = SimpleNamespace(link_distances=self.link_distances)

    def link_distances(self, links, X):
        h = self.transform(X)
        return [((h[p[:, 0]] - h[p[:, 1]]) ** 2).sum(axis=1) for p in (links.must, links.cannot)]

    def transform(self, X):
        return X.reshape(len(X), -1) / 4

    def predict_proba(self, X):
        closeness = np.exp(-self.kmeans.transform(X.reshape(len(X), -1)))
        return closeness / closeness.sum(axis=1, keepdims=True)

    def get_params(self, deep=True):
        return {"n_clusters": self.kmeans.n_clusters, "device": "auto"}


@pytest.fixture(scope="session")
def digits():
    """X, links and a model of it."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    pairs = np.random.default_rng(0).integers(0, len(y), (200, 2))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return X, SimpleNamespace(must=pairs[same], cannot=pairs[~same]), FakeModel(X, 10)
