"""Work beside each other: items made ahead by another thread, and worked on in several."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import torch

T = TypeVar("T")
U = TypeVar("U")

WAITING = 0.1  # seconds between two looks at whether anyone still wants the items


def ahead(items: Iterable[T], most: int = 2) -> Generator[T]:
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


def side_by_side(work: Callable[[T], U], items: Iterable[T], most: int = 4) -> Generator[U]:
    """The results of some work on items, in their order, of which some are under way at a time.

    They are ``most`` or fewer, and have equal shares of torch's threads: the fewer threads work on
    one item, the less they wait for each other.
    """
    threads = torch.get_num_threads()
    n = max(k for k in range(1, min(most, threads) + 1) if threads % k == 0)
    waiting: deque[Future[U]] = deque()
    try:
        with ThreadPoolExecutor(n, "s3c2", torch.set_num_threads, (threads // n,)) as pool:
            try:
                for item in items:
                    waiting.append(pool.submit(work, item))
                    if len(waiting) > n:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for one in waiting:
                    one.cancel()
    finally:
        torch.set_num_threads(threads)  # threads that begin later take the number set last
