"""Hooks into training: subclass Callback, fill in what you need, pass it as ``callbacks=``.

The hook names are those of scikit-learn's callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor


class Step:
    """Where training stands.

    Attributes
    ----------
    stage : "labnet" or "clunet", or the name of a baseline in small letters
    step : number of the step, from 0
    steps : number of steps of this stage
    terms : loss terms of the step, tensors of shape (replicas,); empty before the step, and NaN
        for replicas that are done. On a GPU the next step writes into the same tensors: clone what
        you keep

    Replicas that do not fit into one stack are trained in parts, and each part counts its steps
    from 0; so does each layer of IDEC's pretraining, and each rate of its learning.
    """

    __slots__ = ("stage", "step", "steps", "terms")

    def __init__(self, stage: str, step: int, steps: int, terms: dict[str, Tensor]) -> None:
        self.stage = stage
        self.step = step
        self.steps = steps
        self.terms = terms

    @property
    def loss(self) -> float:
        """The loss of the step (on a GPU, asking waits for the step to finish)."""
        return float(self.terms["loss"].nanmean())


class Callback:
    """Empty hooks. ``estimator`` is the one whose ``fit`` was called."""

    def setup(self, estimator: Any, context: Step | None) -> None:
        """Before the first step of ``fit``."""

    def on_fit_task_begin(self, estimator: Any, context: Step) -> None:
        """Before each step."""

    def on_fit_task_end(self, estimator: Any, context: Step) -> bool | None:
        """After each step. Return True to end this stage here."""

    def teardown(self, estimator: Any, context: Step | None) -> None:
        """After the last step of ``fit``, also when it was interrupted."""


class AfterStep(Callback):
    """A plain function as a callback: it is called with the Step after each step."""

    def __init__(self, function: Callable[[Step], bool | None]) -> None:
        self.function = function

    def on_fit_task_end(self, estimator: Any, context: Step) -> bool | None:
        return self.function(context)


def as_callbacks(given: Any) -> Sequence[Callback]:
    """None, a callback, a function, or a sequence of those, as a sequence of callbacks."""
    if given is None:
        return ()
    several = given if isinstance(given, list | tuple) else (given,)
    for one in several:
        known = isinstance(one, Callback) or hasattr(one, "on_fit_task_end") or callable(one)
        if isinstance(one, type) or not known:  # a class is called, but makes objects
            raise TypeError(
                "The 'callbacks' parameter must hold Callback objects or functions of one "
                f"argument. Got {repr(one)[:200]} instead."
            )
    return tuple(one if hasattr(one, "on_fit_task_end") else AfterStep(one) for one in several)
