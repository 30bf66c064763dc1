"""The only training loop.

A stage (LabNet, CluNet, a baseline) hands in a Task: stacks of its networks and a function
that draws the batch of a step and returns its loss terms, each of shape (replicas,). The loop steps
the optimiser, keeps the history, tells the callbacks, shows progress and keeps checkpoints. One
replica or many is the same loop.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from s3c2.engine.callbacks import Step
from s3c2.engine.progress import Progress
from s3c2.engine.run import FitRun
from s3c2.engine.running import Running, optimizer_of
from s3c2.engine.task import History, Task
from s3c2.errors import DataError

LOOK_EVERY = 500  # steps between two looks at whether all diverged; a look waits for the GPU


def train(task: Task, run: FitRun) -> list[History]:
    """Train the stacks in place and return each replica's loss terms at every step of its own."""
    optimizer = optimizer_of(task)
    history: dict[str, Tensor] = {}
    name = f"{task.stage} {task.part}".strip()
    done, last, ends = 0, max(task.steps), list(task.steps)
    kept = run.checkpoint and run.checkpoint.restore(name, task.stacks, optimizer)
    if kept:
        done, history, ends = kept.done, kept.history, kept.ends
        last = done if kept.complete else last
    task.stacks.train()
    running = Running(task, optimizer, ends, done)
    with (
        torch.random.fork_rng(_cuda_devices(task.stacks)),
        Progress(name, last, run.verbose) as progress,
    ):
        for step in range(done, last):
            if running.is_over(step):
                break
            now = Step(task.stage, step, last, {})
            run.before(now)
            now.terms = running.step(step)
            record(history, now.terms, step, last)
            done = step + 1
            stop = run.after(now)
            if progress.due():
                progress.update(done, f"loss {now.loss:.4f}")
            if run.checkpoint is not None and run.checkpoint.due():
                running.lay_back()
                run.checkpoint.keep(name, done, task.stacks, optimizer, history, running.ends)
                run.checkpoint.write()
            if stop or (done % LOOK_EVERY == 0 and all_diverged(now.terms)):
                break
    running.lay_back()
    task.stacks.eval()
    if run.checkpoint is not None and not (kept and kept.complete):
        run.checkpoint.keep(name, done, task.stacks, None, history, running.ends)
        if run.checkpoint.due():
            run.checkpoint.write()
    return [
        {term: values[: min(done, steps), r].cpu().numpy() for term, values in history.items()}
        for r, steps in enumerate(running.ends)
    ]


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
