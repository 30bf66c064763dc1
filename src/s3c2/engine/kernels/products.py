"""Matrix products of all replicas, in the library that is fastest on the processor.

On a CPU torch multiplies float32 matrices with MKL, which uses half of the vector width of an AMD
processor with AVX-512. oneDNN, which torch brings for convolutions, uses all of it: there a large
product takes half the time. ``torch.backends.mkldnn.enabled = False`` leaves all to MKL.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from s3c2.engine.devices import processor

LEAST = 2_400_000  # multiplications in a product; smaller ones wait longer for oneDNN to begin


def products(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The product x · weightᵀ, plus bias, of each replica.

    Parameters
    ----------
    x : (replicas, rows, inputs)
    weight : (replicas, outputs, inputs)
    bias : (replicas, outputs), or None
    """
    if in_onednn(x, weight):
        biases = [None] * len(x) if bias is None else bias.unbind()
        every = [_linear(*one) for one in zip(x.unbind(), weight.unbind(), biases)]
        return every[0].unsqueeze(0) if len(every) == 1 else torch.stack(every)
    if bias is None:
        return torch.bmm(x, weight.mT)
    return torch.baddbmm(bias.unsqueeze(1), x, weight.mT)


def gradients_of_weights(grad: Tensor, x: Tensor) -> Tensor:
    """The product gradᵀ · x of each replica.

    Parameters
    ----------
    grad : (replicas, rows, outputs)
    x : (replicas, rows, inputs)
    """
    if x.dtype == torch.bfloat16:  # in the type that the weights have, without another pass
        return torch.bmm(grad.mT, x, out_dtype=torch.float32)
    if in_onednn(grad.mT, x.mT):  # which is faster if the longer side of the result is its last
        longer = grad.shape[2] > x.shape[2]
        return products(x.mT, grad.mT).mT if longer else products(grad.mT, x.mT)
    if x.device.type != "cpu":
        return torch.bmm(grad.mT, x)
    found = grad.new_empty(len(x), grad.shape[2], x.shape[2])
    for g, x_r, out in zip(grad.mT.unbind(), x.unbind(), found.unbind()):
        torch.mm(g, x_r, out=out)  # a batched product would round otherwise than one alone
    return found


def in_onednn(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN takes the product of these; a replica alone has the same answer."""
    return (
        x.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and x.shape[-2] * x.shape[-1] * weight.shape[-2] >= LEAST
        and is_faster()
    )


def is_faster() -> bool:
    """Whether oneDNN is there, switched on, and faster than MKL on this processor."""
    return bool(torch.backends.mkldnn.enabled) and _suits_processor()


@cache
def _suits_processor() -> bool:
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return wide and "AMD" in processor("vendor_id") and has_onednn()


def has_onednn() -> bool:
    """Whether this torch multiplies with oneDNN in the way that is known here."""
    try:
        return _linear(torch.ones(1, 2), torch.ones(1, 2), None).item() == 2
    except (AttributeError, RuntimeError, TypeError):
        return False


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    # torch's compiler calls it by this name; a public one does not exist.
    operation: Any = torch.ops.mkldnn._linear_pointwise
    if bias is not None:
        bias = bias.contiguous()  # oneDNN does not ask how a bias lies in memory
    found: Tensor = operation(_plain(x), _plain(weight), bias, "none", [], "")
    return found


def _plain(x: Tensor) -> Tensor:
    """A matrix that lies in memory row by row, or column by column."""
    return x if x.is_contiguous() or x.mT.is_contiguous() else x.contiguous()
