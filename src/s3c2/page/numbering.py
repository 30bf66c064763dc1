"""Clusters keep their numbers from one training to the next, as far as they are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import nn

from s3c2.errors import TableError
from s3c2.files.tables import read_table

NONE = -1  # the number of a row that no model has put into a cluster


def numbers_before(path: Path, names: Sequence[str]) -> NDArray[np.int64]:
    """(rows,) the cluster of each item in a table of labels; NONE where it does not say."""
    try:
        found = read_table(path, ("id", "cluster")).columns
        of = {name: int(number) for name, number in zip(found["id"], found["cluster"])}
    except (TableError, ValueError, TypeError):  # there is none yet, or somebody changed it
        of = {}
    return np.array([of.get(name, NONE) for name in names], dtype=np.int64)


def numbers_as_before(
    labels: NDArray[np.int64], before: NDArray[np.int64], n_clusters: int
) -> NDArray[np.int64]:
    """(K,) the number that each cluster should have, so that most rows keep theirs."""
    known = (before >= 0) & (before < n_clusters)
    shared = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(shared, (labels[known], before[known]), 1)
    return np.asarray(linear_sum_assignment(shared, maximize=True)[1], dtype=np.int64)


def renumber(model: Any, numbers: NDArray[np.int64]) -> None:
    """Give the clusters of a fitted S3C2 other numbers: in its last layer, and in its labels."""
    last = [layer for layer in model.network_.modules() if isinstance(layer, nn.Linear)][-1]
    order = torch.from_numpy(np.argsort(numbers)).to(last.weight.device)
    with torch.no_grad():
        for weights in last.parameters():
            weights.copy_(weights[order])
    model.labels_ = model.clunet_.labels_ = numbers[model.labels_]
