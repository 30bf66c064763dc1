"""Which given links the rest of the data contradicts.

A network may learn any link by heart, so what it says of the two linked rows proves little. What it
says of their neighbours, whom nobody linked, does: of a right must-link the neighbours of both ends
lie together, of a right cannot-link they lie apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s3c2.engine.inference import apply_to_rows
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack
from s3c2.links import Links
from s3c2.pairs import GivenLinks
from s3c2.prior import Neighbours, neighbours_of

AT_A_TIME = 4096  # links
POWER = 4  # of doubt, and of trust
LEAST_WEIGHT = 1e-3
DOUBTED = 0.5  # from here on a link is more likely wrong than right


@dataclass(frozen=True)
class Suspicion:
    """How much each given link is doubted, from 0 to 1."""

    links: NDArray[np.int64]  # (links, 2), row numbers
    doubts: NDArray[np.float64]  # (links,)

    @classmethod
    def of(cls, links: Links, doubts: NDArray[np.float64]) -> Suspicion:
        return cls(np.concatenate([links.must, links.cannot]), doubts)

    def in_order(self) -> Suspicion:
        """The links that are doubted most come first."""
        order = np.argsort(-self.doubts, kind="stable")
        return Suspicion(self.links[order], self.doubts[order])


def near_in(one: Tensor, two: Tensor) -> Tensor:
    """How much rows belong together by LabNet: exp(−d²) of every two, (links, ASKED, ASKED)."""
    return (-torch.cdist(one, two).square()).exp()


def same_in(one: Tensor, two: Tensor) -> Tensor:
    """How much rows belong together by CluNet: pˢ of every two, (links, ASKED, ASKED)."""
    return torch.bmm(one, two.transpose(1, 2))


def judged_by_both(
    suspicion: Suspicion | None,
    clunet: nn.Module,
    rows: Rows,
    links: Links,
    prior: Neighbours,
) -> Suspicion | None:
    """What LabNet doubted halfway, and the clusters doubt in the end: the mean of both."""
    if suspicion is None:
        return None
    by_clusters = doubts_of_links(clunet, rows, links, prior, same_in)
    return Suspicion(suspicion.links, (suspicion.doubts + by_clusters) / 2)


def doubts_of_links(
    network: nn.Module,
    rows: Rows,
    links: Links,
    prior: Neighbours,
    belong: Callable[[Tensor, Tensor], Tensor] = near_in,
) -> NDArray[np.float64]:
    """How much the neighbours of each link contradict it, from 0 to 1: must-links, cannot-links.

    For a cannot-link it is how much they belong together, the mean over the pairs of a neighbour of
    one end and one of the other; for a must-link what it lacks of 1. In place of a row
    without neighbours, as most are of which a sample was searched, it is asked itself.
    """
    together = np.zeros(links.n_links)
    ends = np.concatenate([links.must, links.cannot]).astype(np.int64)
    prior = prior.on_the_host()
    for start in range(0, len(ends), AT_A_TIME):
        some = torch.from_numpy(ends[start : start + AT_A_TIME])
        asked = neighbours_of(some, prior)  # (links, 2, ASKED)
        unique, place = np.unique(asked.numpy(), return_inverse=True)
        out = torch.from_numpy(apply_to_rows(network, rows.subset(unique), "judging", 0))
        one, two = out[torch.from_numpy(place.reshape(asked.shape))].unbind(1)
        together[start : start + AT_A_TIME] = belong(one, two).mean((1, 2))
    of_must = np.arange(len(ends)) < links.n_must
    doubts: NDArray[np.float64] = np.where(of_must, 1 - together, together).clip(0, 1)
    return np.nan_to_num(doubts)  # a network that diverged doubts nothing


def undoubted(links: Links, suspicion: Suspicion) -> Links:
    """The links that are doubted by half at most; the suspicion is of these links, in order."""
    right = suspicion.doubts <= DOUBTED
    must, cannot = right[: links.n_must], right[links.n_must :]
    return Links(
        must=links.must[must],
        cannot=links.cannot[cannot],
        n_samples=links.n_samples,
        must_weight=links.must_weight[must],
        cannot_weight=links.cannot_weight[cannot],
    )


def trust_of(doubts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of its weight that a doubted link keeps, but for the training of CluNet."""
    return np.maximum(1 - doubts**POWER, LEAST_WEIGHT)


def stricter_trust_of(doubts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share that it keeps in the training of CluNet, which leans on links hardly doubted."""
    return np.maximum((1 - doubts) ** POWER, LEAST_WEIGHT)


def trusted(links: Links, trust: NDArray[np.float64]) -> Links:
    """The links with the share of their weight that they keep."""
    return Links(
        must=links.must,
        cannot=links.cannot,
        n_samples=links.n_samples,
        must_weight=links.must_weight * trust[: links.n_must],
        cannot_weight=links.cannot_weight * trust[links.n_must :],
    )


class Trust(nn.Module):
    """Judges the links of each replica halfway through its training.

    It holds the weights that batches of links read, so that they are kept in checkpoints with the
    networks, and a captured step sees them change.

    Parameters
    ----------
    given : the batches of links, which it sets the weights of
    links, steps : links, and number of steps, of each replica
    network : the stack of encoders in training
    """

    weight: Tensor
    doubts: Tensor
    judged: Tensor

    def __init__(
        self,
        given: GivenLinks,
        links: Sequence[Links],
        network: Stack,
        rows: Rows,
        prior: Neighbours,
        steps: Sequence[int],
    ) -> None:
        super().__init__()
        self.register_buffer("weight", given.weight)  # (replicas, links)
        self.register_buffer("doubts", torch.zeros_like(given.weight, dtype=torch.float64))
        self.register_buffer("judged", torch.zeros(len(links), dtype=torch.bool))
        self._links, self._rows, self._prior = links, rows, prior
        self._network = [network]  # in a list: its weights are not those of this module
        self._halfway = [n // 2 for n in steps]

    def before(self, step: int) -> None:
        """Judge the links of the replicas that are halfway."""
        for r, links in enumerate(self._links):
            if step != self._halfway[r] or links.n_links == 0 or self.judged[r]:
                continue
            encoder = self._network[0].network(r)
            doubts = doubts_of_links(encoder, self._rows, links, self._prior)
            keep = torch.from_numpy(trust_of(doubts)).to(self.weight)
            self.weight[r, : links.n_links] *= keep
            self.doubts[r, : links.n_links] = torch.from_numpy(doubts)
            self.judged[r] = True

    def doubts_of(self, replica: int) -> NDArray[np.float64] | None:
        """The doubts of a replica's links; None if its training ended before."""
        if not self.judged[replica]:
            return None
        found: NDArray[np.float64] = (
            self.doubts[replica, : self._links[replica].n_links].cpu().numpy()
        )
        return found
