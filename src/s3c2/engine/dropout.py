"""Dropout that the training loop draws, so that a step can be repeated, stacked and captured."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from s3c2.engine.kernels.steps import keyed_dropout


class Dropout(nn.Module):
    """Dropout whose draws the training loop lays in before each step.

    Drawing outside the network keeps the network a pure function of its inputs: replicas can be
    stacked, and a step can be repeated from its number alone. On the CPU a mask is laid in, which
    is several times cheaper than torch's own; on a GPU keys, from which the mask is computed where
    it is used. Used outside the loop, without either, it is the ordinary dropout.

    Parameters
    ----------
    rate : float
    size : shape of one row of the layer's input
    """

    mask: Tensor | None
    keys: tuple[Tensor, Tensor] | None

    def __init__(self, rate: float, size: tuple[int, ...]) -> None:
        super().__init__()
        self.rate = rate
        self.size = size
        self.mask = None  # (…, *size)
        self.keys = None  # one of each replica, and the step

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if self.mask is not None:
            return x * self.mask
        if self.keys is not None:
            return keyed_dropout(x, *self.keys, self.rate)
        return functional.dropout(x, self.rate)

    def of_relu(self, x: Tensor, bias: Tensor) -> Tensor:
        """Dropout of max(x + bias, 0) in one pass, where keys are laid in."""
        assert self.keys is not None
        return keyed_dropout(x, *self.keys, self.rate, relu_of_bias=bias)

    def clear(self) -> None:
        """Forget what was laid in."""
        self.mask = self.keys = None

    def extra_repr(self) -> str:
        return f"rate={self.rate}, size={self.size}"
