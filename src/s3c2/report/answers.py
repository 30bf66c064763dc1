"""What a fitted model says about rows and links, each thing asked once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s3c2.distances import are_must_links
from s3c2.metrics import Rates


class Answers:
    """Posteriors, distances and rates, worked out when first asked for, and kept.

    Parameters
    ----------
    model : a fitted S3C2
    X : rows
    links : Links by row number of X
    """

    def __init__(self, model: Any, X: Any, links: Any) -> None:
        self.model, self.X, self.links = model, X, links

    @cached_property
    def posteriors(self) -> NDArray[np.float32]:
        """(rows, K)."""
        return np.asarray(self.model.predict_proba(self.X))

    @cached_property
    def distances(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """LabNet's squared distances of the must-links and of the cannot-links."""
        must, cannot = self.model.labnet_.link_distances(self.links, self.X)
        return np.asarray(must), np.asarray(cannot)

    @cached_property
    def rates(self) -> Rates:
        """ML rate, CL rate and accuracy on the links."""
        must, cannot = self.distances
        T = self.model.threshold_
        return Rates.of(are_must_links(must, T), ~are_must_links(cannot, T))
