"""Progress of long work, on stderr: bars on a terminal that has rich, plain lines elsewhere.

Nothing is shown for work that ends within a second.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from s3c2.engine.first_rank import is_first

PATIENCE = 1.0  # seconds before anything is shown
BAR_EVERY = 0.1
LINE_EVERY = 10.0


class Progress:
    """Show how far a named piece of work is.

    Parameters
    ----------
    what : the work
    total : how much there is to do
    verbose : 0 shows nothing
    per_second : what is counted, such as "rows", if its speed is to be shown

    Examples
    --------
    >>> with Progress("reading", total=3, verbose=0) as progress:
    ...     for done in range(3):
    ...         progress.update(done + 1)
    """

    def __init__(
        self, what: str, total: int, verbose: int = 1, *, per_second: str | None = None
    ) -> None:
        self.what = what
        self.total = total
        self.verbose = verbose if is_first() else 0
        self.per_second = per_second
        self.began = time.monotonic()
        self.before = 0
        self.next = self.began + PATIENCE if self.verbose else float("inf")
        self._bar: Any = None
        self._task: Any = None
        self._lines = 0  # printed where there is no bar

    def due(self) -> bool:
        """Whether it is time for an update; cheap enough to ask every step."""
        return time.monotonic() >= self.next

    def count_from(self, done: int) -> None:
        """Let speed and time count from now on, and not what was needed for a start."""
        self.began, self.before = time.monotonic(), done
        self.next = max(self.next, self.began + PATIENCE)

    def update(self, done: int, note: str = "") -> None:
        now = time.monotonic()
        if now < self.next:
            return
        since = max(done - self.before, 0)
        if self.per_second is not None:
            note = f"{since / (now - self.began):,.0f} {self.per_second} a second"
        if self._bar is None and sys.stderr.isatty():
            self._bar = _rich_bar()
            if self._bar is not None:
                self._task = self._bar.add_task(self.what, total=self.total, note="")
        if self._bar is not None:
            self._bar.update(self._task, completed=done, note=note)
            self.next = now + BAR_EVERY
        else:
            seconds = now - self.began
            left = seconds * (self.total - done) / max(since, 1)
            note = f", {note}" if note else ""
            print(
                f"{self.what}: {done:,} of {self.total:,}{note}, "
                f"{seconds:.0f} s, about {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )
            self._lines += 1
            self.next = now + LINE_EVERY

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            if kind is None:
                self._bar.update(self._task, completed=self.total)
            self._bar.stop()
        elif self._lines and kind is None:
            seconds = time.monotonic() - self.began
            print(f"{self.what}: done in {seconds:.0f} s", file=sys.stderr, flush=True)


def say(words: str, verbose: int) -> None:
    """Print one line where progress goes, unless progress is switched off."""
    if verbose and is_first():
        print(words, file=sys.stderr, flush=True)


def _rich_bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    bar = RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[note]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    bar.start()
    return bar
