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

from s3c2.errors import StorageError
from s3c2.files.atomic import write_atomically

FORMAT = 2
MODEL, MODEL_FILE = "model", "model.safetensors"
_BLANK = "0" * 64
_DIGEST = re.compile(rb'\\"sha256\\": \\"([0-9a-f]{64})\\"')  # quoted inside a JSON string


def write(path: Path, kind: str, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a file of this kind ("model", "checkpoint") in one piece."""
    # One entry: the order of several would differ from file to file.
    header = json.dumps({"sha256": _BLANK, "format": FORMAT, "kind": kind, "content": content})
    data = safetensors.torch.save(
        # Copies, for tensors that share memory (tied weights) could not be written.
        {name: t.detach().cpu().clone().contiguous() for name, t in tensors.items()},
        {"s3c2": header},
    )
    place = _place_of_digest(data)
    assert place is not None
    data = data[: place[0]] + _digest(data, place) + data[place[1] :]
    make_folder(path.parent)
    write_atomically(path, data)


def read(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read such a file, or refuse it with the reason."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StorageError(f"The {kind} '{path}' cannot be read: {error.strerror}.") from error
    header = _header(data)
    if header is None:
        raise StorageError(
            f"'{path}' is not a {kind} of s3c2, or it was cut off or altered. "
            "Take the copy that was saved, or save it again."
        )
    if header.get("format") != FORMAT:
        raise StorageError(
            f"'{path}' has format {header.get('format')!r}, and this s3c2 reads format {FORMAT}: "
            "it was written by another version. Use that version, or fit and save again."
        )
    place = _place_of_digest(data)
    if place is None or _digest(data, place) != data[place[0] : place[1]]:
        raise StorageError(
            f"'{path}' does not match its checksum: it was cut off or altered after it was "
            "written. Take the copy that was saved, or save it again."
        )
    if header.get("kind") != kind:
        raise StorageError(f"'{path}' is a {header.get('kind')} of s3c2, not a {kind}.")
    content = header.get("content")
    if not isinstance(content, dict):
        raise StorageError(f"'{path}' is not a {kind} that can be read: it has no content.")
    try:
        return content, safetensors.torch.load(data)
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


def cache_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder of a 'cache' parameter; it is made now, not after hours of work."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The 'cache' folder '{folder}' cannot be made: {error.strerror}. Name another one."
        ) from error
    if not os.access(folder, os.W_OK):
        raise StorageError(f"The 'cache' folder '{folder}' cannot be written to. Name another one.")
    return Path(folder)


def model_file_to_write(folder: str | os.PathLike[str]) -> Path:
    """Where the model's file goes in a folder."""
    try:
        path = Path(folder) / MODEL_FILE
    except TypeError:
        path = Path("\0")
    if "\0" in str(path):
        raise StorageError(f"The model's folder must be a path. Got {folder!r} instead.")
    return path


def model_file(folder: str | os.PathLike[str]) -> Path:
    """The model's file in a folder that save() or ``s3c2 fit`` wrote, or a clear refusal."""
    path = model_file_to_write(folder)
    inside = path.parent / MODEL / MODEL_FILE  # `s3c2 fit` puts labels and report beside it
    if not path.is_file() and inside.is_file():
        return inside
    if not path.is_file():
        there = path.parent.exists()
        what = f"is not a model folder: it holds no {MODEL_FILE}" if there else "is not there"
        raise StorageError(f"'{folder}' {what}. Give the folder that save() or 's3c2 fit' wrote.")
    return path


def _digest(data: bytes, place: tuple[int, int]) -> bytes:
    """SHA-256 of a file with the digits at this place at zero."""
    digest = hashlib.sha256(data[: place[0]])
    digest.update(_BLANK.encode())
    digest.update(data[place[1] :])
    return digest.hexdigest().encode()


def _place_of_digest(data: bytes) -> tuple[int, int] | None:
    """Where in a file the checksum's digits stand."""
    found = _DIGEST.search(data, 0, 8 + int.from_bytes(data[:8], "little"))
    return None if found is None else found.span(1)


def _header(data: bytes) -> dict[str, Any] | None:
    """What this module wrote into the file's header, if it did."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        return None
    try:
        header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["s3c2"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return header if isinstance(header, dict) else None
