"""Distances in LabNet's representation, and the labels they give, as arrays."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from s3c2 import losses
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.rows import Rows
from s3c2.links import Links


def link_distances(
    encoder: nn.Module, rows: Rows, links: Links, verbose: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Squared distances of the must-links and of the cannot-links, by row number."""
    pairs = np.concatenate([links.must, links.cannot]).astype(np.int64)
    d2 = pair_distances(encoder, rows, pairs, verbose)
    return d2[: links.n_must], d2[links.n_must :]


def pair_distances(
    encoder: nn.Module, rows: Rows, pairs: NDArray[np.int64], verbose: int = 0
) -> NDArray[np.float32]:
    """Squared distances of pairs of row numbers: (…, 2) → (…)."""
    if len(pairs) == 0:
        return np.zeros(0, np.float32)
    ends, place = np.unique(pairs, return_inverse=True)
    h = apply_to_rows(encoder, rows.subset(ends), "representing", verbose)
    one, two = place.reshape(-1, 2).T
    return squared_distances(h[one], h[two]).reshape(pairs.shape[:-1])


def squared_distances(h_a: NDArray[np.float32], h_b: NDArray[np.float32]) -> NDArray[np.float32]:
    d2: NDArray[np.float32] = losses.squared_distance(
        torch.from_numpy(h_a), torch.from_numpy(h_b)
    ).numpy()
    return d2


def are_must_links(d2: NDArray[np.float32], threshold: float) -> NDArray[np.bool_]:
    must: NDArray[np.bool_] = losses.is_must_link(torch.from_numpy(d2), threshold).numpy()
    return must
