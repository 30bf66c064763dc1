"""The only training loop.

A stage (LabNet, CluNet, a baseline) hands in a Task: stacks of its networks and a function
that draws the batch of a step and returns its loss terms, each of shape (replicas,). The loop steps
the optimiser, keeps the history, tells the callbacks, shows progress and keeps checkpoints. One
replica or many is the same loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import TracebackType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s3c2.engine.callbacks import Callback, Step
from s3c2.engine.checkpoint import Checkpoint
from s3c2.engine.optimizers import new_optimizer
from s3c2.engine.progress import Progress
from s3c2.engine.randomness import seed_torch
from s3c2.errors import DataError

History = dict[str, NDArray[np.float32]]
Losses = Callable[[int | Tensor], dict[str, Tensor]]

WARM_UP = 3  # eager steps before a step is captured on a GPU
LOOK_EVERY = 500  # steps, whether all has diverged; a GPU is waited for then


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
    part : which part of the stage this is, if its replicas do not fit into one stack
    capturable : whether a step may be captured on a GPU: nothing in it comes from the host
    foreign_seed : seeds torch's own generators at every step, for the random layers of a user's
        module; None where all randomness is drawn by the stage itself
    kind : where steps are of several kinds, the losses of the kind that this step is of; on a GPU
        each kind is captured once
    before : called on the host before a step, which it may prepare. It may return for each replica
        whether it is done: such a one keeps the weights of this moment, whatever the others do
    """

    stage: str
    stacks: nn.ModuleDict
    losses: Losses
    steps: Sequence[int]
    optimizer: str
    learning_rate: float
    foreign_seed: int | None = None
    part: str = ""
    capturable: bool = True
    kind: Callable[[int], Losses] | None = None
    before: Callable[[int], Sequence[bool] | None] | None = None

    def losses_at(self, step: int) -> Losses:
        """The losses of this step."""
        return self.losses if self.kind is None else self.kind(step)

    @property
    def device(self) -> torch.device:
        return next(self.stacks.parameters()).device

    @cached_property
    def sound(self) -> Tensor:
        """Which replicas' losses have always been numbers: (replicas,), on the device."""
        return torch.ones(len(self.steps), dtype=torch.bool, device=self.device)


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
        if self.checkpoint is None:
            return
        # A fit that diverged has nothing to go on from.
        if kind is None or issubclass(kind, DataError):
            self.checkpoint.remove()
        else:
            self.checkpoint.write()

    def before(self, step: Step) -> None:
        for callback in self.callbacks:
            callback.on_fit_task_begin(self.estimator, step)

    def after(self, step: Step) -> bool:
        # All are told first: also those behind one that asks to stop.
        answers = [callback.on_fit_task_end(self.estimator, step) for callback in self.callbacks]
        return any(answers)


def train(task: Task, run: Run) -> list[History]:
    """Train the stacks in place and return each replica's loss terms at every step of its own."""
    on_gpu = task.device.type == "cuda"
    optimizer = new_optimizer(
        task.optimizer, task.stacks.parameters(), task.learning_rate, task.device, len(task.steps)
    )
    history: dict[str, Tensor] = {}
    name = f"{task.stage} {task.part}".strip()
    done, last = 0, max(task.steps)
    ends = Ends(task)
    kept = run.checkpoint and run.checkpoint.restore(name, task.stacks, optimizer)
    if kept:
        done, history, ends.steps = kept.done, kept.history, kept.ends
        last = done if kept.complete else last
    task.stacks.train()
    task.sound.fill_(True)  # made now: nothing may come from the host inside a captured step
    if "loss" in history:
        task.sound.logical_and_(history["loss"][:done].isfinite().all(0))
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

    A replica that is done trains on in vain beside the others and gets its weights back at the
    end, which costs less than holding it at every step.
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


