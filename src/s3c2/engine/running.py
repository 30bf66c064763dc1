"""Which replicas of a task still train, and the weights of those that are done."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from s3c2.engine.captured import GpuSteps
from s3c2.engine.optimizers import new_optimizer
from s3c2.engine.task import Task, train_step

FEWEST = 2  # replicas of a stack: one alone is laid out in another way


def optimizer_of(task: Task) -> torch.optim.Optimizer:
    """A new optimiser of everything that the task trains."""
    return new_optimizer(
        task.optimizer, task.stacks.parameters(), task.learning_rate, task.device, len(task.steps),
        task.decay,
    )  # fmt: skip


class Running:
    """A task under way.

    Replicas that are done keep training beside the others, and get their weights back at the end:
    cheaper than freezing them at every step. Once no more than half of them train on, these go on
    in stacks of their own, where the task can make such. Outside it looks as if all of them
    trained: ``lay_back`` brings their state into the stacks of the whole.

    Parameters
    ----------
    task, optimizer : of all replicas
    ends : the steps of each replica, known by now or at most
    first : the step that is taken next

    Attributes
    ----------
    ends : as above; one that is done has the step before which it was
    """

    def __init__(
        self, task: Task, optimizer: torch.optim.Optimizer, ends: list[int], first: int
    ) -> None:
        self.ends = ends
        self._whole, self._optimizer_of_whole = task, optimizer
        self._state = [*task.stacks.parameters(), *task.stacks.buffers()]
        self._kept: dict[int, list[Tensor]] = {}  # of those that are done
        self._begin(task, optimizer, range(len(ends)), first)

    def _begin(
        self, task: Task, optimizer: torch.optim.Optimizer, numbers: range | list[int], first: int
    ) -> None:
        self._task, self._optimizer, self._numbers = task, optimizer, list(numbers)
        self._index = torch.tensor(self._numbers, device=task.device)
        on_gpu = task.device.type == "cuda"
        self._take_step = (
            GpuSteps(task, optimizer, first) if on_gpu else partial(train_step, task, optimizer)
        )

    def step(self, step: int) -> dict[str, Tensor]:
        """Take a step; its terms, NaN for replicas that were left behind: (replicas,) each."""
        terms = self._take_step(step)
        if self._task is self._whole:
            return terms
        return {name: self._of_all(term) for name, term in terms.items()}

    def _of_all(self, term: Tensor) -> Tensor:
        return term.new_full((len(self.ends),), torch.nan).index_copy_(0, self._index, term)

    def is_over(self, step: int) -> bool:
        """Note the replicas that are done before this step; whether now all are."""
        over = [step >= last for last in self.ends]
        told = None if self._task.before is None else self._task.before(step)
        for number, is_done in zip(self._numbers, told or ()):
            over[number] |= is_done
        new = [r for r, is_done in enumerate(over) if is_done and r not in self._kept]
        for r in new:
            self.ends[r] = min(step, self.ends[r])
        if len(self._kept) + len(new) == len(self.ends):
            return True
        if new:
            self._lay_into_whole()
            self._kept |= {r: [one.detach()[r].clone() for one in self._state] for r in new}
            self._leave_behind(step)
        return False

    def _leave_behind(self, step: int) -> None:
        """Let those that train on go on without the others, if these are as many."""
        left = [number for number in self._numbers if number not in self._kept]
        few = FEWEST <= len(left) <= len(self._numbers) // 2
        if not few or self._whole.fewer is None or not self._optimizer.state:
            return
        task = self._whole.fewer(left)
        task.stacks.train()
        optimizer = optimizer_of(task)
        index = self._index.new_tensor(left)
        state = self._whole.stacks.state_dict()
        task.stacks.load_state_dict({name: one[index] for name, one in state.items()})
        whole = self._optimizer_of_whole.state_dict()["state"]
        picked = {
            number: {name: one[index] if one.ndim else one.clone() for name, one in of.items()}
            for number, of in whole.items()
        }
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": picked, "param_groups": groups})
        self._begin(task, optimizer, left, step)

    def _lay_into_whole(self) -> None:
        if self._task is self._whole:
            return
        with torch.no_grad():
            into = self._whole.stacks.state_dict()
            for name, one in self._task.stacks.state_dict().items():
                into[name][self._index] = one
            state = self._optimizer_of_whole.state_dict()["state"]
            for number, of in self._optimizer.state_dict()["state"].items():
                for name, one in of.items():
                    state[number][name][self._index if one.ndim else ...] = one

    def lay_back(self) -> None:
        """Give the stacks of the whole the state of those that train and of those that are done."""
        self._lay_into_whole()
        with torch.no_grad():
            for r, weights in self._kept.items():
                for one, kept in zip(self._state, weights):
                    one[r] = kept
