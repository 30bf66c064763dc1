"""Progress on stderr."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace

from s3c2.engine.progress import Progress


def test_progress_goes_to_stderr_and_can_be_switched_off(capsys, monkeypatch):
    monkeypatch.setattr("s3c2.engine.progress.PATIENCE", 0.0)
    for verbose in (0, 1):
        with Progress("training", 10, verbose) as progress:
            progress.update(5, "loss 0.5")
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("training: 5 of 10, loss 0.5") if verbose else err == ""


def test_what_was_told_of_ends_with_a_line(capsys, monkeypatch):
    with Progress("reading", 10):
        pass
    assert capsys.readouterr().err == ""  # too short to tell
    monkeypatch.setattr("s3c2.engine.progress.PATIENCE", 0.0)
    with Progress("training", 10) as progress:
        progress.update(5)
    assert capsys.readouterr().err.splitlines()[1:] == ["training: done in 0 s"]
    with suppress(KeyboardInterrupt), Progress("training", 10) as progress:
        progress.update(5)
        raise KeyboardInterrupt
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_speed_and_time_can_leave_out_the_start(capsys, monkeypatch):
    now = 0.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("s3c2.engine.progress.time", clock)
    with Progress("predicting", 110, per_second="rows") as progress:
        now = 100.0  # the workers had to be started
        progress.count_from(10)
        progress.update(10)  # too early to tell
        now = 102.0
        progress.update(30)
        now = 110.0
    said = "predicting: 30 of 110, 10 rows a second, 2 s, about 8 s left"
    assert capsys.readouterr().err.splitlines() == [said, "predicting: done in 10 s"]
