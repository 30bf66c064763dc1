"""How CluNets are trained: one, restarts of it, or all of a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from s3c2 import losses, published
from s3c2.clunet_losses import (
    AsOne,
    Beside,
    Part,
    Smoothness,
    Vanishing,
    clustering_losses,
    weights_of_links,
)
from s3c2.clunet_start import Start, started_networks
from s3c2.cluster_training import train_cluster_networks
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.loop import check_converged, converged
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.scheduling import Trained
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses
from s3c2.errors import DataError, warn
from s3c2.fitting import Fitting
from s3c2.labnet_training import LabNetResult
from s3c2.links import Links
from s3c2.pairs import (
    AllPairs,
    GivenLinks,
    LabelledPairs,
    PairSource,
    Pool,
    RandomPairs,
    Twins,
)
from s3c2.prior import Neighbours, find_neighbours
from s3c2.surface import ClusterResult, labels_of
from s3c2.suspicion import stricter_trust_of, trusted, undoubted

if TYPE_CHECKING:
    from s3c2.clunet import CluNet

DrawsPairs = Callable[[int, Sequence[int], torch.device], PairSource]

STAGE = 1  # LabNet's draws are those of stage 0
JUDGED_PAIRS = 50_000
NEIGHBORS = 10  # where the smoothing is not told by LabNet


@dataclass(frozen=True)
class CluNetReplica:
    """One of many CluNets that share data and architecture.

    Attributes
    ----------
    links : by row number
    seed : int
    labnet : labels the random pairs
    pool_seed : draws the pool, if not all rows fit into it
    """

    links: Links
    seed: int
    labnet: LabNetResult
    pool_seed: int

    @property
    def known_links(self) -> Links:
        """The links whose label LabNet does not decide: those that are not doubted."""
        suspicion = self.labnet.suspicion
        return self.links if suspicion is None else undoubted(self.links, suspicion)

    @property
    def trusted_links(self) -> Links:
        """The links with the weight that they have here."""
        suspicion = self.labnet.suspicion
        return (
            self.links
            if suspicion is None
            else trusted(self.links, stricter_trust_of(suspicion.doubts))
        )


def fit_clunets(
    clunets: Sequence[CluNet],
    labnets: Sequence[LabNetResult | DataError],
    fitting: Fitting[Any],
    prior: Neighbours | None = None,
    rows_of_labnet: Rows | None = None,
) -> list[ClusterResult | DataError]:
    """Stage two, for each model of a fitting: what it learned, or how it diverged.

    Parameters
    ----------
    clunets : settings of each model; they are alike
    labnets : what each model's first stage learned, or the error that ended it
    prior : the neighbours of the rows, by default found here if the settings ask for them
    rows_of_labnet : the rows as LabNet takes them, by default as CluNet does
    """
    settings = clunets[0]
    pools = Pools(settings, rows_of_labnet or fitting.rows)
    groups: dict[int, list[CluNetReplica]] = {
        number: [
            CluNetReplica(links, derived_seed(seed, Purpose.STAGE, STAGE + r), labnet, seed)
            for r in range(int(settings.n_restarts))
        ]
        for number, (labnet, links, seed) in enumerate(zip(labnets, fitting.links, fitting.seeds))
        if isinstance(labnet, LabNetResult)
    }
    replicas = [replica for group in groups.values() for replica in group]
    rows, run = fitting.rows, fitting.run
    if settings.smoothing and prior is None:
        prior = find_neighbours(rows, NEIGHBORS, settings.verbose)
    trained = iter(train_clunets(settings, replicas, pools, rows, run, prior) if replicas else [])
    outcomes: list[Any] = list(labnets)
    for number, group in groups.items():
        restarts = [next(trained) for _ in group]
        try:
            outcomes[number] = _best(settings, rows, group[0], restarts, pools)
        except DataError as error:
            outcomes[number] = error
    return outcomes


def train_clunets(
    settings: CluNet,
    replicas: Sequence[CluNetReplica],
    pools: Pools,
    rows: Rows,
    run: FitRun,
    prior: Neighbours | None = None,
) -> list[Trained]:
    """Train CluNets on the same rows, in as few stacks as suit the device."""
    how = settings._training(rows.n)
    build, starts = None, dict[int, Start]()  # by the replica's id
    if settings.start == "labnet" and settings.n_clusters > 1:
        started = started_networks(settings, replicas, pools, rows, run)
        starts = {id(replica): one for replica, one in zip(replicas, started)}

        def build(replica: CluNetReplica) -> nn.Module:
            return starts[id(replica)].network

    def step_losses(some: Sequence[CluNetReplica], network: Stack) -> Losses:
        seeds = [replica.seed for replica in some]
        beside = settings.labels_worth is not None
        links = [r.trusted_links for r in some]
        given = GivenLinks(links, how.links, seeds, rows.device, fresh=True, evened=beside)
        pools.keep_only(some)
        labelled = pools.labelled(some, random_pairs(settings, how.pairs))
        twins = Twins(network, rows, seeds, views=settings.views)
        pairs: AsOne | Beside = AsOne(given, labelled)
        if settings.labels_worth is not None:
            weights = weights_of_links([r.links for r in some], float(settings.labels_worth))
            pairs = Beside(given, labelled, weights)
        parts: list[Part] = []
        if settings.smoothing and prior is not None:
            parts.append(Smoothness(twins.network, prior, float(settings.smoothing)))
        if starts and settings.kept_share:
            shares = torch.stack([starts[id(r)].shares for r in some]).to(rows.device)
            parts.append(Vanishing(float(settings.kept_share) * shares))
        return clustering_losses(twins, pairs, *parts)

    drawn = int(settings.batch_points or 2 * how.pairs)
    return train_cluster_networks(
        settings, how, settings.learning_rate, replicas, step_losses, 2 * how.links + drawn,
        rows, run, build,
    )  # fmt: skip


def random_pairs(settings: CluNet, n_pairs: int) -> DrawsPairs:
    """What draws pairs of n rows: random pairs, or all pairs of some rows, which weigh as much."""
    n_points = None if settings.batch_points is None else int(settings.batch_points)

    def of(n: int, seeds: Sequence[int], device: torch.device) -> PairSource:
        if n_points is None:
            return RandomPairs(n, n_pairs, seeds, device)
        return AllPairs(n, n_points, seeds, device, weight=n_pairs)

    return of


class Pools:
    """The pools of LabNets' representations, one for each LabNet, kept while they are needed.

    Parameters
    ----------
    settings : CluNet, for its ``cache_memory``
    rows : as LabNet takes them
    """

    def __init__(self, settings: CluNet, rows: Rows) -> None:
        self.settings = settings
        self.rows = rows
        self._kept: dict[int, Pool] = {}  # by the encoder's id

    def of(self, replica: CluNetReplica) -> Pool:
        """The pool of this replica's LabNet."""
        key = id(replica.labnet.encoder)
        if key not in self._kept:
            memory, verbose = int(self.settings.cache_memory), self.settings.verbose
            encoder = replica.labnet.encoder
            self._kept[key] = Pool(self.rows, encoder, memory, replica.pool_seed, verbose)
        return self._kept[key]

    def keep_only(self, replicas: Sequence[CluNetReplica]) -> None:
        """Give back the memory of pools that these replicas do not need."""
        wanted = {id(r.labnet.encoder) for r in replicas}
        self._kept = {key: pool for key, pool in self._kept.items() if key in wanted}

    def labelled(self, replicas: Sequence[CluNetReplica], pairs: DrawsPairs) -> LabelledPairs:
        """Pairs labelled for these replicas."""
        pools = [self.of(r) for r in replicas]
        return LabelledPairs(
            pairs(len(pools[0].h), [r.seed for r in replicas], self.rows.device),
            pools,
            [r.labnet.threshold for r in replicas],
            [r.known_links for r in replicas],
            self.rows.device,
        )