def train_step(
    task: Task, optimizer: torch.optim.Optimizer, step: int, counter: Tensor | None = None
) -> dict[str, Tensor]:
    """One step: losses, gradients, optimiser. ``counter`` is the step's number on the GPU."""
    if task.foreign_seed is not None:
        seed_torch(task.foreign_seed + step, task.device)
    now = step if counter is None else counter
    terms = task.losses_at(step)(now)
    optimizer.zero_grad(set_to_none=True)
    # Replicas share nothing, so the gradient of the sum is each one's own gradient.
    torch.autograd.backward(terms["loss"].sum())
    silence(task, terms["loss"].detach())
    optimizer.step()
    return {name: term.detach() for name, term in terms.items()}


class GpuSteps:
    """Steps on a GPU: a few eager ones, then one captured as a CUDA graph and replayed.

    A step of small networks launches a hundred kernels of a few microseconds; replayed as a graph
    they cost no time of the host. The number of the step is a tensor that the graph counts up.
    Each kind of step has its own graph.
    """

    def __init__(self, task: Task, optimizer: torch.optim.Optimizer, first: int) -> None:
        self.task = task
        self.optimizer = optimizer
        self.counter = torch.tensor(first, device=task.device)
        self.warm: dict[Losses, int] = {}
        self.graphs: dict[Losses, tuple[torch.cuda.CUDAGraph, dict[str, Tensor]]] = {}

    def __call__(self, step: int) -> dict[str, Tensor]:
        kind = self.task.losses_at(step)
        if kind not in self.graphs:
            if self.warm.get(kind, 0) < WARM_UP or not self.task.capturable:
                self.warm[kind] = self.warm.get(kind, 0) + 1
                return self._eager(step)
            self.graphs[kind] = self._captured(step)
        graph, terms = self.graphs[kind]
        graph.replay()
        return terms

    def _eager(self, step: int) -> dict[str, Tensor]:
        # Off the default stream, as the capture will be: memory is then set up where it is used.
        side: Any = torch.cuda.Stream(self.task.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            terms = train_step(self.task, self.optimizer, step, self.counter)
            self.counter += 1
        torch.cuda.current_stream().wait_stream(side)
        return terms

    def _captured(self, step: int) -> tuple[torch.cuda.CUDAGraph, dict[str, Tensor]]:
        graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            terms = train_step(self.task, self.optimizer, step, self.counter)
            self.counter += 1
        return graph, terms


def silence(task: Task, loss: Tensor) -> None:
    """Take the gradient from replicas that diverged, so that their weights stay numbers.

    The others know nothing of it. A replica alone has no others, and its training soon ends.
    """
    if len(loss) == 1:
        return
    finite = loss.isfinite()
    if loss.device.type == "cpu" and finite.all() and task.sound.all():
        return  # on a GPU nobody waits to see
    task.sound.logical_and_(finite)
    for p in task.stacks.parameters():
        if p.grad is not None:
            p.grad = torch.where(task.sound.view(-1, *[1] * (p.ndim - 1)), p.grad, 0.0)


def record(history: dict[str, Tensor], terms: dict[str, Tensor], step: int, steps: int) -> None:
    """Keep a step's terms where they are, without waiting for the device."""
    for name, term in terms.items():
        if name not in history:
            history[name] = torch.full((steps, len(term)), torch.nan, device=term.device)
        history[name][step] = term


def all_diverged(terms: dict[str, Tensor]) -> bool:
    """Whether no replica has a loss any more: then there is nothing left to train."""
    return not bool(terms["loss"].isfinite().any())


def converged(history: History) -> bool:
    """Whether the loss stayed a number."""
    return bool(np.isfinite(history.get("loss", np.zeros(0))).all())


DIVERGED = "Scale the data (scale='standard') or lower learning_rate."


def check_converged(history: History, stage: str, mend: str = DIVERGED) -> None:
    """Refuse a history whose loss left the numbers, and say what may mend it."""
    if not converged(history):
        loss = history["loss"]
        raise DataError(
            f"The loss of {stage} was {loss[~np.isfinite(loss)][0]} at step "
            f"{int(np.argmin(np.isfinite(loss)))}: training diverged. {mend}"
        )


def _cuda_devices(network: nn.Module) -> list[torch.device]:
    return sorted({p.device for p in network.parameters() if p.device.type == "cuda"}, key=str)
