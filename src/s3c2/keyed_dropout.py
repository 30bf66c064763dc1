"""Dropout on a GPU whose units depend on a key and a step, and on nothing else.

One kernel computes the mask where it is used, forwards and again backwards: no mask is stored, and
a replica drops the same units whatever runs beside it. Where Triton is absent the same is done by
torch's own operations, more slowly and with other draws.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from s3c2.randomness import hashed_bits

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

BLOCK = 1024

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _drop(x, y, keys, step, per_replica, total, dropped, scale, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def, unused-ignore]
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = at < total
        key = tl.load(keys + at // per_replica, mask=inside, other=0)
        place = (at % per_replica).to(tl.uint32)
        now = tl.load(step).to(tl.uint32)
        h = place * 0x9E3779B1 + key.to(tl.uint32)
        h = (h ^ (h >> 16)) * 0x85EBCA6B
        h = h ^ (now * 0x27D4EB2F + (key >> 32).to(tl.uint32))
        h = (h ^ (h >> 13)) * 0xC2B2AE35
        h = (h ^ (h >> 16)) * 0x9E3779B1
        h = h ^ (h >> 15)
        value = tl.load(x + at, mask=inside, other=0.0)
        kept = h >= dropped.to(tl.uint32)
        tl.store(y + at, tl.where(kept, value * scale, 0.0), mask=inside)


class _KeyedDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, keys: Tensor, step: Tensor, rate: float) -> Tensor:
        ctx.save_for_backward(keys, step)
        ctx.rate = rate
        return _dropped(x, keys, step, rate)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        keys, step = ctx.saved_tensors
        return _dropped(grad.contiguous(), keys, step, ctx.rate), None, None, None


def keyed_dropout(x: Tensor, keys: Tensor, step: Tensor, rate: float) -> Tensor:
    """Dropout of x, (replicas · rows · …), with a key for each replica.

    Parameters
    ----------
    x : the rows of all replicas, one replica after the other
    keys : (replicas,), int64
    step : (), int64, on the device
    rate : float
    """
    apply: Any = _KeyedDropout.apply
    out: Tensor = apply(x.contiguous(), keys, step, rate)
    return out


def _dropped(x: Tensor, keys: Tensor, step: Tensor, rate: float) -> Tensor:
    per_replica = x.numel() // len(keys)
    if triton is None:
        bits = hashed_bits(keys[:, None], step, per_replica)
        return x * (bits >= int(rate * 2**32)).view(x.shape) / (1 - rate)
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    _drop[grid](x, y, keys, step, per_replica, x.numel(), int(rate * 2**32), 1 / (1 - rate), BLOCK)
    return y
