"""Paths that a user gave: text or path objects, nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from s3c2.errors import S3C2Error


def as_path(path: Any, error: type[S3C2Error]) -> Path:
    """Make a `Path` of it. What is not a path is refused with this kind of error."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise error(
            f"A path must be a text such as 'links.csv', or a pathlib.Path. Got {path!r} instead."
        )
    if "\0" in text:
        raise error(f"The path {text!r} holds a NUL character, which no path can. Check the path.")
    return Path(text)
