"""How LabNets are trained: one, a committee, those of held-out folds, or all of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from s3c2 import losses
from s3c2.engine.loop import check_converged, converged
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.scheduling import Trained, train_stacks
from s3c2.engine.stack import Stack
from s3c2.engine.task import History, Losses, Task
from s3c2.errors import DataError, warn
from s3c2.fitting import Fitting
from s3c2.links import Links
from s3c2.networks import committee_of
from s3c2.pairs import GivenLinks, NeighbourPairs, RandomPairs, RandomRows, Twins
from s3c2.prior import Neighbours, find_neighbours, worst_change
from s3c2.threshold import Fold, choose_threshold, folds_for_threshold

if TYPE_CHECKING:
    from s3c2.labnet import LabNet

WEAK_PAIRS = 256  # pairs of neighbours in a batch, and as many random ones
SAME_SHARE = 0.1  # of random pairs, where the number of clusters is not known


@dataclass(frozen=True)
class LabNetResult:
    """What LabNet learned: h, T, and the loss terms of each step."""

    encoder: nn.Module
    threshold: float
    history: History


@dataclass(frozen=True)
class TrainedLabNet:
    """A LabNet after stage one.

    Attributes
    ----------
    encoder : h, a committee if there are several
    history : loss terms of each step
    out_of_fold : networks that did not see some links, each with those links, to choose T by
    """

    encoder: nn.Module
    history: History
    out_of_fold: Sequence[tuple[nn.Module, Links]] = ()


def prior_of(labnet: LabNet, rows: Rows) -> Neighbours | None:
    """What LabNet assumes of the rows before any link; None where it assumes nothing."""
    if not labnet.neighbors:
        return None
    return find_neighbours(rows, int(labnet.neighbors), labnet.verbose)


def train_labnets(
    labnets: Sequence[LabNet], fitting: Fitting[Any], prior: Neighbours | None = None
) -> list[TrainedLabNet | DataError]:
    """Stage one of all models together; LabNets that differ in T alone are trained once.

    Parameters
    ----------
    labnets : settings of each model; they differ in T and λ at most
    prior : the neighbours of the rows, if the settings ask for them
    """
    keys: list[Any] = []
    plans: dict[Any, LabNetPlan] = {}
    for labnet, links, seed in zip(labnets, fitting.links, fitting.seeds):
        folded = labnet.threshold == "auto"
        key = (id(links), seed, labnet.reconstruction_weight, folded)
        keys.append(key)
        if key not in plans:
            plans[key] = LabNetPlan.of(labnet, links, seed)
    replicas = [replica for plan in plans.values() for replica in plan.replicas]
    trained = iter(train_replicas(labnets[0], replicas, fitting.rows, fitting.run, prior))
    done: dict[Any, TrainedLabNet | DataError] = {}
    for key, plan in plans.items():
        own = [next(trained) for _ in plan.replicas]
        try:
            done[key] = plan.finished(own)
        except DataError as error:
            done[key] = error
    return [done[key] for key in keys]


def with_thresholds(
    labnets: Sequence[LabNet], trained: Sequence[TrainedLabNet | DataError], rows: Rows
) -> list[LabNetResult | DataError]:
    """Each LabNet with its T, as given or from the links that it did not see.

    The error of one that diverged is handed on.
    """
    return [
        one
        if isinstance(one, DataError)
        else LabNetResult(
            one.encoder, choose_threshold(labnet.threshold, one.out_of_fold, rows), one.history
        )
        for labnet, one in zip(labnets, trained)
    ]


@dataclass(frozen=True)
class LabNetReplica:
    """One of many LabNets that share data and architecture; links by row number, λ of eq. (2)."""

    links: Links
    seed: int
    reconstruction_weight: float


@dataclass(frozen=True)
class LabNetPlan:
    """The networks that one LabNet needs: its committee, and one for each fold of the links."""

    committee: Sequence[LabNetReplica]
    folds: Sequence[Fold] = ()

    @classmethod
    def of(cls, labnet: LabNet, links: Links, seed: int) -> LabNetPlan:
        folds = folds_for_threshold(links, seed) if labnet.threshold == "auto" else []
        others = range(1, int(labnet.n_committee))
        seeds = [seed, *(derived_seed(seed, Purpose.REPLICA, m) for m in others)]
        weight = float(labnet.reconstruction_weight)
        return cls([LabNetReplica(links, one, weight) for one in seeds], folds)

    @property
    def replicas(self) -> list[LabNetReplica]:
        first = self.committee[0]
        of_folds = [
            LabNetReplica(fold.train, first.seed, first.reconstruction_weight)
            for fold in self.folds
        ]
        return [*self.committee, *of_folds]

    def finished(self, trained: Sequence[Trained]) -> TrainedLabNet:
        """The committee of those that converged, and the networks of the folds."""
        committee, out_of_fold = trained[: len(self.committee)], trained[len(self.committee) :]
        good = [one for one in committee if converged(one.history)]
        if not good:
            check_converged(committee[0].history, "labnet")
        if len(good) < len(committee):
            warn(
                f"{len(committee) - len(good)} of {len(committee)} LabNets diverged and were left "
                "out of the committee. Scale the data (scale='standard') or lower learning_rate.",
                UserWarning,
            )
        unseen = [(one.network, fold.held_out) for one, fold in zip(out_of_fold, self.folds)]
        return TrainedLabNet(committee_of([one.network for one in good]), good[0].history, unseen)


def train_replicas(
    settings: LabNet,
    replicas: Sequence[LabNetReplica],
    rows: Rows,
    run: FitRun,
    prior: Neighbours | None = None,
) -> list[Trained]:
    """Train LabNets on the same rows, in as few stacks as suit the device."""
    precision = settings.precision
    architecture = settings._architecture(settings.dropout, settings.decoder)
    how = settings._training()

    def build(replica: LabNetReplica) -> dict[str, nn.Module]:
        def seed(part: int) -> int:
            return derived_seed(replica.seed, Purpose.WEIGHTS, part)

        parts = {"encoder": architecture.build_encoder(rows.shape, seed(0))}
        if settings.semi_supervised:
            parts["decoder"] = architecture.build_decoder(rows.shape, seed(1))
        return parts

    def task(some: Sequence[LabNetReplica], stacks: dict[str, Stack], part: str) -> Task:
        seeds = [replica.seed for replica in some]
        given = GivenLinks([r.links for r in some], how.links, seeds, rows.device)
        own_decoder = settings.semi_supervised and settings.decoder is not None
        own = isinstance(settings.network, nn.Module) or own_decoder
        twins = Twins(stacks["encoder"], rows, seeds)
        if settings.semi_supervised:
            losses_of = semi_supervised_losses(settings, some, stacks, rows, given, how.pairs)
        elif prior is not None:
            losses_of = prior_losses(settings, twins, given, prior)
        else:
            losses_of = contrastive_losses(twins, given)
        return Task(
            stage="labnet",
            stacks=nn.ModuleDict(stacks),
            losses=losses_of,
            steps=[how.n_steps(n) for n in given.steps_per_epoch],
            optimizer=how.optimizer,
            learning_rate=settings.learning_rate,
            foreign_seed=derived_seed(seeds[0], Purpose.STAGE, 0) if own else None,
            part=part,
            capturable=rows.settle(precision) and not own,
        )

    pairs = how.pairs if settings.semi_supervised else 0
    weak = 2 * WEAK_PAIRS if prior is not None else 0
    batch = {"encoder": 2 * (how.links + pairs + weak), "decoder": 2 * pairs}
    return train_stacks(replicas, build, task, batch, rows.device, run, precision)


def contrastive_losses(twins: Twins, given: GivenLinks) -> Losses:
    """Step → eq. (1)."""

    def losses_of(step: int | Tensor) -> dict[str, Tensor]:
        links = given.draw(step)
        (ends,) = twins(step, links)
        return {
            "loss": losses.contrastive(losses.squared_distance(*ends.out), links.same, links.weight)
        }

    return losses_of


def prior_losses(settings: LabNet, twins: Twins, given: GivenLinks, prior: Neighbours) -> Losses:
    """Step → eq. (1), and what is assumed of neighbours, random pairs and small changes.

    Random pairs are in one class with probability τ, and then behave like neighbours: their
    cannot-link loss is (loss of random pairs − τ · loss of neighbours) / (1 − τ).
    """
    rows, seeds = twins.rows, twins.seeds
    neighbours = NeighbourPairs(prior, WEAK_PAIRS, seeds, rows.device)
    others = RandomPairs(rows.n, WEAK_PAIRS, seeds, rows.device)
    share = SAME_SHARE if settings.same_share is None else float(settings.same_share)
    weight, smoothing = float(settings.prior_weight), float(settings.smoothing)

    def losses_of(step: int | Tensor) -> dict[str, Tensor]:
        links, near, far = given.draw(step), neighbours.draw(step), others.draw(step)
        of_links, of_near, of_far = twins(step, links, near, far)
        d2, d2_near, d2_far = (
            losses.squared_distance(*ends.out) for ends in (of_links, of_near, of_far)
        )
        contrastive = losses.contrastive(d2, links.same, links.weight)
        attraction = losses.contrastive(d2_near, near.same, near.weight)
        of_random = losses.contrastive(d2_far, far.same, far.weight)
        of_neighbours = losses.contrastive(d2_near, far.same, far.weight)
        repulsion = (of_random - share * of_neighbours) / (1 - share)
        terms = {"contrastive": contrastive, "attraction": attraction, "repulsion": repulsion}
        loss = contrastive + weight * (attraction + repulsion)
        if smoothing:
            x, h = of_near.x[0], of_near.out[0]
            moved = worst_change(twins.network, x, h, prior.radius[near.a], losses.squared_distance)
            terms["smoothness"] = losses.squared_distance(
                h.detach(), twins.network.without_dropout(moved)
            ).mean(1)
            loss = loss + smoothing * terms["smoothness"]
        return {"loss": loss, **terms}

    return losses_of


def semi_supervised_losses(
    settings: LabNet,
    replicas: Sequence[LabNetReplica],
    stacks: dict[str, Stack],
    rows: Rows,
    given: GivenLinks,
    n_pairs: int,
) -> Losses:
    """Step → eq. (2): the links, and the reconstruction of the rows of random pairs."""
    seeds = [replica.seed for replica in replicas]
    decoder_seeds = [derived_seed(seed, Purpose.DROPOUT) for seed in seeds]
    twins, decoder = Twins(stacks["encoder"], rows, seeds), stacks["decoder"]
    others = RandomRows(rows.n, 2 * n_pairs, seeds, rows.device)
    share = torch.tensor([r.reconstruction_weight for r in replicas], device=rows.device)

    def losses_of(step: int | Tensor) -> dict[str, Tensor]:
        links = given.draw(step)
        of_links, of_rows = twins(step, links, others.draw(step))
        contrastive = losses.contrastive(
            losses.squared_distance(*of_links.out), links.same, links.weight
        )
        decoder.lay_dropout(2 * n_pairs, decoder_seeds, step)
        x_hat = decoder(of_rows.out[1]).flatten(2)  # (replicas, 2·pairs, columns)
        errors = losses.reconstruction_error(
            x_hat, of_rows.x[1].flatten(2), settings.reconstruction
        )
        reconstruction = 2 * errors.mean(-1)  # a pair counts both its twins
        return {
            "loss": contrastive + share * reconstruction,
            "contrastive": contrastive,
            "reconstruction": reconstruction,
        }

    return losses_of
