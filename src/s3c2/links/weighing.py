"""What each link weighs, so that links stand for pairs that are drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from s3c2.links.links import Links


def as_random_pairs(links: Links, same_share: float) -> NDArray[np.float64] | None:
    """Weights under which each kind counts as much as among random pairs: must-links, cannot-links.

    They sum to 1, and are None without links of both kinds.

    Parameters
    ----------
    same_share : of random pairs that belong together
    """
    if min(links.n_must, links.n_cannot) == 0:
        return None
    must = links.must_weight / links.must_weight.sum()
    cannot = links.cannot_weight / links.cannot_weight.sum()
    return np.concatenate([same_share * must, (1 - same_share) * cannot])
