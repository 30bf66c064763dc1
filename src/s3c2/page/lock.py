"""One process a project: the second is told where the first is."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from s3c2.errors import StorageError

NAME = ".open"  # it stays: a file that is removed could be locked twice


class ProjectLock:
    """Held until the process ends, however it ends.

    Parameters
    ----------
    folder : of the project
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._file = open(self.path, "a+")  # noqa: SIM115 (held as long as the project is open)
        if not _locked(self._file.fileno()):
            self._file.seek(0)
            where = self._file.read().strip() or "another process"
            self._file.close()
            raise StorageError(
                f"{folder} is open already, in {where}. Use that page, or end that process first."
            )
        self.tell(f"process {os.getpid()}")

    def tell(self, where: str) -> None:
        """Write where the project is open."""
        self._file.seek(0)
        self._file.truncate()
        self._file.write(where)
        self._file.flush()

    def __enter__(self) -> ProjectLock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.tell("")
        self._file.close()


def _locked(handle: int) -> bool:
    """Lock an open file; False if another process has it."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
