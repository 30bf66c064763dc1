"""Random draws that depend on a seed and a step number, and on nothing else.

A draw is a hash of (seed, purpose, step, position). So a run can go on from any step without stored
generator states, a replica draws the same whatever runs beside it, a step can be captured and
replayed on a GPU, and the generators of the caller are never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from s3c2.engine.kernels.steps import hashed_integers


class Purpose(IntEnum):
    """What a draw is for: each purpose has a stream of its own under every seed."""

    WEIGHTS = 0
    LINKS = 1
    PAIRS = 2
    DROPOUT = 3
    POOL = 4
    STAGE = 5
    REPLICA = 6
    NEIGHBOURS = 7
    VIEWS = 8


def seed_from(random_state: Any) -> int:
    """One seed from what scikit-learn calls a random state.

    An integer is used as it is. A generator gives a draw, as its owner expects. None takes fresh
    entropy and leaves numpy's global generator alone.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(random_state, int | np.integer) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        "The 'random_state' parameter must be None, an int of at least 0, or a numpy generator. "
        f"Got {random_state!r} instead."
    )


def generator(seed: int, purpose: Purpose, step: int = 0, part: int = 0) -> np.random.Generator:
    """A numpy generator for work on the host: one for each seed, purpose, step and part."""
    return np.random.Generator(_bits(seed, purpose, step, part))


def derived_seed(seed: int, purpose: Purpose, part: int = 0) -> int:
    """A seed of its own for a part of the work."""
    return int(generator(seed, purpose, part=part).integers(2**63))


class Draws:
    """Uniform integers for every replica, on any device.

    Parameters
    ----------
    seeds : one for each replica
    purpose : Purpose
    device : torch.device
    """

    def __init__(self, seeds: Sequence[int], purpose: Purpose, device: torch.device | str) -> None:
        keys = [derived_seed(seed, purpose) for seed in seeds]
        self.key = torch.tensor(keys, device=device)[:, None]  # (replicas, 1)

    def integers(self, step: int | Tensor, size: int, high: int | Tensor) -> Tensor:
        """Integers in [0, high): (replicas, size). ``step`` and ``high`` may be (replicas, 1)."""
        return hashed_integers(self.key, step, size, high)

    def uniform(self, step: int | Tensor, size: int) -> Tensor:
        """Numbers in [−1, 1): (replicas, size), float32."""
        return self.integers(step, size, 2**24).float() * 2.0**-23 - 1


def seed_torch(seed: int, device: torch.device) -> None:
    """Seed torch's own generator of this device, and of no other."""
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def dropout_masks(
    sizes: Sequence[int],
    rates: Sequence[float],
    seed: int,
    step: int,
    into: Sequence[NDArray[np.float32]] | None = None,
) -> Sequence[NDArray[np.float32]]:
    """Dropout masks on the CPU: 0 with probability ``rate``, otherwise 1 / (1 − rate).

    Each 64-bit draw decides four units, sixteen bits each, so the rate is met within 1/65,536; the
    scale uses the rate that is really drawn, which keeps the mean exact.

    Parameters
    ----------
    sizes, rates : number of units and rate of each mask
    into : arrays to write the masks to, by default new ones
    """
    words = _bits(seed, Purpose.DROPOUT, step, 0).random_raw(-(-sum(sizes) // 4))
    lanes: NDArray[np.uint16] = words.view(np.uint16)
    masks = [np.empty(size, np.float32) for size in sizes] if into is None else into
    start = 0
    for size, rate, mask in zip(sizes, rates, masks):
        dropped = min(round(rate * 2**16), 2**16 - 1)
        scale = np.float32(2**16 / (2**16 - dropped))
        kept = lanes[start : start + size] >= dropped
        np.multiply(kept, scale, out=mask)
        start += size
    return masks


def _bits(seed: int, purpose: Purpose, step: int, part: int) -> np.random.Philox:
    # The counter counts up from its lowest word, so steps and parts never overlap.
    key = np.array([seed % 2**64, int(purpose)], dtype=np.uint64)
    return np.random.Philox(key=key, counter=np.array([0, 0, part, step], dtype=np.uint64))
