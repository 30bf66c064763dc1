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
UNIT = 0x9E3779B1  # from one unit of dropout to the next
LOW = 2**32 - 1  # the lower half of a key
BLOCK = 1024
PAIRS = 8  # of one program

if triton is not None:
    # mypy: disable-error-code="no-untyped-def, untyped-decorator, misc"

    @triton.jit
    def _bits(key, step, at):
        """64 bits for the place ``at`` in a step: splitmix64, as in hashed_bits."""
        z = key.to(tl.uint64) + ((step.to(tl.uint64) << 32) + at.to(tl.uint64)) * 0x9E3779B97F4A7C15
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB
        return z ^ (z >> 31)

    @triton.jit
    def dropped_units(key, step, at, dropped):
        """Which of the units ``at`` a step drops, at a rate of dropped / 2³²."""
        h = at.to(tl.uint32) * 0x9E3779B1 + key.to(tl.uint32)  # UNIT; see keys_from
        h = (h ^ (h >> 16)) * 0x85EBCA6B
        h = h ^ (step.to(tl.uint32) * 0x27D4EB2F + (key >> 32).to(tl.uint32))
        h = (h ^ (h >> 13)) * 0xC2B2AE35
        h = (h ^ (h >> 16)) * 0x9E3779B1
        h = h ^ (h >> 15)
        return h < dropped.to(tl.uint32)

    @triton.jit
    def _integers(out, key, step, step_stride, high, high_stride, size, BLOCK: tl.constexpr):
        r = tl.program_id(0)
        at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        z = _bits(tl.load(key + r), tl.load(step + r * step_stride), at) >> 32
        below = tl.load(high + r * high_stride).to(tl.uint64)
        tl.store(out + r.to(tl.int64) * size + at, ((z * below) >> 32).to(tl.int64), mask=at < size)

    @triton.jit
    def _drop(
        x, bias, y, keys, step, per_replica, width, dropped, scale,
        BIAS: tl.constexpr, RELU: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        r = tl.program_id(1)
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < per_replica
        first = r.to(tl.int64) * per_replica
        value = tl.load(x + first + at, mask=inside, other=0.0).to(tl.float32)
        if BIAS:
            value += tl.load(bias + r * width + at % width, mask=inside, other=0.0)
        kept = ~dropped_units(tl.load(keys + r), tl.load(step), at, dropped)
        if RELU:
            kept = kept & ~(value <= 0)  # NaN is kept: the loss must show it
        tl.store(y + first + at, tl.where(kept, value * scale, 0.0), mask=inside)

    @triton.jit
    def _where_positive(grad, y, out, total, scale, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = at < total
        g = tl.load(grad + at, mask=inside, other=0.0)
        v = tl.load(y + at, mask=inside, other=0.0)
        tl.store(out + at, tl.where(v > 0, g * scale, 0.0), mask=inside)

    @triton.jit
    def _labelled(
        out, h, i, j, a, b, threshold, keys, known, n, longest, rounds, size, width,
        PAIRS: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        r = tl.program_id(1)
        number = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)
        counted = number < size
        pair = r.to(tl.int64) * size + number
        at = tl.arange(0, BLOCK)
        inside = counted[:, None] & (at < width)[None, :]
        left = tl.load(i + pair, mask=counted, other=0)[:, None] * width + at[None, :]
        right = tl.load(j + pair, mask=counted, other=0)[:, None] * width + at[None, :]
        apart = tl.load(h + left, mask=inside, other=0.0) - tl.load(h + right, inside, 0.0)
        must = tl.sum(apart * apart, 1) < tl.load(threshold + r)
        x = tl.load(a + pair, mask=counted, other=0)
        y = tl.load(b + pair, mask=counted, other=0)
        key = tl.minimum(x, y) * n + tl.maximum(x, y)
        first = r.to(tl.int64) * longest
        low = tl.zeros((PAIRS,), tl.int64) + first
        high = low + longest
        for _ in range(rounds):  # the first key that is not below this one
            middle = (low + high) // 2
            below = tl.load(keys + tl.minimum(middle, first + longest - 1)) < key
            low = tl.where(below & (low < high), middle + 1, low)
            high = tl.where(below, high, middle)
        low = tl.minimum(low, first + longest - 1)
        given = tl.load(keys + low) == key
        same = tl.where(given, tl.load(known + low), must.to(tl.float32))
        tl.store(out + pair, tl.where(x == y, 1.0, same), mask=counted)

    @triton.jit
    def _take(out, X, index, width, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        source = tl.load(index + row) * width
        for start in range(0, width, BLOCK):
            at = start + tl.arange(0, BLOCK)
            inside = at < width
            tl.store(out + row * width + at, tl.load(X + source + at, mask=inside), mask=inside)

    @triton.jit
    def _links(
        a, b, same, weight, step, key, walk, count, multipliers, shuffled, n_shuffles,
        table_a, table_b, table_same, table_weight, batch, longest, row_length, orders,
        BLOCK: tl.constexpr,
    ):  # fmt: skip
        r = tl.program_id(0)
        at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        inside = at < batch
        now, steps, n = tl.load(step), tl.load(walk + r), tl.load(count + r)
        i = (now % steps) * batch + at
        lane = tl.arange(0, 4)
        drawn = (_bits(tl.load(key + r), now // steps, lane) >> 33).to(tl.int64)
        order = tl.sum(tl.where(lane == 0, drawn, 0))
        start = tl.sum(tl.where(lane == 1, drawn, 0)) % n
        shuffle = tl.sum(tl.where(lane == 2, drawn, 0)) % tl.load(n_shuffles + r)
        multiplier = tl.load(multipliers + r * orders + order % orders)
        position = (multiplier * i + start) % n
        row = r.to(tl.int64)
        number = tl.load(shuffled + row * row_length + shuffle * longest + position, mask=inside)
        source = row * longest + number
        to = row * batch + at
        tl.store(a + to, tl.load(table_a + source, mask=inside), mask=inside)
        tl.store(b + to, tl.load(table_b + source, mask=inside), mask=inside)
        tl.store(same + to, tl.load(table_same + source, mask=inside), mask=inside)
        w = tl.load(table_weight + source, mask=inside)
        tl.store(weight + to, tl.where(i < n, w, 0.0), mask=inside)


def has_kernels() -> bool:
    """Whether Triton is there."""
    return triton is not None


def runs_fused(x: Tensor) -> bool:
    """Whether these kernels serve this tensor."""
    return x.is_cuda and has_kernels()


def hashed_integers(key: Tensor, step: int | Tensor, size: int, high: int | Tensor) -> Tensor:
    """Integers in [0, high) from 32 hashed bits: (replicas, size).

    Parameters
    ----------
    key : (replicas, 1), int64
    step, high : numbers, or (replicas, 1); the bias is below high / 2³²
    """
    if runs_fused(key) and isinstance(step, Tensor):
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


def take_rows(X: Tensor, index: Tensor) -> Tensor:
    """X[index], (replicas, rows) → (replicas, rows, …). X may lie in pinned memory of the host."""
    if not runs_fused(index):
        return X[index]
    out = torch.empty(*index.shape, *X.shape[1:], dtype=X.dtype, device=index.device)
    width = X[0].numel()
    block = min(1024, triton.next_power_of_2(width))
    _take[(index.numel(),)](out, X, index.contiguous(), width, BLOCK=block)
    return out


def labelled_pairs(
    h: Tensor, i: Tensor, j: Tensor, a: Tensor, b: Tensor, threshold: Tensor, known: Any
) -> Tensor:
    """The labels of pairs, 1 for a must-link, all in one kernel: (replicas, pairs).

    Parameters
    ----------
    h : representation, rows of all pools
    i, j : rows of h
    a, b : rows of X
    threshold : (replicas, 1)
    known : KnownPairs
    """
    out = torch.empty(i.shape, device=h.device)
    longest = known.keys.shape[1]
    # Several pairs a program: their searches among the links wait for memory together.
    _labelled[(triton.cdiv(i.shape[1], PAIRS), i.shape[0])](
        out, h, i.contiguous(), j.contiguous(), a.contiguous(), b.contiguous(), threshold,
        known.keys, known.same, known.n, longest, longest.bit_length() + 1, i.shape[1], h.shape[1],
        PAIRS=PAIRS, BLOCK=triton.next_power_of_2(h.shape[1]),
    )  # fmt: skip
    return out


def drawn_links(given: Any, step: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The batch of GivenLinks in one kernel: ends, labels and weights, (replicas, batch) each."""
    shape, device = (len(given.n), given.batch), given.n.device
    a, b = (torch.empty(shape, dtype=torch.int64, device=device) for _ in range(2))
    same, weight = (torch.empty(shape, device=device) for _ in range(2))
    _links[(shape[0], triton.cdiv(given.batch, 128))](
        a, b, same, weight, step, given.draws.key, given.walk, given.n, given.multipliers,
        given.shuffled, given.n_shuffles, given.a, given.b, given.same, given.weight, given.batch,
        given.a.shape[1], given.shuffled.shape[1], given.multipliers.shape[1], BLOCK=128,
    )  # fmt: skip
    return a, b, same, weight


def keyed_dropout(
    x: Tensor, keys: Tensor, step: Tensor, rate: float, *, relu_of_bias: Tensor | None = None
) -> Tensor:
    """Dropout whose units depend on a key, a step and their place, and on nothing else.

    No mask is stored, and a replica drops the same units whatever runs beside it.

    Parameters
    ----------
    x : the rows of all replicas, one replica after the other
    keys : (replicas,), int64
    step : (), int64, on the device
    rate : float
    relu_of_bias : (replicas, columns); max(x + bias, 0) is taken first, in the same pass
    """
    apply: Any = _KeyedDropout.apply
    out: Tensor = apply(_dense_memory(x), keys, step, rate, relu_of_bias)
    return out


def keys_from(keys: Tensor, first: int) -> Tensor:
    """Keys of dropout that drop at place 0 what these drop at place ``first``, and so on."""
    if not runs_fused(keys):
        return keys + keys.new_tensor(first) * GOLDEN  # as hashed_bits has it
    return (keys & ~LOW) | ((keys + first * UNIT) & LOW)


class _KeyedDropout(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, keys: Tensor, step: Tensor, rate: float, bias: Tensor | None
    ) -> Tensor:
        y = _dropped(x, keys, step, rate, bias)
        # After a ReLU the units that passed are those above 0, and no hash is needed again.
        ctx.save_for_backward(*((keys, step) if bias is None else (y,)))
        ctx.rate, ctx.stride, ctx.relu = rate, x.stride(), bias is not None
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, Tensor | None]:
        if grad.stride() != ctx.stride:  # the mask goes by the place in memory
            grad = torch.empty_strided(
                grad.shape, ctx.stride, dtype=grad.dtype, device=grad.device
            ).copy_(grad)
        if not ctx.relu:
            keys, step = ctx.saved_tensors
            return _dropped(grad, keys, step, ctx.rate, None), None, None, None, None
        (y,) = ctx.saved_tensors
        passed = _passed(grad, y, 1 / (1 - ctx.rate))
        return passed, None, None, None, passed.sum(1, dtype=torch.float32)


def _dropped(x: Tensor, keys: Tensor, step: Tensor, rate: float, bias: Tensor | None) -> Tensor:
    per_replica = x.numel() // len(keys)
    if not runs_fused(x):
        kept = (hashed_bits(keys[:, None], step, per_replica) >= int(rate * 2**32)).view(x.shape)
        return (x if bias is None else (x + bias.unsqueeze(1)).relu()) * kept / (1 - rate)
    y = torch.empty_like(x)
    relu = bias is not None
    _drop[(triton.cdiv(per_replica, BLOCK), len(keys))](
        x, bias if relu else x, y, keys, step, per_replica, x.shape[-1], int(rate * 2**32),
        1 / (1 - rate), BIAS=relu, RELU=relu, BLOCK=BLOCK,
    )  # fmt: skip
    return y


def _passed(grad: Tensor, y: Tensor, scale: float) -> Tensor:
    if not runs_fused(grad):
        return grad * (y > 0) * scale
    out = torch.empty_like(grad)
    _where_positive[(triton.cdiv(y.numel(), BLOCK),)](grad, y, out, y.numel(), scale, BLOCK=BLOCK)
    return out


def _dense_memory(x: Tensor) -> Tensor:
    """A tensor without gaps; images may keep their channels last."""
    if x.is_contiguous() or (x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last)):
        return x
    return x.contiguous()
