"""The stop signal says what a person wants to know."""

from __future__ import annotations

import numpy as np

from s3c2.questions.stopping import share_moved, stop_signal


def told(**changes):
    usual = {"n_answers": 100, "n_seen": 5, "n_clusters": 5, "moved": (), "foreseen": ()}
    return stop_signal(**(usual | changes))


def test_names_of_clusters_do_not_matter():
    labels = np.array([0, 0, 1, 1, 2, 2])
    assert share_moved(labels, (labels + 1) % 3) == 0
    assert round(share_moved(labels, np.array([0, 0, 1, 1, 2, 1])), 6) == round(1 / 6, 6)


def test_it_goes_from_the_first_question_to_the_end():
    assert told(n_answers=0).state == "begin"
    assert "3 of the 5 clusters" in told(n_seen=3).words
    assert told().state == "go on"
    still = told(moved=(0.2, 0.004, 0.003), foreseen=(True,) * 30)
    assert still.state == "stop"
    assert "0.3 %" in still.words
    assert "of the last 30 pairs" in still.words
    assert "right about 100 %" in still.words


def test_it_does_not_stop_while_clusters_move_or_answers_surprise():
    assert told(moved=(0.004, 0.1), foreseen=(True,) * 30).state == "go on"
    assert told(moved=(0.1, 0.004), foreseen=(True,) * 30).state == "go on"
    assert told(moved=(0.0, 0.0), foreseen=(True, False) * 15).state == "go on"
    assert told(moved=(0.0, 0.0), foreseen=(True,) * 5).state == "go on"
