"""Where the pairs of a batch come from.

Arrays carry a leading dimension for replicas: (replicas, pairs). One model is one replica.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s3c2.links import Links
from s3c2.randomness import Purpose, draws


@dataclass(frozen=True)
class Pairs:
    """A batch of labelled pairs of row numbers, each array (replicas, pairs)."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    must: NDArray[np.bool_]
    weight: NDArray[np.float32]


class GivenLinks:
    """Batches of the given links.

    Parameters
    ----------
    links : Links
        With row numbers.
    batch : int
        Links in a batch; all of them if there are fewer.
    seed : int
    """

    def __init__(self, links: Links, batch: int, seed: int) -> None:
        rows = np.concatenate([links.must, links.cannot]).astype(np.int64)
        self.a, self.b = rows[:, 0].copy(), rows[:, 1].copy()
        self.must = np.arange(links.n_links) < links.n_must
        self.weight = np.concatenate([links.must_weight, links.cannot_weight]).astype(np.float32)
        self.n = links.n_links
        self.batch = min(batch, self.n)
        self.seed = seed
        self._epoch = -1
        self._order: NDArray[np.int64] = np.arange(self.n)

    @property
    def steps_per_epoch(self) -> int:
        return -(-self.n // self.batch)

    def in_epochs(self, step: int) -> Pairs:
        """Batch of a walk through all links, shuffled anew each epoch; the last may be short."""
        epoch, position = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._order = draws(self.seed, Purpose.LINKS, epoch).permutation(self.n)
            self._epoch = epoch
        return self._pairs(self._order[position * self.batch : (position + 1) * self.batch])

    def at_random(self, step: int) -> Pairs:
        """Batch of distinct links drawn for this step alone."""
        return self._pairs(
            draws(self.seed, Purpose.LINKS, step).choice(
                self.n, self.batch, replace=False, shuffle=False
            )
        )

    def _pairs(self, chosen: NDArray[np.int64]) -> Pairs:
        pick = chosen[None]  # (replicas, pairs)
        return Pairs(self.a[pick], self.b[pick], self.must[pick], self.weight[pick])


def random_pairs(n: int, size: int, seed: int, step: int) -> NDArray[np.int64]:
    """Pairs (x, y) drawn uniformly from all n × n: (2, replicas, size)."""
    return draws(seed, Purpose.PAIRS, step).integers(n, size=(2, 1, size))
