"""Where CluNet may begin: with LabNet's hidden layers, and a clustering of its representation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s3c2.cluster_training import train_cluster_networks
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.randomness import Purpose, derived_seed, generator
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses
from s3c2.links import as_random_pairs
from s3c2.networks import continued_from, members_of
from s3c2.pairs import RandomRows, RowBatch, Twins
from s3c2.published import Training
from s3c2.representation import Asked, Linked, clusters_of_each

if TYPE_CHECKING:
    from s3c2.clunet import CluNet
    from s3c2.clunet_training import CluNetReplica, Pools

SAMPLE = 10_000  # rows that are clustered
MOST_LINKS = 4096  # that are asked which clustering is best
BATCH = 500
STEPS = 400  # at most, and no more than CluNet has


class Start(NamedTuple):
    """Where a CluNet begins.

    Attributes
    ----------
    network : its hidden layers are LabNet's, its output agrees with a clustering of h
    shares : of the rows in each cluster, (K,)
    """

    network: nn.Module
    shares: Tensor


def started_networks(
    settings: CluNet, replicas: Sequence[CluNetReplica], pools: Pools, rows: Rows, run: FitRun
) -> list[Start]:
    """Where each CluNet begins, from a clustering of what its LabNet learned."""
    targets = _targets(settings, replicas, pools)
    at = {id(replica): i for i, replica in enumerate(replicas)}

    def build(replica: CluNetReplica) -> nn.Module:
        network = settings._build_network(rows.shape, derived_seed(replica.seed, Purpose.WEIGHTS))
        return continued_from(members_of(replica.labnet.encoder)[0], network)

    def step_losses(some: Sequence[CluNetReplica], network: Stack) -> Losses:
        of_some = [targets[at[id(replica)]] for replica in some]
        numbers, clusters = (
            torch.from_numpy(np.stack(part)).to(rows.device) for part in zip(*of_some)
        )  # (replicas, sample) each
        return assignment_losses(network, rows, [r.seed for r in some], numbers, clusters)

    steps = min(STEPS, settings._training(rows.n).n_steps(1))
    how = Training(links=0, pairs=0, steps=steps, epochs=None, optimizer="adam")
    rate = settings.learning_rate
    trained = train_cluster_networks(
        settings, how, rate, replicas, step_losses, BATCH, rows, run, build, "clunet start"
    )
    shares = (
        np.bincount(clusters, minlength=int(settings.n_clusters)) / len(clusters)
        for _, clusters in targets
    )
    return [Start(one.network, torch.from_numpy(s).float()) for one, s in zip(trained, shares)]


def assignment_losses(
    network: Stack, rows: Rows, seeds: Sequence[int], numbers: Tensor, clusters: Tensor
) -> Losses:
    """Step → −log p of the cluster that each row has: the usual loss of a classifier."""
    twins = Twins(network, rows, seeds)
    source = RandomRows(numbers.shape[1], BATCH, seeds, rows.device)

    def losses_of(step: int | Tensor) -> dict[str, Tensor]:
        place = source.draw(step).rows
        (ends,) = twins(step, RowBatch(numbers.gather(1, place)))
        p = ends.out[1].gather(2, clusters.gather(1, place).unsqueeze(2))
        return {"loss": -(p + 1e-6).log().mean((1, 2))}

    return losses_of


def _targets(
    settings: CluNet, replicas: Sequence[CluNetReplica], pools: Pools
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each replica row numbers of a sample, and their clusters in LabNet's representation."""
    numbers, asked = [], []
    for replica in replicas:
        pool = pools.of(replica)
        places = generator(replica.seed, Purpose.POOL).permutation(len(pool.h))[:SAMPLE]
        h = pool.h[torch.from_numpy(places).to(pool.h.device)].cpu().numpy()
        pools.keep_only([replica])
        seed, threshold = replica.seed % 2**32, replica.labnet.threshold
        linked = _linked(settings, replica, pools.rows)
        asked.append(Asked(h, int(settings.n_clusters), seed, threshold, linked))
        numbers.append(places if pool.numbers is None else pool.numbers.cpu().numpy()[places])
    return list(zip(numbers, clusters_of_each(asked)))


def _linked(settings: CluNet, replica: CluNetReplica, rows: Rows) -> Linked | None:
    """The links as judges of a clustering; None without links of both kinds.

    Their kinds weigh as random pairs have them. They count as they were given: what LabNet takes
    for one cluster it also doubts the links about, while wrong links contradict every clustering
    alike.
    """
    links = replica.links
    weight = as_random_pairs(links, 1 / int(settings.n_clusters))
    if weight is None:
        return None
    n = min(links.n_links, MOST_LINKS)
    some = np.arange(n) * links.n_links // n
    pairs = np.concatenate([links.must, links.cannot])[some]  # (links, 2)
    unique, place = np.unique(pairs, return_inverse=True)
    h = apply_to_rows(replica.labnet.encoder, rows.subset(unique), "representing", 0)
    return Linked(h[place.reshape(pairs.shape).T], some < links.n_must, weight[some])
