"""Stage one: LabNet learns to tell must-links from cannot-links."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from s3c2 import losses, networks, published
from s3c2.base import (
    SiameseEstimator,
    check_choice,
    check_module,
    check_number,
    pack_network,
    unpack_network,
)
from s3c2.distances import are_must_links, link_distances, squared_distances
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.loop import History, Losses, Run, Task, check_converged, converged
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack, Trained, train_stacks
from s3c2.errors import LinksError
from s3c2.links import Links
from s3c2.metrics import Rates
from s3c2.networks import committee_of, members_of
from s3c2.pairs import GivenLinks, RandomPairs
from s3c2.threshold import calibrated_threshold, folds_for_threshold


class LabNet(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SiameseEstimator):
    """Labeling network: a Siamese encoder h in which linked rows are near.

    Trained with the contrastive loss, eq. (1), on the given links; semi-supervised also with a
    decoder and the reconstruction error over random pairs of rows, eq. (2). A pair is a must-link
    if d² = ‖h(x) − h(y)‖² < T. Usable by itself as a pair verifier.

    Parameters
    ----------
    network : {"dense", "convolutional"}, default="dense"
    encoder : nn.Module, optional
        Your own encoder, (rows, *shape) → (rows, …); it is copied and starts from its weights.
    decoder : nn.Module, optional
        Your own decoder for your own encoder; by default a dense one.
    layers : tuple of int, default=(256, 256, 256)
        Sizes of the dense network: hidden layers, then the representation.
    dropout : float, optional
        By default the published 0.1 (dense) or 0.5 (convolutional).
    semi_supervised : bool, default=False
    reconstruction_weight : float, default=0.05
        λ of eq. (2).
    reconstruction : {"sum", "mean"}, default="sum"
        ‖x̂ − x‖² summed over columns as in the paper, or their mean.
    threshold : float or "auto", default=0.3
        T: squared distances below it are must-links. "auto" calibrates it on links that a LabNet
        did not see: the largest T that labels 95 % of held-out cannot-links right.
    n_committee : int, default=1
        Number of LabNets whose squared distances are averaged.
    epochs, steps : int, optional
        Length of training; ``steps`` wins. By default as published.
    batch_links, batch_pairs : int, optional
        Given links, and random pairs for the reconstruction, in a batch. By default as published.
    optimizer : {"rmsprop", "adam"}, optional
    learning_rate : float, default=1e-3
    scale : {None, "standard", "unit", "rms"}, default=None
        Scaling learned in ``fit``: columns to mean 0 and deviation 1, or onto [0, 1], or all
        numbers divided by the root of their mean square.
    contradictions : {"raise", "drop"}, default="raise"
    device : str, default="auto"
    precision : {"float32", "bf16"}, default="float32"
        "bf16" trains with matrix products, and the rows they take, in bfloat16 on a GPU.
    random_state : int, numpy generator or None
    verbose : int, default=1
        0 switches progress off.
    callbacks : Callback, function of a Step, or a list of them
    checkpoint : path, optional
        Where an interrupted ``fit`` keeps its state and goes on from.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import LabNet, Links
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> links = Links.from_labels(y, 200, random_state=0)
    >>> labnet = LabNet(scale="unit", epochs=20, random_state=0).fit(X, links=links)
    >>> labnet.same(X[:1], X[:1])
    array([ True])
    >>> labnet.rates(Links.from_labels(y, 1000, random_state=1), X).accuracy > 0.7
    True
    """

    def __init__(
        self,
        *,
        network: str = "dense",
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
        layers: tuple[int, ...] = published.LAYERS,
        dropout: float | None = None,
        semi_supervised: bool = False,
        reconstruction_weight: float = published.RECONSTRUCTION_WEIGHT,
        reconstruction: str = "sum",
        threshold: float | str = published.THRESHOLD,
        n_committee: int = 1,
        epochs: int | None = None,
        steps: int | None = None,
        batch_links: int | None = None,
        batch_pairs: int | None = None,
        optimizer: str | None = None,
        learning_rate: float = published.LEARNING_RATE,
        scale: str | None = None,
        contradictions: Literal["raise", "drop"] = "raise",
        device: str = "auto",
        precision: str = "float32",
        random_state: Any = None,
        verbose: int = 1,
        callbacks: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.network = network
        self.encoder = encoder
        self.decoder = decoder
        self.layers = layers
        self.dropout = dropout
        self.semi_supervised = semi_supervised
        self.reconstruction_weight = reconstruction_weight
        self.reconstruction = reconstruction
        self.threshold = threshold
        self.n_committee = n_committee
        self.epochs = epochs
        self.steps = steps
        self.batch_links = batch_links
        self.batch_pairs = batch_pairs
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.scale = scale
        self.contradictions = contradictions
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    def fit(
        self, X: Any, y: Any = None, *, links: Links | None = None, sample_id: Any = None
    ) -> Self:
        """Learn the representation from the links.

        Parameters
        ----------
        X : (n, columns), (n, h, w) or (n, channels, h, w)
        y : ignored
        links : Links
        sample_id : (n,), optional
            The rows' ids, if the links speak of ids.
        """
        self._check_parameters()
        with self._all_or_nothing():
            rows = self._read(X, reset=True)
            links = self._resolve(links, sample_id, rows, y)
            run, seed = self._begin(rows, links)
            with run:
                self._train(rows, links, run, seed)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The representation h(x) of each row: (n, dimensions)."""
        check_is_fitted(self)
        return self._represent(self._read(X, reset=False))

    def distance(self, X_a: Any, X_b: Any) -> NDArray[np.float32]:
        """Squared distance d² of row i of X_a and row i of X_b: (n,)."""
        h_a, h_b = self.transform(X_a), self.transform(X_b)
        if len(h_a) != len(h_b):
            raise ValueError(
                f"distance compares rows in pairs: X_a has {len(h_a)} rows and X_b {len(h_b)}. "
                "Give as many of both."
            )
        return squared_distances(h_a, h_b)

    def same(self, X_a: Any, X_b: Any) -> NDArray[np.bool_]:
        """Whether row i of X_a and row i of X_b are a must-link, d² < T: (n,)."""
        return are_must_links(self.distance(X_a, X_b), self.threshold_)

    def rates(
        self,
        links: Links,
        X: Any = None,
        *,
        sample_id: Any = None,
        threshold: float | None = None,
    ) -> Rates:
        """ML rate, CL rate and accuracy on these links.

        r(M) is the share of must-links with d² < T, r(C) that of cannot-links with d² ≥ T.

        Parameters
        ----------
        links : Links
        X : rows that the links speak of; by default those of ``fit`` (not after ``load``)
        sample_id : the ids of X's rows, if the links speak of ids
        threshold : another T than ``threshold_``
        """
        must, cannot = self.link_distances(links, X, sample_id=sample_id)
        T = self.threshold_ if threshold is None else threshold
        return Rates.of(are_must_links(must, T), ~are_must_links(cannot, T))

    def link_distances(
        self, links: Links, X: Any = None, *, sample_id: Any = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Squared distances of the must-links and of the cannot-links."""
        check_is_fitted(self)
        rows = self._fitted_rows if X is None else self._read(X, reset=False)
        if rows is None:
            raise LinksError(
                "A loaded model does not hold the rows it was fitted on: pass rates(links, X)."
            )
        links = links.resolve(rows.n, sample_id)
        return link_distances(self.encoder_, rows, links, self.verbose)

    def _represent(self, rows: Rows) -> NDArray[np.float32]:
        return apply_to_rows(self.encoder_, rows, "representing", self.verbose)

    # Training

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_module(self, "decoder")
        check_choice(self, "reconstruction", ("sum", "mean"))
        check_number(self, "reconstruction_weight", 0)
        check_number(self, "threshold", 0, word="auto")
        check_number(self, "n_committee", 1, whole=True)
        check_number(self, "epochs", 1, whole=True, optional=True)

    def _train(self, rows: Rows, links: Links, run: Run, seed: int) -> None:
        folds = folds_for_threshold(links, seed) if self.threshold == "auto" else []
        replicas = self._replicas(links, seed, folds)
        self._finish(rows, train_labnets(self, rows, replicas, run), folds)

    def _replicas(
        self, links: Links, seed: int, folds: Sequence[tuple[Links, Links]] = ()
    ) -> list[LabNetReplica]:
        """The committee, then a LabNet for the training links of each fold."""
        seeds = [
            seed,
            *(derived_seed(seed, Purpose.REPLICA, m) for m in range(1, self.n_committee)),
        ]
        committee = [LabNetReplica(links, one) for one in seeds]
        return committee + [LabNetReplica(train, seed) for train, _ in folds]

    def _finish(
        self, rows: Rows, trained: Sequence[Trained], folds: Sequence[tuple[Links, Links]]
    ) -> None:
        """Take over the committee, and T from the LabNets of the folds."""
        committee, out_of_fold = trained[: self.n_committee], trained[self.n_committee :]
        good = [one for one in committee if converged(one.history)]
        if not good:
            check_converged(committee[0].history, "labnet")
        if len(good) < len(committee):
            warnings.warn(
                f"{len(committee) - len(good)} of {len(committee)} LabNets diverged and were left "
                "out of the committee. Scale the data (scale='standard') or lower learning_rate.",
                UserWarning,
                stacklevel=2,
            )
        self.history_: History = good[0].history
        self.encoder_ = committee_of([one.network for one in good])
        self._n_features_out = networks.output_size(self.encoder_, rows.shape)
        self._fitted_rows: Rows | None = rows
        if self.threshold != "auto":
            self.threshold_ = float(self.threshold)
        else:
            self.threshold_ = calibrated_threshold(
                [
                    link_distances(one.network, rows, held_out, self.verbose)
                    for one, (_, held_out) in zip(out_of_fold, folds)
                ]
            )

    def _training(self) -> published.Training:
        return published.labnet_training(self.network, self.semi_supervised).changed(
            links=self.batch_links,
            pairs=self.batch_pairs,
            steps=self.steps,
            epochs=self.epochs,
            optimizer=self.optimizer,
        )

    # Saving

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        if "_fitted_rows" in state:
            state["_fitted_rows"] = None  # the data stay with their owner
        return state

    def _pack(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        check_is_fitted(self)
        content, tensors = super()._pack()
        content["threshold"] = self.threshold_
        content["committee"] = len(members_of(self.encoder_))
        return content, tensors | pack_network("labnet", self.encoder_, self.history_)

    def _unpack(self, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super()._unpack(content, tensors)
        architecture, shape = self._architecture(), self._row_shape()
        encoder = committee_of(
            [architecture.build_encoder(shape, 0) for _ in range(int(content["committee"]))]
        )
        self.history_ = unpack_network("labnet", encoder, tensors)
        self._n_features_out = networks.output_size(encoder, shape)
        self.encoder_ = encoder
        self.threshold_ = float(content["threshold"])
        self._fitted_rows = None


@dataclass(frozen=True)
class LabNetReplica:
    """One of many LabNets that share data and architecture.

    Attributes
    ----------
    links : by row number
    seed : int
    reconstruction_weight : λ, by default that of the settings
    """

    links: Links
    seed: int
    reconstruction_weight: float | None = None


def train_labnets(
    settings: LabNet, rows: Rows, replicas: Sequence[LabNetReplica], run: Run
) -> list[Trained]:
    """Train LabNets on the same rows, in as few stacks as are good for them."""
    architecture = settings._architecture()
    training = settings._training()

    def build(replica: LabNetReplica) -> dict[str, nn.Module]:
        def seed(part: int) -> int:
            return derived_seed(replica.seed, Purpose.WEIGHTS, part)

        parts = {"encoder": architecture.build_encoder(rows.shape, seed(0))}
        if settings.semi_supervised:
            parts["decoder"] = architecture.build_decoder(rows.shape, seed(1))
        return parts

    def task(some: Sequence[LabNetReplica], stacks: dict[str, Stack], part: str) -> Task:
        seeds = [replica.seed for replica in some]
        given = GivenLinks([r.links for r in some], training.links, seeds, rows.device)
        own = settings.encoder is not None or settings.decoder is not None
        return Task(
            stage="labnet",
            stacks=nn.ModuleDict(stacks),
            losses=step_losses(settings, some, stacks, rows, given, training.pairs),
            steps=[training.n_steps(n) for n in given.steps_per_epoch],
            optimizer=training.optimizer,
            learning_rate=settings.learning_rate,
            foreign_seed=derived_seed(seeds[0], Purpose.STAGE, 0) if own else None,
            part=part,
            capturable=rows.settle(settings.precision) and not own,
        )

    pairs = training.pairs if settings.semi_supervised else 0
    batch = {"encoder": 2 * (training.links + pairs), "decoder": 2 * pairs}
    return train_stacks(replicas, build, task, batch, rows.device, run, settings.precision)


def step_losses(
    settings: LabNet,
    replicas: Sequence[LabNetReplica],
    stacks: dict[str, Stack],
    rows: Rows,
    given: GivenLinks,
    n_pairs: int,
) -> Losses:
    """Step → eq. (1), or eq. (2) if there is a decoder."""
    seeds = [replica.seed for replica in replicas]
    decoder_seeds = [derived_seed(seed, Purpose.DROPOUT) for seed in seeds]
    pairs = RandomPairs(rows.n, n_pairs, seeds, rows.device)
    share = torch.tensor(
        [
            settings.reconstruction_weight if r.reconstruction_weight is None
            else r.reconstruction_weight
            for r in replicas
        ],
        device=rows.device,
    )  # fmt: skip
    n = given.batch

    def losses_of(step: int | Tensor) -> dict[str, Tensor]:
        links = given.draw(step)
        index = [links.a, links.b]
        if "decoder" in stacks:
            index += pairs.draw(step)
        x = rows.take_replicas(torch.cat(index, dim=1))  # twins of links, then twins of pairs
        stacks["encoder"].lay_dropout(x.shape[1], seeds, step)
        h = stacks["encoder"](x)  # (replicas, 2·links + 2·pairs, dimensions)
        contrastive = losses.contrastive(
            losses.squared_distance(h[:, :n], h[:, n : 2 * n]), links.must, links.weight
        )
        if "decoder" not in stacks:
            return {"loss": contrastive}
        stacks["decoder"].lay_dropout(2 * n_pairs, decoder_seeds, step)
        errors = losses.reconstruction_error(
            stacks["decoder"](h[:, 2 * n :]).flatten(2), x[:, 2 * n :].flatten(2),
            settings.reconstruction,
        )  # (replicas, 2·pairs)  # fmt: skip
        reconstruction = 2 * errors.mean(-1)  # a pair counts both its twins
        return {
            "loss": contrastive + share * reconstruction,
            "contrastive": contrastive,
            "reconstruction": reconstruction,
        }

    return losses_of
