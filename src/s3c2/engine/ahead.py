"""Reading ahead: the next items are made by another thread while the last one is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

WAITING = 0.1  # seconds between two looks at whether anyone still wants the items


def ahead(items: Iterable[T], most: int = 2) -> Iterator[T]:
    """The same items, of which up to ``most`` are made before they are asked for.

    An error in making one is raised where the item would have come.
    """
    made: queue.Queue[tuple[bool, Any]] = queue.Queue(most)
    closed = threading.Event()

    def put(one: tuple[bool, Any]) -> None:
        while not closed.is_set():
            try:
                return made.put(one, timeout=WAITING)
            except queue.Full:
                continue

    def make() -> None:
        try:
            for item in items:
                put((True, item))
                if closed.is_set():
                    return
            put((False, None))
        except BaseException as error:  # raised again in the thread that asks
            put((False, error))

    thread = threading.Thread(target=make, name="s3c2 reading ahead", daemon=True)
    thread.start()
    try:
        while True:
            there, item = made.get()
            if there:
                yield item
            elif item is None:
                return
            else:
                raise item
    finally:
        closed.set()
        thread.join()
