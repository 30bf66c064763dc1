"""Writing a file so that a kill leaves the old content or the new one, never a part."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from s3c2.errors import StorageError
from s3c2.files.paths import as_path

UNFINISHED = ".tmp"


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace the file at `path`, or make it; errors are `StorageError`."""
    with written_atomically(path) as file:
        file.write(content)


@contextmanager
def written_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when all went well; errors are `StorageError`."""
    # The file that a link points to is replaced, not the link.
    target = Path(os.path.realpath(as_path(path, StorageError)))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}{UNFINISHED}")
    try:
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)  # it is still there only after an error
        _sync_folder(target.parent)
    except OSError as error:
        raise StorageError(
            f"{os.fspath(path)} cannot be written: {error.strerror or error}. "
            "Choose a folder that exists and that you may write to."
        ) from error


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
