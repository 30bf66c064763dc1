"""What the baselines have in common: a ``fit`` that needs X and links alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from s3c2.errors import DataError
from s3c2.fitting import Fitting, begin
from s3c2.links import Links
from s3c2.surface import ClusterResult


class Baseline(ABC):
    """A method that the paper compares with; a subclass is a LinkClusterer too."""

    @abstractmethod
    def _learn(self, fitting: Fitting[Any]) -> Sequence[ClusterResult | DataError]:
        """Train the models; what each learned, or the error that ended it."""

    def fit(
        self, X: Any, y: Any = None, *, links: Links | None = None, sample_id: Any = None
    ) -> Self:
        """Learn the clusters of X from the links.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or tensor (n, columns); images (n, h, w), (n, c, h, w),
            (n, h, w, c)
        y : ignored
        links : Links
        sample_id : (n,), optional
            The rows' ids, if the links speak of ids.
        """
        models: list[Any] = [self]
        fitting = begin(models, X, [links], sample_id=sample_id, y=y)
        fitting.train_one(fitting.models[0]._learn)
        return self
