"""Training with torchrun: the rows of a batch are shared among processes, called ranks.

All ranks draw the same batch. Each sends its share of the rows through the network and gets the
outputs of the others, so that all of them compute the loss of the whole batch; the gradients of the
weights are averaged. The result is that of one process, up to rounding.

torch's DistributedDataParallel would average them itself, but only after one pass through its own
``forward`` and without ``torch.autograd.grad``. A step here may go through a network several times,
take gradients by its rows in between (smoothing), and use weights outside of it (L1).
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from s3c2.engine.first_rank import under_torchrun
from s3c2.errors import ClusterError

T = TypeVar("T")


def n_ranks() -> int:
    """The number of processes that train together, once they have met."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def meet(device: torch.device) -> None:
    """Let the processes that torchrun started find each other; nothing without torchrun."""
    if not under_torchrun():
        return
    atexit.register(leave)
    if not distributed.is_initialized():
        backend = "nccl" if device.type == "cuda" else "gloo"
        # With nccl a lost rank then raises where it is waited for. Otherwise the others hang for a
        # minute, and abort.
        os.environ.setdefault("TORCH_NCCL_BLOCKING_WAIT", "1")
        together(lambda: distributed.init_process_group(backend))


def leave() -> None:
    """Close the connections to the others in order: what is open at the very end may abort."""
    if distributed.is_initialized():
        with suppress(RuntimeError, OSError):
            distributed.destroy_process_group()


def check_same(marks: Mapping[str, str]) -> None:
    """Refuse a rank that has something else than the first one; the keys say what it then has."""
    every: list[Any] = [None] * n_ranks()
    together(lambda: distributed.all_gather_object(every, dict(marks)))
    for rank, theirs in enumerate(every):
        others = [what for what in marks if theirs[what] != every[0][what]]
        if others:
            raise ClusterError(
                f"Rank {rank} has {' and '.join(others)} than rank 0. Give all ranks the same "
                "data, links and settings, and install the same version of s3c2 for all."
            )


def of_first(value: T) -> T:
    """The value that the first rank has."""
    if n_ranks() == 1:
        return value
    some: list[Any] = [value]
    together(lambda: distributed.broadcast_object_list(some, 0))
    first: T = some[0]
    return first


def take_weights_of_first(modules: Iterable[nn.Module]) -> None:
    """Give modules the weights and buffers that they have on the first rank.

    Where they are built otherwise they stay as they are, for `check_same` to refuse.
    """
    own = [one for module in modules for one in (*module.parameters(), *module.buffers())]
    first = of_first([one.detach().cpu() for one in own])
    if [one.shape for one in own] == [one.shape for one in first]:
        with torch.no_grad():
            for mine, theirs in zip(own, first):
                mine.copy_(theirs)


def average_gradients(weights: Iterable[Tensor]) -> None:
    """Give all ranks the mean of their gradients, all in one message; nothing for one process."""
    if n_ranks() == 1:
        return
    grads = [weight.grad for weight in weights if weight.grad is not None]
    message = torch.cat([grad.flatten() for grad in grads])
    together(lambda: distributed.all_reduce(message))
    message /= n_ranks()
    means = torch.split(message, [grad.numel() for grad in grads])
    for grad, mean in zip(grads, means):
        grad.copy_(mean.view_as(grad))


def own_share(x: Tensor, dim: int = 1) -> Tensor:
    """The rows of this rank; the gradient is that of all rows."""
    share: Tensor = _Share.apply(x, dim)  # type: ignore[no-untyped-call]
    return share


def of_all_shares(out: Tensor, n_rows: int) -> Tensor:
    """The outputs of all ranks for their rows, (replicas, n_rows, …)."""
    every: Tensor = _Gathered.apply(out, n_rows)  # type: ignore[no-untyped-call]
    return every


def bounds(n_rows: int) -> tuple[int, int, int]:
    """First and last row of this rank's share, and the size of a full share."""
    size = -(-n_rows // n_ranks())
    start = min(distributed.get_rank() * size, n_rows)
    return start, min(start + size, n_rows), size


class _Share(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        ctx.n_rows, ctx.dim = x.shape[dim], dim
        start, stop, _ = bounds(ctx.n_rows)
        return x.narrow(dim, start, stop - start)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        # What flows back was multiplied by the number of ranks, for the mean over them.
        return _gathered(grad.contiguous(), ctx.n_rows, ctx.dim) / n_ranks(), None


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, out: Tensor, n_rows: int) -> Tensor:
        ctx.n_rows = n_rows
        return _gathered(out.contiguous(), n_rows, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        start, stop, _ = bounds(ctx.n_rows)
        return grad[:, start:stop] * n_ranks(), None


def _gathered(share: Tensor, n_rows: int, dim: int) -> Tensor:
    _, _, size = bounds(n_rows)
    share = share.transpose(0, dim).contiguous()  # rows first
    full = share.new_zeros(size, *share.shape[1:])
    full[: len(share)] = share
    every = [torch.empty_like(full) for _ in range(n_ranks())]
    together(lambda: distributed.all_gather(every, full))
    return torch.cat(every)[:n_rows].transpose(0, dim)


def together(work: Callable[[], Any]) -> None:
    """Do what all ranks must do; say plainly when one of them is gone."""
    try:
        work()
    except (RuntimeError, OSError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0].rpartition("] ")[2]
        raise ClusterError(
            f"Another rank cannot be reached or was lost ({why[:120]}). The same command goes on "
            "from the checkpoint, if there is one."
        ) from None
