"""Views of images: each a little shifted, turned and scaled, and still the same thing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from s3c2.engine.randomness import Draws, Purpose
from s3c2.engine.rows import Rows

SHIFT = 0.07  # at most, of the width and of the height
TURN = math.radians(15)  # at most
SCALE = 0.1  # at most, larger or smaller


class Views:
    """Draws a view of every image of a batch.

    Parameters
    ----------
    shape : of an image, (h, w) or (channels, h, w)
    seeds : one for each replica
    device : torch.device
    """

    def __init__(
        self, shape: tuple[int, ...], seeds: Sequence[int], device: torch.device | str = "cpu"
    ) -> None:
        self.height, self.width = shape[-2:]
        self.draws = Draws(seeds, Purpose.VIEWS, device)
        # The middle of every pixel, in coordinates from −1 to 1 and with a 1 behind: (h · w, 3).
        y, x = (torch.arange(n, device=device) * (2 / n) + (1 / n - 1) for n in shape[-2:])
        y, x = torch.meshgrid(y, x, indexing="ij")
        self._places = torch.stack([x, y, torch.ones_like(x)], dim=-1).flatten(0, 1)

    @classmethod
    def of(cls, rows: Rows, seeds: Sequence[int]) -> Views | None:
        """The views of these rows; None where they are no images."""
        return cls(rows.shape, seeds, rows.device) if len(rows.shape) > 1 else None

    def __call__(self, step: int | Tensor, x: Tensor) -> Tensor:
        """A view of each image: (replicas, rows, *shape) → the same shape."""
        replicas, n = x.shape[:2]
        moved = functional.grid_sample(
            x.reshape(replicas * n, -1, self.height, self.width).float(),
            self._looked_at(step, n),
            padding_mode="border",
            align_corners=False,
        )
        return moved.view(x.shape).to(x.dtype)

    def _looked_at(self, step: int | Tensor, n: int) -> Tensor:
        """Where each pixel of each view is taken from: (replicas · n, h, w, 2)."""
        drawn = self.draws.uniform(step, 4 * n).view(-1, 4)
        turn, scale = TURN * drawn[:, 0], 1 + SCALE * drawn[:, 1]
        across, down = 2 * SHIFT * drawn[:, 2], 2 * SHIFT * drawn[:, 3]
        cos, sin, flat = scale * turn.cos(), scale * turn.sin(), self.height / self.width
        x, y = (cos, -sin * flat, across), (sin / flat, cos, down)
        affine = torch.stack([torch.stack(one, 1) for one in (x, y)], 2)  # (replicas · n, 3, 2)
        places = self._places @ affine
        return places.view(len(drawn), self.height, self.width, 2)
