"""Training beside the page: a process of its own, so that no question waits for it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from s3c2.links import Links
from s3c2.page.items import Items
from s3c2.questions import Known

ROWS = ".rows"  # the rows as a file, for the process


class Trainer:
    """Starts a training when there are new answers and none is under way.

    Parameters
    ----------
    folder : of the project
    items : the data
    settings : n_clusters, scale, device, seed, title, image_shape, steps; and verbose, whether the
        last training, which writes the report, shows its progress on stderr
    sample : numbers of the rows that may be asked about
    done : called from another thread after each training, with the number of answers that it knew
        and None, or what went wrong
    """

    def __init__(
        self,
        folder: Path,
        items: Items,
        settings: dict[str, Any],
        sample: list[int],
        done: Callable[[int, str | None], None],
    ) -> None:
        self.folder, self._done = folder, done
        self._common = settings | {
            "folder": str(folder), "rows": _written(folder, items.data.X), "sample": sample,
            "names": items.names, "texts": items.data.texts,
            "preparation": items.preparation.to_json(),
        }  # fmt: skip
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Condition()
        self._number, self._cancelled = 0, -1
        self.busy = False
        self.doing = ""  # what the training under way does, and how far it is
        self.trained_on: int | None = None  # number of answers that the last model knew

    def start(self, known: Known, n_answers: int, *, quick: bool, report: bool = False) -> bool:
        """Begin a training on what is known, if none is under way; whether it began."""
        with self._lock:
            if self.busy:
                return False
            self.busy = True
            self._number += 1
            process = self._running(shown=report and bool(self._common.get("verbose")))
        job = self._common | {
            "number": self._number, "quick": quick, "report": report,
            "links": self._file(".links.csv", known.links()),
        }  # fmt: skip
        thread = threading.Thread(target=self._wait, args=(process, job, n_answers), daemon=True)
        thread.start()
        return True

    def _file(self, name: str, links: Links) -> str | None:
        """Links as a file, for the process; None if there are none."""
        if not links.n_links:
            return None
        path = str(self.folder / name)
        links.write(path)
        return path

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until no training is under way; whether that came in time."""
        with self._lock:
            return self._lock.wait_for(lambda: not self.busy, seconds)

    def cancel(self) -> None:
        """End a training that is under way, without its result."""
        with self._lock:
            if not self.busy or self._process is None:
                return
            self._cancelled = self._number
            self._process.kill()
            self._process.wait()  # so that the next training starts another process
        self.wait()

    def stop(self) -> None:
        """End the process."""
        self.cancel()
        self._end()

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None

    def _running(self, shown: bool) -> subprocess.Popen[str]:
        """The process that trains; a new one if what it says is to be shown."""
        if shown:
            self._end()
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "s3c2.page.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if shown else subprocess.DEVNULL,
                text=True,
                start_new_session=True,  # Ctrl-C is for the page, which then tells this process
            )
        return self._process

    def _wait(self, process: subprocess.Popen[str], job: dict[str, Any], n_answers: int) -> None:
        problem: str | None = "the training ended without a result"
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            while line := process.stdout.readline():
                said = json.loads(line)
                if "doing" not in said:  # the result
                    problem = said.get("error")
                    break
                self.doing = said["doing"]
        except (OSError, ValueError) as error:
            problem = str(error)
        if problem is None:
            self.trained_on = n_answers
        if self._cancelled != job["number"]:
            self._done(n_answers, problem)
        with self._lock:
            self.busy, self.doing = False, ""
            self._lock.notify_all()


def _written(folder: Path, X: Any) -> str:
    """The rows as a file."""
    if isinstance(X, np.memmap) and X.filename is not None and X.dtype.isnative:
        return str(X.filename)
    if sparse.issparse(X):
        path = folder / f"{ROWS}.npz"
        sparse.save_npz(path, sparse.csr_matrix(X))
    else:
        path = folder / f"{ROWS}.npy"
        np.save(path, np.asarray(X))
    return str(path)
