"""Where the pairs of a batch come from.

Everything carries a leading dimension for replicas, (replicas, pairs); one model is one replica.
A batch has the same shape at every step: where there are fewer links, the rest has weight 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from s3c2.engine.kernels.steps import drawn_links, runs_fused
from s3c2.engine.randomness import Draws, Purpose, generator
from s3c2.links import Links

ORDERS = 256  # multipliers to choose from
SHUFFLED = 2**17  # links of a replica in all its shuffles together


@dataclass(frozen=True)
class Pairs:
    """A batch of labelled pairs of row numbers, each tensor (replicas, pairs)."""

    a: Tensor
    b: Tensor
    must: Tensor
    weight: Tensor


class GivenLinks:
    """Batches of each replica's given links.

    An epoch walks through all links of a replica in an order of its own. It goes through one of
    several shuffles of the links, made once, at the positions (m · i + c) mod n for i = 0, 1, …,
    with c uniform and m prime to n. This meets every link once, sorts nothing in a step, and is
    the same computation on a GPU. What fills up a short batch are links again, with weight 0.

    Parameters
    ----------
    links : one Links, with row numbers, for each replica
    batch : links in a batch
    seeds : one for each replica
    device : torch.device
    fresh : whether every batch starts an order of its own, rather than going on with the epoch
    """

    def __init__(
        self,
        links: Sequence[Links],
        batch: int,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        *,
        fresh: bool = False,
    ) -> None:
        self.batch = batch
        counts = [one.n_links for one in links]
        longest = max(counts)
        table = np.zeros((4, len(links), longest))
        for row, one in enumerate(links):
            ends = np.concatenate([one.must, one.cannot])
            table[:2, row, : counts[row]] = ends.T
            table[2, row, : one.n_must] = 1
            table[3, row, : counts[row]] = np.concatenate([one.must_weight, one.cannot_weight])
        a, b, must, weight = torch.from_numpy(table).to(device)
        self.a, self.b, self.must = a.long(), b.long(), must.bool()  # (replicas, longest)
        self.weight = weight.float()
        self.steps_per_epoch = [-(-n // batch) for n in counts]
        self.n = torch.tensor(counts, device=device)[:, None]  # (replicas, 1)
        self.walk = torch.tensor(
            [1] * len(counts) if fresh else self.steps_per_epoch, device=device
        )[:, None]
        rngs = [generator(seed, Purpose.LINKS) for seed in seeds]
        multipliers = [_prime_to(n, rng) for n, rng in zip(counts, rngs)]
        self.multipliers = torch.from_numpy(np.stack(multipliers)).to(device)
        # As many shuffles for every number of links as a replica of that number has alone.
        shuffles = [_shuffles(n, rng) for n, rng in zip(counts, rngs)]
        self._longest = longest
        self.n_shuffles = torch.tensor([len(s) for s in shuffles], device=device)[:, None]
        padded = np.zeros((len(links), max(map(len, shuffles)), longest), dtype=np.int64)
        for row, shuffle in enumerate(shuffles):
            padded[row, : len(shuffle), : counts[row]] = shuffle
        self.shuffled = torch.from_numpy(padded).to(device).flatten(1)  # (replicas, …)
        self.draws = Draws(seeds, Purpose.LINKS, device)
        self._position = torch.arange(batch, device=device)

    def draw(self, step: int | Tensor) -> Pairs:
        """The batch of this step."""
        if isinstance(step, Tensor) and runs_fused(self.n):
            return Pairs(*drawn_links(self, step))
        epoch = step // self.walk  # (replicas, 1)
        i = (step % self.walk) * self.batch + self._position  # (replicas, batch)
        drawn = self.draws.integers(epoch, 3, 2**31)  # (replicas, 3)
        multiplier = self.multipliers.gather(1, drawn[:, :1] % ORDERS)
        position = (multiplier * i + drawn[:, 1:2] % self.n) % self.n
        shuffle = drawn[:, 2:] % self.n_shuffles
        number = self.shuffled.gather(1, shuffle * self._longest + position)
        weight = self.weight.gather(1, number) * (i < self.n)
        return Pairs(
            self.a.gather(1, number), self.b.gather(1, number), self.must.gather(1, number), weight
        )


def _prime_to(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """ORDERS random numbers prime to n."""
    found: list[int] = []
    while len(found) < ORDERS:
        found += [int(m) for m in rng.integers(1, max(n, 2), ORDERS) if math.gcd(int(m), n) == 1]
    return np.array(found[:ORDERS], dtype=np.int64)


def _shuffles(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Some permutations of n links, fewer if there are many links."""
    count = min(32, max(1, SHUFFLED // n))
    return np.stack([rng.permutation(n) for _ in range(count)])


class RandomPairs:
    """Pairs (x, y) drawn uniformly from all n × n."""

    def __init__(
        self, n: int, size: int, seeds: Sequence[int], device: torch.device | str = "cpu"
    ) -> None:
        self.n = n
        self.size = size
        self.draws = Draws(seeds, Purpose.PAIRS, device)

    def draw(self, step: int | Tensor) -> tuple[Tensor, Tensor]:
        """Row numbers of both ends, (replicas, size) each."""
        ends = self.draws.integers(step, 2 * self.size, self.n)
        return ends[:, : self.size], ends[:, self.size :]


class AllPairs:
    """Every ordered pair of some rows drawn uniformly: n_points² pairs from n_points rows.

    Pairs of a draw with itself are among them and must not count (``counts``). Each of the others
    is uniform over all n × n, like a random pair.
    """

    def __init__(
        self, n: int, n_points: int, seeds: Sequence[int], device: torch.device | str = "cpu"
    ) -> None:
        self.n = n
        self.n_points = n_points
        self.size = n_points**2
        self.draws = Draws(seeds, Purpose.PAIRS, device)
        self.counts = (1 - torch.eye(n_points, device=device)).flatten()  # (size,)

    def points(self, step: int | Tensor) -> Tensor:
        """The rows of this step: (replicas, n_points)."""
        return self.draws.integers(step, self.n_points, self.n)

    def draw(self, step: int | Tensor) -> tuple[Tensor, Tensor]:
        """Row numbers of both ends, (replicas, size) each, in the order of a flattened matrix."""
        points = self.points(step)
        square = (len(points), self.n_points, self.n_points)
        return (
            points[:, :, None].expand(square).flatten(1),
            points[:, None, :].expand(square).flatten(1),
        )


class KnownPairs:
    """The pairs whose label is given, and not left to LabNet: the links, and a row with itself."""

    def __init__(self, links: Sequence[Links], device: torch.device | str = "cpu") -> None:
        self.n = max(one.n_samples or 0 for one in links)
        longest = max(one.n_links for one in links)
        keys = np.full((len(links), longest), np.iinfo(np.int64).max)
        must = np.zeros((len(links), longest), dtype=bool)
        for row, one in enumerate(links):
            ends = np.sort(np.concatenate([one.must, one.cannot]).astype(np.int64), axis=1)
            key = ends[:, 0] * self.n + ends[:, 1]
            order = np.argsort(key)
            keys[row, : len(key)] = key[order]
            must[row, : len(key)] = order < one.n_must
        self.keys, self.must = torch.from_numpy(keys).to(device), torch.from_numpy(must).to(device)

    def relabel(self, a: Tensor, b: Tensor, must: Tensor) -> Tensor:
        """The labels of these pairs, (replicas, pairs), with the given ones in their place."""
        key = torch.minimum(a, b) * self.n + torch.maximum(a, b)
        place = torch.searchsorted(self.keys, key).clamp(max=self.keys.shape[1] - 1)
        given = self.keys.gather(1, place) == key
        return torch.where(given, self.must.gather(1, place), must) | (a == b)
