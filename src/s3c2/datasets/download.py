"""Downloading one file: resumed after an interruption, checked, and there whole or not at all.

What has come is kept beside the target as ``.NAME.part``, also over a kill, and the next download
goes on from there. Only a file of the right size and checksum gets its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from s3c2.datasets.registry import DataFile
from s3c2.engine.progress import Progress
from s3c2.errors import DatasetError, MissingExtraError

TRIES = 3  # of one mirror, as long as each brings the file further
TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 13  # bytes; an unfinished chunk is lost when the connection breaks


class _FailedError(Exception):
    """A mirror did not give the file: why, and whether to ask the same mirror again."""

    def __init__(self, why: str, *, again: bool = False) -> None:
        super().__init__(why)
        self.again = again


def download(file: DataFile, target: Path, *, otherwise: str, verbose: int = 1) -> None:
    """Download a file to its place, from the first mirror that has it.

    Parameters
    ----------
    file : what is expected, and its mirrors
    target : where it goes; a damaged file there is replaced once the new one is whole
    otherwise : ends the error message: what the user can do without a download
    verbose : 0 shows no progress
    """
    try:
        import pooch  # noqa: F401
    except ImportError:
        what = f"{target} is missing, and downloading it"
        raise MissingExtraError(what, "pooch", "app") from None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _alone_in(target.parent):
            if target.exists() and file.damage(target.read_bytes()) is None:
                return  # another process was faster
            _from_any_mirror(file, target, otherwise, verbose)
    except OSError as error:
        raise DatasetError(
            f"{target} cannot be written: {error.strerror or error}. {otherwise}"
        ) from error


def _from_any_mirror(file: DataFile, target: Path, otherwise: str, verbose: int) -> None:
    part = target.with_name(f".{target.name}.part")
    reasons = []
    for url in file.urls:
        for attempt in range(1, TRIES + 1):
            try:
                _complete(part, file, url, verbose)
                os.replace(part, target)
                return
            except _FailedError as failed:
                if not failed.again or attempt == TRIES:
                    reasons.append(f"{urlsplit(url).netloc}: {failed}")
                    break
    raise DatasetError(f"{file.name} could not be downloaded ({'; '.join(reasons)}). {otherwise}")


def _complete(part: Path, file: DataFile, url: str, verbose: int) -> None:
    """Bring the part to its full size and check it; one that proves wrong is removed."""
    resumed = _size(part) > 0
    if _size(part) < file.size:
        try:
            with open(part, "ab") as opened:
                _append(_Part(opened, file, verbose), url)
                os.fsync(opened.fileno())
        finally:
            if not _size(part):
                part.unlink(missing_ok=True)
    if damage := file.damage(part.read_bytes() if part.exists() else b""):
        part.unlink(missing_ok=True)
        raise _FailedError(f"what came is not the file, {damage}", again=resumed)


class _Part:
    """The part of a file that is there already, as pooch writes to it.

    Goes on where the part ends if the server can, otherwise from the beginning.
    """

    def __init__(self, opened: BinaryIO, file: DataFile, verbose: int) -> None:
        self.opened = opened
        self.file = file
        self.size = opened.tell()
        self.answers: list[Any] = []
        self.progress = Progress(f"downloading {file.name}, bytes", file.size, verbose)

    def headers(self) -> dict[str, str]:
        plain = {"Accept-Encoding": "identity"}  # sizes and ranges are those of the file itself
        return {**plain, "Range": f"bytes={self.size}-"} if self.size else plain

    def answered(self, response: Any, **_: Any) -> None:
        """Called by requests when the headers are there, before the content is read."""
        self.answers.append(response)
        if response.status_code == 206:  # "bytes 500-999/1000"
            place, _, total = response.headers.get("Content-Range", "").partition("/")
            start = place.removeprefix("bytes ").partition("-")[0]
        elif response.status_code == 200:  # the whole file
            start, total = "0", response.headers.get("Content-Length", "")
        else:  # a redirection, or an error, which pooch raises
            return
        if total.isdigit() and int(total) != self.file.size:
            raise _FailedError(f"the file there has {int(total):,} bytes, not {self.file.size:,}")
        if start != str(self.size):
            if start != "0":
                raise _FailedError(f"asked for bytes from {self.size:,}, got {start or 'others'}")
            self.opened.truncate(0)
            self.size = 0

    def write(self, chunk: bytes) -> None:
        if self.size + len(chunk) > self.file.size:
            raise _FailedError(f"more than {self.file.size:,} bytes came")
        self.opened.write(chunk)
        self.size += len(chunk)
        self.progress.update(self.size)

    def flush(self) -> None:
        self.opened.flush()

    def close(self) -> None:
        """Free the connection, which pooch leaves open after an error."""
        for response in self.answers:
            response.close()


def _append(part: _Part, url: str) -> None:
    """Let pooch download what is missing; what goes wrong is said in a few words."""
    import pooch
    import requests

    fetch = pooch.HTTPDownloader(
        chunk_size=CHUNK, timeout=TIMEOUT, headers=part.headers(), hooks={"response": part.answered}
    )
    try:
        with closing(part), part.progress:
            fetch(url, part, None)
    except requests.HTTPError as error:
        answer = part.answers[-1]
        raise _FailedError(f"the server answered {answer.status_code} {answer.reason}") from error
    except requests.RequestException as error:  # their own words are long chains of causes
        if part.answers:
            raise _FailedError("the connection broke", again=True) from error
        if isinstance(error, requests.Timeout):
            raise _FailedError(f"no answer within {TIMEOUT} s") from error
        if isinstance(error, requests.exceptions.SSLError):
            raise _FailedError("no secure connection") from error
        raise _FailedError("no connection") from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Let one process at a time download into a folder; the next one finds the file there."""
    if os.name != "posix":  # two at once then spoil each other's part, which the checksum tells
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network folders have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
