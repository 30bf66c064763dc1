"""From the X that a user gave to rows: its shape, names of columns, and scaling."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data
from torch import Tensor, nn

from s3c2.data.scaling import Scaling, check_finite
from s3c2.engine.rows import Rows
from s3c2.errors import DataError
from s3c2.parameters import torch_device

if TYPE_CHECKING:
    from s3c2.surface import LinkEstimator


@dataclass(frozen=True)
class Reading:
    """How the X of ``fit`` was read, so that new rows are read in the same way.

    Attributes
    ----------
    input_shape : shape of one row of X
    n_features_in : number of columns, as scikit-learn counts them
    feature_names_in : names of the columns of a DataFrame
    scaling : what was learned for ``scale``
    """

    input_shape: tuple[int, ...]
    n_features_in: int
    feature_names_in: NDArray[Any] | None = None
    scaling: Scaling | None = None


def read_for_fit(estimator: LinkEstimator, X: Any) -> tuple[Reading, Rows]:
    """Validate X, learn its shape, names and scaling, and give its rows."""
    # scikit-learn notes what it sees on the estimator, which is not to change before it is fitted.
    notes: Any = copy.copy(estimator)
    X = _validated(notes, X, reset=True)
    names = getattr(notes, "feature_names_in_", None)
    check_finite(X, names)
    scaling = None if estimator.scale is None else Scaling.learn(estimator.scale, X)
    reading = Reading(X.shape[1:], int(notes.n_features_in_), names, scaling)
    return reading, _rows(estimator, X, reading)


def read_for_prediction(estimator: LinkEstimator, X: Any) -> Rows:
    """Validate X as rows like those of ``fit``."""
    X = _validated(estimator, X, reset=False)
    reading = estimator.reading_
    if X.shape[1:] != reading.input_shape:
        raise DataError(
            f"X has rows of shape {X.shape[1:]}, and {type(estimator).__name__} was fitted on rows "
            f"of shape {reading.input_shape}. Bring the new rows into that shape."
        )
    check_finite(X, reading.feature_names_in)
    return _rows(estimator, X, reading)


def row_shape(network: str | nn.Module, input_shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which a row enters the network: grey images get their one channel."""
    if network != "dense" and len(input_shape) == 2:
        return (1, *input_shape)
    return input_shape


def _rows(estimator: LinkEstimator, X: Any, reading: Reading) -> Rows:
    shape = row_shape(estimator.network, reading.input_shape)
    return Rows(X, shape, reading.scaling, torch_device(estimator.device))


def _validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    X = X.detach().cpu().numpy() if isinstance(X, Tensor) else X
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
            f"X must have the shape (n, columns), (n, h, w) or (n, channels, h, w). Got {X.shape}."
        )
    return X


def _check_columns_numeric(X: Any) -> None:
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
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
