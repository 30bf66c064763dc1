"""Random pairs of rows, labelled by a frozen LabNet: what CluNet learns from beside the links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from s3c2 import losses
from s3c2.engine.inference import batches
from s3c2.engine.kernels.steps import labelled_pairs, runs_fused
from s3c2.engine.progress import Progress
from s3c2.engine.randomness import Purpose, generator
from s3c2.engine.rows import Rows
from s3c2.links import Links
from s3c2.networks import output_size
from s3c2.pairs.batch import AllPairsBatch, PairBatch, PairSource


class KnownPairs:
    """The pairs whose label is given, and not left to LabNet: the links, and a row with itself."""

    def __init__(self, links: Sequence[Links], device: torch.device | str = "cpu") -> None:
        self.n = max(one.n_samples or 0 for one in links)
        longest = max(1, *(one.n_links for one in links))
        keys = np.full((len(links), longest), np.iinfo(np.int64).max)
        same = np.zeros((len(links), longest), dtype=np.float32)
        for row, one in enumerate(links):
            ends = np.sort(np.concatenate([one.must, one.cannot]).astype(np.int64), axis=1)
            key = ends[:, 0] * self.n + ends[:, 1]
            order = np.argsort(key)
            keys[row, : len(key)] = key[order]
            same[row, : len(key)] = order < one.n_must
        self.keys, self.same = torch.from_numpy(keys).to(device), torch.from_numpy(same).to(device)

    def relabel(self, a: Tensor, b: Tensor, same: Tensor) -> Tensor:
        """The labels of these pairs, (replicas, pairs), with the given ones in their place."""
        key = torch.minimum(a, b) * self.n + torch.maximum(a, b)
        place = torch.searchsorted(self.keys, key).clamp(max=self.keys.shape[1] - 1)
        given = self.keys.gather(1, place) == key
        return torch.where(given, self.same.gather(1, place), same).masked_fill(a == b, 1.0)


class Pool:
    """Rows from which random pairs are drawn, with a frozen LabNet's representation of them.

    The representation is computed once for as many rows as ``memory`` holds: all of them, or a
    uniform sample.

    Parameters
    ----------
    rows : in the shape and scaling that the encoder takes
    encoder : LabNet's
    memory : bytes
    seed : draws the sample
    """

    def __init__(
        self, rows: Rows, encoder: nn.Module, memory: int, seed: int, verbose: int = 0
    ) -> None:
        dimensions = output_size(encoder, rows.shape)
        capacity = max(2, memory // (4 * dimensions))
        self.numbers: Tensor | None = None  # all rows
        if rows.n > capacity:
            chosen = generator(seed, Purpose.POOL).choice(rows.n, capacity, replace=False)
            numbers = np.sort(chosen)
            self.numbers = torch.from_numpy(numbers).to(rows.device)
            rows = rows.subset(numbers)
        self.h = torch.empty(rows.n, dimensions, device=rows.device)
        with Progress("representing", rows.n, verbose) as progress:
            for start, h in batches(encoder, rows):
                self.h[start : start + len(h)] = h
                progress.update(start + len(h))


class LabelledPairs:
    """Pairs of each replica's pool, with its LabNet's labels.

    Replicas that share a pool share its memory.

    Parameters
    ----------
    pairs : draws pairs of places in a pool
    pools, thresholds, links : one for each replica
    """

    def __init__(
        self,
        pairs: PairSource,
        pools: Sequence[Pool],
        thresholds: Sequence[float],
        links: Sequence[Links],
        device: torch.device,
    ) -> None:
        self.pairs = pairs
        different = list({id(pool): pool for pool in pools}.values())
        place = [next(i for i, one in enumerate(different) if one is pool) for pool in pools]
        self.first = torch.tensor(place, device=device)[:, None] * len(pools[0].h)  # (replicas, 1)
        self.threshold = torch.tensor(thresholds, device=device)[:, None]
        self.h = different[0].h if len(different) == 1 else torch.cat([p.h for p in different])
        numbers = [pool.numbers for pool in different if pool.numbers is not None]
        self.numbers = torch.cat(numbers) if numbers else None
        self.known = KnownPairs(links, device)

    def draw(self, step: int | Tensor) -> PairBatch:
        drawn = batch = self.pairs.draw(step)
        if self.numbers is not None:
            batch = drawn.rows_of(self.numbers, self.first)
        if isinstance(drawn, AllPairsBatch):  # one product, not a difference for every pair
            h = self.h[drawn.points + self.first]
            return batch.labelled(
                self._labels(batch, losses.squared_distances_of_all(h).flatten(1))
            )
        i, j = drawn.a + self.first, drawn.b + self.first  # rows of h
        if runs_fused(self.h):
            return batch.labelled(
                labelled_pairs(self.h, i, j, batch.a, batch.b, self.threshold, self.known)
            )
        return batch.labelled(self._labels(batch, losses.squared_distance(self.h[i], self.h[j])))

    def _labels(self, batch: PairBatch, d2: Tensor) -> Tensor:
        same = losses.is_must_link(d2, self.threshold).float()
        return self.known.relabel(batch.a, batch.b, same)
