"""What all estimators share: parameters, saving, and, for clusterers, predicting and scoring."""

from __future__ import annotations

import copy
import math
import os
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from s3c2 import published
from s3c2.data.scaling import SCALES
from s3c2.engine.callbacks import as_callbacks
from s3c2.engine.inference import apply_to_rows, check_results
from s3c2.engine.rows import Rows, StreamedRows
from s3c2.engine.task import History
from s3c2.errors import (
    EmptyClustersWarning,
    LinksError,
    StorageError,
    TooFewClustersWarning,
    warn,
)
from s3c2.files.saved import Saved
from s3c2.fitting import check_links
from s3c2.links import Links
from s3c2.metrics import pair_rates
from s3c2.networks import Architecture, check_own
from s3c2.parameters import (
    AUTO,
    check_choice,
    check_layers,
    check_memory,
    check_network,
    check_number,
    check_path,
    check_random_state,
    check_verbose,
    torch_device,
)
from s3c2.reading import Reading, read_for_prediction, read_in_order
from s3c2.sampled import MEMORY, Sampled
from s3c2.saving import OWN, load_model, save_model

# Not settings of the method: who watches, and where it runs.
CIRCUMSTANCES = ("cache", "callbacks", "checkpoint", "device", "memory", "verbose")

WEIGHT_BYTES = 16  # a weight, its gradient, and two numbers of the optimiser
NETWORK_BYTES = 2**14  # Python's objects of a network, however small it is


MANY_ROWS, VERY_MANY_ROWS = 5000, 50_000


