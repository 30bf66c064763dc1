"""IDEC with pairwise constraints: an autoencoder whose embedding is clustered."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from s3c2 import losses, published
from s3c2.baselines.baseline import Baseline
from s3c2.baselines.epochs import Epochs
from s3c2.baselines.pair_methods import Replica, check_training, replicas_of
from s3c2.cluster_training import results_of
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.optimizers import LARGEST_RATE
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.scheduling import Trained, train_stacks
from s3c2.engine.stack import Stack
from s3c2.engine.task import Task
from s3c2.errors import DataError, warn
from s3c2.fitting import Fitting
from s3c2.links import Links
from s3c2.networks import output_size
from s3c2.parameters import check_memory, check_module, check_number, check_path
from s3c2.pretraining import DIVERGED, Autoencoder, Pretraining, pretrained_autoencoder
from s3c2.surface import ClusterResult, LinkClusterer


@dataclass(eq=False, repr=False, kw_only=True)
class IDEC(Baseline, LinkClusterer):
    """Improved deep embedded clustering with links (Zhang, Basu, Davidson 2019).

    An autoencoder is pretrained to restore corrupted rows. Then k-means sets the centres of its
    embedding, and every epoch goes over all rows (reconstruction, and the divergence from a target
    distribution that is taken anew before the epoch), over the must-links (their likelihood, and
    reconstruction) and over the cannot-links (their likelihood). It ends when fewer than ``tol`` of
    the labels change from one epoch to the next. Without links it is IDEC as it was before them
    (Guo, Gao, Liu, Yin 2017).

    Parameters
    ----------
    n_clusters : int, default=8
    network : {"auto", "dense", "convolutional"} or nn.Module, default="auto"
        "convolutional" takes images; it has LabNet's convolutions. A module of your own is an
        encoder, (rows, *shape) → (rows, …); it is copied and starts from its weights.
    decoder : nn.Module, optional
        Your own decoder for your own encoder; by default a dense one.
    layers : tuple of int, default=(500, 500, 2000, 10)
        The encoder's layers, and their mirror the decoder's. The last is the embedding, which a
        convolutional network has too.
    epochs : int, default=500
        At most so many epochs.
    tol : float, default=0.001
    assignment_power : float from 0.5 to 100, default=2.0
        A row belongs to a centre at distance d as (1 + d²)^−power, of all centres. The authors'
        paper has 1, Student's t with one degree of freedom; their code has 2, and surer labels.
    batch_size : int, default=256
        Rows, must-links or cannot-links in a batch.
    clustering_weight, must_weight, cannot_weight, reconstruction_weight : float
        By default 0.1, 0.1, 1 and 1. The authors have a ``must_weight`` of 1 for Fashion-MNIST.
    n_init : int, default=20
        Starts of k-means.
    layer_epochs : int, default=300
        Length of the pretraining of each layer by itself; dense networks only.
    whole_epochs : int, optional
        Length of the pretraining of the whole, by default 500; 200 for convolutional networks.
    corruption : float, default=0.2
        Share of inputs that are dropped in the pretraining.
    pretrain_learning_rate : float, optional
        Of the pretraining; divided by 10 after every 100 epochs. By default 0.05, of SGD with
        momentum, which is the authors' 0.1 on half of the mean squared error; with
        ``network="convolutional"`` 0.001, of Adam, since SGD may diverge there.
    pretrain_seed : int, default=0
        The seed of the pretraining. It is not ``random_state``, which decides the start of k-means
        and the batches: so the models of a grid share one pretraining.
    cache : path, optional
        Folder that keeps pretrained autoencoders. A fit on the same rows with the same settings of
        the pretraining takes the one it finds there.
    scale : as in S3C2, default="rms"
        "rms" divides all numbers by the root of their mean square: rates and weights are for rows
        of about that size. Other scales change how much the reconstruction weighs, and far larger
        rows need a lower ``pretrain_learning_rate``. The authors multiply pixels from 0 to 255 by
        0.02, which ``scale=None`` leaves as they are: ``fit(0.02 * pixels, links=links)``.
    optimizer, learning_rate
        As in CluNet.
    contradictions, device, precision, random_state, verbose, callbacks, checkpoint
        As in S3C2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import Links
    >>> from s3c2.baselines import IDEC
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> links = Links.from_labels(y, 100, random_state=0)
    >>> model = IDEC(3, layers=(64, 10), layer_epochs=20, whole_epochs=40, epochs=20)
    >>> model.set_params(random_state=0).fit(X, links=links).labels_.shape
    (537,)
    >>> model.score(X, links=Links.from_labels(y, 1000, random_state=1)) > 0.9
    True
    """

    _stage: ClassVar = "idec"
    _may_differ: ClassVar = (
        "random_state", "clustering_weight", "must_weight", "cannot_weight",
        "reconstruction_weight",
    )  # fmt: skip

    scale: str | None = "rms"
    layers: tuple[int, ...] = published.IDEC_LAYERS
    decoder: nn.Module | None = None
    epochs: int = published.IDEC_EPOCHS
    tol: float = published.IDEC_TOLERANCE
    assignment_power: float = published.IDEC_POWER
    batch_size: int = published.IDEC_BATCH
    clustering_weight: float = published.IDEC_CLUSTERING_WEIGHT
    must_weight: float = published.IDEC_MUST_WEIGHT
    cannot_weight: float = published.IDEC_CANNOT_WEIGHT
    reconstruction_weight: float = 1.0
    n_init: int = published.IDEC_STARTS
    layer_epochs: int = published.IDEC_LAYER_EPOCHS
    whole_epochs: int | None = None
    corruption: float = published.IDEC_CORRUPTION
    pretrain_learning_rate: float | None = None
    pretrain_seed: int = 0
    cache: str | os.PathLike[str] | None = None
    optimizer: str | None = None
    learning_rate: float = published.LEARNING_RATE

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        check_module(self, "decoder")
        if self.decoder is not None and isinstance(self.network, str):
            raise ValueError(
                "The 'decoder' parameter of IDEC goes with an encoder of your own: pass it as "
                "'network', or leave the decoder at None."
            )
        for name in ("epochs", "batch_size"):
            check_number(self, name, 1, whole=True)
        check_number(self, "n_init", 1, 10_000, whole=True)
        for name in ("layer_epochs", "pretrain_seed"):
            check_number(self, name, 0, whole=True)
        check_number(self, "whole_epochs", 0, whole=True, optional=True)
        for name in ("clustering", "must", "cannot", "reconstruction"):
            check_number(self, f"{name}_weight", 0)
        check_number(self, "corruption", 0, 0.99)
        check_number(self, "tol", 0, 1)
        check_number(self, "assignment_power", 0.5, 100)
        check_number(self, "pretrain_learning_rate", 0, LARGEST_RATE, optional=True)
        check_path(self, "cache")

    @property
    def _needs_links(self) -> bool:
        return False

    def _check_sizes(self, rows: Rows) -> None:
        super()._check_sizes(rows)
        check_memory(self, "batch_size", 2 * int(self.batch_size) * self._batch_bytes(rows))
        steps = -(-rows.n // int(self.batch_size))  # of an epoch, whose losses the history holds
        for name in ("epochs", "layer_epochs", "whole_epochs"):
            check_memory(self, name, 4 * int(getattr(self, name) or 0) * steps)

    def _learn(self, fitting: Fitting[IDEC]) -> list[ClusterResult | DataError]:
        return results_of(self._trained(fitting), self, fitting.rows)

    def _trained(self, fitting: Fitting[IDEC]) -> list[Trained]:
        rows, replicas = fitting.rows, replicas_of(fitting)
        if self.n_clusters == 1:  # whatever the weights
            network = self._build_network(rows.shape, 0)
            return [Trained(network, {"loss": np.zeros(0, np.float32)}) for _ in replicas]
        autoencoder = pretrained_autoencoder(self._pretraining(), rows, fitting.run, self.cache)
        embedding = apply_to_rows(autoencoder.encoder, rows, "embedding", self.verbose)
        self._look_at_embedding(embedding)
        centres = {seed: self._start(embedding, seed) for seed in set(fitting.seeds)}
        autoencoder.encoder.cpu()
        # Replicas of a stack step together: they have equally many batches in an epoch.
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, replica in enumerate(replicas):
            groups.setdefault(self._batches(rows, replica.links), []).append(i)
        trained: dict[int, Trained] = {}
        for number, group in enumerate(groups.values(), start=1):
            some = [replicas[i] for i in group]
            name = f"group {number}" if len(groups) > 1 else ""
            done = self._train_group(rows, some, autoencoder, centres, fitting.run, name)
            trained |= zip(group, done)
        return [trained[i] for i in range(len(replicas))]

    def _pretraining(self) -> Pretraining:
        """The usual pretraining of such a network, and what the parameters change of it."""
        usual = published.IDEC_PRETRAINING[self._kind]
        rate, epochs = self.pretrain_learning_rate, self.whole_epochs
        return Pretraining(
            network=self.network if isinstance(self.network, nn.Module) else self._kind,
            decoder=self.decoder,
            layers=tuple(map(int, self.layers)),
            layer_epochs=int(self.layer_epochs),
            epochs=usual.epochs if epochs is None else int(epochs),
            optimizer=usual.optimizer,
            learning_rate=usual.learning_rate if rate is None else float(rate),
            corruption=float(self.corruption),
            batch_size=int(self.batch_size),
            precision=self.precision,
            seed=int(self.pretrain_seed),
            scale=self.scale,
            stage="idec pretraining",
        )

    def _look_at_embedding(self, embedding: NDArray[np.float32]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite((embedding**2).sum()):  # k-means could not compare distances
                raise DataError(f"idec pretraining: training diverged. {DIVERGED}")
        if len(np.unique(embedding, axis=0)) < min(self.n_clusters, len(embedding)):
            warn(
                f"The pretrained autoencoder maps the rows to fewer than {self.n_clusters} "
                "different points: it learned nothing, or the rows are nearly the same. Lower "
                "pretrain_learning_rate, or use scale='rms'.",
                UserWarning,
            )

    def _batches(self, rows: Rows, links: Links) -> tuple[int, int, int]:
        """Number of batches of rows, must-links and cannot-links in an epoch."""
        n, must, cannot = (
            -(-count // int(self.batch_size)) for count in (rows.n, links.n_must, links.n_cannot)
        )
        return n, must, cannot

    def _start(self, embedding: NDArray[np.float32], seed: int) -> Tensor:
        """Centres by k-means."""
        kmeans = KMeans(int(self.n_clusters), n_init=int(self.n_init), random_state=seed % 2**32)
        # The sums of two threads are the same in either order, those of more are not.
        with threadpool_limits(limits=2, user_api="openmp"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the warning above already says it
            kmeans.fit(embedding)
        return torch.from_numpy(kmeans.cluster_centers_.astype(np.float32))

    def _train_group(
        self,
        rows: Rows,
        replicas: Sequence[Replica],
        autoencoder: Autoencoder,
        centres: dict[int, Tensor],
        run: FitRun,
        name: str,
    ) -> list[Trained]:
        """Train replicas that have equally many batches in an epoch."""
        batches = self._batches(rows, replicas[0].links)
        held: dict[int, tuple[Epochs, int]] = {}
        own = bool(self._modules())

        def build(replica: Replica) -> dict[str, nn.Module]:
            return {"encoder": autoencoder.encoder, "decoder": autoencoder.decoder}

        def task_of(
            some: Sequence[Replica], stacks: dict[str, Stack], part: str
        ) -> tuple[Task, Epochs]:
            capturable = rows.settle(self.precision) and not own
            start = torch.stack([centres[replica.seed] for replica in some])
            epochs = Epochs(self, some, rows, stacks, start, batches)

            def fewer(numbers: Sequence[int]) -> Task:
                fewer_stacks = {name: stack.fewer(numbers) for name, stack in stacks.items()}
                return task_of([some[r] for r in numbers], fewer_stacks, part)[0]

            task = Task(
                stage=self._stage,
                stacks=nn.ModuleDict({**stacks, "clustering": epochs.clustering}),
                losses=epochs.of_rows,
                kind=epochs.kind,
                before=epochs.before,
                fewer=fewer,
                steps=[int(self.epochs) * sum(batches)] * len(some),
                optimizer=self.optimizer or "adam",
                learning_rate=self.learning_rate,
                foreign_seed=derived_seed(some[0].seed, Purpose.STAGE) if own else None,
                part=part,
                capturable=capturable,
            )
            return task, epochs

        def task(some: Sequence[Replica], stacks: dict[str, Stack], part: str) -> Task:
            made, epochs = task_of(some, stacks, part)
            held.update({id(one): (epochs, r) for r, one in enumerate(some)})
            return made

        sizes = {"encoder": 2 * int(self.batch_size), "decoder": 2 * int(self.batch_size)}
        done = train_stacks(replicas, build, task, sizes, rows.device, run, self.precision, name)
        finished = []
        for replica, one in zip(replicas, done):
            epochs, r = held[id(replica)]
            centres_of_r = epochs.clustering.centres.detach()[r].clone()
            assignment = StudentAssignment(centres_of_r, self.assignment_power)
            finished.append(Trained(nn.Sequential(one.network, assignment), one.history))
        return finished

    def _build_network(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        encoder = Autoencoder.build(self._pretraining(), shape).encoder
        dimensions = output_size(encoder, shape)
        centres = torch.zeros(int(self.n_clusters), dimensions)
        return nn.Sequential(encoder, StudentAssignment(centres, self.assignment_power))


class StudentAssignment(nn.Module):
    """Soft assignment to centres: (rows, dimensions) → (rows, K)."""

    def __init__(self, centres: Tensor, power: float) -> None:
        super().__init__()
        self.centres = nn.Parameter(centres)
        self.power = power

    def forward(self, z: Tensor) -> Tensor:
        return losses.student_assignment(z, self.centres, self.power)
