"""k-means as a method of the experiments: it has no links, and takes rows as S3C2 scales them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from s3c2.data.scaling import choose_scale, learn_scaling

STARTS = 10


class KMeansOfRows(BaseEstimator):
    """scikit-learn's k-means on rows scaled by what ``scale="auto"`` of S3C2 chooses.

    Parameters
    ----------
    n_clusters, random_state : as in scikit-learn
    verbose, device, precision, checkpoint : not used; all methods are called alike
    """

    def __init__(
        self,
        n_clusters: int,
        *,
        random_state: int | None = None,
        verbose: int = 0,
        device: str = "cpu",
        precision: str = "float32",
        checkpoint: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.verbose = verbose
        self.device = device
        self.precision = precision
        self.checkpoint = checkpoint

    def fit(self, X: Any) -> Self:
        X = X.reshape(len(X), -1)
        self.scaling_ = learn_scaling(choose_scale(X)[0], X)
        self.kmeans_ = KMeans(self.n_clusters, n_init=STARTS, random_state=self.random_state)
        self.kmeans_.fit(self._scaled(X))
        self.history_ = {"loss": np.zeros(self.kmeans_.n_iter_)}  # a step is a round of Lloyd's
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.kmeans_.predict(self._scaled(X))

    def _scaled(self, X: Any) -> np.ndarray:
        return np.asarray(self.scaling_.apply(X.reshape(len(X), -1)), dtype=np.float32)
