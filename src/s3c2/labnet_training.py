"""How LabNets are trained: one, a committee, those of held-out folds, or all of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import nn

from s3c2 import prior as priors
from s3c2.engine.first_rank import is_first
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.loop import check_converged, converged
from s3c2.engine.progress import say
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.ranks import of_first
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.scheduling import Trained, train_stacks
from s3c2.engine.stack import Stack
from s3c2.engine.task import History, Task
from s3c2.errors import DataError, warn
from s3c2.fitting import Fitting
from s3c2.kept_neighbours import kept_file, read_neighbours, write_neighbours
from s3c2.labnet_losses import (
    WEAK_PAIRS,
    FromLinks,
    FromNeighbours,
    FromRows,
    FromWeights,
    Part,
    loss_of_parts,
    share_of_same,
)
from s3c2.links import Links
from s3c2.networks import committee_of
from s3c2.pairs import GivenLinks, Twins
from s3c2.pretraining import Pretraining, pretrained_autoencoder
from s3c2.prior import Neighbours, find_neighbours
from s3c2.suspicion import Suspicion, Trust, trust_of, trusted
from s3c2.threshold import (
    Fold,
    choose_threshold,
    folds_for_threshold,
    threshold_of_neighbours,
)

if TYPE_CHECKING:
    from s3c2.labnet import LabNet

BATCHES = 16  # that hold all given links once, if a batch is within these bounds:
FEWEST_LINKS, MOST_LINKS = 64, 256
CODE_LAYERS = (500, 500, 2000, 10)  # of the autoencoder in whose code neighbours are looked for
CODE_BATCH = 256
CODE_EPOCHS = 50  # at most
CODE_STEPS = 5000  # at most
CODE_CORRUPTION = 0.2
CODE_ROWS = 5000  # an autoencoder learns too little from fewer


@dataclass(frozen=True)
class LabNetResult:
    """What LabNet learned.

    Attributes
    ----------
    encoder : h
    threshold : T
    history : loss terms of each step
    suspicion : how much each link is doubted, if they were judged
    links : the given links, with less weight where they are doubted; None as they were given
    """

    encoder: nn.Module
    threshold: float
    history: History
    suspicion: Suspicion | None = None
    links: Links | None = None


@dataclass(frozen=True)
class TrainedLabNet:
    """A LabNet after stage one.

    Attributes
    ----------
    encoder : h, a committee if there are several
    history : loss terms of each step
    suspicion, links : as in LabNetResult
    out_of_fold : networks that did not see some links, each with those links, to choose T by
    """

    encoder: nn.Module
    history: History
    suspicion: Suspicion | None = None
    links: Links | None = None
    out_of_fold: Sequence[tuple[nn.Module, Links]] = ()


def code_epochs(n_rows: int) -> int:
    """Length of the autoencoder's training on so many rows."""
    return max(1, min(CODE_EPOCHS, CODE_STEPS * CODE_BATCH // n_rows))


def prior_of(labnet: LabNet, fitting: Fitting[Any]) -> Neighbours | None:
    """What LabNet assumes of the rows before any link; None where it assumes nothing."""
    if not labnet.neighbors:
        return None
    rows = fitting.rows
    path = neighbours_file(labnet, rows) if is_first() else None
    kept = of_first(None if path is None else read_neighbours(path, rows.n))
    if kept is not None:
        say(f"neighbours: as kept in {labnet.cache}", labnet.verbose)
        return kept.on(rows.device)
    how, complete = _training_of_code(labnet, rows.n), True

    def code_of(some: Rows) -> Rows:
        nonlocal complete
        assert how is not None
        autoencoder = pretrained_autoencoder(how, some, fitting.run)
        complete = autoencoder.complete
        encoder = autoencoder.encoder.to(rows.device)
        code = apply_to_rows(encoder, some, "encoding", labnet.verbose)
        return Rows(code, code.shape[1:], None, rows.device)

    other = None if how is None else code_of
    found = find_neighbours(rows, int(labnet.neighbors), labnet.verbose, other)
    if path is not None and complete:
        write_neighbours(path, found)
    return found


def neighbours_file(labnet: LabNet, rows: Rows) -> Path | None:
    """Where LabNet keeps the neighbours of these rows; None if it has no folder for them."""
    if labnet.cache is None:
        return None
    how = _training_of_code(labnet, rows.n)
    code = None if how is None else asdict(how)
    return kept_file(labnet.cache, rows, {"neighbors": int(labnet.neighbors), "code": code})


def _training_of_code(labnet: LabNet, n_rows: int) -> Pretraining | None:
    """How the autoencoder is trained in whose code neighbours are looked for; None without one."""
    if not labnet.code or n_rows < CODE_ROWS:
        return None
    return Pretraining(
        network="dense", decoder=None, layers=CODE_LAYERS, layer_epochs=0,
        epochs=code_epochs(min(n_rows, priors.MOST_ROWS)), optimizer="adam", learning_rate=1e-3,
        corruption=CODE_CORRUPTION, batch_size=CODE_BATCH, precision=labnet.precision,
        seed=0, scale=None, stage="autoencoder",
    )  # fmt: skip


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
    labnets: Sequence[LabNet],
    trained: Sequence[TrainedLabNet | DataError],
    fitting: Fitting[Any],
    prior: Neighbours | None,
) -> list[LabNetResult | DataError]:
    """Each LabNet with its T: as given, by the neighbours of linked rows, or out of fold.

    The error of one that diverged is handed on.
    """
    rows = fitting.rows
    results: list[LabNetResult | DataError] = []
    for labnet, one, links in zip(labnets, trained, fitting.links):
        if isinstance(one, DataError):
            results.append(one)
            continue
        if labnet.threshold == "neighbors":
            share = share_of_same(labnet)
            T = threshold_of_neighbours(one.encoder, rows, one.links or links, prior, share)
        else:
            T = choose_threshold(labnet.threshold, one.out_of_fold, rows)
        results.append(LabNetResult(one.encoder, T, one.history, one.suspicion, one.links))
    return results


@dataclass(frozen=True)
class LabNetReplica:
    """One of many LabNets that share data and architecture.

    Attributes
    ----------
    links : by row number
    seed : int
    reconstruction_weight : λ of eq. (2)
    """

    links: Links
    seed: int
    reconstruction_weight: float


@dataclass(frozen=True)
class TrainedReplica(Trained):
    """A replica after training; what was found out about its links, if they were judged."""

    suspicion: Suspicion | None = None
    links: Links | None = None


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

    def finished(self, trained: Sequence[TrainedReplica]) -> TrainedLabNet:
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
        encoder, first = committee_of([one.network for one in good]), good[0]
        return TrainedLabNet(encoder, first.history, first.suspicion, first.links, unseen)


def train_replicas(
    settings: LabNet,
    replicas: Sequence[LabNetReplica],
    rows: Rows,
    run: FitRun,
    prior: Neighbours | None = None,
) -> list[TrainedReplica]:
    """Train LabNets on the same rows, in as few stacks as suit the device.

    Where neighbours are known, the links are judged by them halfway; those that they contradict
    count less from then on.
    """
    by_batch: dict[int, list[LabNetReplica]] = {}
    for replica in replicas:
        by_batch.setdefault(_links_in_batch(settings, replica, rows, prior), []).append(replica)
    trained: dict[int, TrainedReplica] = {}
    for n_links, some in by_batch.items():
        group = "" if len(by_batch) == 1 else f"with {n_links} links a step"
        found = _train_alike(settings, some, n_links, rows, run, prior, group)
        trained.update({id(replica): one for replica, one in zip(some, found)})
    return [trained[id(replica)] for replica in replicas]


def _links_in_batch(
    settings: LabNet, replica: LabNetReplica, rows: Rows, prior: Neighbours | None
) -> int:
    """Given links in a batch: no more than there are, where rows without use cost time.

    That is a CPU; on a GPU one stack for many replicas is faster. As published a batch is full.
    """
    n = replica.links.n_links
    size = int(settings.batch_links or min(max(n // BATCHES, FEWEST_LINKS), MOST_LINKS))
    if prior is None or rows.device.type != "cpu":
        return size
    return min(size, max(1, n))


def _train_alike(
    settings: LabNet,
    replicas: Sequence[LabNetReplica],
    n_links: int,
    rows: Rows,
    run: FitRun,
    prior: Neighbours | None,
    group: str,
) -> list[TrainedReplica]:
    """Train LabNets that have the same number of links in a batch."""
    precision = settings.precision
    architecture = settings._encoder_architecture(rows)
    how = settings._training(rows.n)
    judged: dict[int, Judgement] = {}  # by the replica's id

    def build(replica: LabNetReplica) -> dict[str, nn.Module]:
        def seed(part: int) -> int:
            return derived_seed(replica.seed, Purpose.WEIGHTS, part)

        parts = {"encoder": architecture.build_encoder(rows.shape, seed(0))}
        if settings.semi_supervised:
            parts["decoder"] = architecture.build_decoder(rows.shape, seed(1))
        return parts

    def task(some: Sequence[LabNetReplica], stacks: dict[str, Stack], part: str) -> Task:
        seeds = [replica.seed for replica in some]
        links = [r.links for r in some]
        evened = prior is not None
        given = GivenLinks(links, n_links, seeds, rows.device, evened=evened)
        steps = [how.n_steps(n) for n in given.steps_per_epoch]
        own_decoder = settings.semi_supervised and settings.decoder is not None
        own = isinstance(settings.network, nn.Module) or own_decoder
        twins = Twins(stacks["encoder"], rows, seeds, views=settings.views)
        parts: list[Part] = [FromLinks(given)]
        trained: dict[str, nn.Module] = dict(stacks)
        before = None
        if prior is not None:
            parts.append(FromNeighbours(settings, twins, prior))
            if rows.n > 2 * int(settings.neighbors):  # otherwise neighbours are most of the rows
                trust = Trust(given, links, stacks["encoder"], rows, prior, steps)
                judged.update({id(r): Judgement(trust, i) for i, r in enumerate(some)})
                trained["trust"], before = trust, trust.before
        if settings.semi_supervised:
            weights = [r.reconstruction_weight for r in some]
            parts.append(FromRows(settings, twins, stacks["decoder"], how.pairs, weights))
        if settings.l1:
            parts.append(FromWeights(settings, stacks["encoder"]))
        return Task(
            stage="labnet",
            stacks=nn.ModuleDict(trained),
            losses=loss_of_parts(twins, parts),
            steps=steps,
            optimizer=how.optimizer,
            learning_rate=settings.learning_rate,
            decay=how.decay,
            foreign_seed=derived_seed(seeds[0], Purpose.STAGE, 0) if own else None,
            part=part,
            capturable=rows.settle(precision) and not own,
            before=before,
        )

    pairs = how.pairs if settings.semi_supervised else 0
    weak = WEAK_PAIRS if prior is not None else 0
    batch = {"encoder": 2 * (n_links + pairs + weak), "decoder": 2 * pairs}
    trained = train_stacks(replicas, build, task, batch, rows.device, run, precision, group)
    return [
        TrainedReplica(one.network, one.history, *judgement_of(judged.get(id(r)), r.links))
        for one, r in zip(trained, replicas)
    ]


class Judgement(NamedTuple):
    """Where the judgement of a replica's links is found."""

    trust: Trust
    number: int  # of the replica in its stack


def judgement_of(found: Judgement | None, links: Links) -> tuple[Suspicion | None, Links | None]:
    """The links in the order of doubt, and as they are trusted; None if they were not judged."""
    doubts = None if found is None else found.trust.doubts_of(found.number)
    if doubts is None or links.n_links == 0:
        return None, None
    return Suspicion.of(links, doubts), trusted(links, trust_of(doubts))
