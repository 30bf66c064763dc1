"""The study of strategies: it runs, goes on, and judges what it must show."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from s3c2.questions import Known, Pair, View

from experiments import classical, data, method_changes, questions
from experiments.runs import DEFAULT

STRATEGIES = questions.STRATEGIES


@pytest.fixture
def small(monkeypatch):
    """A hundred digits, and a handful of questions."""
    whole = data.load("digits", "dense")
    some = dataclasses.replace(
        whole, X_train=whole.X_train[:100], y_train=whole.y_train[:100],
        X_test=whole.X_test[:50], y_test=whole.y_test[:50],
    )  # fmt: skip
    monkeypatch.setattr(questions.data, "load", lambda name, network: some)
    quick = {"datasets": ("digits",), "seeds": 1, "marks": (0, 4, 8), "refits": (0, 4, 8)}
    monkeypatch.setattr(questions, "QUICK", quick)


def run(*flags):
    questions.main(["--quick", "--steps", "2", "--device", "cpu", *flags])


def test_it_runs_stops_goes_on_and_draws(small, folder, monkeypatch, no_training):
    path = folder / "questions.csv"
    run("--budget-seconds", "1")  # the first round at least
    first = questions.read(path)
    assert {row["n_questions"] for row in first} >= {"0"}
    run()
    rows = questions.read(path)
    assert rows[: len(first)] == first
    assert len(rows) == 3 * len(STRATEGIES)
    for row in rows:
        assert 0 <= float(row["nmi"]) <= 1
        assert int(row["n_same"]) + int(row["n_different"]) == int(row["n_questions"])
    monkeypatch.setattr(questions, "fit_many", no_training)
    run()
    assert questions.read(path) == rows
    assert (folder / "questions_summary.png").read_bytes().startswith(b"\x89PNG")


def table(nmi):
    """Rows of two seeds from {(strategy, questions): NMI}."""
    blank = dict.fromkeys(questions.COLUMNS, "")
    return questions.table_of(
        [
            blank
            | {"dataset": "digits", "strategy": strategy, "seed": str(seed),
               "n_questions": str(n), "nmi": str(value + 0.01 * seed), "ari": "0", "acc": "0",
               "n_same": "0"}
            for (strategy, n), value in nmi.items()
            for seed in (0, 1)
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ours_300", "ours_100", "verdicts"),
    [(0.9, 0.6, [True, True]), (0.8, 0.6, [False, True]), (0.9, 0.4, [True, False])],
)
def test_the_claims_are_judged(ours_300, ours_100, verdicts):
    found = table({
        ("random", 100): 0.6, ("random", 300): 0.7, ("random", 1000): 0.85,
        ("ours", 100): ours_100, ("ours", 300): ours_300, ("ours", 1000): 0.95,
    })  # fmt: skip
    assert [holds for _, holds, _ in questions.claims(found)] == verdicts


def test_rows_that_were_made_anew_take_the_place_of_earlier_ones(tmp_path):
    blank = dict.fromkeys(questions.COLUMNS, "")
    (before, *_) = method_changes.CHANGES[DEFAULT].commits
    earlier = [blank | {"seed": seed, "commit": before} for seed in "01"]
    path = tmp_path / "questions.csv"
    questions.append(path, earlier)
    anew = blank | {"seed": "1", "commit": "0123456"}
    questions.append(path, [anew])
    questions.append(path, [anew | {"nmi": "0.5"}])  # a row that is no earlier one stays
    assert questions.read(path) == [earlier[0], anew]


@pytest.mark.parametrize("name", classical.CLASSICAL)
def test_classical_strategies_place_row_after_row(name):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4
    code = (8 * rng.normal(size=(4, 5)))[y] + rng.normal(size=(60, 5))
    posteriors = np.eye(4, dtype=np.float32)[y]
    view = View(np.arange(60), posteriors, (code.astype(np.float32),), (1.0,))
    strategy = classical.CLASSICAL[name](np.arange(60), code, 4, 0)
    verdicts: dict[Pair, str] = {}
    for _ in range(40):
        known = Known(verdicts, 60)
        pair = strategy.next_pair(known, view, ())
        assert not known.says(*pair)
        verdicts[pair] = "same" if y[pair.a] == y[pair.b] else "different"
        strategy.note(pair, verdicts[pair])
    kinds = [{int(y[i]) for i in one} for one in strategy.neighbourhoods]
    assert all(len(kind) == 1 for kind in kinds)
    assert len(strategy.neighbourhoods) == 4
