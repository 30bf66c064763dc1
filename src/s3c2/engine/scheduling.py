"""How many replicas are trained as one stack, and all of them, stack after stack."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import nn

from s3c2.engine.dropout import Dropout
from s3c2.engine.loop import train
from s3c2.engine.run import FitRun
from s3c2.engine.stack import Stack, runs_stacked
from s3c2.engine.task import History, Task
from s3c2.errors import OutOfMemoryError

R = TypeVar("R")

CACHE_BYTES = 2**21


def stack_size(network: nn.Module, rows: int, device: torch.device) -> int:
    """How many replicas of a network are best trained as one, with so many rows in a batch each.

    On the CPU a stack pays while its activations stay in the cache: with large batches replicas
    are faster one after another. On a GPU the memory is the limit.
    """
    if not runs_stacked(network, device) or device.type not in ("cpu", "cuda"):
        return 1
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    if device.type == "cpu":
        # Products and elementwise functions round alike only where every replica's part of a
        # tensor begins at a full vector.
        if rows % 32 or any(layer.weight.numel() % 16 for layer in layers):
            return 1
        widest = max(layer.out_features for layer in layers)
        return max(1, CACHE_BYTES // (4 * rows * widest))
    # Activations, their gradients and dropout's copies; weights, gradients and optimiser state.
    units = sum(layer.in_features + layer.out_features for layer in layers)
    units += sum(math.prod(m.size) for m in network.modules() if isinstance(m, Dropout))
    weights = 5 * sum(p.numel() for p in network.parameters())
    free = torch.cuda.mem_get_info(device)[0]
    return max(1, int(0.5 * free) // (4 * (3 * rows * units + weights)))


@dataclass(frozen=True)
class Trained:
    """A replica after training: its network (the first of its parts) and its history."""

    network: nn.Module
    history: History


def _share(first: int, count: int, of: int) -> str:
    """How the part of all replicas that is trained together is called."""
    if count == of:
        return ""
    return f"{first + 1} of {of}" if count == 1 else f"{first + 1}–{first + count} of {of}"


def train_stacks(
    replicas: Sequence[R],
    build: Callable[[R], dict[str, nn.Module]],
    task: Callable[[Sequence[R], dict[str, Stack], str], Task],
    batch: dict[str, int],
    device: torch.device,
    run: FitRun,
    precision: str = "float32",
    group: str = "",
) -> list[Trained]:
    """Train all replicas, as many at a time as suit the network and the device.

    Parameters
    ----------
    replicas : what makes each one different
    build : a replica's networks by name
    task : the Task of some replicas, given their stacks
    batch : rows of a batch of one replica, for each of its networks
    group : tells these replicas from others that the same run trains in the same stage
    """
    networks = build(replicas[0]).items()
    size = min(stack_size(network, batch[name], device) for name, network in networks)
    trained: list[Trained] = []
    while len(trained) < len(replicas):
        first = len(trained)
        some = replicas[first : first + size]
        part = " ".join(filter(None, [group, _share(first, len(some), len(replicas))]))
        built = [build(replica) for replica in some]
        stacks = {name: Stack([b[name] for b in built], precision).to(device) for name in built[0]}
        for stack in stacks.values():
            # Where cuDNN's convolutions are fastest.
            if device.type == "cuda" and not runs_stacked(stack._template[0], device):
                stack.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        try:
            histories = train(task(some, stacks, part), run)
        except torch.cuda.OutOfMemoryError as error:
            if len(some) == 1:
                raise OutOfMemoryError(
                    f"One network with a batch of {max(batch.values()):,} rows does not fit into "
                    f"the GPU's memory ({torch.cuda.mem_get_info(device)[1] / 2**30:.0f} GiB in "
                    "all). Make the batch smaller, or use device='cpu'."
                ) from error
            size = len(some) // 2  # what was trained so far stays
            continue
        network = next(iter(stacks.values()))
        trained += [Trained(network.network(r), history) for r, history in enumerate(histories)]
    return trained
