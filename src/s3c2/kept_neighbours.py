"""Neighbours kept in a folder, so that another fit of the same rows need not look for them.

They depend on the rows as they are scaled, on how neighbours are looked for, and on what multiplies
matrices, which rounds in its own way. A file is named after all of these.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from s3c2.engine.kernels.products import is_faster
from s3c2.engine.rows import Rows
from s3c2.errors import StorageError
from s3c2.files import model_files
from s3c2.prior import READ_ROWS, Neighbours

VERSION = 2  # raised when neighbours are looked for in another way
KIND = "file of neighbours"


def kept_file(folder: str | os.PathLike[str], rows: Rows, settings: dict[str, Any]) -> Path:
    """Where the neighbours of these rows are kept; ``settings`` say how they are looked for."""
    device = rows.device.type
    products = f"{device}, oneDNN" if device == "cpu" and is_faster() else device
    beside = {"version": VERSION, "device": products, "n": rows.n, "shape": rows.shape}
    digest = hashlib.sha256(json.dumps(settings | beside, sort_keys=True).encode())
    for block in Rows(rows.X, rows.shape, rows.scaling, "cpu", rows.numbers).in_order(READ_ROWS):
        digest.update(block.numpy().data)
    return model_files.cache_folder(folder) / f"neighbours-{digest.hexdigest()[:32]}.safetensors"


def read_neighbours(path: Path, n_rows: int) -> Neighbours | None:
    """The neighbours of a file; None where there is none, or one that is damaged or foreign."""
    with suppress(StorageError):
        content, tensors = model_files.read(path, KIND)
        if content == {"name": path.stem} and _sound(tensors, n_rows):
            return Neighbours(**tensors)
    return None


def write_neighbours(path: Path, found: Neighbours) -> None:
    """Keep them."""
    tensors = {field.name: getattr(found, field.name) for field in fields(found)}
    model_files.write(path, KIND, {"name": path.stem}, tensors)


def _sound(tensors: dict[str, Tensor], n_rows: int) -> bool:
    """Whether these are neighbours of so many rows."""
    types = {field.name: torch.int64 for field in fields(Neighbours)} | {"radius": torch.float32}
    if {name: (one.dtype, one.ndim) for name, one in tensors.items()} != {
        name: (dtype, 1) for name, dtype in types.items()
    }:
        return False
    rows, first, count, others, radius = (tensors[name] for name in types)
    return (
        len(rows) == len(first) == len(count) > 0
        and len(radius) == n_rows
        and bool(radius.isfinite().all() and (radius >= 0).all())
        and all(bool((one >= 0).all() and (one < n_rows).all()) for one in (rows, others))
        and bool((rows.diff() > 0).all() and (count > 0).all() and (first >= 0).all())
        and bool((first + count <= len(others)).all())
    )
