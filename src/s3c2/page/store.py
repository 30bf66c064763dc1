"""The answers on disk: one SQLite file, to which events are added and from which none is removed.

An event is on the disk before `add` returns. Each has a key that its sender made: what is sent
twice counts once. One process at a time has the file.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Literal

from s3c2.errors import StorageError

# Before this version a checkpoint of one connection could lose the commits of another in WAL mode.
SAFE_WAL = (3, 51, 3)
TABLES = """
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    a TEXT NOT NULL, b TEXT NOT NULL, verdict TEXT NOT NULL, author TEXT NOT NULL,
    expected REAL, time REAL NOT NULL);
CREATE TABLE IF NOT EXISTS items (name TEXT PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Event:
    """An answer; or "undo", which takes back the answer of the key that ``verdict`` holds.

    Attributes
    ----------
    key : made by the sender, different for each event
    a, b : names of the two items
    expected : the probability of "same" that had been expected
    time : seconds since 1970
    """

    key: str
    kind: Literal["answer", "undo"]
    a: str
    b: str
    verdict: str
    author: str
    expected: float | None = None
    time: float = 0.0


COLUMNS = ", ".join(field.name for field in fields(Event))


class Store:
    """The events of a project.

    Parameters
    ----------
    path : the file; it is made if there is none
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=5
            )
            wal = sqlite3.sqlite_version_info >= SAFE_WAL
            self._connection.execute(f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}")
            self._connection.execute(f"PRAGMA synchronous={'FULL' if wal else 'EXTRA'}")
            self._connection.executescript(TABLES)
        except sqlite3.DatabaseError as error:
            raise StorageError(
                f"{path} cannot be used as a file of answers ({error}). Move it away, or choose "
                f"another folder."
            ) from error

    def add(self, event: Event, contents: Mapping[str, str]) -> bool:
        """Write an event and the contents of its items; whether it is new.

        It is on the disk when this returns. `StorageError` where it could not be written.
        """
        event = replace(event, time=event.time or time.time())
        places = ", ".join("?" * len(fields(Event)))
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                done = self._connection.execute(
                    f"INSERT OR IGNORE INTO events ({COLUMNS}) VALUES ({places})", astuple(event)
                ).rowcount
                self._connection.executemany(
                    "INSERT OR REPLACE INTO items VALUES (?, ?)", contents.items()
                )
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise StorageError(
                    f"The answer was not saved: {self.path} cannot be written ({error}). Make room "
                    f"on the disk or mend the folder, and answer again."
                ) from error
        return done == 1

    def events(self) -> Iterator[Event]:
        """All events in their order."""
        with self._lock:
            rows = self._connection.execute(
                f"SELECT {COLUMNS} FROM events ORDER BY number"
            ).fetchall()
        return (Event(*row) for row in rows)

    def answers(self) -> list[Event]:
        """The answers in their order, without those that were taken back."""
        found: dict[str, Event] = {}
        for event in self.events():
            if event.kind == "answer":
                found[event.key] = event
            else:
                found.pop(event.verdict, None)
        return list(found.values())

    def contents(self) -> dict[str, str]:
        """The content of each item at the time of its last answer, by name."""
        with self._lock:
            return dict(self._connection.execute("SELECT name, content FROM items").fetchall())

    def settings(self) -> dict[str, str]:
        """What the project was begun with."""
        with self._lock:
            return dict(self._connection.execute("SELECT name, value FROM settings").fetchall())

    def set(self, **settings: str) -> None:
        """Keep settings."""
        with self._lock:
            self._connection.executemany(
                "INSERT OR REPLACE INTO settings VALUES (?, ?)", settings.items()
            )

    def close(self) -> None:
        with self._lock:
            self._connection.close()
