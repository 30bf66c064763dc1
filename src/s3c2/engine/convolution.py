"""Convolutions of all replicas at once on a GPU.

One layer here is all that stands between two dropouts of the networks: an optional upsampling by
two, a convolution of stride 1, an optional 2 × 2 maximum, an optional ReLU, and dropout. It runs as
one kernel forwards and two backwards, and the large plane between the upsampling and the pooling is
never written to memory:

- a convolution and a maximum over 2 × 2 pixels is a convolution of stride 2 with four times the
  filters, each shifted to one member of the window, and the largest of the four; a byte keeps
  which one it was, and says backwards where the gradient goes;
- an upsampling and a convolution is a convolution of the small image with four times the filters,
  each the sum of the taps that see the same pixel, and gives the four pixels of a window.

A replica's numbers do not depend on how many run beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from s3c2.engine.dropout import Dropout
from s3c2.engine.kernels import convolutions as kernels
from s3c2.engine.kernels.convolutions import PLAIN, POOL, UP
from s3c2.engine.kernels.steps import runs_fused

MOST_CHANNELS = 64  # four times as many filters are one tile
LARGEST = 2**31  # numbers of one replica that the kernels can address
PROGRAMS = (
    256  # for the gradient of one replica's filters; the fastest of 128, 256 and 512 on an H200
)
# Pixels or windows of a tile, warps and stages of the pipeline: the fastest on an H200.
LAUNCH = {
    torch.bfloat16: {"forward": (64, 4, 3), "input": (64, 4, 2), "filters": (32, 4, 3)},
    torch.float32: {"forward": (128, 4, 3), "input": (128, 8, 2), "filters": (32, 4, 3)},
}


@dataclass(frozen=True)
class Layer:
    """A convolution and what runs in one kernel with it.

    Attributes
    ----------
    kind : PLAIN, POOL behind the convolution or UP before it
    transposed : whether the filters are those of a transposed convolution
    relu : bool
    padded : whether the image is padded, so that the convolution keeps its size; without is PLAIN
    dropout : Dropout, optional
    name : the convolution's, in its network
    length : number of modules that this stands for
    """

    kind: int
    transposed: bool
    relu: bool
    padded: bool = True
    dropout: Dropout | None = None
    name: str = ""
    length: int = 1

    @classmethod
    def first_of(
        cls, modules: Sequence[tuple[str, nn.Module]], size: Sequence[int]
    ) -> Layer | None:
        """The layer that these modules begin with, if they begin with one.

        Parameters
        ----------
        modules : (name, module) of those of the network that are still to run
        size : (h, w) of their input
        """
        left = list(modules)
        kind = PLAIN
        if _doubles(left[0][1], size):
            kind, left = UP, left[1:]
        if not left or not is_convolution(left[0][1]):
            return None
        name, convolution = left.pop(0)
        padded = _keeps_size(convolution)
        if kind == UP and not padded:
            return None
        if kind == PLAIN and padded and left and _halves(left[0][1], convolution):
            kind, left = POOL, left[1:]
        relu = bool(left) and type(left[0][1]) is nn.ReLU
        left = left[relu:]
        dropout = left[0][1] if relu and left else None
        if not isinstance(dropout, Dropout) or dropout.keys is None or not dropout.training:
            dropout = None
        left = left[dropout is not None :]
        transposed = isinstance(convolution, nn.ConvTranspose2d)
        return cls(kind, transposed, relu, padded, dropout, name, len(modules) - len(left))


def is_convolution(module: nn.Module) -> bool:
    """Whether this is a convolution of stride 1, padded to keep the size or not at all.

    A transposed one may be if it keeps the size.
    """
    if not isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        return False
    k = module.kernel_size[0]
    unpadded = isinstance(module, nn.Conv2d) and module.padding in ("valid", (0, 0))
    return (
        module.kernel_size == (k, k)
        and k % 2 == 1
        and (unpadded or _keeps_size(module))
        and module.stride == module.dilation == (1, 1)
        and module.groups == 1
        and module.padding_mode == "zeros"
        and max(module.in_channels, module.out_channels) <= MOST_CHANNELS
        and module.bias is not None
    )


def _keeps_size(convolution: nn.Module) -> bool:
    k: int = convolution.kernel_size[0]  # type: ignore[index, assignment]
    return convolution.padding in ("same", (k // 2, k // 2))


def convolve(x: Tensor, weight: Tensor, bias: Tensor, layer: Layer) -> Tensor:
    """One layer of all replicas.

    Parameters
    ----------
    x : (replicas, rows, channels, h, w)
    weight : (replicas, filters, channels, k, k); (replicas, channels, filters, k, k) if transposed
    bias : (replicas, filters)

    Returns
    -------
    (replicas, rows, filters, h', w'), in bfloat16 within such an autocast
    """
    # One replica's output, at most: an upsampled one of all filters.
    numbers = 4 * x.shape[1] * x.shape[3] * x.shape[4] * max(weight.shape[1:3])
    if not runs_fused(x) or numbers >= LARGEST:
        return _one_by_one(x, weight, bias, layer)
    half = torch.is_autocast_enabled("cuda")
    with torch.autocast("cuda", enabled=False):
        # A transposed convolution of stride 1 has its filters turned around.
        taps = weight.flip(3, 4).transpose(1, 2) if layer.transposed else weight
        forwards = _forwards(taps.shape[-1], layer.kind, x.device)
        spread = torch.einsum("tdk,efck->etcdf", forwards, taps.flatten(3))
        apply: Any = _Convolution.apply
        out: Tensor = apply(x, spread.flatten(3), bias, taps.detach(), layer, half)
        return out


def _one_by_one(x: Tensor, weight: Tensor, bias: Tensor, layer: Layer) -> Tensor:
    """The same by torch's own convolutions, one replica after another."""
    convolution = functional.conv_transpose2d if layer.transposed else functional.conv2d
    pad = weight.shape[-1] // 2 if layer.padded else 0
    found = []
    for x_r, weight_r, bias_r in zip(x, weight, bias):
        y = functional.interpolate(x_r, scale_factor=2) if layer.kind == UP else x_r
        y = convolution(y, weight_r, bias_r, padding=pad)
        y = functional.max_pool2d(y, 2) if layer.kind == POOL else y
        found.append(y.relu() if layer.relu else y)
    together = torch.stack(found)
    return together if layer.dropout is None else layer.dropout(together)


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, spread: Tensor, bias: Tensor, taps: Tensor, layer: Layer, half: bool
    ) -> Tensor:
        """``spread`` are the filters of all outputs of a window, ``taps`` those that it is from."""
        dtype = torch.bfloat16 if half else torch.float32
        x = x.to(dtype).permute(0, 1, 3, 4, 2).contiguous()  # (replicas, rows, h, w, channels)
        E, B, height, width, CIN = x.shape
        F, kernel = bias.shape[1], taps.shape[-1]
        base = (height // 2, width // 2) if layer.kind == POOL else (height, width)
        if not layer.padded:
            base = (height - kernel + 1, width - kernel + 1)
        out = (2 * height, 2 * width) if layer.kind == UP else base
        y = x.new_empty(E, B, *out, F)
        kept = layer.relu or layer.kind == POOL
        code = torch.empty_like(y, dtype=torch.int8) if kept else y
        rate, keys, step = 0.0, x, x
        if layer.dropout is not None and layer.dropout.keys is not None:
            rate, (keys, step) = layer.dropout.rate, layer.dropout.keys
        shape: dict[str, Any] = {
            "CIN": CIN, "F": F, "KIND": layer.kind, "RELU": layer.relu, "PRECISION": _precision(),
            "BN": _power(F if layer.kind == PLAIN else 4 * F),
        }  # fmt: skip
        taps_across, pad = _reach(kernel, layer.kind, layer.padded)
        sizes = (B, height, width, *base)
        launch = _launch("forward", dtype, shape["BN"])
        kernels.convolve_kernel[(_tiles(B * base[0] * base[1], launch), E)](
            y, code, x, spread.to(dtype).contiguous(), bias, keys, step, *sizes,
            int(rate * 2**32), 1 / (1 - rate), **shape, T=taps_across, PAD=pad, DROP=rate > 0,
            BK=_block(CIN, taps_across), **launch,
        )  # fmt: skip
        ctx.save_for_backward(x, taps, code)
        ctx.layer, ctx.shape, ctx.sizes, ctx.scale = layer, shape, sizes, 1 / (1 - rate)
        return y.permute(0, 1, 4, 2, 3)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, taps, code = ctx.saved_tensors
        layer, shape, sizes, scale = ctx.layer, ctx.shape, ctx.sizes, ctx.scale
        grad = grad.to(x.dtype).permute(0, 1, 3, 4, 2).contiguous()
        dx = _input_gradient(x, grad, code, taps, ctx) if ctx.needs_input_grad[0] else None
        if not ctx.needs_input_grad[1]:
            return dx, None, None, None, None, None
        E, CIN, F = len(x), shape["CIN"], shape["F"]
        # Backwards the members of a pooling window are taken one by one.
        back = shape | ({"BN": F} if layer.kind == POOL else {})
        across, pad = _reach(taps.shape[-1], layer.kind, layer.padded)
        N = F if layer.kind == PLAIN else 4 * F
        block = _block(CIN, across)
        blocks = -(-(across**2) * CIN // block)
        launch = _launch("filters", x.dtype, back["BN"])
        tiles = _tiles(sizes[0] * sizes[3] * sizes[4], launch)
        # The number of shares does not depend on that of replicas: sums are rounded alike.
        share = -(-tiles * blocks // PROGRAMS)  # tiles
        shares = -(-tiles // share)
        dw = x.new_empty(E, shares, across**2, CIN, N, dtype=torch.float32)
        db = x.new_empty(E, shares, F if layer.kind == POOL else N, dtype=torch.float32)
        kernels.filter_gradient_kernel[(blocks, shares, E)](
            dw, db, x, grad, code, *sizes, share * launch["TILE"], scale, **back, T=across,
            PAD=pad, BK=block, **launch,
        )  # fmt: skip
        db = db.view(E, -1, F).sum(1)  # over shares and members
        return dx, dw.sum(1), db, None, None, None


def _input_gradient(x: Tensor, grad: Tensor, code: Tensor, taps: Tensor, ctx: Any) -> Tensor:
    kind, (B, height, width, *_) = ctx.layer.kind, ctx.sizes
    back = _backwards(taps.shape[-1], kind, x.device)
    filters = torch.einsum("odak,efck->eodfac", back, taps.flatten(3)).to(x.dtype).contiguous()
    across = round(len(back) ** 0.5)
    # Without padding the first output lies at the first pixel, not in the middle of its filter.
    pad = across // 2 if ctx.layer.padded else across - 1
    pixels = -(-height // 2) * -(-width // 2) if kind == POOL else height * width
    BC = _power(ctx.shape["CIN"] * back.shape[2])
    launch = _launch("input", x.dtype, BC)
    dx = torch.empty_like(x)
    outputs = ctx.shape["F"] if kind == POOL else min(64, ctx.shape["BN"])
    kernels.input_gradient_kernel[(_tiles(B * pixels, launch), len(x))](
        dx, grad, code, filters, *ctx.sizes, ctx.scale, T=across, PAD=pad, BC=BC,
        **{**ctx.shape, "BN": outputs}, **launch,
    )  # fmt: skip
    return dx.permute(0, 1, 4, 2, 3)


def _launch(kernel: str, dtype: torch.dtype, columns: int) -> dict[str, int]:
    tile, warps, stages = LAUNCH[dtype][kernel]
    tile = tile if columns <= 128 else tile // 2
    return {"TILE": tile, "num_warps": warps, "num_stages": stages}


def _tiles(pixels: int, launch: dict[str, int]) -> int:
    return -(-pixels // launch["TILE"])


def _reach(kernel: int, kind: int, padded: bool = True) -> tuple[int, int]:
    """How many taps the filters of a window have in a row, and how many lie before its pixel."""
    pad = kernel // 2 if padded else 0
    if kind == POOL:
        return kernel + 1, pad
    if kind == UP:
        return 2 * ((pad + 1) // 2) + 1, (pad + 1) // 2
    return kernel, pad


@cache
def _forwards(kernel: int, kind: int, device: torch.device) -> Tensor:
    """Which taps k of a filter stand at tap t of output d of a window: (t, d, k), 0 or 1."""
    across, before = _reach(kernel, kind)
    pad = kernel // 2
    members = 1 if kind == PLAIN else 2

    def stands(t: int, d: int, k: int) -> bool:
        if kind == UP:
            return (d + k - pad) // 2 == t - before
        return t == d + k  # d is 0 if plain

    line = [[[stands(t, d, k) for k in range(kernel)] for d in range(members)]
            for t in range(across)]  # fmt: skip
    return _both_ways(torch.tensor(line, dtype=torch.float32), device)


@cache
def _backwards(kernel: int, kind: int, device: torch.device) -> Tensor:
    """Which tap k leads from output d of the window o to member a of this one: (o, d, a, k)."""
    pad = kernel // 2
    reach = pad if kind == PLAIN else (pad + 1) // 2
    members = 1 if kind == PLAIN else 2

    def leads(o: int, d: int, a: int, k: int) -> bool:
        if kind == POOL:
            return k == a - d - 2 * o + pad
        if kind == UP:
            return (d + k - pad) // 2 == -o
        return k == pad - o

    line = [[[[leads(o, d, a, k) for k in range(kernel)]
              for a in range(2 if kind == POOL else 1)]
             for d in range(members)] for o in range(-reach, reach + 1)]  # fmt: skip
    return _both_ways(torch.tensor(line, dtype=torch.float32), device)


def _both_ways(line: Tensor, device: torch.device) -> Tensor:
    """The table of rows and columns from that of one of them, by their product."""
    with torch.inference_mode(False):  # it is kept: gradients may want it after a prediction did
        return torch.kron(line, line).to(device)


def _block(channels: int, across: int) -> int:
    """Taps of one block: whole neighbouring pixels where they fit, otherwise all that there are."""
    for block in (64, 32, 16):
        if block % channels == 0 and across * channels % block == 0:
            return block
    return min(64, _power(across**2 * channels))


def _power(n: int) -> int:
    """The next power of two, and at least what a product of tiles takes."""
    return max(16, 1 << (n - 1).bit_length())


def _precision() -> str:
    """As cuDNN rounds convolutions of float32."""
    return "tf32" if torch.backends.cudnn.allow_tf32 else "ieee"


def _halves(module: nn.Module, convolution: nn.Module) -> bool:
    # Tiles divide into the members of windows only where the filters are a power of two.
    filters: int = convolution.out_channels  # type: ignore[assignment]
    regular = type(module) is nn.MaxPool2d and repr(module) == repr(nn.MaxPool2d(2))
    return regular and filters == _power(filters)


def _doubles(module: nn.Module, size: Sequence[int]) -> bool:
    return (
        isinstance(module, nn.Upsample)
        and module.mode == "nearest"
        and module.size == tuple(2 * n for n in size)
    )
