"""The state of a ``fit`` or ``fit_many`` under way, in one file, so that a stopped one can go on.

The file holds the weights, the optimiser's state, the step and the history; the draws of a step
need only its number. It belongs to one set of settings, data and links: any other is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from s3c2.data.passes import chunks
from s3c2.engine.first_rank import is_first
from s3c2.errors import OtherFitError, StorageError
from s3c2.files import model_files as storage
from s3c2.links import Links

SECONDS = 10.0  # between two states of a fit
PATIENCE = 20  # times as long as writing one took, at least


class StageState(NamedTuple):
    """How far a stage had come."""

    done: int  # steps
    complete: bool
    ends: list[int]  # the steps of each replica
    history: dict[str, Tensor]


class Checkpoint:
    """Where a run keeps its state, and what it finds there.

    Parameters
    ----------
    path : file, written at most every SECONDS, and less often where that takes long
    fingerprint : of settings, data and links
    seeds : of the models that are fitted, unless the file has those of an earlier start
    """

    def __init__(
        self, path: str | os.PathLike[str], fingerprint: str, seeds: Sequence[int]
    ) -> None:
        self.path = Path(path)
        self.content: dict[str, Any] = {"fingerprint": fingerprint, "seeds": list(seeds)}
        self.content |= {"done": {}, "ends": {}, "complete": []}
        self.tensors: dict[str, Tensor] = {}
        if self.path.exists():
            try:
                self.content, self.tensors = storage.read(self.path, "checkpoint")
            except StorageError as error:
                raise StorageError(
                    f"The checkpoint '{self.path}' cannot be used: {error} Or remove it: the fit "
                    "then begins anew."
                ) from error
            if self.content["fingerprint"] != fingerprint:
                raise OtherFitError(
                    f"The checkpoint '{self.path}' belongs to a fit with other settings, data or "
                    "links. Remove it, or name another file."
                )
        self._next = time.monotonic() + SECONDS
        self._unwritten = False

    @property
    def seeds(self) -> list[int]:
        return [int(seed) for seed in self.content["seeds"]]

    def due(self) -> bool:
        return is_first() and time.monotonic() >= self._next

    def restore(
        self, stage: str, network: nn.Module, optimizer: torch.optim.Optimizer
    ) -> StageState | None:
        """Lay the stage's state into the network and optimiser, if it has one, and tell of it."""
        if stage not in self.content["done"]:
            return None
        network.load_state_dict(_under(self.tensors, f"{stage}.network."))
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under(self.tensors, f"{stage}.optimizer.").items():
            number, key = name.split(".", 1)
            state.setdefault(int(number), {})[key] = tensor
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": state, "param_groups": groups})
        device = next(network.parameters()).device
        history = _under(self.tensors, f"{stage}.history.")
        return StageState(
            done=int(self.content["done"][stage]),
            complete=stage in self.content["complete"],
            ends=[int(end) for end in self.content["ends"][stage]],
            history={name: values.to(device) for name, values in history.items()},
        )

    def keep(
        self,
        stage: str,
        done: int,
        network: nn.Module,
        optimizer: torch.optim.Optimizer | None,
        history: dict[str, Tensor],
        ends: Sequence[int],
    ) -> None:
        """Take a copy of the stage's state, for ``write``.

        Without an optimiser the stage is complete: no step of it will be taken again. ``ends`` are
        the steps of the replicas, known by now or at most.
        """
        self.tensors = {k: v for k, v in self.tensors.items() if not k.startswith(f"{stage}.")}
        state = optimizer.state_dict()["state"] if optimizer else {}
        tensors = {
            **{f"network.{name}": tensor for name, tensor in network.state_dict().items()},
            **{f"history.{name}": values for name, values in history.items()},
            **{f"optimizer.{n}.{k}": v for n, of in state.items() for k, v in of.items()},
        }
        for name, tensor in tensors.items():
            self.tensors[f"{stage}.{name}"] = tensor.detach().to("cpu", copy=True)
        self.content["done"][stage] = done
        self.content["ends"][stage] = list(ends)
        if optimizer is None:
            self.content["complete"].append(stage)
        self._unwritten = True

    def write(self) -> None:
        """Write what was kept since the last time."""
        if not self._unwritten or not is_first():
            return
        began = time.monotonic()
        storage.write(self.path, "checkpoint", self.content, self.tensors)
        now = time.monotonic()
        self._next = now + max(SECONDS, PATIENCE * (now - began))
        self._unwritten = False

    def remove(self) -> None:
        if is_first():
            self.path.unlink(missing_ok=True)


def fingerprint(settings: Any, X: Any = None, every_links: Sequence[Links] = ()) -> str:
    """A digest that tells one fit from another: settings, and rows and links if they matter."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    if X is not None:
        digest.update(f"{X.shape}{X.dtype}".encode())
    if sparse.issparse(X):
        for array in (X.data, X.indices, X.indptr):
            digest.update(np.ascontiguousarray(array).data)
    elif X is not None:
        for _, chunk in chunks(X):
            digest.update(np.ascontiguousarray(chunk).data)
    for links in every_links:
        digest.update(digest_of_links(links).encode())
    return digest.hexdigest()


def digest_of_links(links: Links) -> str:
    """Equal for links with the same pairs and weights in the same order."""
    digest = hashlib.sha256()
    for part in (links.must, links.cannot, links.must_weight, links.cannot_weight):
        digest.update(f"{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def digest_of_module(module: nn.Module) -> str:
    """A mark of a module's architecture and weights."""
    digest = hashlib.sha256(repr(module).encode())
    for name, value in module.state_dict().items():
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(value.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
