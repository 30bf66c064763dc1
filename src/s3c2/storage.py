"""Files that are complete or refused: tensors and JSON in one safetensors file, with a checksum.

A file is written beside its place and moved there by one ``os.replace``, so that a kill leaves the
old file or the new one. Its header holds a format version and the SHA-256 of the whole file (taken
with the checksum's own digits at zero), so that no altered byte goes unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from s3c2.atomicfile import write_atomically
from s3c2.errors import StorageError

FORMAT = 1
MODEL_FILE = "model.safetensors"
_BLANK = "0" * 64
_DIGEST = re.compile(rb'"sha256":"([0-9a-f]{64})"')


def write(path: Path, kind: str, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a file of this kind ("model", "checkpoint") in one piece."""
    data = safetensors.torch.save(
        {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()},
        {
            "s3c2_format": str(FORMAT),
            "kind": kind,
            "sha256": _BLANK,
            "content": json.dumps(content),
        },
    )
    digest = hashlib.sha256(data).hexdigest()
    blank, filled = (f'"sha256":"{digits}"'.encode() for digits in (_BLANK, digest))
    make_folder(path.parent)
    write_atomically(path, data.replace(blank, filled, 1))


def read(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read such a file, or refuse it with the reason."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StorageError(f"The {kind} '{path}' cannot be read: {error.strerror}.") from error
    metadata = _metadata(data)
    if metadata is None or "s3c2_format" not in metadata:
        raise StorageError(
            f"'{path}' is not a {kind} of s3c2, or it was cut off or altered. "
            "Take the copy that was saved, or save it again."
        )
    if not metadata["s3c2_format"].isdigit() or int(metadata["s3c2_format"]) > FORMAT:
        raise StorageError(
            f"'{path}' has format {metadata['s3c2_format']}, and this s3c2 reads up to {FORMAT}: "
            "it was written by a newer version. Update with: pip install -U s3c2"
        )
    header = 8 + int.from_bytes(data[:8], "little")
    found = _DIGEST.search(data, 0, header)
    if found is None or _digest(data, found.span(1)) != found.group(1):
        raise StorageError(
            f"'{path}' does not match its checksum: it was cut off or altered after it was "
            "written. Take the copy that was saved, or save it again."
        )
    if metadata.get("kind") != kind:
        raise StorageError(f"'{path}' is a {metadata.get('kind')} of s3c2, not a {kind}.")
    try:
        return json.loads(metadata["content"]), safetensors.torch.load(data)
    except (SafetensorError, KeyError, ValueError) as error:
        raise StorageError(f"'{path}' is not a {kind} that can be read: {error}.") from error


def make_folder(folder: Path) -> None:
    """Make a folder with those above it, or say why that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The folder '{folder}' cannot be made: {error.strerror}. "
            "Choose a folder that you may write to."
        ) from error


def model_file(folder: str | os.PathLike[str]) -> Path:
    """The model's file in a folder, or a clear refusal."""
    path = Path(folder) / MODEL_FILE
    if not path.is_file():
        raise StorageError(
            f"'{folder}' is not a model folder: it holds no {MODEL_FILE}. "
            "Give the folder that save() or 's3c2 fit' wrote."
        )
    return path


def _digest(data: bytes, place: tuple[int, int]) -> bytes:
    """SHA-256 of a file with the digits at this place at zero."""
    digest = hashlib.sha256(data[: place[0]])
    digest.update(_BLANK.encode())
    digest.update(data[place[1] :])
    return digest.hexdigest().encode()


def _metadata(data: bytes) -> dict[str, str] | None:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        return None
    try:
        metadata = json.loads(data[8 : 8 + length])["__metadata__"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        return None
    return metadata
