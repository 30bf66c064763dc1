"""Linear layers of all replicas of a stack, with what may stand behind them in one function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from s3c2.engine.kernels.products import gradients_of_weights, products

ALIGNED = 8  # numbers of 16 bytes in bfloat16


def linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    relu: bool = False,
    mask: Tensor | None = None,
) -> Tensor:
    """(replicas, rows, inputs) → (replicas, rows, outputs).

    Parameters
    ----------
    weight : (replicas, outputs, inputs)
    bias : (replicas, outputs)
    relu : whether a ReLU follows
    mask : of the dropout behind the ReLU, (replicas, rows, outputs)
    """
    apply: Any = _Linear.apply
    out: Tensor = apply(x, weight, bias, relu, mask)
    return out


def half_linear(x: Tensor, weight: Tensor, bias: Tensor, relu: bool) -> Tensor:
    """The same in bfloat16 on a GPU."""
    apply: Any = _HalfLinear.apply
    out: Tensor = apply(x, weight, bias, relu)
    return out


class _Linear(torch.autograd.Function):
    """Linear layers, each with the ReLU and the dropout behind it if there are such.

    On the CPU each replica has the bits that it would get alone. On a GPU the weights' gradient
    lies in memory as the weights do: autograd's own is transposed, and copied in every step, a
    seventh of the time of a large stack.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        relu: bool,
        mask: Tensor | None,
    ) -> Tensor:
        if x.is_cuda and torch.is_autocast_enabled(
            "cuda"
        ):  # here, so that the backward pass has them cast
            x, weight = x.bfloat16(), weight.bfloat16()
        y = products(x, weight, bias)
        if relu:
            y.relu_()
        if mask is not None:
            y.mul_(mask)
        ctx.relu, ctx.masked = relu, mask is not None
        ctx.save_for_backward(x, weight, *([y] if relu else []), *([] if mask is None else [mask]))
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, *behind = ctx.saved_tensors
        of_x, of_weight, of_bias, *_ = ctx.needs_input_grad
        if ctx.masked:
            grad = grad * behind[-1]
        if ctx.relu:
            grad = torch.ops.aten.threshold_backward(grad, behind[0], 0)
        return (
            products(grad, weight.mT) if of_x else None,
            gradients_of_weights(grad, x) if of_weight else None,
            grad.sum(1) if of_bias else None,
            None,
            None,
        )


class _HalfLinear(torch.autograd.Function):
    """Linear layers of all replicas in bfloat16 on a GPU, with the ReLU behind if there is one.

    Rows begin at multiples of 16 bytes, whatever their width: other rows take products that are
    several times slower.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, relu: bool) -> Tensor:
        x, weight = _halved(x), _halved(weight)
        y = _aligned(x, (*x.shape[:2], weight.shape[1]))
        torch.baddbmm(bias.bfloat16().unsqueeze(1), x, weight.mT, out=y)
        if relu:
            y.relu_()
        ctx.save_for_backward(x, weight, *((y,) if relu else ()))
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, *passed = ctx.saved_tensors
        of_x, of_weight, of_bias, _ = ctx.needs_input_grad
        if passed:
            out = _aligned(grad, grad.shape)
            grad = torch.ops.aten.threshold_backward.grad_input(grad, *passed, 0, grad_input=out)
        else:
            grad = _halved(grad)
        return (
            torch.bmm(grad, weight, out=_aligned(grad, x.shape)) if of_x else None,
            gradients_of_weights(grad, x) if of_weight else None,
            grad.sum(1, dtype=torch.float32) if of_bias else None,
            None,
        )


def _aligned(like: Tensor, shape: Sequence[int]) -> Tensor:
    """An empty (replicas, rows, columns) in bfloat16 whose rows begin at multiples of 16 bytes."""
    _, rows, columns = shape
    width = -(-columns // ALIGNED) * ALIGNED
    return torch.empty_strided(
        tuple(shape), (rows * width, width, 1), dtype=torch.bfloat16, device=like.device
    )


def _halved(x: Tensor) -> Tensor:
    """The same in bfloat16, with rows that begin at multiples of 16 bytes."""
    if x.dtype == torch.bfloat16 and x.stride(2) == 1 and x.stride(1) % ALIGNED == 0:
        return x
    return _aligned(x, x.shape).copy_(x)
