"""Stage one: LabNet learns to tell must-links from cannot-links."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from s3c2 import losses, networks, published
from s3c2.base import SiameseEstimator, check_choice, check_number, pack_network, unpack_network
from s3c2.errors import LinksError
from s3c2.inference import apply_to_rows
from s3c2.links import Links
from s3c2.networks import Architecture
from s3c2.pairs import GivenLinks, random_pairs
from s3c2.randomness import Purpose, derived_seed, lay_masks
from s3c2.rows import Rows
from s3c2.training import OPTIMIZERS, History, Run, Task, apply, train


@dataclass(frozen=True)
class Rates:
    """How well pairs are labelled: the paper's r(M), r(C) and the accuracy over both.

    A rate of no pairs is NaN.
    """

    accuracy: float
    ml_rate: float
    cl_rate: float


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
    threshold : float, default=0.3
        T: squared distances below it are must-links.
    epochs, steps : int, optional
        Length of training; ``steps`` wins. By default as published.
    batch_links, batch_pairs : int, optional
        Given links, and random pairs for the reconstruction, in a batch. By default as published.
    optimizer : {"rmsprop", "adam"}, optional
    learning_rate : float, default=1e-3
    scale : {None, "standard", "unit"}, default=None
        Scaling learned in ``fit``: columns to mean 0 and deviation 1, or onto [0, 1].
    contradictions : {"raise", "drop"}, default="raise"
    device : str, default="auto"
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
        threshold: float = published.THRESHOLD,
        epochs: int | None = None,
        steps: int | None = None,
        batch_links: int | None = None,
        batch_pairs: int | None = None,
        optimizer: str | None = None,
        learning_rate: float = published.LEARNING_RATE,
        scale: str | None = None,
        contradictions: Literal["raise", "drop"] = "raise",
        device: str = "auto",
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
        self.epochs = epochs
        self.steps = steps
        self.batch_links = batch_links
        self.batch_pairs = batch_pairs
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.scale = scale
        self.contradictions = contradictions
        self.device = device
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
        rows = self._read(X, reset=True)
        links = self._resolve(links, sample_id, rows)
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
        return _distance(h_a, h_b)

    def same(self, X_a: Any, X_b: Any) -> NDArray[np.bool_]:
        """Whether row i of X_a and row i of X_b are a must-link, d² < T: (n,)."""
        return _is_must(self.distance(X_a, X_b), self.threshold_)

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
        right_must, right_cannot = _is_must(must, T), ~_is_must(cannot, T)
        return Rates(
            accuracy=_mean(np.concatenate([right_must, right_cannot])),
            ml_rate=_mean(right_must),
            cl_rate=_mean(right_cannot),
        )

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
        ends = np.unique(np.concatenate([links.must, links.cannot])).astype(np.int64)
        if len(ends) == 0:
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        h = self._represent(rows.subset(ends))
        must, cannot = (
            _distance(*h[np.searchsorted(ends, pairs.T)]) for pairs in (links.must, links.cannot)
        )
        return must, cannot

    def _represent(self, rows: Rows) -> NDArray[np.float32]:
        return apply_to_rows(self.encoder_, rows, "representing", self.verbose)

    # Training

    def _check_parameters(self) -> None:
        check_choice(self, "network", ("dense", "convolutional"))
        check_choice(self, "reconstruction", ("sum", "mean"))
        check_choice(self, "scale", (None, "standard", "unit"))
        check_choice(self, "contradictions", ("raise", "drop"))
        check_choice(self, "optimizer", (None, *OPTIMIZERS))
        check_number(self, "dropout", 0, 0.99)
        check_number(self, "reconstruction_weight", 0)
        check_number(self, "threshold", 0)
        check_number(self, "learning_rate", 0)
        for name in ("epochs", "steps", "batch_links", "batch_pairs"):
            check_number(self, name, 1, whole=True)

    def _train(self, rows: Rows, links: Links, run: Run, seed: int) -> None:
        training = self._training()
        architecture = self._architecture()
        encoder = architecture.build_encoder(rows.shape, derived_seed(seed, Purpose.WEIGHTS, 0))
        self._n_features_out = networks.output_size(encoder, rows.shape)
        parts = nn.ModuleDict({"encoder": encoder})
        if self.semi_supervised:
            parts["decoder"] = architecture.build_decoder(
                rows.shape, derived_seed(seed, Purpose.WEIGHTS, 1)
            )
        given = GivenLinks(links, training.links, seed)
        task = Task(
            stage="labnet",
            network=parts.to(rows.device),
            losses=self._losses(parts, rows, given, training.pairs, seed),
            steps=training.n_steps(given.steps_per_epoch),
            optimizer=training.optimizer,
            learning_rate=self.learning_rate,
            foreign_seed=None if self.encoder is None else derived_seed(seed, Purpose.STAGE, 0),
        )
        self.history_: History = train(task, run)
        self.encoder_ = encoder
        self.threshold_ = float(self.threshold)
        self._fitted_rows: Rows | None = rows

    def _losses(
        self, parts: nn.ModuleDict, rows: Rows, given: GivenLinks, n_pairs: int, seed: int
    ) -> Callable[[int], dict[str, Tensor]]:
        """Step → eq. (1), or eq. (2) if there is a decoder."""
        decoder_seed = derived_seed(seed, Purpose.DROPOUT)

        def losses_of(step: int) -> dict[str, Tensor]:
            batch = given.in_epochs(step)
            index = [batch.a, batch.b]
            if "decoder" in parts:
                index += [*random_pairs(rows.n, n_pairs, seed, step)]
            x = rows.take_replicas(np.concatenate(index, axis=1))  # links' twins, pairs' twins
            lay_masks(parts["encoder"], x.shape[1], seed, step)
            h = apply(parts["encoder"], x)  # (replicas, 2·links + 2·pairs, dimensions)
            n = batch.a.shape[1]
            contrastive = losses.contrastive(
                losses.squared_distance(h[:, :n], h[:, n : 2 * n]),
                rows.to_device(batch.must),
                rows.to_device(batch.weight),
            )
            if "decoder" not in parts:
                return {"loss": contrastive}
            lay_masks(parts["decoder"], 2 * n_pairs, decoder_seed, step)
            errors = losses.reconstruction_error(
                apply(parts["decoder"], h[:, 2 * n :]).flatten(2),
                x[:, 2 * n :].flatten(2),
                self.reconstruction,
            )  # (replicas, 2·pairs)
            reconstruction = 2 * errors.mean(-1)  # a pair counts both its twins
            return {
                "loss": contrastive + self.reconstruction_weight * reconstruction,
                "contrastive": contrastive,
                "reconstruction": reconstruction,
            }

        return losses_of

    def _training(self) -> published.Training:
        return published.labnet_training(self.network, self.semi_supervised).changed(
            links=self.batch_links,
            pairs=self.batch_pairs,
            steps=self.steps,
            epochs=self.epochs,
            optimizer=self.optimizer,
        )

    def _architecture(self) -> Architecture:
        dropout = published.DROPOUT[self.network] if self.dropout is None else self.dropout
        return Architecture(self.network, tuple(self.layers), dropout, self.encoder, self.decoder)

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        check_is_fitted(self)
        content, tensors = super()._pack()
        content["threshold"] = self.threshold_
        return content, tensors | pack_network("labnet", self.encoder_, self.history_)

    def _unpack(self, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super()._unpack(content, tensors)
        encoder = self._architecture().build_encoder(self._row_shape(), 0)
        self.history_ = unpack_network("labnet", encoder, tensors)
        self._n_features_out = networks.output_size(encoder, self._row_shape())
        self.encoder_ = encoder
        self.threshold_ = float(content["threshold"])
        self._fitted_rows = None


def _distance(h_a: NDArray[np.float32], h_b: NDArray[np.float32]) -> NDArray[np.float32]:
    d2: NDArray[np.float32] = losses.squared_distance(
        torch.from_numpy(h_a), torch.from_numpy(h_b)
    ).numpy()
    return d2


def _is_must(d2: NDArray[np.float32], threshold: float) -> NDArray[np.bool_]:
    must: NDArray[np.bool_] = losses.is_must_link(torch.from_numpy(d2), threshold).numpy()
    return must


def _mean(right: NDArray[np.bool_]) -> float:
    return float(right.mean()) if len(right) else float("nan")
