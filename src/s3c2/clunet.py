"""Stage two: CluNet learns the clusters from labelled pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from sklearn.utils.validation import check_is_fitted
from torch import nn

from s3c2 import published
from s3c2.clunet_training import fit_clunets
from s3c2.engine.checkpoint import digest_of_module
from s3c2.engine.optimizers import LARGEST_RATE, OPTIMIZERS
from s3c2.engine.rows import Rows
from s3c2.errors import LinksError
from s3c2.files.saved import Saved
from s3c2.fitting import begin
from s3c2.labnet import LabNet
from s3c2.labnet_training import LabNetResult
from s3c2.links import Links
from s3c2.parameters import NETWORKS, check_choice, check_flag, check_memory, check_number
from s3c2.reading import Reading
from s3c2.surface import ClusterResult, LinkClusterer

CACHE_MEMORY = 2**27


@dataclass(eq=False, repr=False, kw_only=True)
class CluNet(LinkClusterer):
    """Clustering network: Siamese softmax twins trained on the misclassification loss, eq. (3).

    Each step takes given links and fresh random pairs of rows, which a frozen LabNet labels.
    Prediction uses one twin and the arg max. The second stage of S3C2.

    Parameters
    ----------
    n_clusters : int, default=8
        Inside S3C2 it is that of S3C2.
    n_restarts : int, default=1
        Number of CluNets with a start and draws of their own; the one of the lowest pair loss is
        kept, and ``pair_losses_`` holds the losses of all.
    start : {"labnet", "random"}, default="labnet"
        Begin with LabNet's hidden layers and an output that agrees with a clustering of its
        representation, or with random weights, the paper's way.
    smoothing : float, default=0.1
        Weight of KL(p(x) ‖ p(x + r)), where r is the change of x, within 0.3 of the distance to
        its last neighbour, that moves p most. It wants ``start="labnet"``: from random weights it
        may end in one cluster.
    labels_worth : float or None, default=1000
        Given links have a steeper loss beside eq. (3) over the labelled pairs, and n of them count
        n / (n + labels_worth) as much as these: half as much if there are 1,000. None takes both
        together in eq. (3), as in the paper.
    kept_share : float from 0 to 1, default=0.5
        With ``start="labnet"``: a cluster should keep at least this part of the share of rows that
        it starts with. 0 lets clusters vanish.
    views : bool, default=True
        Show images a little shifted, turned and scaled, each time anew.
    dropout : float, default=0
        After each hidden layer.
    steps : int, optional
        By default 800, 2,500 for 5,000 rows or more, and 5,000 for 50,000 or more where the
        network is a dense one.
    batch_links : int, default=100
        Given links in a batch.
    batch_points : int or None, default=200
        The other pairs of a batch are all pairs of so many random rows: the same loss in
        expectation as that of random pairs, for far fewer rows through the network. None draws
        ``batch_pairs`` random pairs.
    batch_pairs : int, default=1000
        How many other pairs there are, or with ``batch_points``, how many they weigh as where
        ``labels_worth`` is None. It changes nothing where both are set, as by default.
    optimizer : {"adam", "rmsprop"}, default="adam"
    learning_rate : float, default=1e-3
    decay : bool, default=True
        Let the learning rate fall to 0 over the second half of the training.
    cache_memory : int, default=2**27
        Bytes for LabNet's representation, which is computed once. If all rows do not fit, the
        random pairs are drawn from a uniform sample of as many rows as do.
    network, layers, scale, contradictions, device, precision, random_state, verbose, callbacks,
    checkpoint
        As in S3C2. Inside S3C2 they are those of S3C2. The last of ``layers``, LabNet's
        representation, has no place here.

    Attributes
    ----------
    labels_ : (n,) cluster of each row of ``fit``
    network_ : the network p
    n_clusters_ : number of clusters
    history_ : loss terms of each step
    pair_losses_ : (n_restarts,) eq. (3) of each restart; None if there was only one
    """

    _stage: ClassVar = "clunet"

    n_restarts: int = 1
    start: str = "labnet"
    smoothing: float = 0.1
    labels_worth: float | None = 1000
    kept_share: float = 0.5
    views: bool = True
    dropout: float = 0.0
    steps: int | None = None
    batch_links: int = 100
    batch_pairs: int = 1000
    batch_points: int | None = 200
    optimizer: str = "adam"
    learning_rate: float = published.LEARNING_RATE
    decay: bool = True
    cache_memory: int = CACHE_MEMORY

    @classmethod
    def as_published(cls, network: str = "dense", dropout: float | None = None) -> Self:
        """The CluNet of the paper, with the script's value where the paper is silent."""
        check_choice(cls(network=network), "network", NETWORKS)
        how = published.clunet_training()
        return cls(
            network=network,
            scale=None,
            start="random",
            smoothing=0.0,
            labels_worth=None,
            kept_share=0.0,
            views=False,
            dropout=published.DROPOUT[network] if dropout is None else dropout,
            steps=how.n_steps(1),
            batch_links=how.links,
            batch_pairs=how.pairs,
            batch_points=None,
            optimizer=how.optimizer,
            learning_rate=published.LEARNING_RATE,
            decay=False,
        )

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
        X : (n, columns); images (n, h, w), (n, channels, h, w) or (n, h, w, channels)
        y : ignored
        links : Links
        sample_id : (n,), optional
        labnet : LabNet, fitted on rows like these
        """
        if not isinstance(labnet, LabNet):
            raise LinksError("CluNet needs a fitted LabNet: pass fit(X, links=…, labnet=labnet).")
        check_is_fitted(labnet)
        learned = LabNetResult(labnet.encoder_, labnet.threshold_, labnet.history_)
        beside = [digest_of_module(labnet.encoder_), labnet.threshold_]
        fitting = begin([self], X, [links], sample_id=sample_id, y=y, beside=beside)
        seen = X if fitting.sampled is None else fitting.sampled.X
        read = labnet._read(seen)  # it may have a scaling of its own
        rows_of_labnet = Rows(read.X, read.shape, read.scaling, fitting.rows.device)
        return fitting.train_one(
            lambda this: fit_clunets(this.models, [learned], this, None, rows_of_labnet)
        )

    # Training

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, "start", ("random", "labnet"))
        check_number(self, "smoothing", 0)
        check_number(self, "labels_worth", 0, optional=True)
        check_number(self, "kept_share", 0, 1)
        check_flag(self, "views")
        check_number(self, "dropout", 0, 0.99)
        check_number(self, "steps", 1, whole=True, optional=True)
        for name in ("batch_links", "batch_pairs"):
            check_number(self, name, 1, whole=True)
        check_number(self, "batch_points", 2, whole=True, optional=True)
        check_choice(self, "optimizer", tuple(OPTIMIZERS))
        check_number(self, "learning_rate", 0, LARGEST_RATE)
        check_flag(self, "decay")
        check_number(self, "n_restarts", 1, whole=True)
        check_number(self, "cache_memory", 1, 2**62, whole=True)

    @property
    def _needs_links(self) -> bool:
        return False  # LabNet labels pairs of all rows

    def _check_sizes(self, rows: Rows) -> None:
        super()._check_sizes(rows)
        how, row_bytes, networks = (
            self._training(rows.n),
            self._batch_bytes(rows),
            int(self.n_restarts),
        )
        check_memory(self, "batch_links", 2 * how.links * row_bytes)
        check_memory(self, "batch_pairs", 2 * how.pairs * row_bytes)
        check_memory(self, "batch_points", 8 * int(self.batch_points or 0) ** 2)
        check_memory(self, "n_restarts", networks * self._replica_bytes(rows))
        check_memory(self, "steps", 4 * networks * (how.steps or 0))  # the history

    def _training(self, n_rows: int) -> published.Training:
        """Batch, length and optimiser."""
        steps = self._usual_steps(n_rows) if self.steps is None else int(self.steps)
        links, pairs = int(self.batch_links), int(self.batch_pairs)
        return published.Training(links, pairs, steps, None, self.optimizer, bool(self.decay))

    def _build_network(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        return self._architecture(self.dropout).build_clusters(shape, int(self.n_clusters), seed)

    def _set_fitted(self, reading: Reading, result: ClusterResult) -> None:
        super()._set_fitted(reading, result)
        self.pair_losses_ = result.pair_losses

    # Saving

    def _pack(self, saved: Saved) -> None:
        super()._pack(saved)
        if self.pair_losses_ is not None:
            saved.put_array("clunet.pair_losses", self.pair_losses_)

    def _unpack(self, saved: Saved, reading: Reading) -> ClusterResult:
        result: ClusterResult = super()._unpack(saved, reading)
        if self.n_restarts == 1:
            return result
        length = int(self.n_restarts)
        found = saved.take_array("clunet.pair_losses", torch.float64, [(length,)])
        return replace(result, pair_losses=found)
