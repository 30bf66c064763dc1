"""One call of ``fit``: who is told about it and where its state is kept."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from s3c2.engine.callbacks import Callback, Step
from s3c2.engine.checkpoint import Checkpoint
from s3c2.engine.ranks import of_first
from s3c2.errors import DataError


class FitRun:
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

    def __enter__(self) -> FitRun:
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
        return of_first(any(answers)) if answers else False
