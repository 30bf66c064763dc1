"""The only training loop.

A stage (LabNet, CluNet, later a baseline) hands in a Task: its networks and a function that draws
the batch of a step and returns its loss terms, each of shape (replicas,). The loop steps the
optimiser, keeps the history, tells the callbacks, shows progress and keeps checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s3c2.callbacks import Callback, Step
from s3c2.checkpoint import Checkpoint
from s3c2.errors import DataError
from s3c2.progress import Progress
from s3c2.randomness import remove_masks, seed_torch

History = dict[str, NDArray[np.float32]]

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    # The script's library decays by 0.9 and adds 1e-7, where torch would take 0.99 and 1e-8.
    "rmsprop": lambda p, lr: torch.optim.RMSprop(p, lr=lr, alpha=0.9, eps=1e-7),
}


@dataclass(frozen=True)
class Task:
    """What a stage is to the loop.

    Attributes
    ----------
    stage : "labnet" or "clunet"
    network : everything that is trained
    losses : step number → loss terms, (replicas,) each; "loss" is the one that is minimised
    steps, optimizer, learning_rate
    foreign_seed : seeds torch's own generators at every step, for the random layers of a user's
        module; None where all randomness is drawn by the stage itself
    """

    stage: str
    network: nn.Module
    losses: Callable[[int], dict[str, Tensor]]
    steps: int
    optimizer: str
    learning_rate: float
    foreign_seed: int | None = None


class Run:
    """One call of ``fit``: who is told about it and where its state is kept."""

    def __init__(
        self,
        estimator: Any,
        callbacks: Sequence[Callback] = (),
        verbose: int = 0,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.estimator = estimator
        self.callbacks = callbacks
        self.verbose = verbose
        self.checkpoint = checkpoint

    def __enter__(self) -> Run:
        for callback in self.callbacks:
            callback.setup(self.estimator, None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for callback in self.callbacks:
            callback.teardown(self.estimator, None)
        if kind is None and self.checkpoint is not None:
            self.checkpoint.remove()

    def before(self, step: Step) -> None:
        for callback in self.callbacks:
            callback.on_fit_task_begin(self.estimator, step)

    def after(self, step: Step) -> bool:
        # All are told first: also those behind one that asks to stop.
        answers = [callback.on_fit_task_end(self.estimator, step) for callback in self.callbacks]
        return any(answers)


def train(task: Task, run: Run) -> History:
    """Train the task's network in place and return the loss terms of every step."""
    optimizer = OPTIMIZERS[task.optimizer](task.network.parameters(), lr=task.learning_rate)
    history: dict[str, Tensor] = {}
    done, last = 0, task.steps
    if run.checkpoint is not None:
        done, complete, history = run.checkpoint.restore(task.stage, task.network, optimizer)
        last = done if complete else task.steps
    task.network.train()
    with (
        torch.random.fork_rng(_cuda_devices(task.network)),
        Progress(task.stage, task.steps, run.verbose) as progress,
    ):
        for step in range(done, last):
            now = Step(task.stage, step, task.steps, {})
            run.before(now)
            now.terms = train_step(task, optimizer, step)
            record(history, now.terms, step, task.steps)
            done = step + 1
            stop = run.after(now)
            if progress.due():
                progress.update(done, f"loss {now.loss:.4f}")
            if run.checkpoint is not None and run.checkpoint.due():
                run.checkpoint.save(task.stage, done, task.network, optimizer, history)
            if stop:
                break
    task.network.eval()
    remove_masks(task.network)
    if run.checkpoint is not None:
        run.checkpoint.save(task.stage, done, task.network, None, history)
    return finished(history, done, task.stage)


def train_step(task: Task, optimizer: torch.optim.Optimizer, step: int) -> dict[str, Tensor]:
    """One step: losses, gradients, optimiser."""
    if task.foreign_seed is not None:
        seed_torch(task.foreign_seed + step, next(task.network.parameters()).device)
    terms = task.losses(step)
    optimizer.zero_grad(set_to_none=True)
    # Replicas share nothing, so the gradient of the sum is each one's own gradient.
    torch.autograd.backward(terms["loss"].sum())
    optimizer.step()
    return {name: term.detach() for name, term in terms.items()}


def apply(network: nn.Module, x: Tensor) -> Tensor:
    """The network on a batch with a leading dimension of replicas: (replicas, rows, …)."""
    out: Tensor = network(x[0]).unsqueeze(0)  # one replica: the module itself
    return out


def record(history: dict[str, Tensor], terms: dict[str, Tensor], step: int, steps: int) -> None:
    """Keep a step's terms where they are, without waiting for the device."""
    for name, term in terms.items():
        if name not in history:
            history[name] = torch.full((steps, len(term)), torch.nan, device=term.device)
        history[name][step] = term


def finished(history: dict[str, Tensor], done: int, stage: str) -> History:
    """History as arrays (steps,), or an error if the loss left the numbers."""
    arrays = {name: values[:done, 0].cpu().numpy() for name, values in history.items()}
    loss = arrays.get("loss", np.zeros(0))
    if not np.isfinite(loss).all():
        raise DataError(
            f"The loss of {stage} was {loss[~np.isfinite(loss)][0]} at step "
            f"{int(np.argmin(np.isfinite(loss)))}: training diverged. Scale the data "
            "(scale='standard') or lower learning_rate."
        )
    return arrays


def _cuda_devices(network: nn.Module) -> list[torch.device]:
    return sorted({p.device for p in network.parameters() if p.device.type == "cuda"}, key=str)
