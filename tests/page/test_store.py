"""Answers on disk: whole, in order, once, whatever happens to the process."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time

import pytest

from s3c2.errors import StorageError
from s3c2.page.lock import ProjectLock
from s3c2.page.store import Event, Store


def answer(key, verdict="same", a="x", b="y", author="me"):
    return Event(key, "answer", a, b, verdict, author)


def test_events_come_back_in_order_and_undone_ones_do_not(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    for key in ("1", "2", "3"):
        assert store.add(answer(key), {"x": "one", "y": "two"})
    store.add(Event("4", "undo", "x", "y", "2", "me"), {})
    store.close()
    again = Store(tmp_path / "answers.sqlite")
    assert [event.key for event in again.answers()] == ["1", "3"]
    assert [event.key for event in again.events()] == ["1", "2", "3", "4"]
    assert again.contents() == {"x": "one", "y": "two"}


def test_what_is_sent_twice_counts_once(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    assert store.add(answer("1", "same"), {})
    assert not store.add(answer("1", "different"), {})
    assert [event.verdict for event in store.answers()] == ["same"]


def test_a_full_disk_is_told_and_nothing_is_half_written(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    store.add(answer("1"), {})
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count={pages}")  # SQLite's own full disk
    with pytest.raises(StorageError, match="was not saved.*full"):
        store.add(answer("2"), {"x" * 5000: "long"})
    store._connection.execute("PRAGMA max_page_count=100000")
    assert store.add(answer("3"), {})
    assert [event.key for event in store.answers()] == ["1", "3"]


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "answers.sqlite").write_bytes(b"no database" * 200)
    with pytest.raises(StorageError, match="cannot be used as a file of answers"):
        Store(tmp_path / "answers.sqlite")


def test_the_second_process_is_told_where_the_first_is(tmp_path):
    with ProjectLock(tmp_path) as lock:
        lock.tell("http://127.0.0.1:1234/")
        with pytest.raises(StorageError, match="open already, in http://127.0.0.1:1234/"):
            ProjectLock(tmp_path)
    with ProjectLock(tmp_path):
        pass


def write_for_ever(path, first, told):
    """Add events from several threads, and tell each after it is on the disk."""
    import threading

    store, write = Store(path), threading.Lock()

    def work(thread):
        number = 0
        while True:
            key = f"{first}-{thread}-{number}"
            store.add(answer(key), {"x": key})
            with write:
                os.write(told, f"{key}\n".encode())
            if number % 3 == 0:  # a retry, as after a lost reply
                store.add(answer(key), {})
            number += 1

    for thread in range(2):
        threading.Thread(target=work, args=(thread,), daemon=True).start()
    time.sleep(60)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks, and sends SIGKILL")
def test_fifty_kills_lose_no_acknowledged_answer_and_double_none(tmp_path):
    path, acknowledged = tmp_path / "answers.sqlite", []
    context = multiprocessing.get_context("fork")
    moments = random.Random(0)
    for kill in range(50):
        heard, told = os.pipe()
        process = context.Process(target=write_for_ever, args=(path, kill, told))
        process.start()
        os.close(told)
        first = os.read(heard, 1 << 16) if kill % 2 else b""  # half of them die at the start
        time.sleep(moments.random() * 0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        rest = b""
        while chunk := os.read(heard, 1 << 16):
            rest += chunk
        os.close(heard)
        acknowledged += [line for line in (first + rest).decode().split("\n")[:-1] if line]
    keys = [event.key for event in Store(path).answers()]
    assert len(acknowledged) >= 25
    assert set(acknowledged) <= set(keys)
    assert len(keys) == len(set(keys))
