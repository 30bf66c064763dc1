"""What a fitted model says about rows and links, each thing asked once."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from s3c2.distances import are_must_links
from s3c2.metrics import Rates
from s3c2.suspicion import DOUBTED


class DoubtedLink(NamedTuple):
    """A link that the neighbours of its two rows contradict."""

    a: int
    b: int
    kind: str  # "must" or "cannot"
    doubt: float


class Answers:
    """Posteriors, distances, rates and doubts, worked out when first asked for, and kept.

    Parameters
    ----------
    model : a fitted S3C2
    X : rows
    links : Links by row number of X
    numbers : the rows' numbers among all rows of ``fit``, ascending, where X holds only some
    """

    def __init__(
        self, model: Any, X: Any, links: Any, numbers: NDArray[np.int64] | None = None
    ) -> None:
        self.model, self.X, self.links, self.numbers = model, X, links, numbers

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

    @property
    def ml_rate(self) -> float | None:
        """None without must-links."""
        return float(self.rates.ml_rate) if self.links.n_must else None

    @property
    def cl_rate(self) -> float | None:
        """None without cannot-links."""
        return float(self.rates.cl_rate) if self.links.n_cannot else None

    @cached_property
    def doubted_links(self) -> list[DoubtedLink] | None:
        """The links that may be wrong, the most doubted first; None if links were not judged."""
        pairs, doubts = self.model.suspicious_links_, self.model.link_doubts_
        if pairs is None:
            return None
        pairs, doubts = pairs[doubts > DOUBTED], doubts[doubts > DOUBTED]
        if self.numbers is not None:
            pairs = np.searchsorted(self.numbers, pairs)
        found = _numbered(pairs)
        kinds = {
            "must": np.isin(found, _numbered(self.links.must)),
            "cannot": np.isin(found, _numbered(self.links.cannot)),
        }
        return [
            DoubtedLink(int(a), int(b), kind, float(doubt))
            for number, ((a, b), doubt) in enumerate(zip(pairs, doubts))
            for kind in kinds
            if kinds[kind][number]
        ]


def _numbered(pairs: NDArray[Any]) -> NDArray[np.int64]:
    """One number for each pair of rows, in either order."""
    low, high = np.sort(np.asarray(pairs, dtype=np.int64).reshape(-1, 2), axis=1).T
    return np.asarray(high * (high + 1) // 2 + low)