def _best(
    settings: CluNet,
    rows: Rows,
    replica: CluNetReplica,
    restarts: Sequence[Trained],
    pools: Pools,
) -> ClusterResult:
    """The restart of the lowest pair loss; those that diverged do not count."""
    good = [converged(one.history) for one in restarts]
    if not any(good):
        check_converged(restarts[0].history, "clunet")
    best, pair_losses = 0, None
    if len(restarts) > 1:
        judged = pools.labelled([replica], judged_pairs)
        pair_losses = np.array(
            [
                pair_loss(one.network, rows, replica.trusted_links, judged) if ok else np.nan
                for one, ok in zip(restarts, good)
            ]
        )
        best = int(np.nanargmin(pair_losses))
        if not all(good):
            warn(
                f"{good.count(False)} of {len(restarts)} CluNets diverged and were left out. "
                "Scale the data (scale='standard') or lower learning_rate.",
                UserWarning,
            )
    network = restarts[best].network
    labels = labels_of(network, rows, settings.verbose)
    return ClusterResult(network, labels, restarts[best].history, pair_losses)


def judged_pairs(n: int, seeds: Sequence[int], device: torch.device) -> PairSource:
    """Many random pairs, by which restarts are compared."""
    return RandomPairs(n, JUDGED_PAIRS, seeds, device)


def pair_loss(network: nn.Module, rows: Rows, links: Links, pairs: LabelledPairs) -> float:
    """Eq. (3) of a finished network, over all given links and many labelled pairs.

    Links and other pairs weigh as they do in a published batch: 100 to 1,000.
    """
    drawn = pairs.draw(0)
    a, b, same = (one[0].cpu() for one in (drawn.a, drawn.b, drawn.same))
    p = torch.from_numpy(apply_to_rows(network, rows, "judging", 0))
    given = losses.misclassification(
        losses.same_probability(*p[np.concatenate([links.must, links.cannot]).T]),
        (torch.arange(links.n_links) < links.n_must).float(),
        torch.from_numpy(np.concatenate([links.must_weight, links.cannot_weight])),
    )
    labelled = losses.misclassification(
        losses.same_probability(p[a], p[b]), same, torch.ones(len(same))
    )
    share = published.clunet_training()
    return float((share.links * given + share.pairs * labelled) / (share.links + share.pairs))
