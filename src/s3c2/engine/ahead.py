"""Work beside each other: items made ahead by another thread, and worked on in several."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import torch

T = TypeVar("T")
U = TypeVar("U")

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


def side_by_side(work: Callable[[T], U], items: Iterable[T], most: int = 4) -> Iterator[U]:
    """The results of some work on items, in their order, of which up to ``most`` are under way.

    They share torch's threads: the fewer work on one item, the less they wait for each other.
    """
    threads = torch.get_num_threads()
    most = min(most, threads)
    waiting: deque[Future[U]] = deque()
    with ThreadPoolExecutor(
        most, initializer=torch.set_num_threads, initargs=(threads // most,)
    ) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()
