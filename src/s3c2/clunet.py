"""Stage two: CluNet learns the clusters from labelled pairs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from s3c2 import losses, published
from s3c2.base import SiameseEstimator, check_choice, check_number, pack_network, unpack_network
from s3c2.errors import LinksError
from s3c2.inference import apply_to_rows
from s3c2.labnet import LabNet
from s3c2.links import Links
from s3c2.networks import Architecture
from s3c2.pairs import GivenLinks, random_pairs
from s3c2.randomness import Purpose, derived_seed, draws, lay_masks
from s3c2.rows import Rows
from s3c2.training import OPTIMIZERS, History, Run, Task, apply, train

CACHE_MEMORY = 2**27
STAGE = 1  # LabNet's draws are those of stage 0


class CluNet(ClusterMixin, SiameseEstimator):
    """Clustering network: Siamese softmax twins trained on the misclassification loss, eq. (3).

    Each step takes given links and fresh random pairs of rows, which a frozen LabNet labels.
    Prediction uses one twin and the arg max.

    Parameters
    ----------
    n_clusters : int
    network, encoder, layers, dropout, learning_rate, scale, contradictions, device, random_state,
    verbose, callbacks, checkpoint
        As in LabNet. The last of ``layers``, LabNet's representation, has no place here.
    steps : int, optional
    batch_links, batch_pairs : int, optional
        Given links and random pairs in a batch, by default the published 100 and 1,000.
    optimizer : {"adam", "rmsprop"}, optional
    cache_memory : int, default=2**27
        Bytes for LabNet's representation, which is computed once. If all rows do not fit, the
        random pairs are drawn from a uniform sample of as many rows as do.
    """

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
        optimizer: str | None = None,
        learning_rate: float = published.LEARNING_RATE,
        cache_memory: int = CACHE_MEMORY,
        scale: str | None = None,
        contradictions: Literal["raise", "drop"] = "raise",
        device: str = "auto",
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
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.cache_memory = cache_memory
        self.scale = scale
        self.contradictions = contradictions
        self.device = device
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
        self._check_parameters()
        rows = self._read(X, reset=True)
        links = self._resolve(links, sample_id, rows)
        run, seed = self._begin(rows, links)
        with run:
            self._train(rows, links, labnet, run, seed)
        self.labels_ = self._labels(rows)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The posteriors p(k | x): (n, n_clusters)."""
        check_is_fitted(self)
        return self._posteriors(self._read(X, reset=False))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of highest posterior of each row: (n,)."""
        check_is_fitted(self)
        return self._labels(self._read(X, reset=False))

    def _posteriors(self, rows: Rows) -> NDArray[np.float32]:
        return apply_to_rows(self.network_, rows, "predicting", self.verbose)

    def _labels(self, rows: Rows) -> NDArray[np.int64]:
        return apply_to_rows(
            self.network_, rows, "predicting", self.verbose, lambda p: p.argmax(-1)
        )

    # Training

    def _check_parameters(self) -> None:
        check_number(self, "n_clusters", 1, whole=True)
        check_choice(self, "network", ("dense", "convolutional"))
        check_choice(self, "scale", (None, "standard", "unit"))
        check_choice(self, "contradictions", ("raise", "drop"))
        check_choice(self, "optimizer", (None, *OPTIMIZERS))
        check_number(self, "dropout", 0, 0.99)
        check_number(self, "learning_rate", 0)
        for name in ("steps", "batch_links", "batch_pairs", "cache_memory"):
            check_number(self, name, 1, whole=True)

    def _train(self, rows: Rows, links: Links, labnet: LabNet, run: Run, seed: int) -> None:
        seed = derived_seed(seed, Purpose.STAGE, STAGE)
        training = published.clunet_training().changed(
            links=self.batch_links,
            pairs=self.batch_pairs,
            steps=self.steps,
            optimizer=self.optimizer,
        )
        network = self._architecture().build_clusters(
            rows.shape, self.n_clusters, derived_seed(seed, Purpose.WEIGHTS)
        )
        given = GivenLinks(links, training.links, seed)
        pool = LabelledPool(rows, labnet, self.cache_memory, seed)
        task = Task(
            stage="clunet",
            network=network.to(rows.device),
            losses=self._losses(network, rows, given, pool, training.pairs, seed),
            # One cluster is right for every pair of parameters: there is nothing to learn.
            steps=0 if self.n_clusters == 1 else training.n_steps(given.steps_per_epoch),
            optimizer=training.optimizer,
            learning_rate=self.learning_rate,
            foreign_seed=None if self.encoder is None else derived_seed(seed, Purpose.STAGE),
        )
        self.history_: History = train(task, run)
        self.network_ = network

    def _losses(
        self,
        network: nn.Module,
        rows: Rows,
        given: GivenLinks,
        pool: LabelledPool,
        n_pairs: int,
        seed: int,
    ) -> Callable[[int], dict[str, Tensor]]:
        """Step → eq. (3) over given links and pairs labelled by LabNet."""

        def losses_of(step: int) -> dict[str, Tensor]:
            links = given.at_random(step)
            a, b, pool_must = pool.draw(n_pairs, step)
            twin_a = np.concatenate([links.a, a], axis=1)  # (replicas, links + pairs)
            twin_b = np.concatenate([links.b, b], axis=1)
            x = rows.take_replicas(np.concatenate([twin_a, twin_b], axis=1))
            lay_masks(network, x.shape[1], seed, step)
            p = apply(network, x)  # (replicas, 2·(links + pairs), K)
            n = twin_a.shape[1]
            must = torch.cat([rows.to_device(links.must), pool_must], dim=1)
            weight = torch.ones(must.shape, device=rows.device)
            weight[:, : links.weight.shape[1]] = rows.to_device(links.weight)
            p_same = losses.same_probability(p[:, :n], p[:, n:])
            return {"loss": losses.misclassification(p_same, must, weight)}

        return losses_of

    def _architecture(self) -> Architecture:
        dropout = published.DROPOUT[self.network] if self.dropout is None else self.dropout
        return Architecture(self.network, tuple(self.layers), dropout, self.encoder)

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        check_is_fitted(self)
        content, tensors = super()._pack()
        if hasattr(self, "labels_"):
            tensors["labels"] = torch.from_numpy(self.labels_.astype(np.int32))
        return content, tensors | pack_network("clunet", self.network_, self.history_)

    def _unpack(self, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super()._unpack(content, tensors)
        network = self._architecture().build_clusters(self._row_shape(), self.n_clusters, 0)
        self.history_ = unpack_network("clunet", network, tensors)
        self.network_ = network
        if "labels" in tensors:
            self.labels_ = tensors["labels"].numpy().astype(np.int64)


class LabelledPool:
    """Random pairs of rows with the labels of a frozen LabNet.

    The representation is computed once for as many rows as ``cache_memory`` holds: all of them,
    or a uniform sample.
    """

    def __init__(self, rows: Rows, labnet: LabNet, cache_memory: int, seed: int) -> None:
        capacity = max(2, cache_memory // (4 * labnet._n_features_out))
        self.numbers: NDArray[np.int64] | None = None  # all rows
        if rows.n > capacity:
            chosen = draws(seed, Purpose.POOL).choice(rows.n, capacity, replace=False)
            self.numbers = np.sort(chosen)
            rows = rows.subset(self.numbers)
        self.h = torch.from_numpy(labnet._represent(rows)).to(rows.device)
        self.threshold = labnet.threshold_
        self.seed = seed

    def draw(self, size: int, step: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Tensor]:
        """Row numbers of both ends and whether LabNet says must-link, (replicas, size) each."""
        ends = random_pairs(len(self.h), size, self.seed, step)
        i, j = torch.from_numpy(ends).to(self.h.device)
        d2 = losses.squared_distance(self.h[i], self.h[j])
        a, b = ends if self.numbers is None else self.numbers[ends]
        return a, b, losses.is_must_link(d2, self.threshold)
