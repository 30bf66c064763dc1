"""How X is scaled: learned in ``fit``, kept with the model, and applied to every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from s3c2.data.passes import FLOAT32_MAX, chunks, dense64, in_words, low_and_high
from s3c2.data.robust import Robust
from s3c2.data.straight import Straight
from s3c2.data.topics import Topics
from s3c2.errors import DataError

Scaling = Straight | Robust | Topics
CLASSES: dict[str, type[Scaling]] = {
    kind: one for one in (Robust, Straight, Topics) for kind in one.KINDS
}
# What the parameter may be: "auto" chooses by what X is, None leaves X as it is.
SCALES = ("auto", None, *CLASSES)

MANY_ZEROS = 0.9  # share of all numbers: counts, tf-idf and the like
MANY_COLUMNS = 256  # such data has more of them
SHARING = 0.9  # share of columns whose smallest number is the same: pixels and the like
SAME = 1e-6  # of the largest range: what lies so near counts as the same number


def learn_scaling(kind: str, X: Any) -> Scaling:
    """Learn one of SCALES that has a name from X."""
    return CLASSES[kind].learn(kind, X)


def choose_scale(X: Any) -> tuple[str, str]:
    """The scale that suits X, and why."""
    if X.ndim > 2:
        return "together", "images"
    columns = X.shape[1]
    if sparse.issparse(X) and columns > MANY_COLUMNS:
        return "topics", f"sparse, {columns:,} columns"
    low, high = low_and_high(X, 0)
    if columns > MANY_COLUMNS and low.min() >= 0 and _share_of_zeros(X) >= MANY_ZEROS:
        return "topics", f"nearly only zeros, {columns:,} columns"
    if _share_one_range(low, high):
        return "together", "all columns share one range"
    return "robust", "columns of their own scale"


def _share_of_zeros(X: Any) -> float:
    filled = sum(int(np.count_nonzero(chunk)) for _, chunk in chunks(X))
    return 1 - filled / float(X.size)


def _share_one_range(low: NDArray[np.float64], high: NDArray[np.float64]) -> bool:
    """Whether most columns begin at one number, and half of them go half as far as the largest."""
    varied = high > low
    if varied.sum() < 2:
        return False
    begin = np.median(low[varied])
    reach = high[varied] - begin
    same = np.abs(low[varied] - begin) <= SAME * reach.max()
    return bool(same.mean() >= SHARING and np.median(reach) >= reach.max() / 2)


def check_scaled(
    X: Any, scaling: Scaling, column_names: Any = None, what: str = "X", first: int = 0
) -> None:
    """Refuse finite numbers that a scaling learned on other rows takes beyond float32."""
    if isinstance(scaling, Topics):
        return  # a row comes out with the same length, whatever its numbers
    for start, chunk in chunks(X):
        with np.errstate(over="ignore"):
            scaled = np.abs(scaling.apply(dense64(chunk)))
        if float(scaled.max(initial=0)) <= FLOAT32_MAX:
            continue
        bad = np.argwhere(scaled > FLOAT32_MAX)[0]
        at = in_words((first + start + int(bad[0]), *map(int, bad[1:])), column_names)
        raise DataError(
            f"{what} holds {chunk[tuple(bad)]:g} at {at}, which is too far beyond the values that "
            f"the scaling was learned on. Correct or leave out such rows. Rows count from 0."
        )
