"""S3C2: the two-stage method. Open this file first.

X and links come in; LabNet learns a representation in which linked rows are near (stage one); a
threshold T turns its distances into must-links and cannot-links; CluNet learns the clusters from
pairs labelled in this way (stage two). `S3C2.fit` and `S3C2._learn` show it in this order.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted
from torch import nn

from s3c2.calibration import calibrate
from s3c2.clunet import CluNet
from s3c2.clunet_training import fit_clunets
from s3c2.data import preparation_from_json
from s3c2.engine.rows import Rows
from s3c2.errors import DataError, StorageError
from s3c2.files.saved import Saved
from s3c2.fitting import Fitting, begin, equal
from s3c2.labnet import LabNet
from s3c2.labnet_training import LabNetResult, prior_of, train_labnets, with_thresholds
from s3c2.links import Links
from s3c2.parameters import NETWORKS, check_choice, got, is_whole
from s3c2.prior import Neighbours
from s3c2.reading import Reading
from s3c2.sampled import Sampled
from s3c2.surface import SHARED, ClusterResult, LinkClusterer, labels_of
from s3c2.suspicion import judged_by_both

S = TypeVar("S", LabNet, CluNet)


@dataclass(eq=False, repr=False, kw_only=True)
class S3C2(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinkClusterer):
    """Clustering by example: clusters learned from must-links and cannot-links.

    LabNet learns from the given links to label any pair of rows; CluNet learns the clusters from
    pairs that LabNet labelled, and from the given links.

    Parameters
    ----------
    n_clusters : int, default=8
    labnet : LabNet, optional
        Settings of the first stage: threshold, committee, dropout, length and batch of its
        training. By default ``LabNet()``. ``fit`` does not change it; in a grid search its
        parameters are ``labnet__threshold`` and the like.
    clunet : CluNet, optional
        Settings of the second stage: restarts, dropout, length and batch of its training. By
        default ``CluNet()``.
    network : {"auto", "dense", "convolutional"} or nn.Module, default="auto"
        "auto" is "convolutional" for images, (n, h, w), (n, channels, h, w) or (n, h, w, channels)
        of at least 4 × 4 pixels, and "dense" for all else. A module of your own is an encoder,
        (rows, *shape) → (rows, …), used as LabNet's encoder and, with a softmax layer on top, as
        CluNet. Each gets a copy that starts from the weights the module has.
    layers : tuple of int, default=(256, 256, 256)
        Sizes of the dense networks: hidden layers, then LabNet's representation.
    scale : {"auto", None, "robust", "standard", "unit", "together", "rms", "topics"}
        Scaling learned in ``fit`` and kept with the model, by default "auto", which chooses by what
        X is: "together" (all numbers by one factor onto [0, 1]) for images, and tables whose
        columns share one range; "topics" (64 main directions of all rows) for counts and tf-idf;
        "robust" (columns to mean 0 and deviation 1, heavy tails drawn in) for other tables. Also
        "standard" (the same without care for tails), "unit" (columns onto [0, 1]) and "rms" (all
        numbers divided by the root of their mean square). Images have one scale for all pixels.
    contradictions : {"raise", "drop"}, default="raise"
        Contradictory links are refused, or left out with a warning that says how many.
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
    memory : int, default=2**28
        Bytes that rows may take in training where X does not lie in memory: an Arrow dataset,
        ``Batches``, or a memory-mapped array that is larger. The training then sees the rows that
        links speak of, and a uniform sample of all of so many bytes together.

    Attributes
    ----------
    labels_ : (n,) cluster of each row of ``fit``
    labnet_, clunet_ : the fitted LabNet and CluNet
    n_clusters_ : number of clusters
    threshold_ : the T in use
    suspicious_links_ : (links, 2) all given links by row number, those first that the neighbours of
        their rows contradict most; such links count less in the training. None if links were not
        judged, as without any
    link_doubts_ : (links,) how much, from 1 to 0; above 0.5 a link is more likely wrong than right
    history_ : {"labnet": …, "clunet": …}, each a dict of loss terms per step
    scale_, network_kind_ : the scale and the kind of network in use, where "auto" chose them
    n_features_in_ : number of columns

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import S3C2, CluNet, LabNet, Links
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> links = Links.from_labels(y, 50, random_state=0)
    >>> short = {"labnet": LabNet(code=False, steps=100), "clunet": CluNet(steps=100)}
    >>> model = S3C2(3, **short, layers=(64, 16), random_state=0)  # or S3C2(3), which takes longer
    >>> labels = model.fit_predict(X, links=links)
    >>> model.score(X, links=Links.from_labels(y, 1000, random_state=1)) > 0.8
    True
    """

    _may_differ: ClassVar = (
        "random_state", "labnet__threshold", "labnet__reconstruction_weight",
    )  # fmt: skip
    _against_empty: ClassVar = "More links, a lower threshold or CluNet(n_restarts=5)"

    labnet: LabNet | None = None
    clunet: CluNet | None = None

    @classmethod
    def as_published(
        cls,
        n_clusters: int,
        *,
        network: str = "dense",
        semi_supervised: bool = False,
        dropout: float | None = None,
        **parameters: Any,
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
        **parameters
            Any other parameter of S3C2, such as ``random_state``.
        """
        check_choice(cls(n_clusters, network=network), "network", NETWORKS)
        model = cls(
            n_clusters,
            labnet=_open(LabNet.as_published(network, semi_supervised, dropout)),
            clunet=_open(CluNet.as_published(network, dropout)),
            network=network,
            scale=None,
        )
        return model.set_params(**parameters)

    def fit(
        self, X: Any, y: Any = None, *, links: Links | None = None, sample_id: Any = None
    ) -> Self:
        """Learn the clusters of X from the links.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or tensor (n, columns); images (n, h, w), (n, c, h, w),
            (n, h, w, c); or, past memory, a memory-mapped array, a ``pyarrow.dataset.Dataset`` of
            numeric columns, or ``Batches``
        y : ignored
        links : Links
            By row number, or by ids that ``sample_id`` resolves. They are used as given, never
            their closure.
        sample_id : (n,), optional
            The rows' ids. With them links follow their rows through cross-validation. Of a
            dataset the name of the column that holds them.
        """
        fitting = begin([self], X, [links], sample_id=sample_id, y=y)  # read X, resolve the links
        return fitting.train_one(self._learn)

    def _learn(self, fitting: Fitting[S3C2]) -> list[S3C2Result | DataError]:
        """The method, for one model or for many that are trained together."""
        labnets, clunets = zip(*(model._stages() for model in fitting.models))
        prior = prior_of(labnets[0], fitting)  # what is known without links
        trained = train_labnets(labnets, fitting, prior)  # stage one
        labelling = with_thresholds(labnets, trained, fitting, prior)  # T
        clustering = fit_clunets(clunets, labelling, fitting, prior)  # stage two, and the labels
        return [
            S3C2Result.of(labnet, clunet, fitting.rows, links, prior)
            for labnet, clunet, links in zip(labelling, clustering, fitting.links)
        ]

    def transform(self, X: Any) -> NDArray[np.float32]:
        """LabNet's representation h(x): (n, dimensions)."""
        check_is_fitted(self)
        return self.labnet_.transform(X)

    @property
    def threshold_(self) -> float:
        check_is_fitted(self)
        return self.labnet_.threshold_

    @property
    def suspicious_links_(self) -> NDArray[np.int64] | None:
        check_is_fitted(self)
        return self.labnet_.suspicious_links_

    @property
    def link_doubts_(self) -> NDArray[np.float64] | None:
        check_is_fitted(self)
        return self.labnet_.link_doubts_

    @property
    def _n_features_out(self) -> int:
        return self.labnet_._n_features_out

    # The stages as parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the stages as ``labnet__threshold`` or ``clunet__steps``."""
        before = {name: getattr(self, name) for name in STAGES}
        for name, kind in STAGES.items():
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and params.get(name, getattr(self, name)) is None:
                params.pop(name, None)
                setattr(self, name, kind())
        try:
            super().set_params(**params)
        except ValueError:  # a name that there is not
            for name, stage in before.items():
                setattr(self, name, stage)
            raise
        return self

    def _stages(self) -> tuple[LabNet, CluNet]:
        """Both stages with what they share with this model, ready to be trained."""
        labnet, clunet = self._stage_of("labnet", LabNet), self._stage_of("clunet", CluNet)
        if labnet.same_share is None and is_whole(self.n_clusters):
            labnet.same_share = 1 / max(int(self.n_clusters), 2)
        return labnet, clunet

    def _stage_of(self, name: str, kind: type[S]) -> S:
        given = getattr(self, name)
        if given is not None and not isinstance(given, kind):
            raise TypeError(
                f"The '{name}' parameter of S3C2 must be a {kind.__name__}. {got(given)}"
            )
        given = kind() if given is None else given
        stage: S = clone(given)
        for field in fields(kind):
            if field.name not in (*SHARED, "n_clusters"):
                continue
            value, own = getattr(given, field.name), getattr(self, field.name)
            if not equal(value, field.default) and not equal(value, own):
                raise ValueError(
                    f"The '{field.name}' parameter of the {kind.__name__} inside S3C2 is taken "
                    f"from S3C2: set {field.name} there. {got(value)}"
                )
            # S3C2's own run tells callbacks and keeps the state.
            if field.name not in ("callbacks", "checkpoint"):
                setattr(stage, field.name, own)
        return stage

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for stage in self._stages():
            stage._check_parameters()

    @property
    def _needs_links(self) -> bool:
        return self._stages()[0]._needs_links

    def _check_sizes(self, rows: Rows) -> None:
        labnet, clunet = self._stages()
        labnet._check_sizes(rows)
        clunet._check_sizes(rows)

    def _flat_params(self) -> dict[str, Any]:
        flat = {k: v for k, v in super()._flat_params().items() if k not in STAGES}
        for name, kind in STAGES.items():
            stage = getattr(self, name) or kind()
            own = stage._flat_params().items()
            flat |= {f"{name}__{k}": v for k, v in own if k not in (*SHARED, "n_clusters")}
        return flat

    # What was learned

    def _set_fitted(self, reading: Reading, result: S3C2Result) -> None:  # type: ignore[override]
        labnet, clunet = self._stages()
        labnet._set_fitted(reading, result.labnet)
        clunet._set_fitted(reading, result.clunet)
        super()._set_fitted(reading, result.clunet)
        self.labnet_ = labnet
        self.clunet_ = clunet
        self.history_ = {"labnet": labnet.history_, "clunet": clunet.history_}
        self.preparation_ = result.preparation

    def _spread(self, sampled: Sampled) -> None:
        super()._spread(sampled)
        self.labnet_._spread(sampled)
        self.clunet_.labels_ = self.labels_

    def _build_network(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        return self._stages()[1]._build_network(shape, seed)

    def _pack(self, saved: Saved) -> None:
        self.labnet_._pack(saved)
        self.clunet_._pack(saved)
        saved.content["preparation"] = self.preparation_

    def _unpack(self, saved: Saved, reading: Reading) -> S3C2Result:
        labnet, clunet = self._stages()
        preparation = saved.take(
            "preparation", lambda v: v is None or isinstance(v, dict), "an object, or null"
        )
        if preparation is not None:
            gives = preparation_from_json(preparation).prepared_shape
            if gives != reading.input_shape:
                raise StorageError(
                    f"its preparation gives rows of shape {gives}, not {reading.input_shape}."
                )
        learned = labnet._unpack(saved, reading), clunet._unpack(saved, reading)
        return S3C2Result(*learned, preparation)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # everything comes out as float32
        return tags


def _open(stage: S) -> S:
    """A stage that takes what it shares from the S3C2 around it."""
    shared = {field.name: field.default for field in fields(stage) if field.name in SHARED}
    stage.set_params(**shared)
    return stage


STAGES: dict[str, type[LabNet] | type[CluNet]] = {"labnet": LabNet, "clunet": CluNet}


@dataclass(frozen=True)
class S3C2Result:
    """What both stages learned, and how raw data is prepared, where a command line did it."""

    labnet: LabNetResult
    clunet: ClusterResult
    preparation: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        labnet: LabNetResult | DataError,
        clunet: ClusterResult | DataError,
        rows: Rows,
        links: Links,
        prior: Neighbours | None,
    ) -> S3C2Result | DataError:
        """Both, or the error of the stage that diverged; CluNet judges the links, and they it."""
        if isinstance(labnet, DataError):
            return labnet
        if isinstance(clunet, DataError):
            return clunet
        if prior is None:
            return cls(labnet, clunet)
        suspicion = judged_by_both(labnet.suspicion, clunet.network, rows, links, prior)
        calibrate(clunet.network, rows, labnet.links or links, prior)
        labels = labels_of(clunet.network, rows, 0)  # after rounding, as predict gives them
        return cls(replace(labnet, suspicion=suspicion), replace(clunet, labels=labels))
