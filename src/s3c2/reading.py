"""From the X that a user gave to rows: its shape, names of columns, and scaling."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data
from torch import nn

from s3c2.data.arrays import channels_first
from s3c2.data.indexing import indexable
from s3c2.data.passes import check_finite
from s3c2.data.scaling import Scaling, choose_scale, learn_scaling
from s3c2.data.streams import Batches, Stream, as_stream, is_dataset
from s3c2.engine.rows import Rows, StreamedRows
from s3c2.errors import DataError
from s3c2.networks.convolutional import LEAST_SIDE
from s3c2.parameters import AUTO, torch_device

if TYPE_CHECKING:
    from s3c2.surface import LinkEstimator

OWN_KIND = "own"


@dataclass(frozen=True)
class Reading:
    """How the X of ``fit`` was read, so that new rows are read in the same way.

    Attributes
    ----------
    input_shape : shape of one row of X, of an image (h, w) or (channels, h, w)
    n_features_in : number of columns, as scikit-learn counts them
    network_kind : "dense", "convolutional", or "own" for a module of the user's own
    feature_names_in : names of the columns of a DataFrame
    scaling : what was learned for ``scale``
    """

    input_shape: tuple[int, ...]
    n_features_in: int
    network_kind: str
    feature_names_in: NDArray[Any] | None = None
    scaling: Scaling | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in which a row enters the network: grey images get their one channel."""
        shape = scaled_shape(self.input_shape, self.scaling)
        return (1, *shape) if self.network_kind != "dense" and len(shape) == 2 else shape

    @property
    def scale(self) -> str | None:
        """The scale in use."""
        return None if self.scaling is None else self.scaling.kind


def read_for_fit(
    estimator: LinkEstimator, X: Any, columns: Sequence[str] | None = None
) -> tuple[Reading, Rows, str]:
    """Validate X, learn its shape, names and scaling, and give its rows.

    What the estimator leaves open, scale="auto" and network="auto", is chosen here; the choices
    come in words too. ``columns`` are the names of X's columns, if X does not know them itself.
    """
    # scikit-learn notes what it sees on the estimator, which is not to change before it is fitted.
    notes: Any = copy.copy(estimator)
    X = _validated(notes, X, reset=True)
    names = getattr(notes, "feature_names_in_", None)
    if columns is not None:
        names = np.array(columns, dtype=object)
    check_finite(X, names)
    choices = []
    scale = estimator.scale
    if scale == AUTO:
        scale, why = choose_scale(X)
        choices.append(f"scale: {scale} ({why})")
    scaling = None if scale is None else learn_scaling(scale, X)
    kind, why = network_kind(estimator.network, scaled_shape(X.shape[1:], scaling))
    if estimator.network == AUTO:
        choices.append(f"network: {kind}{why}")
    reading = Reading(X.shape[1:], int(notes.n_features_in_), kind, names, scaling)
    return reading, _rows(estimator, X, reading), "; ".join(choices)


def read_in_order(estimator: LinkEstimator, X: Any) -> Rows | StreamedRows:
    """Validate X as rows like those of ``fit``; what lies in no memory is read as it is needed."""
    reading = estimator.reading_
    names = reading.feature_names_in
    stream = as_stream(X, columns=None if names is None else list(names))
    if stream is None:
        return read_for_prediction(estimator, X)
    _check_shape(estimator, stream.row_shape)
    return StreamedRows(stream, reading.shape, reading.scaling, torch_device(estimator.device))


def read_for_prediction(estimator: LinkEstimator, X: Any) -> Rows:
    """Validate X as rows like those of ``fit``."""
    X = _validated(estimator, X, reset=False)
    reading = estimator.reading_
    _check_shape(estimator, X.shape[1:])
    check_finite(X, reading.feature_names_in)
    return _rows(estimator, X, reading)


def _check_shape(estimator: LinkEstimator, shape: tuple[int, ...]) -> None:
    reading = estimator.reading_
    if shape != reading.input_shape:
        raise DataError(
            f"X has rows of shape {shape}, and {type(estimator).__name__} was fitted on rows "
            f"of shape {reading.input_shape}. Bring the new rows into that shape."
        )


def network_kind(network: str | nn.Module, shape: tuple[int, ...]) -> tuple[str, str]:
    """The kind of network that rows of this shape get, and why where it needs saying."""
    if isinstance(network, nn.Module):
        return OWN_KIND, ""
    if network != AUTO:
        return network, ""
    if len(shape) == 1:
        return "dense", ""
    if min(shape[-2:]) < LEAST_SIDE:
        return "dense", f" (images of {shape[-2]} × {shape[-1]} are too small for convolutions)"
    return "convolutional", ""


def scaled_shape(input_shape: tuple[int, ...], scaling: Scaling | None) -> tuple[int, ...]:
    """The shape of a row after the scaling."""
    return input_shape if scaling is None else scaling.shape(input_shape)


def _rows(estimator: LinkEstimator, X: Any, reading: Reading) -> Rows:
    return Rows(X, reading.shape, reading.scaling, torch_device(estimator.device))


def _validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    if isinstance(X, Stream | Batches) or is_dataset(X):
        raise DataError(
            "Here X must lie in memory, for its rows are taken in any order. Give an array of the "
            "rows in question."
        )
    X = indexable(X)
    X = channels_first(X) if isinstance(X, np.ndarray) else X
    if not reset and isinstance(X, np.ndarray) and len(estimator.reading_.input_shape) > 1:
        _check_shape(estimator, X.shape[1:])  # of images scikit-learn would compare one side
    _check_columns_numeric(X)
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype="numeric",
        ensure_all_finite=False,  # checked by the caller, naming the place
        allow_nd=True,
        ensure_min_samples=2 if reset else 1,  # one row has no pairs to learn from
    )
    if X.ndim not in (2, 3, 4):
        raise DataError(
            "X must have the shape (n, columns), (n, h, w), (n, channels, h, w) or "
            f"(n, h, w, channels). Got {X.shape}."
        )
    return X


def _check_columns_numeric(X: Any) -> None:
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    twice = [name for name, n in Counter(X.columns).items() if n > 1]
    if twice:
        raise DataError(f"Two columns of X are named {twice[0]!r}. Give each a name of its own.")
    for name in X.columns:
        try:
            if getattr(X[name].dtype, "kind", "O") in "mM":
                raise TypeError("dates are no numbers")
            X[name].to_numpy(dtype=np.float64)
        except (TypeError, ValueError):
            first = X[name].iloc[0] if hasattr(X[name], "iloc") and len(X[name]) else "?"
            raise DataError(
                f"Column {name!r} of X is not numeric (its first value is {first!r}). "
                "Leave it out, or turn it into numbers first (scikit-learn's OneHotEncoder does)."
            ) from None
