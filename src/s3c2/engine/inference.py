"""A network over all rows, in batches of one fixed size.

A matrix product may round differently for another number of rows. Every batch has the same size,
the last one padded, so that a row's result is bit for bit the same alone, in any batch and order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s3c2.engine.progress import Progress
from s3c2.engine.rows import Rows, StreamedRows
from s3c2.engine.stack import Stack, has_faster_products
from s3c2.errors import DataError

VECTOR_BATCH = 1024
IMAGE_BATCH = 256
GPU_BATCHES = 8  # of them at once on a GPU, where rows are small
GPU_NUMBERS = 2**24  # in all rows of a batch there


def batch_size(rows: Rows | StreamedRows) -> int:
    """Rows that go through a network at a time."""
    size = VECTOR_BATCH if len(rows.shape) == 1 else IMAGE_BATCH
    if rows.device.type == "cuda":
        size = max(size, min(size * GPU_BATCHES, GPU_NUMBERS // math.prod(rows.shape)))
    return size


def batches(network: nn.Module, rows: Rows | StreamedRows) -> Iterator[tuple[int, Tensor]]:
    """Yield (first row number, the network's output for the rows from there on)."""
    size = batch_size(rows)
    outputs = outputs_of(network, rows.device, size)
    start = 0
    for x in rows.in_order(size):
        yield start, outputs(x)
        start += len(x)


def outputs_of(network: nn.Module, device: torch.device, size: int) -> Callable[[Tensor], Tensor]:
    """The network as a function of at most ``size`` rows, which computes as if there were so many.

    The network is put onto the device, and computes without dropout.
    """
    if any(weights.device != device for weights in network.parameters()):
        network.to(device)
    if network.training:
        network.eval()
    faster = device.type == "cpu" and has_faster_products(network)
    stack = Stack([network]).eval() if faster else None

    def outputs(x: Tensor) -> Tensor:
        n = len(x)
        if n < size:
            x = torch.cat([x, x.new_zeros(size - n, *x.shape[1:])])
        with torch.inference_mode():
            out: Tensor = network(x) if stack is None else stack(x.unsqueeze(0)).squeeze(0)
        return out[:n]

    return outputs


def apply_to_rows(
    network: nn.Module,
    rows: Rows | StreamedRows,
    what: str,
    verbose: int,
    then: Callable[[Tensor], Tensor] = lambda out: out,
) -> NDArray[Any]:
    """The network's output for every row, each batch passed through ``then`` first."""
    result: NDArray[Any] | None = None
    with Progress(what, rows.n, verbose, per_second="rows") as progress:
        for start, out in batches(network, rows):
            block = then(out).cpu().numpy()
            if result is None:
                result = np.empty((rows.n, *block.shape[1:]), dtype=block.dtype)
            result[start : start + len(block)] = block
            progress.update(start + len(block))
    assert result is not None  # X has at least one row
    return result


def check_results(known: NDArray[np.bool_]) -> None:
    """Refuse rows for which a network gives no numbers."""
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise DataError(
            f"The model gives no result for row {row} of X: its numbers are far beyond those that "
            "it was fitted on, or training diverged. Correct or leave out such rows, or fit again "
            "with a lower learning_rate. Rows count from 0."
        )
