"""What clusterers that learn from links share: S3C2, its second stage, and the baselines."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from s3c2 import published
from s3c2.base import SiameseEstimator, check_number, pack_network, unpack_network
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.loop import History, Losses, Run, Task
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack, Trained, train_stacks
from s3c2.errors import DataError, EmptyClustersWarning, LinksError, TooFewClustersWarning
from s3c2.links import Links
from s3c2.metrics import pair_rates


class LinkClusterer(ClusterMixin, SiameseEstimator, ABC):
    """A clusterer that learns from links. A subclass says how it is trained (``_fit_replicas``)
    and which network holds its posteriors.
    """

    # Both follow the rows when scikit-learn's metadata routing is switched on.
    __metadata_request__fit: ClassVar = {"links": True, "sample_id": True}
    __metadata_request__score: ClassVar = {"links": True, "sample_id": True}
    # What models that fit_many trains together may differ in, beside their links.
    _may_differ: ClassVar[tuple[str, ...]] = ("random_state",)
    _against_empty: ClassVar[str] = "More links or longer training"

    n_clusters: int
    labels_: NDArray[np.int64]

    def fit(
        self, X: Any, y: Any = None, *, links: Links | None = None, sample_id: Any = None
    ) -> Self:
        """Learn the clusters of X from the links.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or tensor (n, columns); images (n, h, w), (n, c, h, w)
        y : ignored
        links : Links
            By row number, or by ids that ``sample_id`` resolves. They are used as given, never
            their closure.
        sample_id : (n,), optional
            The rows' ids. With them links follow their rows through cross-validation.
        """
        self._check_parameters()
        with self._all_or_nothing():
            rows = self._read(X, reset=True)
            self._check_n_clusters(rows)
            given, links = links, self._resolve(links, sample_id, rows, y)
            self._warn_of_too_many_groups(given or links)
            run, seed = self._begin(rows, links)
            with run:
                for error in self._fit_replicas([self], rows, [links], [seed], run).values():
                    raise error
        self._warn_of_empty_clusters()
        return self

    def _warn_of_empty_clusters(self) -> None:
        empty = self.n_clusters - len(np.unique(self.labels_))
        if empty:
            scale = ", or scale= if the numbers of X are not about 1," if self.scale is None else ""
            warnings.warn(
                f"{empty} of {self.n_clusters} clusters stayed empty. "
                f"{self._against_empty}{scale} may fill them.",
                EmptyClustersWarning,
                stacklevel=3,
            )

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of each row: (n,). The same for a row alone, in any batch and order."""
        check_is_fitted(self)
        return self._labels(self._read(X, reset=False))

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The posteriors p(k | x): (n, n_clusters)."""
        check_is_fitted(self)
        return self._posteriors(self._read(X, reset=False))

    def score(
        self, X: Any, y: Any = None, *, links: Links | None = None, sample_id: Any = None
    ) -> float:
        """Pair accuracy: the share of these links that the clusters of X respect.

        Weights count: a link of weight 0.5 is half a link.

        Parameters
        ----------
        X : rows that the links speak of
        y : ignored
        links : Links
        sample_id : (n,), optional
        """
        check_is_fitted(self)
        if links is None:
            raise LinksError(
                "score measures the clusters against links, and got none. Pass score(X, links=…). "
                "Inside GridSearchCV or cross_validate switch metadata routing on, "
                "sklearn.set_config(enable_metadata_routing=True), and pass links and sample_id "
                "to fit: both then reach score. cross_validate_links does without."
            )
        rows = self._read(X, reset=False)
        links = links.resolve(rows.n, sample_id)
        if links.n_links == 0:
            raise LinksError("score needs at least one link, and got none.")
        return pair_rates(self._labels(rows), links).accuracy

    def _posteriors(self, rows: Rows) -> NDArray[np.float32]:
        return apply_to_rows(self._cluster_network, rows, "predicting", self.verbose)

    def _labels(self, rows: Rows) -> NDArray[np.int64]:
        return apply_to_rows(
            self._cluster_network, rows, "predicting", self.verbose, lambda p: p.argmax(-1)
        )

    @property
    @abstractmethod
    def _cluster_network(self) -> nn.Module:
        """The fitted network p: rows → posteriors."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be worked with."""

    def _fit_replicas(
        self,
        models: Sequence[Self],
        rows: Rows,
        links: Sequence[Links],
        seeds: Sequence[int],
        run: Run,
    ) -> dict[int, DataError]:
        """Fit models that differ in ``_may_differ`` at most, on the rows that ``self`` has read.

        Returns the errors of those that could not be fitted, by number; they stay unfitted.
        """
        raise TypeError(
            f"fit_many cannot train {type(self).__name__}: it needs more than X and links. "
            "Use its own fit."
        )

    def _check_n_clusters(self, rows: Rows) -> None:
        if self.n_clusters > rows.n:
            raise ValueError(
                "The 'n_clusters' parameter must be at most the number of rows. "
                f"Got n_clusters={self.n_clusters} with n_samples={rows.n}."
            )
        if self.n_clusters == 1:
            warnings.warn(
                "n_clusters=1 puts every row into one cluster, whatever the links say.",
                UserWarning,
                stacklevel=3,
            )

    def _warn_of_too_many_groups(self, links: Links) -> None:
        rows = links.cannot_clique(self.n_clusters)
        if rows is not None and self.n_clusters > 1:
            shown = ", ".join(map(str, rows[:12])) + (" …" if len(rows) > 12 else "")
            warnings.warn(
                f"The links ask for at least {len(rows)} clusters, and n_clusters is "
                f"{self.n_clusters}: {shown} are all cannot-linked to each other. "
                "Raise n_clusters, or check these links.",
                TooFewClustersWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        return tags


class ClusterNetwork(LinkClusterer):
    """A clusterer that is one network p, with a softmax over the clusters.

    A subclass whose network is not CluNet's supplies ``_build_network``.
    """

    _stage: ClassVar[str]

    precision: str
    steps: int | None
    batch_links: int | None
    optimizer: str | None
    learning_rate: float
    network_: nn.Module
    history_: History

    @property
    def _cluster_network(self) -> nn.Module:
        return self.network_

    # Training

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_number(self, "n_clusters", 1, whole=True)

    def _training(self) -> published.Training:
        """Batch, length and optimiser: the published ones, or what the parameters say."""
        return published.clunet_training().changed(
            links=self.batch_links,
            pairs=getattr(self, "batch_pairs", None),
            steps=self.steps,
            optimizer=self.optimizer,
        )

    def _build_network(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        """p: (rows, *shape) → (rows, K)."""
        return self._architecture().build_clusters(shape, self.n_clusters, seed)

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        check_is_fitted(self)
        content, tensors = super()._pack()
        if hasattr(self, "labels_"):
            tensors["labels"] = torch.from_numpy(self.labels_.astype(np.int32))
        return content, tensors | pack_network(self._stage, self.network_, self.history_)

    def _unpack(self, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super()._unpack(content, tensors)
        network = self._build_network(self._row_shape(), 0)
        self.history_ = unpack_network(self._stage, network, tensors)
        self.network_ = network
        if "labels" in tensors:
            self.labels_ = tensors["labels"].numpy().astype(np.int64)


@dataclass(frozen=True)
class Replica:
    """One of many models that share data and architecture.

    Attributes
    ----------
    model : the estimator, with the settings in which replicas may differ
    links : by row number
    seed : int
    """

    model: Any
    links: Links
    seed: int


class Seeded(Protocol):
    """A replica, as far as building and drawing is concerned."""

    @property
    def seed(self) -> int: ...


S = TypeVar("S", bound=Seeded)


def train_cluster_networks(
    settings: ClusterNetwork,
    rows: Rows,
    replicas: Sequence[S],
    step_losses: Callable[[Sequence[S], dict[str, Stack]], Losses],
    batch: int,
    run: Run,
) -> list[Trained]:
    """Train cluster networks on the same rows, in as few stacks as are good for them.

    Parameters
    ----------
    settings : what the networks have in common
    replicas : what makes each one different
    step_losses : the losses of some replicas, given their stacks {"clusters": p}
    batch : rows of a batch of one replica
    """
    training = settings._training()

    def build(replica: S) -> dict[str, nn.Module]:
        seed = derived_seed(replica.seed, Purpose.WEIGHTS)
        return {"clusters": settings._build_network(rows.shape, seed)}

    def task(some: Sequence[S], stacks: dict[str, Stack], part: str) -> Task:
        own = settings.encoder is not None
        # One cluster is right whatever the weights: there is nothing to learn.
        steps = 0 if settings.n_clusters == 1 else training.n_steps(1)
        return Task(
            stage=settings._stage,
            stacks=nn.ModuleDict(stacks),
            losses=step_losses(some, stacks),
            steps=[steps] * len(some),
            optimizer=training.optimizer,
            learning_rate=settings.learning_rate,
            foreign_seed=derived_seed(some[0].seed, Purpose.STAGE) if own else None,
            part=part,
            capturable=rows.settle(settings.precision) and not own,
        )

    sizes = {"clusters": batch}
    return train_stacks(replicas, build, task, sizes, rows.device, run, settings.precision)
