"""Steps on a GPU, captured as CUDA graphs and replayed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from s3c2.engine.ranks import n_ranks
from s3c2.engine.task import Losses, Task, train_step

WARM_UP = 3  # eager steps before a step is captured on a GPU


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
            capturable = self.task.capturable and n_ranks() == 1
            if self.warm.get(kind, 0) < WARM_UP or not capturable:
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