# A dataclass, so that an estimator declares its own parameters and no more.
@dataclass(eq=False, repr=False)
class LinkEstimator(BaseEstimator, ABC):
    """An estimator that learns from links, with the parameters that all share (see S3C2)."""

    _: KW_ONLY
    network: str | nn.Module = "auto"
    layers: tuple[int, ...] = published.LAYERS
    scale: str | None = "auto"
    contradictions: Literal["raise", "drop"] = "raise"
    device: str = "auto"
    precision: str = "float32"
    random_state: Any = None
    verbose: int = 1
    callbacks: Any = None
    checkpoint: str | os.PathLike[str] | None = None
    memory: int = MEMORY

    # Both follow the rows when scikit-learn's metadata routing is switched on.
    __metadata_request__fit: ClassVar = {"links": True, "sample_id": True}

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be worked with."""
        check_network(self)
        check_layers(self)
        check_choice(self, "scale", SCALES)
        check_choice(self, "precision", ("float32", "bf16"))
        check_choice(self, "contradictions", ("raise", "drop"))
        torch_device(self.device)
        check_random_state(self)
        check_verbose(self)
        as_callbacks(self.callbacks)
        check_path(self, "checkpoint")
        check_number(self, "memory", 1, 2**62, whole=True)

    def _check_sizes(self, rows: Rows) -> None:
        """Refuse sizes that do not go with these rows, or with this machine."""
        if isinstance(self.network, nn.Module):
            check_own(self.network, rows.shape)
        else:
            check_memory(self, "layers", self._replica_bytes(rows))

    def _replica_bytes(self, rows: Rows) -> int:
        """Bytes that the training of one network takes, at least."""
        if isinstance(self.network, nn.Module):
            weights = sum(weight.numel() for weight in self.network.parameters())
        elif self._kind == "dense":
            sizes = (math.prod(rows.shape), *map(int, self.layers))
            weights = sum(one * two for one, two in pairwise(sizes))
        else:
            weights = math.prod(rows.shape)
        return WEIGHT_BYTES * weights + NETWORK_BYTES

    def _batch_bytes(self, rows: Rows) -> int:
        """Bytes that one row of a batch takes, at least: itself, and what the layers make of it."""
        own = isinstance(self.network, nn.Module)
        units = sum(map(int, self.layers)) if self._kind == "dense" and not own else 0
        return 4 * (math.prod(rows.shape) + units)

    @property
    def _needs_links(self) -> bool:
        """Whether nothing can be learned without links of both kinds."""
        return True

    def _look_at_links(self, links: Links) -> None:
        """Warn of links that cannot be met; does nothing by default."""

    def _look_at_result(self) -> None:
        """Warn of a poor result; does nothing by default."""

    def _set_fitted(self, reading: Reading, result: Any) -> None:
        """Take how X was read, and what was learned; a subclass takes its part of the result."""
        self.reading_ = reading
        self._settings_of_fit = self._settings()  # a file holds these, whatever is set later
        self.n_features_in_ = reading.n_features_in
        if reading.feature_names_in is not None:
            self.feature_names_in_ = reading.feature_names_in
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _spread(self, sampled: Sampled) -> None:
        """Say of all rows what was learned from some; there is nothing of the kind by default."""

    def _read(self, X: Any) -> Rows:
        """The rows of an X that lies in memory, or is mapped there."""
        check_is_fitted(self)
        return read_for_prediction(self, X)

    def _in_order(self, X: Any) -> Rows | StreamedRows:
        """The rows of an X to predict, wherever it lies."""
        check_is_fitted(self)
        return read_in_order(self, X)

    @property
    def scale_(self) -> str | None:
        """The scale in use: what "auto" chose, or ``scale``."""
        check_is_fitted(self)
        return self.reading_.scale

    @property
    def network_kind_(self) -> str:
        """The kind of network: "dense", "convolutional", or "own" for a module of one's own."""
        check_is_fitted(self)
        return self.reading_.network_kind

    def _with_network(self, reading: Reading) -> Self:
        """Itself, or where its network is "auto" a copy with the kind that was chosen."""
        if self.network != AUTO:
            return self
        chosen = copy.copy(self)
        chosen.network = reading.network_kind
        return chosen

    @property
    def _kind(self) -> str:
        """The kind whose published settings are taken: dense for an own network, and for "auto"
        where no X has decided it (see ``_with_network``).
        """
        return "convolutional" if self.network == "convolutional" else "dense"

    def _usual_steps(self, n_rows: int) -> int:
        """Steps in which a stage learns so many rows; twice as many where they cost little."""
        if n_rows < MANY_ROWS:
            return 800
        cheap = self._kind == "dense" and not isinstance(self.network, nn.Module)
        return 5000 if cheap and n_rows >= VERY_MANY_ROWS else 2500

    def _architecture(
        self, dropout: float | None, decoder: nn.Module | None = None
    ) -> Architecture:
        rate = published.DROPOUT[self._kind] if dropout is None else float(dropout)
        network = self.network if isinstance(self.network, nn.Module) else self._kind
        return Architecture(network, tuple(map(int, self.layers)), rate, decoder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        return tags

    # What tells one model from another

    def _flat_params(self) -> dict[str, Any]:
        """All parameters by name, those of stages as ``stage__name``."""
        return dict(self.get_params(deep=False))

    def _modules(self) -> dict[str, nn.Module]:
        """Modules of the user's own among the parameters."""
        return {k: v for k, v in self._flat_params().items() if isinstance(v, nn.Module)}

    def _settings(self) -> dict[str, Any]:
        """The parameters that decide the result, as JSON holds them."""
        every = self._flat_params().items()
        given = {k: v for k, v in every if k.rpartition("__")[2] not in CIRCUMSTANCES}
        if not isinstance(self.random_state, int | np.integer):
            del given["random_state"]
        return {k: _plain(v) for k, v in given.items()}

    # Saving

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the fitted model as one file in this folder.

        A model that was there is replaced in one move: a kill leaves the old one or the new one.
        """
        check_is_fitted(self)
        save_model(self, folder)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        network: nn.Module | None = None,
        device: str = "auto",
    ) -> Self:
        """Load a model that ``save`` wrote.

        Parameters
        ----------
        folder : path
        network : nn.Module, optional
            A module of the same architecture, needed if the model was fitted with a network of
            the user's own; its weights come from the file. A decoder of one's own is not kept.
        device : str
            Where the model runs from now on; it may have been trained elsewhere.
        """
        return load_model(cls, folder, network, device)

    @abstractmethod
    def _pack(self, saved: Saved) -> None:
        """Lay what was learned into the content of a file."""

    @abstractmethod
    def _unpack(self, saved: Saved, reading: Reading) -> Any:
        """What was learned, out of the content of a file."""


def _plain(value: Any) -> Any:
    """A parameter as JSON holds it; of a module only that it is there."""
    if isinstance(value, nn.Module):
        return OWN
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


SHARED = tuple(field.name for field in fields(LinkEstimator))


@dataclass(frozen=True)
class ClusterResult:
    """What a clusterer learned.

    Attributes
    ----------
    network : p, rows → posteriors
    labels : (n,) of the rows of ``fit``
    history : loss terms of each step
    pair_losses : of all restarts, if there were several
    """

    network: nn.Module
    labels: NDArray[np.int64]
    history: History
    pair_losses: NDArray[np.float64] | None = None


@dataclass(eq=False, repr=False)
class LinkClusterer(ClusterMixin, LinkEstimator):
    """A clusterer that learns from links: one network p, unless a subclass has more.

    Parameters
    ----------
    n_clusters : int, default=8
    """

    n_clusters: int = 8

    _stage: ClassVar[str]  # what callbacks and files call the network

    # Links follow the rows when scikit-learn's metadata routing is switched on.
    __metadata_request__score: ClassVar = {"links": True, "sample_id": True}
    _against_empty: ClassVar[str] = "More links or longer training"

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of each row: (n,). The same for a row alone, in any batch and order."""
        rows = self._in_order(X)
        return labels_of(self.network_, rows, self.verbose)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The posteriors p(k | x): (n, n_clusters)."""
        rows = self._in_order(X)
        p = apply_to_rows(self.network_, rows, "predicting", self.verbose)
        check_results(~np.isnan(p).any(axis=1))
        return p

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
        check_links(links)
        rows = self._in_order(X)
        links = links.resolve(rows.n, sample_id)
        if links.n_links == 0:
            raise LinksError("score needs at least one link, and got none.")
        labels = labels_of(self.network_, rows, self.verbose)
        return pair_rates(labels, links).accuracy

    @abstractmethod
    def _build_network(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        """p: (rows, *shape) → (rows, K)."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "n_clusters", 1, whole=True)

    def _check_sizes(self, rows: Rows) -> None:
        super()._check_sizes(rows)
        if self.n_clusters > rows.n:
            raise ValueError(
                "The 'n_clusters' parameter must be at most the number of rows. "
                f"Got n_clusters={self.n_clusters} with n_samples={rows.n}."
            )
        if self.n_clusters == 1:
            warn(
                "n_clusters=1 puts every row into one cluster, whatever the links say.", UserWarning
            )

    def _look_at_links(self, links: Links) -> None:
        rows = links.cannot_clique(self.n_clusters)
        if rows is not None and self.n_clusters > 1:
            shown = ", ".join(map(str, rows[:12])) + (" …" if len(rows) > 12 else "")
            warn(
                f"The links ask for at least {len(rows)} clusters, and n_clusters is "
                f"{self.n_clusters}: {shown} are all cannot-linked to each other. "
                "Raise n_clusters, or check these links.",
                TooFewClustersWarning,
            )

    def _look_at_result(self) -> None:
        empty = self.n_clusters_ - len(np.unique(self.labels_))
        if empty:
            scale = " X is not scaled: scale='auto' may help too." if self.scale is None else ""
            warn(
                f"{empty} of {self.n_clusters_} clusters stayed empty. "
                f"{self._against_empty} may fill them.{scale}",
                EmptyClustersWarning,
            )

    def _set_fitted(self, reading: Reading, result: ClusterResult) -> None:
        super()._set_fitted(reading, result)
        self.n_clusters_ = int(self.n_clusters)
        self.labels_ = result.labels
        self.network_ = result.network
        self.history_: Any = result.history

    def _spread(self, sampled: Sampled) -> None:
        self.labels_ = labels_of(self.network_, self._in_order(sampled.whole), self.verbose)

    def _pack(self, saved: Saved) -> None:
        saved.put_array("labels", self.labels_.astype(np.int32))
        saved.put_network(self._stage, self.network_)
        saved.put_history(self._stage, self.history_)

    def _unpack(self, saved: Saved, reading: Reading) -> Any:
        labels = saved.take_array("labels", torch.int32, [(None,)]).astype(np.int64)
        if len(labels) == 0 or labels.min() < 0 or labels.max() >= self.n_clusters:
            raise StorageError(f"the labels must be numbers from 0 to {self.n_clusters - 1}.")
        network = saved.take_network(self._stage, lambda: self._build_network(reading.shape, 0))
        return ClusterResult(network, labels, saved.take_history(self._stage))


def labels_of(network: nn.Module, rows: Rows | StreamedRows, verbose: int) -> NDArray[np.int64]:
    """The cluster of the highest posterior for each row: (n,)."""
    labels: NDArray[np.int64] = apply_to_rows(
        network, rows, "predicting", verbose,
        lambda p: torch.where(p.isnan().any(-1), -1, p.argmax(-1)),
    )  # fmt: skip
    check_results(labels >= 0)
    return labels
