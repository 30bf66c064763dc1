"""Stage one: LabNet learns to tell must-links from cannot-links."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from s3c2 import published
from s3c2.distances import are_must_links, link_distances, squared_distances
from s3c2.engine.inference import apply_to_rows, check_results
from s3c2.engine.optimizers import LARGEST_RATE, OPTIMIZERS
from s3c2.engine.rows import Rows
from s3c2.errors import DataError, StorageError
from s3c2.files.saved import Saved
from s3c2.fitting import Fitting, begin, check_links
from s3c2.labnet_losses import dropout_of
from s3c2.labnet_training import (
    MOST_LINKS,
    LabNetResult,
    prior_of,
    train_labnets,
    with_thresholds,
)
from s3c2.links import Links
from s3c2.metrics import Rates
from s3c2.networks import OUTPUTS, Architecture, committee_of, members_of, output_size
from s3c2.parameters import (
    NETWORKS,
    check_choice,
    check_flag,
    check_memory,
    check_module,
    check_number,
    check_path,
    check_value,
    whole,
)
from s3c2.reading import Reading
from s3c2.sampled import Sampled
from s3c2.surface import LinkEstimator
from s3c2.suspicion import Suspicion


@dataclass(eq=False, repr=False, kw_only=True)
class LabNet(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinkEstimator):
    """Labeling network: a Siamese encoder h in which linked rows are near.

    Trained with the contrastive loss, eq. (1), on the given links, and on what is known without
    any: neighbours belong together, most random pairs do not, and small changes of a row do little.
    A pair is a must-link if d² = ‖h(x) − h(y)‖² < T. The first stage of S3C2, and usable by itself
    as a pair verifier. ``LabNet.as_published`` is the paper's, which learns from links alone.

    Parameters
    ----------
    threshold : float, "neighbors" or "auto", default="neighbors"
        T: squared distances below it are must-links. "neighbors" takes the one that tells
        neighbours of must-linked rows best from those of cannot-linked ones, and at most 0.5.
        "auto" calibrates it on links that a LabNet did not see: the largest T that labels 95 % of
        held-out cannot-links right.
    n_committee : int, default=1
        Number of LabNets whose squared distances are averaged.
    neighbors : int, default=10
        Learn also from so many mutual nearest neighbours of each row, as weak must-links, and from
        random pairs as weak cannot-links. 0 learns from links alone, as in the paper.
    code : bool, default=True
        Look for neighbours in the code of an autoencoder, which is trained before, instead of in
        the rows as they are. It wants many rows, and is left out where there are fewer than 5,000.
    cache : path, optional
        Folder that keeps the neighbours of rows, which depend on no link. Another fit on the same
        rows takes them from there, and need neither train the autoencoder nor look for them. The
        result is the same.
    prior_weight : float, default=0.5
        Weight of these weak links against that of the given ones.
    same_share : float, optional
        Share of random pairs that belong together, for which the weak cannot-links are corrected.
        By default one by the number of clusters inside S3C2, and 0.1 in a LabNet alone.
    smoothing : float, optional
        Weight of ‖h(x) − h(x + r)‖², where r is the change of x, within 0.3 of the distance to
        its last neighbour, that moves h most; h(x) has dropout, where there is any, and h(x + r)
        has none. It needs ``neighbors``. By default 0.5 for counts and tf-idf, whose ``scale`` is
        "topics", and 0 for all else.
    views : bool, default=True
        Show images a little shifted, turned and scaled, each time anew.
    dropout : float, optional
        After each hidden layer. By default 0.3 for counts and tf-idf, whose ``scale`` is "topics",
        if there are ``neighbors``, and 0 for all else.
    output : {"sigmoid", "softmax"}, default="sigmoid"
        What a dense network ends in. The authors' script has "softmax" on Reuters.
    l1 : float, default=0
        Weight of Σ|w| over the weights of the hidden layers. The script has 0.001 on Reuters.
    semi_supervised : bool, default=False
        Learn also from the reconstruction of all rows, eq. (2).
    reconstruction_weight : float, default=0.05
        λ of eq. (2).
    reconstruction : {"sum", "mean"}, default="sum"
        ‖x̂ − x‖² summed over columns as in the paper, or their mean.
    decoder : nn.Module, optional
        Your own decoder for ``semi_supervised``; by default the encoder's mirror, or a dense one
        for an own network.
    epochs, steps : int, optional
        Length of training, in walks through the links or in steps; ``steps`` wins. By default
        800 steps, 2,500 for 5,000 rows or more, and 5,000 for 50,000 or more where the network is
        a dense one.
    batch_links : int, optional
        Given links in a batch. By default a sixteenth of them, but 64 at least, if there are as
        many, and 256 at most: some hundred links that come in every other batch are soon known
        by heart.
    batch_pairs : int, default=200
        Random pairs for the reconstruction in a batch.
    optimizer : {"adam", "rmsprop"}, default="adam"
    learning_rate : float, default=1e-3
    decay : bool, default=True
        Let the learning rate fall to 0 over the second half of the training, so that it ends where
        it is and not where the last batches pull it. With ``epochs`` it stays as it is.
    network, layers, scale, contradictions, device, precision, random_state, verbose, callbacks,
    checkpoint
        As in S3C2. Inside S3C2 they are those of S3C2.

    Attributes
    ----------
    encoder_ : the network h
    threshold_ : the T in use
    suspicious_links_ : (links, 2) the given links by row number, those first that the neighbours of
        their rows contradict most, in S3C2 by the mean of LabNet's doubt, which lowers weights, and
        CluNet's; None where links were not judged: without ``neighbors``, with hardly more rows
        than these, or if the training ended before halfway
    link_doubts_ : (links,) how much, from 1 to 0
    history_ : loss terms of each step
    n_features_in_ : number of columns

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import LabNet, Links
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> links = Links.from_labels(y, 200, random_state=0)
    >>> labnet = LabNet(code=False, steps=50, random_state=0).fit(X, links=links)
    >>> bool(labnet.same(X[y == 0][:1], X[y == 1][:1])[0])
    False
    >>> labnet.rates(Links.from_labels(y, 1000, random_state=1), X).accuracy > 0.7
    True
    """

    threshold: float | str = "neighbors"
    n_committee: int = 1
    neighbors: int = 10
    code: bool = True
    cache: str | os.PathLike[str] | None = None
    prior_weight: float = 0.5
    same_share: float | None = None
    smoothing: float | None = None
    views: bool = True
    dropout: float | None = None
    output: str = "sigmoid"
    l1: float = 0.0
    semi_supervised: bool = False
    reconstruction_weight: float = published.RECONSTRUCTION_WEIGHT
    reconstruction: str = "sum"
    decoder: nn.Module | None = None
    epochs: int | None = None
    steps: int | None = None
    batch_links: int | None = None
    batch_pairs: int = 200
    optimizer: str = "adam"
    learning_rate: float = published.LEARNING_RATE
    decay: bool = True

    @classmethod
    def as_published(
        cls, network: str = "dense", semi_supervised: bool = False, dropout: float | None = None
    ) -> Self:
        """The LabNet of the paper, with the script's value where the paper is silent."""
        check_choice(cls(network=network), "network", NETWORKS)
        how = published.labnet_training(network, semi_supervised)
        return cls(
            network=network,
            scale=None,
            threshold=published.THRESHOLD,
            neighbors=0,
            code=False,
            smoothing=0.0,
            views=False,
            dropout=published.DROPOUT[network] if dropout is None else dropout,
            output="sigmoid",
            l1=0.0,
            semi_supervised=semi_supervised,
            reconstruction_weight=published.RECONSTRUCTION_WEIGHT,
            reconstruction="sum",
            epochs=how.epochs,
            steps=how.steps,
            batch_links=how.links,
            batch_pairs=how.pairs or cls.batch_pairs,
            optimizer=how.optimizer,
            learning_rate=published.LEARNING_RATE,
            decay=False,
        )

    def fit(
        self, X: Any, y: Any = None, *, links: Links | None = None, sample_id: Any = None
    ) -> Self:
        """Learn the representation from the links.

        Parameters
        ----------
        X : (n, columns); images (n, h, w), (n, channels, h, w) or (n, h, w, channels)
        y : ignored
        links : Links
        sample_id : (n,), optional
            The rows' ids, if the links speak of ids.
        """
        fitting = begin([self], X, [links], sample_id=sample_id, y=y)
        return fitting.train_one(self._learn)

    def _learn(self, fitting: Fitting[LabNet]) -> list[LabNetResult | DataError]:
        prior = prior_of(fitting.models[0], fitting)
        trained = train_labnets(fitting.models, fitting, prior)
        return with_thresholds(fitting.models, trained, fitting, prior)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The representation h(x) of each row: (n, dimensions)."""
        h = apply_to_rows(self._fitted_encoder, self._in_order(X), "representing", self.verbose)
        check_results(~np.isnan(h).any(axis=1))
        return h

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
        self, links: Links, X: Any, *, sample_id: Any = None, threshold: float | None = None
    ) -> Rates:
        """ML rate, CL rate and accuracy on these links.

        r(M) is the share of must-links with d² < T, r(C) that of cannot-links with d² ≥ T.

        Parameters
        ----------
        links : Links
        X : rows that the links speak of
        sample_id : the ids of X's rows, if the links speak of ids
        threshold : another T than ``threshold_``
        """
        if threshold is not None:
            check_value(threshold, "'threshold' parameter of rates", 0)
        must, cannot = self.link_distances(links, X, sample_id=sample_id)
        T = self.threshold_ if threshold is None else threshold
        return Rates.of(are_must_links(must, T), ~are_must_links(cannot, T))

    def link_distances(
        self, links: Links, X: Any, *, sample_id: Any = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Squared distances of the must-links and of the cannot-links."""
        encoder = self._fitted_encoder
        check_links(links)
        rows = self._read(X)
        return link_distances(encoder, rows, links.resolve(rows.n, sample_id), self.verbose)

    @property
    def _fitted_encoder(self) -> nn.Module:
        check_is_fitted(self)
        return self.encoder_

    # Training

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "threshold", 0, words=("auto", "neighbors"))
        check_number(self, "n_committee", 1, whole=True)
        check_number(self, "dropout", 0, 0.99, optional=True)
        check_choice(self, "output", tuple(OUTPUTS))
        check_number(self, "l1", 0)
        check_flag(self, "semi_supervised")
        check_number(self, "reconstruction_weight", 0)
        check_choice(self, "reconstruction", ("sum", "mean"))
        check_module(self, "decoder")
        check_number(self, "neighbors", 0, 1000, whole=True)
        check_number(self, "prior_weight", 0)
        check_number(self, "same_share", 0, 0.99, optional=True)
        check_number(self, "smoothing", 0, optional=True)
        check_flag(self, "code")
        check_path(self, "cache")
        check_flag(self, "views")
        if self.smoothing and not self.neighbors:
            raise ValueError(
                "The 'smoothing' parameter of LabNet needs the distances of 'neighbors': "
                "set neighbors=10, or smoothing=0."
            )
        for name in ("epochs", "steps"):
            check_number(self, name, 1, whole=True, optional=True)
        check_number(self, "batch_links", 1, whole=True, optional=True)
        check_number(self, "batch_pairs", 1, whole=True)
        check_choice(self, "optimizer", tuple(OPTIMIZERS))
        check_number(self, "learning_rate", 0, LARGEST_RATE)
        check_flag(self, "decay")

    @property
    def _needs_links(self) -> bool:
        return not (self.neighbors and self.prior_weight)

    def _check_sizes(self, rows: Rows) -> None:
        super()._check_sizes(rows)
        if self.output != "sigmoid" and self._kind != "dense":
            raise ValueError(
                "The 'output' parameter of LabNet is for dense networks: others have their own. "
                f"Leave it at 'sigmoid'. Got {self.output!r} with a network that is not dense."
            )
        how, row_bytes, networks = (
            self._training(rows.n),
            self._batch_bytes(rows),
            int(self.n_committee),
        )
        check_memory(self, "batch_links", 2 * how.links * row_bytes)
        check_memory(self, "batch_pairs", 2 * how.pairs * row_bytes)
        check_memory(self, "n_committee", networks * self._replica_bytes(rows))
        check_memory(self, "steps", 4 * networks * (how.steps or 0))  # the history
        check_memory(self, "epochs", 4 * networks * (how.epochs or 0))

    def _training(self, n_rows: int) -> published.Training:
        """Batch, length and optimiser."""
        steps = self._usual_steps(n_rows) if self.steps is self.epochs is None else self.steps
        return published.Training(
            links=int(self.batch_links or MOST_LINKS),
            pairs=int(self.batch_pairs) if self.semi_supervised else 0,
            steps=whole(steps),
            epochs=whole(self.epochs),
            optimizer=self.optimizer,
            decay=bool(self.decay) and steps is not None,  # as many steps for all of a stack
        )

    def _encoder_architecture(self, rows: Rows | Reading) -> Architecture:
        dropout = dropout_of(self, rows)
        return replace(self._architecture(dropout, self.decoder), output=self.output)

    def _set_fitted(self, reading: Reading, result: LabNetResult) -> None:
        super()._set_fitted(reading, result)
        self.encoder_ = result.encoder
        self.threshold_ = result.threshold
        found = result.suspicion and result.suspicion.in_order()
        self.suspicious_links_ = None if found is None else found.links
        self.link_doubts_ = None if found is None else found.doubts
        self.history_ = result.history
        self._n_features_out = output_size(result.encoder, reading.shape)

    # Saving

    def _spread(self, sampled: Sampled) -> None:
        if self.suspicious_links_ is not None:
            self.suspicious_links_ = sampled.numbers[self.suspicious_links_]

    def _pack(self, saved: Saved) -> None:
        saved.content["threshold"] = self.threshold_
        saved.content["committee"] = len(members_of(self.encoder_))
        if self.suspicious_links_ is not None and self.link_doubts_ is not None:
            saved.put_array("labnet.suspicious_links", self.suspicious_links_.astype(np.int32))
            saved.put_array("labnet.link_doubts", self.link_doubts_)
        saved.put_network("labnet", self.encoder_)
        saved.put_history("labnet", self.history_)

    def _unpack(self, saved: Saved, reading: Reading) -> LabNetResult:
        threshold = float(saved.take_number("threshold", 0, sys.float_info.max))
        most = min(self.n_committee, len(saved.tensors))
        members = saved.take_number("committee", 1, most, whole=True)
        architecture, shape = self._encoder_architecture(reading), reading.shape
        encoder = saved.take_network(
            "labnet",
            lambda: committee_of([architecture.build_encoder(shape, 0) for _ in range(members)]),
        )
        suspicion = None
        if "labnet.suspicious_links" in saved.tensors:
            links = saved.take_array("labnet.suspicious_links", torch.int32, [(None, 2)])
            doubts = saved.take_array("labnet.link_doubts", torch.float64, [(len(links),)])
            if (links < 0).any() or not ((doubts >= 0) & (doubts <= 1)).all():
                raise StorageError(
                    "the labnet's suspicious links must be row numbers with doubts from 0 to 1."
                )
            suspicion = Suspicion(links.astype(np.int64), doubts)
        return LabNetResult(encoder, threshold, saved.take_history("labnet"), suspicion)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # everything comes out as float32
        return tags
