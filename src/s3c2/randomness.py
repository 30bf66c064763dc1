"""Random draws that depend on a seed and a step number, and on nothing else.

Every draw of step t comes from a counter-based generator keyed by (seed, purpose) and set to t.
So a run can go on from any step without stored generator states, a replica draws the same whatever
runs beside it, and the generators of the caller are never touched.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s3c2.networks import Dropout


class Purpose(IntEnum):
    """What a draw is for: each purpose has a stream of its own under every seed."""

    WEIGHTS = 0
    LINKS = 1
    PAIRS = 2
    DROPOUT = 3
    POOL = 4
    STAGE = 5


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


def draws(seed: int, purpose: Purpose, step: int = 0, part: int = 0) -> np.random.Generator:
    """The generator of one step."""
    return np.random.Generator(_bits(seed, purpose, step, part))


def derived_seed(seed: int, purpose: Purpose, part: int = 0) -> int:
    """A seed of its own for a part of the work."""
    return int(draws(seed, purpose, part=part).integers(2**63))


def seed_torch(seed: int, device: torch.device) -> None:
    """Seed torch's own generator of this device, and of no other."""
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def lay_masks(network: nn.Module, rows: int, seed: int, step: int) -> None:
    """Draw the dropout masks of one step and lay them into the network's Dropout layers."""
    layers = [m for m in network.modules() if isinstance(m, Dropout) and m.rate > 0]
    for part, layer in enumerate(layers):
        device = next(network.parameters()).device
        layer.mask = mask((rows, *layer.size), layer.rate, seed, step, part, device)


def remove_masks(network: nn.Module) -> None:
    """Give the Dropout layers back their ordinary behaviour."""
    for layer in network.modules():
        if isinstance(layer, Dropout):
            layer.mask = torch.empty(0)


def mask(
    shape: tuple[int, ...], rate: float, seed: int, step: int, part: int, device: torch.device
) -> Tensor:
    """A dropout mask: 0 with probability ``rate``, otherwise 1 / (1 − rate).

    On the CPU each 64-bit draw decides four units, sixteen bits each, so the rate is met within
    1/65,536; the scale uses the rate that is really drawn, which keeps the mean exact.
    """
    if device.type != "cpu":
        generator = torch.Generator(device)
        generator.manual_seed(
            int(_bits(seed, Purpose.DROPOUT, step, part).random_raw()) >> 1,
        )
        kept = torch.empty(shape, device=device).bernoulli_(1 - rate, generator=generator)
        return kept.mul_(1 / (1 - rate))
    size = int(np.prod(shape))
    dropped = min(round(rate * 2**16), 2**16 - 1)
    words = _bits(seed, Purpose.DROPOUT, step, part).random_raw(-(-size // 4))
    lanes: NDArray[np.uint16] = words.view(np.uint16)[:size]
    scale = np.float32(2**16 / (2**16 - dropped))
    kept_units = np.multiply(lanes >= dropped, scale, dtype=np.float32)
    return torch.from_numpy(kept_units).view(shape)


def _bits(seed: int, purpose: Purpose, step: int, part: int) -> np.random.Philox:
    # The counter counts up from its lowest word, so steps and parts never overlap.
    key = np.array([seed % 2**64, int(purpose)], dtype=np.uint64)
    return np.random.Philox(key=key, counter=np.array([0, 0, part, step], dtype=np.uint64))
