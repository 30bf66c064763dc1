"""What a LabNet is trained on: links, what is known without them, and the rows themselves.

Each part draws its batches and turns what the network gives for them into named terms. One pass
through the network serves all parts; the loss is the weighted sum of all terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from s3c2 import losses
from s3c2.data.topics import Topics
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses
from s3c2.pairs import Ends, GivenLinks, NeighbourPairs, PairBatch, RandomRows, RowBatch, Twins
from s3c2.prior import Neighbours, worst_change

if TYPE_CHECKING:
    from s3c2.labnet import LabNet
    from s3c2.reading import Reading

WEAK_PAIRS = 256  # pairs of neighbours in a batch
SAME_SHARE = 0.1  # of random pairs, where the number of clusters is not known
TEXT_SMOOTHING, TEXT_DROPOUT = 0.5, 0.3  # for counts and tf-idf, whose neighbours say less

Batches = Sequence[PairBatch | RowBatch]
Terms = dict[str, tuple[float | Tensor, Tensor]]  # weight and value of each, by name


def share_of_same(settings: LabNet) -> float:
    """τ, the share of random pairs that belong together."""
    return SAME_SHARE if settings.same_share is None else float(settings.same_share)


def smoothing_of(settings: LabNet, rows: Rows) -> float:
    """The weight of smoothness for these rows."""
    if settings.smoothing is None:
        return TEXT_SMOOTHING if isinstance(rows.scaling, Topics) else 0.0
    return float(settings.smoothing)


def dropout_of(settings: LabNet, rows: Rows | Reading) -> float:
    """The rate of dropout for these rows; from links alone LabNet may learn nothing with it."""
    if settings.dropout is None:
        return TEXT_DROPOUT if isinstance(rows.scaling, Topics) and settings.neighbors else 0.0
    return float(settings.dropout)


class Part(Protocol):
    """One part of what LabNet learns from."""

    def draw(self, step: int | Tensor) -> Batches:
        """The batches of this step."""

    def terms(self, step: int | Tensor, batches: Batches, ends: Sequence[Ends]) -> Terms:
        """The terms of the loss, from what the network gives for the batches."""


def loss_of_parts(twins: Twins, parts: Sequence[Part]) -> Losses:
    """Step → the weighted sum of the terms of all parts, and each term by itself."""

    def losses_of(step: int | Tensor) -> dict[str, Tensor]:
        drawn = [part.draw(step) for part in parts]
        ends = iter(twins(step, *(batch for batches in drawn for batch in batches)))
        terms: Terms = {}
        for part, batches in zip(parts, drawn):
            terms |= part.terms(step, batches, [next(ends) for _ in batches])
        first, *others = (weight * value for weight, value in terms.values())
        loss = sum(others, first)
        by_name = {name: value for name, (_, value) in terms.items()} if len(terms) > 1 else {}
        return {"loss": loss, **by_name}

    return losses_of


class FromLinks:
    """Eq. (1): the contrastive loss of the given links."""

    def __init__(self, given: GivenLinks) -> None:
        self.given = given

    def draw(self, step: int | Tensor) -> Batches:
        return [self.given.draw(step)]

    def terms(self, step: int | Tensor, batches: Batches, ends: Sequence[Ends]) -> Terms:
        (links,) = batches
        assert isinstance(links, PairBatch)
        d2 = losses.squared_distance(*ends[0].out)
        return {"contrastive": (1.0, losses.contrastive(d2, links.same, links.weight))}


class FromNeighbours:
    """What is known without links: neighbours attract, random pairs repel, small changes do little.

    The random pairs are all pairs of the rows whose neighbours were drawn. They are in one class
    with probability τ, and then behave like neighbours: their cannot-link loss is (loss of random
    pairs − τ · loss of neighbours) / (1 − τ). It weighs (1 − τ)⁴: the more of them belong together
    after all, the less is known of what should be apart.
    """

    def __init__(self, settings: LabNet, twins: Twins, prior: Neighbours) -> None:
        device = twins.rows.device
        self.twins, self.prior = twins, prior
        self.neighbours = NeighbourPairs(prior, WEAK_PAIRS, twins.seeds, device)
        self.share = share_of_same(settings)
        self.weight, self.smoothing = (
            float(settings.prior_weight),
            smoothing_of(settings, twins.rows),
        )
        self._others = (1 - torch.eye(WEAK_PAIRS, device=device)).flatten()  # not with themselves
        self._cannot = torch.zeros(len(twins.seeds), WEAK_PAIRS, device=device)

    def draw(self, step: int | Tensor) -> Batches:
        return [self.neighbours.draw(step)]

    def terms(self, step: int | Tensor, batches: Batches, ends: Sequence[Ends]) -> Terms:
        (near,), ((x, _), (h, h_near)) = batches, ends[0]
        assert isinstance(near, PairBatch)
        d2 = losses.squared_distance(h, h_near)
        attraction = losses.contrastive(d2, near.same, near.weight)
        of_neighbours = losses.contrastive(d2, self._cannot, near.weight)
        d2_all = losses.squared_distances_of_all(h).flatten(1)
        of_random = losses.contrastive(d2_all, torch.zeros_like(d2_all), self._others)
        repulsion = (of_random - self.share * of_neighbours) / (1 - self.share)
        terms: Terms = {"attraction": (self.weight, attraction)}
        terms["repulsion"] = (self.weight * (1 - self.share) ** 4, repulsion)
        if self.smoothing:
            radius, network = self.prior.radius[near.a], self.twins.network
            moved = worst_change(network, x, h, radius, losses.squared_distance)
            change = losses.squared_distance(h.detach(), network.without_dropout(moved)).mean(1)
            terms["smoothness"] = (self.smoothing, change)
        return terms


class FromRows:
    """The second part of eq. (2): the reconstruction of the rows of random pairs."""

    def __init__(
        self, settings: LabNet, twins: Twins, decoder: Stack, n_pairs: int, weights: Sequence[float]
    ) -> None:
        device = twins.rows.device
        self.decoder, self.over, self.n_rows = decoder, settings.reconstruction, 2 * n_pairs
        self.others = RandomRows(twins.rows.n, self.n_rows, twins.seeds, device)
        self.weight = torch.tensor(weights, device=device)
        self._seeds = [derived_seed(seed, Purpose.DROPOUT) for seed in twins.seeds]

    def draw(self, step: int | Tensor) -> Batches:
        return [self.others.draw(step)]

    def terms(self, step: int | Tensor, batches: Batches, ends: Sequence[Ends]) -> Terms:
        (_, x), (_, h) = ends[0]
        self.decoder.lay_dropout(self.n_rows, self._seeds, step)
        x_hat = self.decoder(h).flatten(2)  # (replicas, rows, columns)
        errors = losses.reconstruction_error(x_hat, x.flatten(2), self.over)
        return {"reconstruction": (self.weight, 2 * errors.mean(-1))}  # a pair counts both twins


class FromWeights:
    """A penalty on Σ|w| over the weights of the hidden layers, as in the script on Reuters."""

    def __init__(self, settings: LabNet, network: Stack) -> None:
        self.weight, self.network = float(settings.l1), network

    def draw(self, step: int | Tensor) -> Batches:
        return []

    def terms(self, step: int | Tensor, batches: Batches, ends: Sequence[Ends]) -> Terms:
        sums = [one.abs().flatten(1).sum(1) for one in self.network.hidden_weights()]
        return {"weights": (self.weight, torch.stack(sums).sum(0))}
