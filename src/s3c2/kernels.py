"""The few GPU kernels that small steps are made of, each with what torch does in its place.

A step of these networks moves little data in many small operations. Hashing a draw, dropping units
and comparing pairs of rows are a dozen launches each in torch, and one here. Triton comes with
torch's CUDA builds; without it, or on a CPU, torch's own operations give the same integers and the
same distances, and dropout with other draws.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

# The constants of splitmix64, as signed 64-bit numbers.
GOLDEN = 0x9E3779B97F4A7C15 - 2**64
MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
MIX_2 = 0x94D049BB133111EB - 2**64
STEP = 2**32  # draws of one step
BLOCK = 1024

if triton is not None:
    # mypy: disable-error-code="no-untyped-def, untyped-decorator, misc"

    @triton.jit
    def _integers(out, key, step, step_stride, high, high_stride, size, BLOCK: tl.constexpr):
        r = tl.program_id(0)
        at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        now = tl.load(step + r * step_stride).to(tl.uint64)
        z = tl.load(key + r).to(tl.uint64)
        z = z + ((now << 32) + at.to(tl.uint64)) * 0x9E3779B97F4A7C15
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB
        z = (z ^ (z >> 31)) >> 32
        below = tl.load(high + r * high_stride).to(tl.uint64)
        tl.store(out + r.to(tl.int64) * size + at, ((z * below) >> 32).to(tl.int64), mask=at < size)

    @triton.jit
    def _drop(
        x, y, keys, step, per_replica, dropped, scale, RELU: tl.constexpr, BLOCK: tl.constexpr
    ):
        r = tl.program_id(1)
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < per_replica
        key = tl.load(keys + r)
        now = tl.load(step).to(tl.uint32)
        h = at.to(tl.uint32) * 0x9E3779B1 + key.to(tl.uint32)
        h = (h ^ (h >> 16)) * 0x85EBCA6B
        h = h ^ (now * 0x27D4EB2F + (key >> 32).to(tl.uint32))
        h = (h ^ (h >> 13)) * 0xC2B2AE35
        h = (h ^ (h >> 16)) * 0x9E3779B1
        h = h ^ (h >> 15)
        first = r.to(tl.int64) * per_replica
        value = tl.load(x + first + at, mask=inside, other=0.0)
        kept = h >= dropped.to(tl.uint32)
        if RELU:
            kept = kept & (value > 0)
        tl.store(y + first + at, tl.where(kept, value * scale, 0.0), mask=inside)

    @triton.jit
    def _where_positive(grad, y, out, total, scale, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = at < total
        g = tl.load(grad + at, mask=inside, other=0.0)
        v = tl.load(y + at, mask=inside, other=0.0)
        tl.store(out + at, tl.where(v > 0, g * scale, 0.0), mask=inside)

    @triton.jit
    def _pair_distance(out, h, i, j, size, D: tl.constexpr, BLOCK: tl.constexpr):
        pair = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        inside = at < size
        a = tl.load(h + tl.load(i + pair) * size + at, mask=inside, other=0.0)
        b = tl.load(h + tl.load(j + pair) * size + at, mask=inside, other=0.0)
        tl.store(out + pair, tl.sum((a - b) * (a - b)))


def hashed_integers(key: Tensor, step: int | Tensor, size: int, high: int | Tensor) -> Tensor:
    """Integers in [0, high) from 32 hashed bits: (replicas, size).

    Parameters
    ----------
    key : (replicas, 1), int64
    step, high : numbers, or (replicas, 1); the bias is below high / 2³²
    """
    if key.is_cuda and triton is not None and isinstance(step, Tensor):
        high = torch.full((), high, device=key.device) if isinstance(high, int) else high
        out = torch.empty(len(key), size, dtype=torch.int64, device=key.device)
        grid = (len(key), triton.cdiv(size, BLOCK))
        _integers[grid](
            out, key, step, int(step.ndim > 0), high, int(high.ndim > 0), size, BLOCK=BLOCK
        )
        return out
    return (hashed_bits(key, step, size) * high) >> 32


def hashed_bits(key: Tensor, step: int | Tensor, size: int) -> Tensor:
    """32 random bits for each replica's key, (replicas, 1), and position: (replicas, size)."""
    position = torch.arange(size, device=key.device)
    z = key + (step * STEP + position) * GOLDEN
    z = (z ^ _shift(z, 30)) * MIX_1
    z = (z ^ _shift(z, 27)) * MIX_2
    return _shift(z ^ _shift(z, 31), 32)


