"""S3C2: the two-stage method. Open this file first."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from s3c2 import published
from s3c2.base import check_choice
from s3c2.clunet import CACHE_MEMORY, CluNet
from s3c2.clusterer import LinkClusterer
from s3c2.engine.loop import History, Run
from s3c2.engine.rows import Rows
from s3c2.errors import DataError
from s3c2.labnet import LabNet
from s3c2.links import Links
from s3c2.two_stages import fit_two_stages


class S3C2(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinkClusterer):
    """Clustering by example: clusters learned from must-links and cannot-links.

    LabNet learns from the given links to label any pair of rows; CluNet learns the clusters from
    the pairs so labelled, and from the given links.

    Parameters
    ----------
    n_clusters : int, default=8
    network : {"dense", "convolutional"}, default="dense"
        "convolutional" takes images, (n, h, w) or (n, channels, h, w).
    encoder, decoder : nn.Module, optional
        Your own network instead: an encoder (rows, *shape) → (rows, …), used as LabNet's encoder
        and, with a softmax layer on top, as CluNet. Each gets a copy that starts from the weights
        the module has. The decoder serves ``semi_supervised``.
    layers : tuple of int, default=(256, 256, 256)
        Sizes of the dense networks: hidden layers, then LabNet's representation.
    dropout : float, optional
        After each hidden layer. By default the published 0.1 (dense) or 0.5 (convolutional).
    clunet_dropout : float, optional
        CluNet's, where it is not to be ``dropout``; 0 is what the authors' script does.
    semi_supervised : bool, default=False
        Train LabNet also on the reconstruction of all rows, eq. (2).
    reconstruction_weight : float, default=0.05
        λ of eq. (2).
    reconstruction : {"sum", "mean"}, default="sum"
        ‖x̂ − x‖² summed over columns as in the paper, or their mean.
    threshold : float or "auto", default=0.3
        T: LabNet's squared distances below it are must-links. "auto" calibrates it on links that a
        LabNet did not see: the largest T that labels 95 % of held-out cannot-links right.
    n_committee : int, default=1
        Number of LabNets whose squared distances are averaged.
    n_restarts : int, default=1
        Number of CluNets that start from weights of their own; the one of the lowest pair loss is
        kept.
    labnet_epochs, labnet_steps, labnet_links, labnet_pairs, labnet_optimizer : optional
        LabNet's length (``steps`` wins over ``epochs``), batch and optimiser. By default as
        published.
    clunet_steps, clunet_links, clunet_pairs, clunet_optimizer : optional
        The same for CluNet.
    clunet_points : int, optional
        Draw so many rows instead of ``clunet_pairs`` and label all their pairs: the same loss in
        expectation, for fewer rows through the network.
    learning_rate : float, default=1e-3
    scale : {None, "standard", "unit", "rms"}, default=None
        Scaling learned in ``fit`` and kept with the model: columns to mean 0 and deviation 1, or
        onto [0, 1], or all numbers divided by the root of their mean square. Images have one scale
        for all pixels.
    contradictions : {"raise", "drop"}, default="raise"
        Contradictory links are refused, or left out with a warning that says how many.
    cache_memory : int, default=2**27
        Bytes for LabNet's representation of the rows while CluNet trains.
    device : str, default="auto"
        "auto" takes a GPU if there is one.
    precision : {"float32", "bf16"}, default="float32"
        "bf16" trains with matrix products, and the rows they take, in bfloat16 on a GPU.
    random_state : int, numpy generator or None
        The same seed gives the same labels.
    verbose : int, default=1
        0 switches progress off.
    callbacks : Callback, function of a Step, or a list of them
        Told about every step.
    checkpoint : path, optional
        File in which ``fit`` keeps its state. After an interruption the same ``fit`` goes on from
        it and ends with the labels of an uninterrupted one; a finished ``fit`` removes it.

    Attributes
    ----------
    labels_ : (n,) cluster of each row of ``fit``
    labnet_, clunet_ : the fitted LabNet and CluNet
    threshold_ : the T in use
    history_ : {"labnet": …, "clunet": …}, each a dict of loss terms per step
    n_features_in_ : number of columns

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import S3C2, Links
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> links = Links.from_labels(y, 300, random_state=0)
    >>> model = S3C2(n_clusters=3, scale="unit", clunet_steps=200, random_state=0)
    >>> labels = model.fit_predict(X, links=links)
    >>> model.score(X, links=Links.from_labels(y, 1000, random_state=1)) > 0.8
    True
    """

    _may_differ: ClassVar = ("random_state", "threshold", "reconstruction_weight")
    _against_empty: ClassVar = "More links, a lower threshold, dropout=0 or n_restarts"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        network: str = "dense",
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
        layers: tuple[int, ...] = published.LAYERS,
        dropout: float | None = None,
        clunet_dropout: float | None = None,
        semi_supervised: bool = False,
        reconstruction_weight: float = published.RECONSTRUCTION_WEIGHT,
        reconstruction: str = "sum",
        threshold: float | str = published.THRESHOLD,
        n_committee: int = 1,
        n_restarts: int = 1,
        labnet_epochs: int | None = None,
        labnet_steps: int | None = None,
        labnet_links: int | None = None,
        labnet_pairs: int | None = None,
        labnet_optimizer: str | None = None,
        clunet_steps: int | None = None,
        clunet_links: int | None = None,
        clunet_pairs: int | None = None,
        clunet_points: int | None = None,
        clunet_optimizer: str | None = None,
        learning_rate: float = published.LEARNING_RATE,
        scale: str | None = None,
        contradictions: Literal["raise", "drop"] = "raise",
        cache_memory: int = CACHE_MEMORY,
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
        self.decoder = decoder
        self.layers = layers
        self.dropout = dropout
        self.clunet_dropout = clunet_dropout
        self.semi_supervised = semi_supervised
        self.reconstruction_weight = reconstruction_weight
        self.reconstruction = reconstruction
        self.threshold = threshold
        self.n_committee = n_committee
        self.n_restarts = n_restarts
        self.labnet_epochs = labnet_epochs
        self.labnet_steps = labnet_steps
        self.labnet_links = labnet_links
        self.labnet_pairs = labnet_pairs
        self.labnet_optimizer = labnet_optimizer
        self.clunet_steps = clunet_steps
        self.clunet_links = clunet_links
        self.clunet_pairs = clunet_pairs
        self.clunet_points = clunet_points
        self.clunet_optimizer = clunet_optimizer
        self.learning_rate = learning_rate
        self.scale = scale
        self.contradictions = contradictions
        self.cache_memory = cache_memory
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    @classmethod
    def as_published(
        cls,
        n_clusters: int,
        network: str = "dense",
        semi_supervised: bool = False,
        dropout: float | None = None,
    ) -> Self:
        """The method of the paper to the letter, with the script's value where it is silent.

        Parameters
        ----------
        n_clusters : int
        network : {"dense", "convolutional"}
        semi_supervised : bool
            Whether LabNet also learns to reconstruct all rows.
        dropout : float, optional
            By default 0.1 for dense networks (the paper takes 0.5 for Reuters) and 0.5 for
            convolutional ones.
        """
        check_choice(cls(network=network), "network", tuple(published.DROPOUT))
        labnet = published.labnet_training(network, semi_supervised)
        clunet = published.clunet_training()
        return cls(
            n_clusters,
            network=network,
            semi_supervised=semi_supervised,
            dropout=published.DROPOUT[network] if dropout is None else dropout,
            layers=published.LAYERS,
            threshold=published.THRESHOLD,
            reconstruction_weight=published.RECONSTRUCTION_WEIGHT,
            reconstruction="sum",
            labnet_epochs=labnet.epochs,
            labnet_steps=labnet.steps,
            labnet_links=labnet.links,
            labnet_pairs=labnet.pairs or None,
            labnet_optimizer=labnet.optimizer,
            clunet_steps=clunet.steps,
            clunet_links=clunet.links,
            clunet_pairs=clunet.pairs,
            clunet_optimizer=clunet.optimizer,
            learning_rate=published.LEARNING_RATE,
            scale=None,
        )

    def _take(self, labnet: LabNet, clunet: CluNet, rows: Rows) -> None:
        """The trained networks, and the labels they give."""
        self.labnet_ = labnet
        self.clunet_ = clunet
        self.labels_ = self._labels(rows)
        self.preparation_: dict[str, Any] | None = None

    @property
    def history_(self) -> dict[str, History]:
        check_is_fitted(self)
        return {"labnet": self.labnet_.history_, "clunet": self.clunet_.history_}

    @property
    def threshold_(self) -> float:
        check_is_fitted(self)
        return self.labnet_.threshold_

    @property
    def _n_features_out(self) -> int:
        return self.labnet_._n_features_out

    def transform(self, X: Any) -> NDArray[np.float32]:
        """LabNet's representation h(x): (n, dimensions)."""
        check_is_fitted(self)
        return self.labnet_._represent(self._read(X, reset=False))

    @property
    def _cluster_network(self) -> nn.Module:
        return self.clunet_.network_

    # Steps of fit

    def _stages(self) -> tuple[LabNet, CluNet]:
        """The two networks with their share of the parameters, checked."""
        shared = {
            name: getattr(self, name)
            for name in (
                "network", "encoder", "layers", "dropout", "learning_rate", "scale",
                "contradictions", "device", "precision", "verbose",
            )
        }  # fmt: skip
        labnet = LabNet(
            **shared,
            decoder=self.decoder,
            semi_supervised=self.semi_supervised,
            reconstruction_weight=self.reconstruction_weight,
            reconstruction=self.reconstruction,
            threshold=self.threshold,
            n_committee=self.n_committee,
            epochs=self.labnet_epochs,
            steps=self.labnet_steps,
            batch_links=self.labnet_links,
            batch_pairs=self.labnet_pairs,
            optimizer=self.labnet_optimizer,
        )
        own_dropout = {} if self.clunet_dropout is None else {"dropout": self.clunet_dropout}
        clunet = CluNet(
            self.n_clusters,
            **(shared | own_dropout),
            steps=self.clunet_steps,
            batch_links=self.clunet_links,
            batch_pairs=self.clunet_pairs,
            batch_points=self.clunet_points,
            optimizer=self.clunet_optimizer,
            n_restarts=self.n_restarts,
            cache_memory=self.cache_memory,
        )
        for stage, prefix in ((labnet, "labnet"), (clunet, "clunet")):
            names = {"batch_links": f"{prefix}_links", "batch_pairs": f"{prefix}_pairs"}
            names["batch_points"] = f"{prefix}_points"
            names |= {name: f"{prefix}_{name}" for name in ("epochs", "steps", "optimizer")}
            if stage is clunet and own_dropout:
                names["dropout"] = "clunet_dropout"
            stage._named_by = (type(self).__name__, names)
            stage._check_parameters()
        return labnet, clunet

    def _check_parameters(self) -> None:
        self._stages()

    def _fit_replicas(
        self,
        models: Sequence[Self],
        rows: Rows,
        links: Sequence[Links],
        seeds: Sequence[int],
        run: Run,
    ) -> dict[int, DataError]:
        return fit_two_stages(self, models, rows, links, seeds, run)

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        check_is_fitted(self)
        content, tensors = super()._pack()
        tensors["labels"] = torch.from_numpy(self.labels_.astype(np.int32))
        for stage in (self.labnet_, self.clunet_):
            stage_content, stage_tensors = stage._pack()
            content = stage_content | content
            tensors |= stage_tensors
        content["preparation"] = self.preparation_
        return content, tensors

    def _unpack(self, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super()._unpack(content, tensors)
        labnet, clunet = self._stages()
        labnet._unpack(content, tensors)
        clunet._unpack(content, tensors)
        self.labnet_ = labnet
        self.clunet_ = clunet
        self.labels_ = tensors["labels"].numpy().astype(np.int64)
        self.preparation_ = content["preparation"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # everything comes out as float32
        return tags
