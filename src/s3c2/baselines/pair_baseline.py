"""A cluster network trained on batches of given links and random pairs; a baseline adds a loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from s3c2 import losses
from s3c2.baselines.baseline import Baseline
from s3c2.clusterer import Replica, train_cluster_networks
from s3c2.engine.loop import Losses, Run
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack, Trained
from s3c2.pairs import GivenLinks, Pairs, RandomPairs


@dataclass(frozen=True)
class Batch:
    """A step's pairs: the given links, then the random pairs.

    Attributes
    ----------
    links : the given links, (replicas, links) each tensor
    a, b : rows of the random pairs, (replicas, pairs)
    x_a, x_b : both ends of all pairs, (replicas, links + pairs, *shape)
    p_a, p_b : what the network says of them, (replicas, links + pairs, K)
    """

    links: Pairs
    a: Tensor
    b: Tensor
    x_a: Tensor
    x_b: Tensor
    p_a: Tensor
    p_b: Tensor

    @property
    def n_links(self) -> int:
        return self.links.a.shape[1]

    @property
    def p_same(self) -> Tensor:
        """pˢ of all pairs: (replicas, links + pairs)."""
        return losses.same_probability(self.p_a, self.p_b)


Objective = Callable[[Batch], dict[str, Tensor]]


@dataclass(eq=False, repr=False, kw_only=True)
class LinkBaseline(Baseline):
    """A network trained on batches of given links, and of random pairs if ``_training`` has any.

    A subclass supplies ``_objective``, the loss of a batch.
    """

    steps: int | None = None
    batch_links: int | None = None

    @abstractmethod
    def _objective(self, replicas: Sequence[Replica], rows: Rows) -> Objective:
        """Batch → loss terms, (replicas,) each."""

    def _train_replicas(
        self, rows: Rows, replicas: Sequence[Replica], run: Run
    ) -> Sequence[Trained]:
        training = self._training()

        def step_losses(some: Sequence[Replica], stacks: dict[str, Stack]) -> Losses:
            seeds = [replica.seed for replica in some]
            links = [replica.links for replica in some]
            given = GivenLinks(links, training.links, seeds, rows.device, fresh=True)
            pairs = RandomPairs(rows.n, training.pairs, seeds, rows.device)
            objective = self._objective(some, rows)
            network = stacks["clusters"]

            def losses_of(step: int | Tensor) -> dict[str, Tensor]:
                drawn = given.draw(step)
                a, b = pairs.draw(step) if pairs.size else (drawn.a[:, :0], drawn.b[:, :0])
                x = rows.take_replicas(torch.cat([drawn.a, a, drawn.b, b], dim=1))
                network.lay_dropout(x.shape[1], seeds, step)
                p = network(x)  # (replicas, rows, K)
                return objective(Batch(drawn, a, b, *x.chunk(2, dim=1), *p.chunk(2, dim=1)))

            return losses_of

        batch = 2 * (training.links + training.pairs)
        return train_cluster_networks(self, rows, replicas, step_losses, batch, run)


@dataclass(eq=False, repr=False, kw_only=True)
class PairBaseline(LinkBaseline):
    """CluNet's network and batch: given links and random pairs of rows in every step."""

    dropout: float | None = None
    batch_pairs: int | None = None
