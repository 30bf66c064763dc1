"""The given links, batch by batch.

A batch has the same shape at every step: where there are fewer links, the rest has weight 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from s3c2.engine.kernels.steps import drawn_links, runs_fused
from s3c2.engine.randomness import Draws, Purpose, generator
from s3c2.links import Links
from s3c2.pairs.batch import PairBatch

ORDERS = 256  # multipliers to choose from
SHUFFLED = 2**17  # links of a replica in all its shuffles together


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
    evened : whether a kind of link counts with the root of its number, not with its number
    """

    def __init__(
        self,
        links: Sequence[Links],
        batch: int,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        *,
        fresh: bool = False,
        evened: bool = False,
    ) -> None:
        self.batch = batch
        counts = [max(one.n_links, 1) for one in links]  # no link is one of weight 0
        longest = max(counts)
        table = np.zeros((4, len(links), longest))
        for row, one in enumerate(links):
            ends = np.concatenate([one.must, one.cannot])
            table[:2, row, : one.n_links] = ends.T
            table[2, row, : one.n_must] = 1
            must, cannot = evened_weights(one.n_must, one.n_cannot) if evened else (1.0, 1.0)
            table[3, row, : one.n_links] = np.concatenate(
                [one.must_weight * must, one.cannot_weight * cannot]
            )
        a, b, same, weight = torch.from_numpy(table).to(device)  # (replicas, longest) each
        self.a, self.b = a.long(), b.long()
        self.same, self.weight = same.float(), weight.float()
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

    def draw(self, step: int | Tensor) -> PairBatch:
        if isinstance(step, Tensor) and runs_fused(self.n):
            return PairBatch(*drawn_links(self, step))
        epoch = step // self.walk  # (replicas, 1)
        i = (step % self.walk) * self.batch + self._position  # (replicas, batch)
        drawn = self.draws.integers(epoch, 3, 2**31)  # (replicas, 3)
        multiplier = self.multipliers.gather(1, drawn[:, :1] % ORDERS)
        position = (multiplier * i + drawn[:, 1:2] % self.n) % self.n
        shuffle = drawn[:, 2:] % self.n_shuffles
        number = self.shuffled.gather(1, shuffle * self._longest + position)
        weight = self.weight.gather(1, number) * (i < self.n)
        return PairBatch(
            self.a.gather(1, number), self.b.gather(1, number), self.same.gather(1, number), weight
        )


def evened_weights(n_must: int, n_cannot: int) -> tuple[float, float]:
    """Weights of must-links and of cannot-links, 1 in the mean of all.

    Each kind counts with the root of its number: of nine times as many, three times as much.
    """
    if n_must == 0 or n_cannot == 0:
        return 1.0, 1.0
    scale = (n_must + n_cannot) / (math.sqrt(n_must) + math.sqrt(n_cannot))
    return scale / math.sqrt(n_must), scale / math.sqrt(n_cannot)


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
