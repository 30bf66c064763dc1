"""What a stage hands to the training loop, and one step of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s3c2.engine.optimizers import set_rate
from s3c2.engine.randomness import seed_torch
from s3c2.engine.ranks import average_gradients

History = dict[str, NDArray[np.float32]]
Losses = Callable[[int | Tensor], dict[str, Tensor]]


@dataclass(frozen=True)
class Task:
    """What a stage is to the loop.

    Attributes
    ----------
    stage : its name, such as "labnet" or "clunet"
    stacks : everything that is trained
    losses : step number → loss terms, (replicas,) each; "loss" is the one that is minimised. On a
        GPU the step is a tensor there, so that the whole step can be captured and replayed
    steps : number of steps of each replica; one that is done keeps its weights while others go on
    optimizer, learning_rate
    decay : whether the rate falls to 0 over the second half of the steps; replicas that decay have
        the same number of steps
    part : which part of the stage this is, if its replicas do not fit into one stack
    capturable : whether a step may be captured on a GPU: nothing in it comes from the host
    foreign_seed : seeds torch's own generators at every step, for the random layers of a user's
        module; None where all randomness is drawn by the stage itself
    kind : where steps are of several kinds, the losses of the kind that this step is of; on a GPU
        each kind is captured once
    before : called on the host before a step, which it may prepare. It may return for each replica
        whether it is done: it then keeps the weights that it has now, whatever the others do
    fewer : the same task for replicas of these numbers alone, in stacks of their own whose state
        the loop lays in; None where all stay together to the end
    """

    stage: str
    stacks: nn.ModuleDict
    losses: Losses
    steps: Sequence[int]
    optimizer: str
    learning_rate: float
    decay: bool = False
    foreign_seed: int | None = None
    part: str = ""
    capturable: bool = True
    kind: Callable[[int], Losses] | None = None
    before: Callable[[int], Sequence[bool] | None] | None = None
    fewer: Callable[[Sequence[int]], Task] | None = None

    def losses_at(self, step: int) -> Losses:
        """The losses of this step."""
        return self.losses if self.kind is None else self.kind(step)

    @property
    def device(self) -> torch.device:
        return next(self.stacks.parameters()).device


def train_step(
    task: Task, optimizer: torch.optim.Optimizer, step: int, counter: Tensor | None = None
) -> dict[str, Tensor]:
    """One step: losses, gradients, optimiser. ``counter`` is the step's number on the GPU."""
    if task.foreign_seed is not None:
        seed_torch(task.foreign_seed + step, task.device)
    now = step if counter is None else counter
    if task.decay:
        set_rate(optimizer, float(task.learning_rate) * share_of_rate(now, max(task.steps)))
    terms = task.losses_at(step)(now)
    optimizer.zero_grad(set_to_none=True)
    # Replicas share nothing, so the gradient of the sum is each one's own gradient.
    torch.autograd.backward(terms["loss"].sum())
    average_gradients(task.stacks.parameters())
    optimizer.step()
    return {name: term.detach() for name, term in terms.items()}


def share_of_rate(step: int | Tensor, steps: int) -> float | Tensor:
    """What is left of the learning rate at a step: all in the first half, then less and less."""
    left = 2 * (1 - step / steps)
    return left.clamp(max=1.0) if isinstance(left, Tensor) else min(1.0, left)
