"""Progress on stderr."""

from __future__ import annotations

from s3c2.engine.progress import Progress


def test_progress_goes_to_stderr_and_can_be_switched_off(capsys, monkeypatch):
    monkeypatch.setattr("s3c2.engine.progress.PATIENCE", 0.0)
    for verbose in (0, 1):
        with Progress("training", 10, verbose) as progress:
            progress.update(5, "loss 0.5")
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("training: 5 of 10, loss 0.5") if verbose else err == ""
