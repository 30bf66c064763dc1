"""Training networks p, rows → posteriors, on batches of pairs: CluNet's and the baselines'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from s3c2 import losses
from s3c2.engine.loop import check_converged
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.scheduling import Trained, train_stacks
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses, Task
from s3c2.errors import DataError
from s3c2.pairs import Ends, PairBatch
from s3c2.published import Training
from s3c2.surface import ClusterResult, LinkClusterer, labels_of


class Seeded(Protocol):
    """What makes one of many networks different, as far as its training needs to know."""

    @property
    def seed(self) -> int:
        """Decides its weights and draws."""


R = TypeVar("R", bound=Seeded)


def train_cluster_networks(
    settings: LinkClusterer,
    how: Training,
    learning_rate: float,
    replicas: Sequence[R],
    step_losses: Callable[[Sequence[R], Stack], Losses],
    batch: int,
    rows: Rows,
    run: FitRun,
    build: Callable[[R], nn.Module] | None = None,
    stage: str | None = None,
) -> list[Trained]:
    """Train cluster networks on the same rows, in as few stacks as suit the device.

    Parameters
    ----------
    settings : what the networks have in common
    how : length and optimiser
    replicas : what makes each one different
    step_losses : the losses of some replicas, given the stack of their networks
    batch : rows of a batch of one replica
    build : the network that a replica begins with, by default one with random weights
    stage : what callbacks call the training, by default as the settings do
    """
    precision = settings.precision

    def built(replica: R) -> dict[str, nn.Module]:
        if build is not None:
            return {"clusters": build(replica)}
        seed = derived_seed(replica.seed, Purpose.WEIGHTS)
        return {"clusters": settings._build_network(rows.shape, seed)}

    def task(some: Sequence[R], stacks: dict[str, Stack], part: str) -> Task:
        own = bool(settings._modules())
        # One cluster is right whatever the weights: there is nothing to learn.
        steps = 0 if settings.n_clusters == 1 else how.n_steps(1)
        return Task(
            stage=stage or settings._stage,
            stacks=nn.ModuleDict(stacks),
            losses=step_losses(some, stacks["clusters"]),
            steps=[steps] * len(some),
            optimizer=how.optimizer,
            learning_rate=learning_rate,
            decay=how.decay,
            foreign_seed=derived_seed(some[0].seed, Purpose.STAGE) if own else None,
            part=part,
            capturable=rows.settle(precision) and not own,
        )

    return train_stacks(replicas, built, task, {"clusters": batch}, rows.device, run, precision)


def misclassification(batches: Sequence[PairBatch], ends: Sequence[Ends]) -> Tensor:
    """Eq. (3) over the pairs of several batches: (replicas,)."""
    p_same = [batch.same_probability(one.out) for batch, one in zip(batches, ends)]
    return losses.misclassification(
        torch.cat(p_same, dim=1),  # (replicas, pairs of all)
        torch.cat([batch.same for batch in batches], dim=1),
        torch.cat([batch.weight for batch in batches], dim=1),
    )


def results_of(
    trained: Sequence[Trained], settings: LinkClusterer, rows: Rows
) -> list[ClusterResult | DataError]:
    """What each of these networks learned, or how it diverged."""
    return [_result(one, settings, rows) for one in trained]


def _result(trained: Trained, settings: LinkClusterer, rows: Rows) -> ClusterResult | DataError:
    try:
        check_converged(trained.history, settings._stage)
    except DataError as error:
        return error
    labels = labels_of(trained.network, rows, settings.verbose)
    return ClusterResult(trained.network, labels, trained.history)