def _shift(z: Tensor, bits: int) -> Tensor:
    """Logical shift to the right; torch's own keeps the sign."""
    shifted: Tensor = (z >> bits) & (2 ** (64 - bits) - 1)
    return shifted


def pair_distance(h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """‖h[i] − h[j]‖² of rows by number, the shape of i."""
    if h.is_cuda and triton is not None:
        out = torch.empty(i.shape, device=h.device)
        width = h.shape[1]
        block = triton.next_power_of_2(width)
        _pair_distance[(i.numel(),)](
            out, h, i.contiguous(), j.contiguous(), width, D=width, BLOCK=block
        )
        return out
    return (h[i] - h[j]).square().sum(-1)


def keyed_dropout(
    x: Tensor, keys: Tensor, step: Tensor, rate: float, *, relu: bool = False
) -> Tensor:
    """Dropout whose units depend on a key, a step and their place, and on nothing else.

    No mask is stored, and a replica drops the same units whatever runs beside it.

    Parameters
    ----------
    x : the rows of all replicas, one replica after the other
    keys : (replicas,), int64
    step : (), int64, on the device
    rate : float
    relu : whether max(x, 0) is taken first, in the same pass
    """
    apply: Any = _KeyedDropout.apply
    out: Tensor = apply(_dense_memory(x), keys, step, rate, relu)
    return out


class _KeyedDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, keys: Tensor, step: Tensor, rate: float, relu: bool) -> Tensor:
        y = _dropped(x, keys, step, rate, relu)
        # After a ReLU the units that passed are those above 0, and no hash is needed again.
        ctx.save_for_backward(*((y,) if relu else (keys, step)))
        ctx.rate, ctx.relu, ctx.stride = rate, relu, x.stride()
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        if grad.stride() != ctx.stride:  # the mask goes by the place in memory
            grad = torch.empty_strided(
                grad.shape, ctx.stride, dtype=grad.dtype, device=grad.device
            ).copy_(grad)
        if ctx.relu:
            (y,) = ctx.saved_tensors
            return _passed(grad, y, 1 / (1 - ctx.rate)), None, None, None, None
        keys, step = ctx.saved_tensors
        return _dropped(grad, keys, step, ctx.rate, False), None, None, None, None


def _dropped(x: Tensor, keys: Tensor, step: Tensor, rate: float, relu: bool) -> Tensor:
    per_replica = x.numel() // len(keys)
    if triton is None or not x.is_cuda:
        bits = hashed_bits(keys[:, None], step, per_replica)
        kept = (bits >= int(rate * 2**32)).view(x.shape)
        return (x.relu() if relu else x) * kept / (1 - rate)
    y = torch.empty_like(x)
    grid = (triton.cdiv(per_replica, BLOCK), len(keys))
    _drop[grid](
        x, y, keys, step, per_replica, int(rate * 2**32), 1 / (1 - rate), RELU=relu, BLOCK=BLOCK
    )
    return y


def _passed(grad: Tensor, y: Tensor, scale: float) -> Tensor:
    if triton is None or not grad.is_cuda:
        return grad * (y > 0) * scale
    out = torch.empty_like(grad)
    _where_positive[(triton.cdiv(y.numel(), BLOCK),)](grad, y, out, y.numel(), scale, BLOCK=BLOCK)
    return out


def _dense_memory(x: Tensor) -> Tensor:
    """A tensor without gaps; images may keep their channels last."""
    if x.is_contiguous() or (x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last)):
        return x
    return x.contiguous()
