"""A fitted model as one ONNX graph: scaling, clusters and representation, to be served anywhere."""

from __future__ import annotations

import copy
import logging
import math
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from s3c2.data.robust import Robust
from s3c2.data.scaling import Scaling
from s3c2.data.straight import Straight
from s3c2.data.topics import LEAST, Topics
from s3c2.errors import MissingExtraError, StorageError
from s3c2.files.atomic import write_atomically
from s3c2.files.paths import as_path
from s3c2.parameters import got

OPSET = 18
TYPES = {"float32": torch.float32, "float64": torch.float64}


def export_onnx(model: Any, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
    """Write a fitted model as one ONNX file, of opset 18.

    The graph takes ``rows`` as ``fit`` got them, unscaled, (n, …) with any n; images of several
    channels have these first, (n, channels, h, w). It gives ``cluster``, (n,) of int64,
    ``probability``, (n, K), and of S3C2 ``representation``, (n, dimensions).

    Parameters
    ----------
    model : S3C2, CluNet or a baseline, fitted
    path : file to write
    dtype : {"float32", "float64"}
        Of the rows. float64 is for numbers that float32 would round, such as times in seconds.

    Examples
    --------
    >>> from s3c2 import S3C2, export_onnx
    >>> export_onnx(S3C2.load("model"), "model.onnx")  # doctest: +SKIP
    """
    check_is_fitted(model)
    if not hasattr(model, "network_"):
        raise TypeError(
            f"export_onnx writes a model that gives clusters. Got {type(model).__name__}: export "
            "the S3C2 that it is in."
        )
    if dtype not in TYPES:
        raise ValueError(
            f"The 'dtype' parameter must be one of {', '.join(map(repr, TYPES))}. {got(dtype)}"
        )
    target = as_path(path, StorageError)
    graph = _Graph(model).eval()
    example = torch.zeros(2, *model.reading_.input_shape, dtype=TYPES[dtype])
    with tempfile.TemporaryDirectory() as folder, _in_silence():
        made = Path(folder) / "model.onnx"
        _export(graph, example, made)
        content = _with_notes(made, model)
    write_atomically(target, content)


class _Graph(nn.Module):
    """From raw rows to clusters, probabilities and, of S3C2, the representation."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.shape = model.reading_.shape
        self.scaling = _scaling_module(model.reading_.scaling)
        self.clusters = copy.deepcopy(model.network_).cpu().eval()
        labnet = getattr(model, "labnet_", None)
        self.encoder = None if labnet is None else copy.deepcopy(labnet.encoder_).cpu().eval()

    @property
    def outputs(self) -> list[str]:
        return ["cluster", "probability", *([] if self.encoder is None else ["representation"])]

    def forward(self, rows: Tensor) -> tuple[Tensor, ...]:
        x = self.scaling(rows).float().reshape(-1, *self.shape)
        probability = self.clusters(x)
        found = (probability.argmax(-1), probability)
        return found if self.encoder is None else (*found, self.encoder(x))


def _scaling_module(scaling: Scaling | None) -> nn.Module:
    if scaling is None:
        return nn.Identity()
    kinds: dict[type[Any], type[_Scaling]] = {
        Straight: _Straight, Robust: _Robust, Topics: _Topics,
    }  # fmt: skip
    return kinds[type(scaling)](scaling)


class _Scaling(nn.Module):
    """The numbers of a scaling as float64."""

    def __init__(self, scaling: Any) -> None:
        super().__init__()
        for field in fields(scaling):
            if field.name != "kind":
                values = np.array(getattr(scaling, field.name), dtype=np.float64)
                self.register_buffer(field.name, torch.from_numpy(values))


class _Straight(_Scaling):
    shift: Tensor
    factor: Tensor

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.shift.to(x.dtype)) * self.factor.to(x.dtype)


class _Robust(_Scaling):
    middle: Tensor
    spread: Tensor
    shift: Tensor
    factor: Tensor

    def forward(self, x: Tensor) -> Tensor:
        x = x.double()
        bends = self.spread > 0
        distance = (x - self.middle) / torch.where(bends, self.spread, 1.0)
        # asinh, which runtimes have for float32 alone.
        size = distance.abs()
        bent = distance.sign() * torch.log(size + torch.sqrt(size * size + 1))
        return (torch.where(bends, bent, x) - self.shift) * self.factor


class _Topics(_Scaling):
    idf: Tensor
    projection: Tensor

    def forward(self, x: Tensor) -> Tensor:
        x = x.double()
        if self.idf.ndim:
            x = torch.log(1 + x.clamp(min=0)) * self.idf
        length = (x * x).sum(1, keepdim=True).sqrt()
        y = (x / torch.where(length > 0, length, 1.0)) @ self.projection  # (rows, dimensions)
        length = (y * y).sum(1, keepdim=True).sqrt()
        there = length > LEAST
        scaled = torch.where(there, y / torch.where(there, length, 1.0), 0.0)
        return scaled * math.sqrt(y.shape[1])


def _export(graph: _Graph, example: Tensor, path: Path) -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("Writing ONNX", str(error.name), "onnx") from None
    try:
        torch.onnx.export(
            graph,
            (example,),
            str(path),
            dynamo=True,
            opset_version=OPSET,
            input_names=["rows"],
            output_names=graph.outputs,
            dynamic_shapes={"rows": {0: torch.export.Dim.DYNAMIC}},
            external_data=False,
            verbose=False,
        )
    except Exception as error:  # an own network may hold whatever torch cannot write
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise StorageError(
            f"The network cannot be written as ONNX: {why[:200]}. Networks of your own may use "
            "only what torch.onnx.export knows."
        ) from error


def _with_notes(made: Path, model: Any) -> bytes:
    """The file's content, with what tells where it comes from."""
    import onnx

    from s3c2 import __version__

    graph = onnx.load(made)
    graph.producer_name, graph.producer_version = "s3c2", __version__
    names = getattr(model, "feature_names_in_", None)
    notes = {"model": type(model).__name__, "n_clusters": str(model.n_clusters_)}
    if names is not None:
        notes["columns"] = "\n".join(map(str, names))
    onnx.helper.set_model_props(graph, notes)
    content: bytes = graph.SerializeToString()
    return content


@contextmanager
def _in_silence() -> Iterator[None]:
    """Without what the exporter says of its own workings."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    before = [one.level for one in loggers]
    try:
        for one in loggers:
            one.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for one, level in zip(loggers, before):
            one.setLevel(level)
