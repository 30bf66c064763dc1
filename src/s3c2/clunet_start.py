"""Where CluNet may begin: with LabNet's hidden layers, and k-means on its representation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from s3c2.cluster_training import train_cluster_networks
from s3c2.engine.randomness import Purpose, derived_seed, generator
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses
from s3c2.networks import continued_from, members_of
from s3c2.pairs import Pool, RandomRows, RowBatch, Twins
from s3c2.published import Training

if TYPE_CHECKING:
    from s3c2.clunet import CluNet
    from s3c2.clunet_training import CluNetReplica, Pools

SAMPLE = 10_000  # rows that k-means sees
STARTS = 5  # of k-means
BATCH = 500
STEPS = 400  # at most, and no more than CluNet has


def started_networks(
    settings: CluNet, replicas: Sequence[CluNetReplica], pools: Pools, rows: Rows, run: FitRun
) -> list[nn.Module]:
    """CluNets whose hidden layers are LabNet's and whose output agrees with k-means on h."""
    targets = [_k_means(pools.of(r), settings, r.seed) for r in replicas]
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

    steps = min(STEPS, settings._training().n_steps(1))
    how = Training(links=0, pairs=0, steps=steps, epochs=None, optimizer="adam")
    rate = settings.learning_rate
    trained = train_cluster_networks(
        settings, how, rate, replicas, step_losses, BATCH, rows, run, build, "clunet start"
    )
    return [one.network for one in trained]


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
        return {"loss": -p.clamp(min=1e-6).log().mean((1, 2))}

    return losses_of


def _k_means(
    pool: Pool, settings: CluNet, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of a sample, and the cluster of each by k-means on LabNet's representation."""
    n = len(pool.h)
    places = np.arange(n)
    if n > SAMPLE:
        places = generator(seed, Purpose.POOL).choice(n, SAMPLE, replace=False)
    h = pool.h[torch.from_numpy(places).to(pool.h.device)].cpu().numpy()
    kmeans = KMeans(int(settings.n_clusters), n_init=STARTS, random_state=seed % 2**32)
    # The sums of two threads are the same in either order, those of more are not.
    with threadpool_limits(limits=2, user_api="openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
        labels = kmeans.fit_predict(h).astype(np.int64)
    numbers = places if pool.numbers is None else pool.numbers.cpu().numpy()[places]
    return numbers.astype(np.int64), labels
