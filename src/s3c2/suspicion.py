"""Which given links the rest of the data contradicts.

A network may learn any link by heart, so what it says of the two linked rows proves little. What it
says of their neighbours, whom nobody linked, does: of a right must-link the neighbours of both ends
lie together, of a right cannot-link they lie apart.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s3c2.engine.inference import apply_to_rows
from s3c2.engine.rows import Rows
from s3c2.links import Links
from s3c2.prior import Neighbours

ASKED = 10  # neighbours of each end
AT_A_TIME = 4096  # links
POWER = 4  # of doubt: links that are hardly doubted keep their weight
LEAST_WEIGHT = 1e-3


def doubts_of_links(
    encoder: nn.Module, rows: Rows, links: Links, prior: Neighbours
) -> NDArray[np.float64]:
    """How much the neighbours of each link contradict it, from 0 to 1: must-links, cannot-links.

    It is the mean of exp(−d²) over the pairs of a neighbour of one end and one of the other, for a
    cannot-link; for a must-link what it lacks of 1.
    """
    together = np.zeros(links.n_links)
    ends = np.concatenate([links.must, links.cannot]).astype(np.int64)
    for start in range(0, len(ends), AT_A_TIME):
        some = torch.from_numpy(ends[start : start + AT_A_TIME])
        asked = neighbours_of(some, prior)  # (links, 2, ASKED)
        unique, place = np.unique(asked.numpy(), return_inverse=True)
        h = torch.from_numpy(apply_to_rows(encoder, rows.subset(unique), "judging", 0))
        one, two = h[torch.from_numpy(place.reshape(asked.shape))].unbind(1)
        together[start : start + AT_A_TIME] = (-torch.cdist(one, two).square()).exp().mean((1, 2))
    doubts = np.where(np.arange(len(ends)) < links.n_must, 1 - together, together)
    return np.nan_to_num(doubts)  # a network that diverged doubts nothing


def neighbours_of(rows: Tensor, prior: Neighbours) -> Tensor:
    """ASKED neighbours of each row, some of them repeated; a row without any is its own."""
    known, first, count, others = (
        one.cpu() for one in (prior.rows, prior.first, prior.count, prior.others)
    )
    place = torch.searchsorted(known, rows).clamp(max=len(known) - 1)
    spread = torch.arange(ASKED) * count[place].unsqueeze(-1) // ASKED
    found = others[first[place].unsqueeze(-1) + spread]
    return torch.where((known[place] == rows).unsqueeze(-1), found, rows.unsqueeze(-1))


def trusted(links: Links, doubts: NDArray[np.float64]) -> Links:
    """The links with less weight where they are doubted."""
    trust = np.maximum(1 - doubts**POWER, LEAST_WEIGHT)
    return Links(
        must=links.must,
        cannot=links.cannot,
        n_samples=links.n_samples,
        must_weight=links.must_weight * trust[: links.n_must],
        cannot_weight=links.cannot_weight * trust[links.n_must :],
    )
