"""What a CluNet is trained on: given links, pairs that LabNet labelled, and the rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from s3c2 import losses
from s3c2.cluster_training import misclassification
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses
from s3c2.links import Links
from s3c2.pairs import Ends, GivenLinks, PairBatch, PairSource, Twins
from s3c2.prior import Neighbours, worst_change

LEAST_LIKELY = 1e-4  # a link that is less likely than this is given up


class AsOne:
    """Eq. (3) over the given links and the labelled pairs of a step together, as published."""

    def __init__(self, links: PairSource, labelled: PairSource) -> None:
        self.links, self.labelled = links, labelled

    def draw(self, step: int | Tensor) -> list[PairBatch]:
        return self.links.draw(step).joined(self.labelled.draw(step))

    def terms(self, batches: Sequence[PairBatch], ends: Sequence[Ends]) -> dict[str, Tensor]:
        return {"loss": misclassification(batches, ends)}


class Beside:
    """Eq. (3) over the labelled pairs, and beside it a steeper loss of the given links.

    A label may be wrong, and eq. (3) forgives that: each pair pulls as strongly as any other. A
    link that somebody gave pulls the more, the less the clusters agree with it; below LEAST_LIKELY
    it is given up.

    Parameters
    ----------
    links, labelled : PairSource
    weight : of the given links against the labelled pairs, (replicas,)
    """

    def __init__(self, links: GivenLinks, labelled: PairSource, weight: Sequence[float]) -> None:
        self.links, self.labelled = links, labelled
        self.weight = torch.tensor(weight, device=links.n.device)

    def draw(self, step: int | Tensor) -> list[PairBatch]:
        return [self.links.draw(step), self.labelled.draw(step)]

    def terms(self, batches: Sequence[PairBatch], ends: Sequence[Ends]) -> dict[str, Tensor]:
        given, p_same = batches[0], batches[0].same_probability(ends[0].out)
        links = losses.root_misclassification(p_same, given.same, given.weight, LEAST_LIKELY)
        pairs = misclassification(batches[1:], ends[1:])
        return {"loss": pairs + self.weight * links, "pairs": pairs, "links": links}


def weights_of_links(links: Sequence[Links], labels_worth: float) -> list[float]:
    """How much the given links count, where the labelled pairs count 1: more, if they are more.

    Links of a low weight are so many fewer.
    """
    counts = [float(one.must_weight.sum() + one.cannot_weight.sum()) for one in links]
    return [n / (n + labels_worth) if n else 0.0 for n in counts]


class Part(Protocol):
    """What CluNet learns beside the pairs, from the rows of the labelled ones."""

    name: ClassVar[str]
    weight: float

    def __call__(self, batch: PairBatch, ends: Ends) -> Tensor:
        """Its loss, (replicas,), from the labelled pairs and what the network gives for them."""


class Smoothness:
    """KL(p(x) ‖ p(x + r)): how far a small change of a row moves its posteriors.

    r is the change within the radius of x that moves p most.
    """

    name: ClassVar = "smoothness"

    def __init__(self, network: Stack, prior: Neighbours, weight: float) -> None:
        self.network, self.prior, self.weight = network, prior, weight

    def __call__(self, batch: PairBatch, ends: Ends) -> Tensor:
        (_, rows), ((_, x), (_, p)) = batch.twins, ends
        moved = worst_change(self.network, x, p, self.prior.radius[rows], losses.divergence_of)
        change: Tensor = losses.divergence_of(p.detach(), self.network.without_dropout(moved))
        return change.mean(1)


class Vanishing:
    """How far clusters have shrunk below the least share of all rows that each is to have.

    Where LabNet often takes two clusters for one, the loss of pairs is lower if one of them takes
    the rows of the other, although links tell them apart.

    Parameters
    ----------
    least : (replicas, K)
    """

    name: ClassVar = "vanishing"
    weight = 1.0

    def __init__(self, least: Tensor) -> None:
        self.least = least

    def __call__(self, batch: PairBatch, ends: Ends) -> Tensor:
        return losses.vanishing(torch.cat(ends.out, dim=1).mean(1), self.least)


def clustering_losses(twins: Twins, pairs: AsOne | Beside, *parts: Part) -> Losses:
    """Step → the loss of the pairs and of the other parts, and each by itself."""

    def losses_of(step: int | Tensor) -> dict[str, Tensor]:
        batches = pairs.draw(step)
        ends = twins(step, *batches)
        terms = pairs.terms(batches, ends)
        if not parts:
            return terms
        beside = {part.name: part(batches[-1], ends[-1]) for part in parts}
        loss = sum((part.weight * beside[part.name] for part in parts), terms["loss"])
        return {"pairs": terms["loss"], **terms, "loss": loss, **beside}

    return losses_of
