"""The optimisers, in the form that suits the device.

On a GPU they are of the kind that a captured step can hold. On the CPU Adam is torch's own, taken
over a few replicas at a time: it goes through its tensors seven times, and a large stack would
come from memory each time, where a part of it stays in the cache. The arithmetic is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

PART_BYTES = 2**20  # of each of Adam's tensors at a time

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    # The script's library decays by 0.9 and adds 1e-7, where torch would take 0.99 and 1e-8.
    "rmsprop": partial(torch.optim.RMSprop, alpha=0.9, eps=1e-7),
}


def new_optimizer(
    name: str, parameters: Iterable[nn.Parameter], learning_rate: float, device: torch.device
) -> torch.optim.Optimizer:
    """An optimiser of OPTIMIZERS for parameters of this device."""
    if device.type == "cuda":
        # Fused not on the CPU, where it rounds the end of a tensor differently from its middle.
        fused = {"fused": True} if name == "adam" else {}
        return OPTIMIZERS[name](parameters, lr=learning_rate, capturable=True, **fused)
    if name == "adam":
        return AdamInParts(parameters, lr=learning_rate)
    return OPTIMIZERS[name](parameters, lr=learning_rate)


class AdamInParts(torch.optim.Adam):
    """Adam, a few replicas at a time; every parameter has its replicas in its first dimension."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            settings = {
                "beta1": beta1, "beta2": beta2, "lr": group["lr"], "eps": group["eps"],
                "weight_decay": 0.0, "amsgrad": False, "maximize": False,
            }  # fmt: skip
            for p in group["params"]:
                if p.grad is not None:
                    self._step(p, p.grad, settings)

    def _step(self, p: Tensor, grad: Tensor, settings: dict[str, Any]) -> None:
        state = self.state[p]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(p), torch.zeros_like(p)
        part = max(1, PART_BYTES * len(p) // (4 * p.numel()))
        tensors = (p, grad, state["exp_avg"], state["exp_avg_sq"])
        for parts in zip(*(tensor.split(part) for tensor in tensors)):
            lists = [[one] for one in parts]
            take: Any = adam
            take(*lists, [], [state["step"].clone()], foreach=False, fused=False, **settings)
        state["step"] += 1
