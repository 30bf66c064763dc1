"""Stage two: CluNet learns the clusters from labelled pairs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from s3c2 import losses, published
from s3c2.base import check_number, digest_of_module
from s3c2.clusterer import ClusterNetwork, train_cluster_networks
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.loop import Losses, Run, check_converged, converged
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack, Trained
from s3c2.errors import LinksError
from s3c2.labnet import LabNet
from s3c2.links import Links
from s3c2.pairs import AllPairs, GivenLinks
from s3c2.pool import Pool, PoolPairs

CACHE_MEMORY = 2**27
STAGE = 1  # LabNet's draws are those of stage 0
JUDGED_PAIRS = 50_000


class CluNet(ClusterNetwork):
    """Clustering network: Siamese softmax twins trained on the misclassification loss, eq. (3).

    Each step takes given links and fresh random pairs of rows, which a frozen LabNet labels.
    Prediction uses one twin and the arg max.

    Parameters
    ----------
    n_clusters : int
    network, encoder, layers, dropout, learning_rate, scale, contradictions, device, precision,
    random_state, verbose, callbacks, checkpoint
        As in LabNet. The last of ``layers``, LabNet's representation, has no place here.
    steps : int, optional
    batch_links, batch_pairs : int, optional
        Given links and random pairs in a batch, by default the published 100 and 1,000.
    batch_points : int, optional
        Draw so many rows instead and label all their pairs: the same loss in expectation, and
        batch_points² pairs for batch_points rows through the network.
    optimizer : {"adam", "rmsprop"}, optional
    n_restarts : int, default=1
        Number of CluNets that start from weights of their own; the one of the lowest pair loss is
        kept, and ``pair_losses_`` holds the losses of all.
    cache_memory : int, default=2**27
        Bytes for LabNet's representation, which is computed once. If all rows do not fit, the
        random pairs are drawn from a uniform sample of as many rows as do.
    """

    _stage = "clunet"

    pair_losses_: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        network: str = "dense",
        encoder: nn.Module | None = None,
        layers: tuple[int, ...] = published.LAYERS,
        dropout: float | None = None,
        steps: int | None = None,
        batch_links: int | None = None,
        batch_pairs: int | None = None,
        batch_points: int | None = None,
        optimizer: str | None = None,
        learning_rate: float = published.LEARNING_RATE,
        n_restarts: int = 1,
        cache_memory: int = CACHE_MEMORY,
        scale: str | None = None,
        contradictions: Literal["raise", "drop"] = "raise",
        device: str = "auto",
        precision: str = "float32",
        random_state: Any = None,
        verbose: int = 1,
        callbacks: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.network = network
        self.encoder = encoder
        self.layers = layers
        self.dropout = dropout
        self.steps = steps
        self.batch_links = batch_links
        self.batch_pairs = batch_pairs
        self.batch_points = batch_points
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.n_restarts = n_restarts
        self.cache_memory = cache_memory
        self.scale = scale
        self.contradictions = contradictions
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        links: Links | None = None,
        sample_id: Any = None,
        labnet: LabNet | None = None,
    ) -> Self:
        """Learn the clusters of X from the links and from pairs that ``labnet`` labels.

        Parameters
        ----------
        X : (n, columns), (n, h, w) or (n, channels, h, w)
        y : ignored
        links : Links
        sample_id : (n,), optional
        labnet : LabNet, fitted on rows like these
        """
        if labnet is None:
            raise LinksError("CluNet needs a fitted LabNet: pass fit(X, links=…, labnet=labnet).")
        check_is_fitted(labnet)
        labnet._read(X, reset=False)  # refuses rows that it could not label
        self._check_parameters()
        with self._all_or_nothing():
            rows = self._read(X, reset=True)
            self._check_n_clusters(rows)
            links = self._resolve(links, sample_id, rows, y)
            labeller = [digest_of_module(labnet.encoder_), labnet.threshold_]
            run, seed = self._begin(rows, links, labeller)
            with run:
                self._train(rows, links, labnet, run, seed)
                self.labels_ = self._labels(rows)
        self._warn_of_empty_clusters()
        return self

    # Training

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_restarts", "cache_memory"):
            check_number(self, name, 1, whole=True)
        check_number(self, "batch_points", 2, whole=True, optional=True)

    def _train(self, rows: Rows, links: Links, labnet: LabNet, run: Run, seed: int) -> None:
        replicas = self._replicas(links, labnet, seed)
        self._finish(rows, replicas[0], train_clunets(self, rows, replicas, run))

    def _replicas(
        self, links: Links, labnet: LabNet, seed: int, threshold: float | None = None
    ) -> list[CluNetReplica]:
        """The restarts."""
        seeds = [derived_seed(seed, Purpose.STAGE, STAGE + r) for r in range(self.n_restarts)]
        return [CluNetReplica(links, one, labnet, seed, threshold) for one in seeds]

    def _finish(self, rows: Rows, replica: CluNetReplica, restarts: Sequence[Trained]) -> None:
        """Take over the restart of the lowest pair loss; those that diverged do not count."""
        if hasattr(self, "pair_losses_"):
            del self.pair_losses_
        good = [converged(one.history) for one in restarts]
        if not any(good):
            check_converged(restarts[0].history, "clunet")
        best = 0
        if len(restarts) > 1:
            judged = replica.pool_pairs(rows, self.cache_memory, JUDGED_PAIRS)
            self.pair_losses_ = np.array(
                [
                    pair_loss(one.network, rows, replica.links, judged) if ok else np.nan
                    for one, ok in zip(restarts, good)
                ]
            )
            best = int(np.nanargmin(self.pair_losses_))
            if not all(good):
                warnings.warn(
                    f"{good.count(False)} of {len(restarts)} CluNets diverged and were left out. "
                    "Scale the data (scale='standard') or lower learning_rate.",
                    UserWarning,
                    stacklevel=2,
                )
        self.history_ = restarts[best].history
        self.network_ = restarts[best].network


@dataclass(frozen=True)
class CluNetReplica:
    """One of many CluNets that share data and architecture.

    Attributes
    ----------
    links : by row number
    seed : int
    labnet : labels the random pairs
    pool_seed : draws the pool, if not all rows fit into it
    threshold : T, by default the LabNet's own
    """

    links: Links
    seed: int
    labnet: LabNet
    pool_seed: int
    threshold: float | None = None

    def pool_pairs(
        self,
        rows: Rows,
        cache_memory: int,
        size: int,
        others: Sequence[CluNetReplica] = (),
        n_points: int | None = None,
        pools: dict[int, Pool] | None = None,
    ) -> PoolPairs:
        """Labelled random pairs for this replica and others; a pool for every LabNet.

        ``pools`` keeps the pools, by their LabNet's id, for a next call that needs them too.
        """
        replicas = [self, *others]
        pools = {} if pools is None else pools
        for unused in pools.keys() - {id(r.labnet) for r in replicas}:
            del pools[unused]
        for r in replicas:
            if id(r.labnet) not in pools:
                pools[id(r.labnet)] = Pool(rows, r.labnet, cache_memory, r.pool_seed)
        return PoolPairs(
            [pools[id(r.labnet)] for r in replicas],
            [r.labnet.threshold_ if r.threshold is None else r.threshold for r in replicas],
            [r.links for r in replicas],
            size,
            [r.seed for r in replicas],
            rows.device,
            n_points,
        )


def train_clunets(
    settings: CluNet, rows: Rows, replicas: Sequence[CluNetReplica], run: Run
) -> list[Trained]:
    """Train CluNets on the same rows, in as few stacks as are good for them."""
    training = settings._training()
    pools: dict[int, Pool] = {}

    def losses_of(some: Sequence[CluNetReplica], stacks: dict[str, Stack]) -> Losses:
        seeds = [replica.seed for replica in some]
        links = [replica.links for replica in some]
        given = GivenLinks(links, training.links, seeds, rows.device, fresh=True)
        pairs = some[0].pool_pairs(
            rows, settings.cache_memory, training.pairs, some[1:], settings.batch_points, pools
        )
        return step_losses(seeds, stacks, rows, given, pairs)

    drawn = 2 * training.pairs if settings.batch_points is None else settings.batch_points
    return train_cluster_networks(
        settings, rows, replicas, losses_of, 2 * training.links + drawn, run
    )


def pair_loss(network: nn.Module, rows: Rows, links: Links, pairs: PoolPairs) -> float:
    """Eq. (3) of a finished network, over all given links and many labelled pairs.

    Links and other pairs weigh as they do in a published batch: 100 to 1,000.
    """
    a, b, must = (drawn[0].cpu().numpy() for drawn in pairs.draw(0))
    p = torch.from_numpy(apply_to_rows(network, rows, "judging", 0))
    given = losses.misclassification(
        losses.same_probability(*p[np.concatenate([links.must, links.cannot]).T]),
        torch.arange(links.n_links) < links.n_must,
        torch.from_numpy(np.concatenate([links.must_weight, links.cannot_weight])),
    )
    labelled = losses.misclassification(
        losses.same_probability(p[a], p[b]), torch.from_numpy(must), torch.ones(len(must))
    )
    share = published.clunet_training()
    return float((share.links * given + share.pairs * labelled) / (share.links + share.pairs))


def step_losses(
    seeds: Sequence[int], stacks: dict[str, Stack], rows: Rows, given: GivenLinks, pairs: PoolPairs
) -> Losses:
    """Step → eq. (3) over given links and pairs labelled by LabNet."""
    drawn = pairs.pairs
    n_links = given.batch
    weight_of_drawn = torch.ones(len(seeds), drawn.size, device=rows.device)
    if isinstance(drawn, AllPairs):
        weight_of_drawn = weight_of_drawn * drawn.counts

    def losses_of(step: int | Tensor) -> dict[str, Tensor]:
        links = given.draw(step)
        a, b, labelled = pairs.draw(step)
        if isinstance(drawn, AllPairs):
            points = a.view(len(a), drawn.n_points, drawn.n_points)[:, :, 0]
            twins = [links.a, links.b, points]
        else:
            twins = [links.a, a, links.b, b]
        x = rows.take_replicas(torch.cat(twins, dim=1))
        stacks["clusters"].lay_dropout(x.shape[1], seeds, step)
        p = stacks["clusters"](x)  # (replicas, rows, K)
        if isinstance(drawn, AllPairs):
            p_links, p_points = p[:, : 2 * n_links], p[:, 2 * n_links :]
            p_same = torch.cat(
                [
                    losses.same_probability(*p_links.chunk(2, dim=1)),
                    torch.bmm(p_points, p_points.transpose(1, 2)).flatten(1),
                ],
                dim=1,
            )
        else:
            p_same = losses.same_probability(*p.chunk(2, dim=1))  # (replicas, links + pairs)
        must = torch.cat([links.must, labelled], dim=1)
        weight = torch.cat([links.weight, weight_of_drawn], dim=1)
        return {"loss": losses.misclassification(p_same, must, weight)}

    return losses_of
