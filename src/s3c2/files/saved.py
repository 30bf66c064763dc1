"""What a model file holds: JSON entries and tensors, each checked as it is taken out.

A file whose digest is right may still hold what no model wrote. So a reader takes every entry by
its name and says what it must be, and at the end nothing may be left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from s3c2.errors import StorageError

History = dict[str, np.ndarray[Any, np.dtype[np.float32]]]


class Saved:
    """The entries of one file.

    Parameters
    ----------
    content : JSON entries by name
    tensors : by name
    """

    def __init__(
        self, content: Mapping[str, Any] | None = None, tensors: Mapping[str, Tensor] | None = None
    ) -> None:
        self.content = dict(content or {})
        self.tensors = dict(tensors or {})

    # Writing

    def put_network(self, stage: str, network: nn.Module) -> None:
        self.tensors |= {f"{stage}.network.{k}": v for k, v in network.state_dict().items()}

    def put_history(self, stage: str, history: History) -> None:
        self.tensors |= {f"{stage}.history.{k}": torch.from_numpy(v) for k, v in history.items()}

    def put_array(self, name: str, array: np.ndarray[Any, Any]) -> None:
        self.tensors[name] = torch.from_numpy(np.asarray(array))

    # Reading

    def take(self, name: str, right: Callable[[Any], bool], expected: str) -> Any:
        """An entry for which ``right`` holds."""
        if name not in self.content:
            raise StorageError(f"the entry '{name}' is missing.")
        value = self.content.pop(name)
        if not right(value):
            raise StorageError(f"the entry '{name}' must be {expected}, and is {_short(value)}.")
        return value

    def take_number(self, name: str, low: float, high: float, *, whole: bool = False) -> Any:
        """A number in [low, high]."""
        kinds = (int,) if whole else (int, float)
        return self.take(
            name,
            lambda v: isinstance(v, kinds) and not isinstance(v, bool) and low <= v <= high,
            f"{'an int' if whole else 'a number'} from {low} to {high}",
        )

    def take_array(
        self, name: str, dtype: torch.dtype, shapes: Sequence[tuple[int | None, ...]]
    ) -> np.ndarray[Any, Any]:
        """A tensor of this type and one of these shapes; None stands for any length."""
        if name not in self.tensors:
            raise StorageError(f"the tensor '{name}' is missing.")
        tensor = self.tensors.pop(name)
        fits = any(
            len(shape) == tensor.ndim and all(n in (None, m) for n, m in zip(shape, tensor.shape))
            for shape in shapes
        )
        if tensor.dtype != dtype or not fits:
            raise StorageError(
                f"the tensor '{name}' is {_kind(tensor)}, and {dtype} of shape "
                f"{' or '.join(map(str, shapes))} was expected."
            )
        found: np.ndarray[Any, Any] = tensor.numpy()
        return found

    def take_network(self, stage: str, build: Callable[[], nn.Module]) -> nn.Module:
        """The network that ``build`` makes, with the weights of the file, in evaluation mode."""
        try:
            with torch.device("meta"):  # sizes alone: a wrong file must not fill the memory
                network = build()
        except (RuntimeError, OverflowError, TypeError) as error:  # what torch cannot count
            why = str(error).splitlines()[0]
            raise StorageError(f"no network can have its sizes ({why}).") from error
        prefix = f"{stage}.network."
        found = {k.removeprefix(prefix): v for k, v in self.tensors.items() if k.startswith(prefix)}
        expected = network.state_dict()
        for name in sorted(expected.keys() ^ found.keys()):
            how = "is missing" if name in expected else "belongs to no layer"
            raise StorageError(f"the tensor '{prefix}{name}' {how}.")
        for name, one in expected.items():
            if found[name].shape != one.shape or found[name].dtype != one.dtype:
                raise StorageError(
                    f"the tensor '{prefix}{name}' is {_kind(found[name])}, and {_kind(one)} was "
                    "expected."
                )
            del self.tensors[prefix + name]
        for name, _ in network.named_parameters():
            if not found[name].isfinite().all():
                raise StorageError(f"the tensor '{prefix}{name}' holds NaN or infinity.")
        network.load_state_dict(found, assign=True)
        return network.requires_grad_(True).eval()

    def take_history(self, stage: str) -> History:
        """The loss terms of a stage, each (steps,) and all of one length."""
        prefix = f"{stage}.history."
        names = sorted(name for name in self.tensors if name.startswith(prefix))
        history = {
            name.removeprefix(prefix): self.take_array(name, torch.float32, [(None,)])
            for name in names
        }
        if "loss" not in history:
            raise StorageError(f"the tensor '{prefix}loss' is missing.")
        for name, values in history.items():
            if len(values) != len(history["loss"]):
                raise StorageError(
                    f"the tensor '{prefix}{name}' has {len(values)} steps, and the loss has "
                    f"{len(history['loss'])}."
                )
        return history

    def check_nothing_left(self) -> None:
        """Refuse entries that nobody asked for."""
        for kind, left in (("entry", self.content), ("tensor", self.tensors)):
            for name in left:
                raise StorageError(f"the {kind} '{name}' is unknown.")


def _kind(tensor: Tensor) -> str:
    return f"{tensor.dtype} of shape {tuple(tensor.shape)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
