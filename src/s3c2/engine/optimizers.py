"""The optimisers, in the form that suits the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor, nn

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    # The script's library decays by 0.9 and adds 1e-7, where torch would take 0.99 and 1e-8.
    "rmsprop": partial(torch.optim.RMSprop, alpha=0.9, eps=1e-7),
}
SGD = "sgd"  # with momentum, for one network: replicas of a stack would round differently
MOMENTUM = 0.9
LARGEST_RATE = 1e37  # of learning: beyond, an optimiser's own numbers overflow
VECTOR = 16  # numbers that a CPU's fused Adam handles at once


def set_rate(optimizer: torch.optim.Optimizer, rate: float | Tensor) -> None:
    """Let the optimiser take its next step with this learning rate."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].copy_(torch.as_tensor(rate))  # where a captured step reads it
        else:
            group["lr"] = float(rate)


def new_optimizer(
    name: str,
    parameters: Iterable[nn.Parameter],
    learning_rate: float,
    device: torch.device,
    replicas: int,
    rate_changes: bool = False,
) -> torch.optim.Optimizer:
    """An optimiser of OPTIMIZERS, or SGD, for the parameters of so many replicas on this device.

    Adam is fused: one pass over its tensors instead of seven. On the CPU its fused kernel rounds
    the last partial vector differently. Parameters whose size is not a whole number of vectors take
    the plain form, so that a replica has the same bits wherever it lies in the stacked tensor.
    A rate that `set_rate` changes lies on the GPU, where captured steps read it.
    """
    learning_rate = float(learning_rate)  # torch has no room for an int beyond 64 bits
    if name == SGD:
        fused = device.type in ("cpu", "cuda")
        return torch.optim.SGD(parameters, lr=learning_rate, momentum=MOMENTUM, fused=fused)
    if device.type == "cuda":
        # Of the kind that a captured step can hold.
        how = {"fused": True} if name == "adam" else {}
        rate = torch.tensor(learning_rate, device=device) if rate_changes else learning_rate
        return OPTIMIZERS[name](parameters, lr=rate, capturable=True, **how)
    if name != "adam" or device.type != "cpu":
        return OPTIMIZERS[name](parameters, lr=learning_rate)
    groups: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for parameter in parameters:
        groups[parameter.numel() // replicas % VECTOR == 0].append(parameter)
    return torch.optim.Adam(
        [{"params": group, "fused": fused} for fused, group in groups.items()], lr=learning_rate
    )
