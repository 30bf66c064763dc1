"""What is assumed before any link: near rows belong together, and small changes do not matter.

Mutual nearest neighbours are weak must-links, random pairs weak cannot-links, and a network should
give a row and the worst of its near surroundings about the same output.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from s3c2.engine.kernels.products import products
from s3c2.engine.progress import Progress
from s3c2.engine.randomness import Purpose, generator
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack

MOST_ROWS = 100_000  # in the graph; of more rows it holds a sample
READ_ROWS = 4096  # read at a time
BLOCK_NUMBERS = {"cpu": 2**22, "cuda": 2**26}  # distances computed at a time
SHARE_OF_RADIUS = 0.3  # how far a change may reach, of the distance to the last neighbour
FIRST_REACH = 0.5  # of that: where the worst direction is looked for
ASKED = 10  # neighbours of a row that are asked what it is


@dataclass(frozen=True)
class Neighbours:
    """The mutual nearest neighbours of rows.

    Attributes
    ----------
    rows : row numbers that have neighbours, (m,)
    first, count : where the neighbours of each of them begin in ``others``, and how many they are
    others : row numbers of all neighbours, row by row
    radius : how far each row may be moved without becoming another, (n,)
    """

    rows: Tensor
    first: Tensor
    count: Tensor
    others: Tensor
    radius: Tensor

    def on_the_host(self) -> Neighbours:
        """The same in the host's memory."""
        return self.on(torch.device("cpu"))

    def on(self, device: torch.device) -> Neighbours:
        """The same on a device."""
        return Neighbours(*(getattr(self, field.name).to(device) for field in fields(self)))


def find_neighbours(
    rows: Rows, k: int, verbose: int = 0, code_of: Callable[[Rows], Rows] | None = None
) -> Neighbours:
    """The mutual k nearest neighbours of all rows, or of a sample of MOST_ROWS.

    Parameters
    ----------
    rows : Rows
    k : int
    code_of : gives another representation of rows, in which neighbours are looked for instead; how
        far a row may be moved follows from the rows themselves all the same
    """
    sample = rows
    numbers = torch.arange(rows.n, device=rows.device)
    if rows.n > MOST_ROWS:
        chosen = np.sort(generator(0, Purpose.POOL).choice(rows.n, MOST_ROWS, replace=False))
        sample, numbers = rows.subset(chosen), torch.from_numpy(chosen).to(rows.device)
    k = min(k, sample.n - 1)
    nearest, distance = _nearest(sample, k, verbose)
    if code_of is not None:
        nearest, _ = _nearest(code_of(sample), k, verbose)
    row, other = _mutual(nearest)
    count = torch.bincount(row, minlength=sample.n)
    first = count.cumsum(0) - count
    has = count > 0
    radius = torch.full((rows.n,), float(distance.mean()), device=rows.device)
    radius[numbers] = distance
    return Neighbours(
        numbers[has], first[has], count[has], numbers[other], SHARE_OF_RADIUS * radius
    )


def neighbours_of(rows: Tensor, prior: Neighbours) -> Tensor:
    """ASKED neighbours of each row, some of them repeated; a row without any is its own."""
    known, first, count, others = prior.rows, prior.first, prior.count, prior.others
    place = torch.searchsorted(known, rows).clamp(max=len(known) - 1)
    spread = torch.arange(ASKED) * count[place].unsqueeze(-1) // ASKED
    found = others[first[place].unsqueeze(-1) + spread]
    return torch.where((known[place] == rows).unsqueeze(-1), found, rows.unsqueeze(-1))


def _mutual(nearest: Tensor) -> tuple[Tensor, Tensor]:
    """Row and neighbour, where each is among the nearest of the other.

    Where no two rows are near each other in both directions, one direction is enough.
    """
    n, k = nearest.shape
    row = torch.arange(n, device=nearest.device).repeat_interleave(k)
    other = nearest.flatten()
    mutual = torch.isin(other * n + row, row * n + other)
    return (row[mutual], other[mutual]) if mutual.any() else (row, other)


def _nearest(rows: Rows, k: int, verbose: int) -> tuple[Tensor, Tensor]:
    """The k nearest other rows, (n, k), and the distance to the last of them, (n,)."""
    x = torch.empty(rows.n, math.prod(rows.shape), device=rows.device)
    for start in range(0, rows.n, READ_ROWS):
        stop = min(start + READ_ROWS, rows.n)
        x[start:stop] = rows.block(start, stop).flatten(1)
    squares = x.square().sum(1)
    size = max(1, BLOCK_NUMBERS.get(rows.device.type, 2**22) // rows.n)
    nearest = torch.empty(rows.n, k, dtype=torch.int64, device=rows.device)
    distance = torch.empty(rows.n, device=rows.device)
    with Progress("finding neighbours", rows.n, verbose) as progress:
        for start in range(0, rows.n, size):
            stop = min(start + size, rows.n)
            # Squared distances, but for the square of the row itself.
            apart = products(-2 * x[None, start:stop], x[None], squares[None])[0]
            own = torch.arange(start, stop, device=rows.device)
            apart[own - start, own] = torch.inf
            found = apart.topk(k, largest=False, sorted=True)
            nearest[start:stop] = found.indices
            last = found.values[:, -1] + squares[start:stop]
            distance[start:stop] = last.clamp(min=0).sqrt()
            progress.update(stop)
    return nearest, distance


def worst_change(
    network: Stack,
    x: Tensor,
    out: Tensor,
    radius: Tensor,
    divergence: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Rows moved by their radius in the direction that changes the output most, nearly.

    One step of power iteration, from the direction towards another row of the batch.

    Parameters
    ----------
    x : (replicas, rows, *shape)
    out : what the network gives for them
    radius : (replicas, rows)
    divergence : of two outputs, (replicas, rows)
    """
    x = x.float()
    length = radius.view(*radius.shape, *[1] * (x.ndim - 2))
    change = (FIRST_REACH * length * _unit(x.roll(1, dims=1) - x)).requires_grad_()
    with torch.enable_grad():
        apart = divergence(out.detach(), network.without_dropout(x + change, learning=False)).sum()
        (slope,) = torch.autograd.grad(apart, change)
    return x + length * _unit(slope)


def _unit(direction: Tensor) -> Tensor:
    """Each row divided by its length; a row of zeros stays one."""
    length: Tensor = direction.flatten(2).square().sum(2).sqrt().clamp(min=1e-12)
    return direction / length.view(*length.shape, *[1] * (direction.ndim - 2))
