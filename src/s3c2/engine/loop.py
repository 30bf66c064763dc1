"""The only training loop.

A stage (LabNet, CluNet, a baseline) hands in a Task: stacks of its networks and a function
that draws the batch of a step and returns its loss terms, each of shape (replicas,). The loop steps
the optimiser, keeps the history, tells the callbacks, shows progress and keeps checkpoints. One
replica or many is the same loop.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from s3c2.engine.callbacks import Step
from s3c2.engine.captured import GpuSteps
from s3c2.engine.optimizers import new_optimizer
from s3c2.engine.progress import Progress
from s3c2.engine.run import FitRun
from s3c2.engine.task import History, Task, train_step
from s3c2.errors import DataError

LOOK_EVERY = 500  # steps between two looks at whether all diverged; a look waits for the GPU


def train(task: Task, run: FitRun) -> list[History]:
    """Train the stacks in place and return each replica's loss terms at every step of its own."""
    on_gpu = task.device.type == "cuda"
    optimizer = new_optimizer(
        task.optimizer, task.stacks.parameters(), task.learning_rate, task.device, len(task.steps),
        task.decay,
    )  # fmt: skip
    history: dict[str, Tensor] = {}
    name = f"{task.stage} {task.part}".strip()
    done, last = 0, max(task.steps)
    ends = Ends(task)
    kept = run.checkpoint and run.checkpoint.restore(name, task.stacks, optimizer)
    if kept:
        done, history, ends.steps = kept.done, kept.history, kept.ends
        last = done if kept.complete else last
    task.stacks.train()
    take_step = GpuSteps(task, optimizer, done) if on_gpu else partial(train_step, task, optimizer)
    with (
        torch.random.fork_rng(_cuda_devices(task.stacks)),
        Progress(name, last, run.verbose) as progress,
    ):
        for step in range(done, last):
            if ends.are_reached(step):
                break
            now = Step(task.stage, step, last, {})
            run.before(now)
            now.terms = take_step(step)
            record(history, now.terms, step, last)
            done = step + 1
            stop = run.after(now)
            if progress.due():
                progress.update(done, f"loss {now.loss:.4f}")
            if run.checkpoint is not None and run.checkpoint.due():
                ends.lay_back_weights()
                run.checkpoint.keep(name, done, task.stacks, optimizer, history, ends.steps)
                run.checkpoint.write()
            if stop or (done % LOOK_EVERY == 0 and all_diverged(now.terms)):
                break
    ends.lay_back_weights()
    task.stacks.eval()
    if run.checkpoint is not None and not (kept and kept.complete):
        run.checkpoint.keep(name, done, task.stacks, None, history, ends.steps)
        if run.checkpoint.due():
            run.checkpoint.write()
    return [
        {term: values[: min(done, steps), r].cpu().numpy() for term, values in history.items()}
        for r, steps in enumerate(ends.steps)
    ]


class Ends:
    """Where the training of each replica ends, and the weights of those that ended early.

    Replicas that are done keep training beside the others, and get their weights back at the end:
    cheaper than freezing them at every step.
    """

    def __init__(self, task: Task) -> None:
        self.steps = list(task.steps)
        self._before = task.before
        self._state = [*task.stacks.parameters(), *task.stacks.buffers()]
        self._kept: dict[int, list[Tensor]] = {}

    def are_reached(self, step: int) -> bool:
        """Note the replicas that are done before this step; whether now all are."""
        over = [step >= last for last in self.steps]
        told = None if self._before is None else self._before(step)
        if told is not None:
            over = [one or other for one, other in zip(over, told)]
        new = [r for r, is_over in enumerate(over) if is_over and r not in self._kept]
        for r in new:
            self.steps[r] = min(step, self.steps[r])
        if len(self._kept) + len(new) == len(self.steps):
            return True
        self._kept |= {r: [one.detach()[r].clone() for one in self._state] for r in new}
        return False

    def lay_back_weights(self) -> None:
        with torch.no_grad():
            for r, weights in self._kept.items():
                for one, kept in zip(self._state, weights):
                    one[r] = kept


def record(history: dict[str, Tensor], terms: dict[str, Tensor], step: int, steps: int) -> None:
    """Keep a step's terms where they are, without waiting for the device."""
    for name, term in terms.items():
        if name not in history:
            history[name] = torch.full((steps, len(term)), torch.nan, device=term.device)
        history[name][step] = term


def all_diverged(terms: dict[str, Tensor]) -> bool:
    """Whether the loss of every replica is NaN or infinite: nothing is left to train."""
    return not bool(terms["loss"].isfinite().any())


def converged(history: History) -> bool:
    """Whether the loss stayed a number."""
    return bool(np.isfinite(history.get("loss", np.zeros(0))).all())


DIVERGED = "Scale the data (scale='standard') or lower learning_rate."


def check_converged(history: History, stage: str, mend: str = DIVERGED) -> None:
    """Refuse a history whose loss became NaN or infinite, and say what may mend it."""
    if not converged(history):
        loss = history["loss"]
        raise DataError(
            f"The loss of {stage} was {loss[~np.isfinite(loss)][0]} at step "
            f"{int(np.argmin(np.isfinite(loss)))}: training diverged. {mend}"
        )


def _cuda_devices(network: nn.Module) -> list[torch.device]:
    return sorted({p.device for p in network.parameters() if p.device.type == "cuda"}, key=str)
