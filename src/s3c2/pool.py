"""Random pairs of rows, labelled by a frozen LabNet: what CluNet learns from beside the links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from s3c2 import losses
from s3c2.engine.inference import batches
from s3c2.engine.kernels.steps import labelled_pairs, runs_fused
from s3c2.engine.progress import Progress
from s3c2.engine.randomness import Purpose, generator
from s3c2.engine.rows import Rows
from s3c2.labnet import LabNet
from s3c2.links import Links
from s3c2.pairs import AllPairs, KnownPairs, RandomPairs


class Pool:
    """Rows from which random pairs are drawn, with a frozen LabNet's representation of them.

    The representation is computed once for as many rows as ``cache_memory`` holds: all of them,
    or a uniform sample.
    """

    def __init__(self, rows: Rows, labnet: LabNet, cache_memory: int, seed: int) -> None:
        # LabNet's own shape and scaling, which may differ from CluNet's.
        if rows.shape != labnet._row_shape() or rows.scaling is not labnet.scaling_:
            rows = Rows(rows.X, labnet._row_shape(), labnet.scaling_, rows.device)
        capacity = max(2, cache_memory // (4 * labnet._n_features_out))
        self.numbers: Tensor | None = None  # all rows
        if rows.n > capacity:
            chosen = generator(seed, Purpose.POOL).choice(rows.n, capacity, replace=False)
            numbers = np.sort(chosen)
            self.numbers = torch.from_numpy(numbers).to(rows.device)
            rows = rows.subset(numbers)
        self.h = torch.empty(rows.n, labnet._n_features_out, device=rows.device)
        with Progress("representing", rows.n, labnet.verbose) as progress:
            for start, h in batches(labnet.encoder_, rows):
                self.h[start : start + len(h)] = h
                progress.update(start + len(h))


class PoolPairs:
    """Random pairs of each replica's pool, with its LabNet's labels.

    Replicas that share a pool share its memory.

    Parameters
    ----------
    pools, thresholds, links, seeds : one for each replica
    size : number of pairs
    n_points : if given, all pairs of so many rows are drawn instead
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        thresholds: Sequence[float],
        links: Sequence[Links],
        size: int,
        seeds: Sequence[int],
        device: torch.device,
        n_points: int | None = None,
    ) -> None:
        different = list({id(pool): pool for pool in pools}.values())
        n = len(pools[0].h)
        place = [next(i for i, one in enumerate(different) if one is pool) for pool in pools]
        self.first = torch.tensor(place, device=device)[:, None] * n  # (replicas, 1)
        self.threshold = torch.tensor(thresholds, device=device)[:, None]
        self.h = different[0].h if len(different) == 1 else torch.cat([p.h for p in different])
        numbers = [pool.numbers for pool in different if pool.numbers is not None]
        self.numbers = torch.cat(numbers) if numbers else None
        self.pairs: RandomPairs | AllPairs = (
            RandomPairs(n, size, seeds, device)
            if n_points is None
            else AllPairs(n, n_points, seeds, device)
        )
        self.known = KnownPairs(links, device)

    def draw(self, step: int | Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Row numbers of both ends and whether they are a must-link: (replicas, size) each."""
        a, b = self.pairs.draw(step)
        i, j = a + self.first, b + self.first
        if self.numbers is not None:
            a, b = self.numbers[i], self.numbers[j]
        if runs_fused(self.h):
            return a, b, labelled_pairs(self.h, i, j, a, b, self.threshold, self.known)
        d2 = losses.squared_distance(self.h[i], self.h[j])
        return a, b, self.known.relabel(a, b, losses.is_must_link(d2, self.threshold))
