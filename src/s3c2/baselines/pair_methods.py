"""A cluster network trained on batches of given links and random pairs; a baseline adds a loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from s3c2 import published
from s3c2.cluster_training import results_of, train_cluster_networks
from s3c2.engine.optimizers import LARGEST_RATE, OPTIMIZERS
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses
from s3c2.errors import DataError
from s3c2.fitting import Fitting
from s3c2.links import Links
from s3c2.pairs import Ends, GivenLinks, PairBatch, PairSource, RandomPairs, Twins
from s3c2.parameters import check_choice, check_memory, check_number
from s3c2.surface import ClusterResult, LinkClusterer


class Replica(NamedTuple):
    """One of many models that share data and architecture.

    Attributes
    ----------
    model : the estimator, with the settings in which replicas may differ
    links : by row number
    seed : int
    """

    model: Any
    links: Links
    seed: int


# The batches of a step (given links first, then random pairs if there are any) and what the network
# says of their rows → loss terms, (replicas,) each.
Objective = Callable[[Sequence[PairBatch], Sequence[Ends]], dict[str, Tensor]]


def replicas_of(fitting: Fitting[Any]) -> list[Replica]:
    return [Replica(*one) for one in zip(fitting.models, fitting.links, fitting.seeds)]


def learn_from_pairs(
    settings: Any,
    fitting: Fitting[Any],
    how: published.Training,
    objective: Callable[[Sequence[Replica], Rows], Objective],
) -> list[ClusterResult | DataError]:
    """Train all models of a fitting on given links, and on random pairs if ``how`` has any.

    Parameters
    ----------
    settings : what the models have in common
    objective : the losses of some replicas
    """
    rows = fitting.rows

    def step_losses(some: Sequence[Replica], network: Stack) -> Losses:
        seeds = [replica.seed for replica in some]
        links = [replica.links for replica in some]
        sources: list[PairSource] = [GivenLinks(links, how.links, seeds, rows.device, fresh=True)]
        if how.pairs:
            sources.append(RandomPairs(rows.n, how.pairs, seeds, rows.device))
        twins = Twins(network, rows, seeds)
        loss = objective(some, rows)

        def losses_of(step: int | Tensor) -> dict[str, Tensor]:
            batches = [source.draw(step) for source in sources]
            return loss(batches, twins(step, *batches))

        return losses_of

    batch = 2 * (how.links + how.pairs)
    rate = settings.learning_rate
    replicas = replicas_of(fitting)
    trained = train_cluster_networks(
        settings, how, rate, replicas, step_losses, batch, rows, fitting.run
    )
    return results_of(trained, settings, rows)


def given_and_random(model: Any) -> published.Training:
    """CluNet's batch, length and optimiser, or what the parameters say."""
    return published.clunet_training().changed(
        links=model.batch_links, pairs=model.batch_pairs, steps=model.steps,
        optimizer=model.optimizer,
    )  # fmt: skip


def check_training(model: LinkClusterer, *names: str) -> None:
    """Refuse lengths and batches that cannot be worked with."""
    for name in names:
        check_number(model, name, 1, whole=True, optional=True)
    check_choice(model, "optimizer", (None, *OPTIMIZERS))
    check_number(model, "learning_rate", 0, LARGEST_RATE)


def check_batch(model: LinkClusterer, how: published.Training, rows: Rows) -> None:
    """Refuse batches that this machine cannot hold."""
    row_bytes = model._batch_bytes(rows)
    check_memory(model, "batch_links", 2 * how.links * row_bytes)
    if how.pairs:
        check_memory(model, "batch_pairs", 2 * how.pairs * row_bytes)
    check_memory(model, "steps", 4 * (how.steps or 0))  # the history
