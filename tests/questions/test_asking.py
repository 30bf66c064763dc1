"""Asking, answering and taking back: what a user of the two verbs notices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3c2.errors import LinksError
from s3c2.questions import Known, Pair, Questions, View


def blobs(n=120, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    centres = 6 * rng.normal(size=(k, 5))
    return centres[y] + rng.normal(size=(n, 5)), y


def answered(questions, y, n):
    """Ask n questions of someone who knows the classes."""
    pairs = []
    for _ in range(n):
        pair = questions.next_pair()
        if pair is None:
            break
        pairs.append(pair)
        questions.answer(pair, "same" if y[pair.a] == y[pair.b] else "different")
    return pairs


def knowing_nothing(X, k):
    """Questions by a model that tells no row from another."""
    questions = Questions(X, k)
    posteriors = np.full((len(X), k), 1 / k, dtype=np.float32)
    code = np.random.default_rng(0).normal(size=(len(X), 5)).astype(np.float32)
    questions.learn(View(questions.rows, posteriors, (code,), (5.0,)))
    return questions


@pytest.mark.parametrize("strategy", ["informative", "random"])
def test_no_pair_is_asked_that_is_known_or_implied(strategy):
    X, y = blobs()
    questions = Questions(X, 4, strategy=strategy)
    for _ in range(150):
        pair = questions.next_pair()
        if pair is None:
            break
        assert not questions.known.says(*pair)
        questions.answer(pair, "same" if y[pair.a] == y[pair.b] else "different")


@pytest.mark.parametrize("strategy", ["informative", "random"])
def test_questions_end_when_every_pair_is_known(strategy):
    X, y = blobs(12, 2)
    questions = Questions(X, 2, strategy=strategy)
    answered(questions, y, 100)
    assert questions.next_pair() is None
    closure = questions.known
    assert all(closure.says(a, b) for a in range(12) for b in range(12) if a != b)


def test_the_pair_stays_until_it_is_answered_and_comes_back_after_undo():
    X, _ = blobs()
    questions = Questions(X, 4)
    first = questions.next_pair()
    assert questions.next_pair() == first
    questions.answer(first, "same")
    assert questions.next_pair() != first
    assert questions.undo().pair == first
    assert questions.next_pair() == first
    assert questions.links().n_links == 0
    assert questions.undo() is None


def test_pairs_that_are_asked_elsewhere_are_avoided():
    X, _ = blobs()
    questions = Questions(X, 4)
    first = questions.next_pair()
    second = questions.next_pair(avoid={first})
    assert second != first


def test_an_unsure_pair_is_not_asked_again_and_is_no_link():
    X, y = blobs(30, 3)
    questions = Questions(X, 3)
    pair = questions.next_pair()
    questions.answer(pair, "unsure")
    assert pair not in answered(questions, y, 60)
    assert questions.known.n_unsure == 1
    must, cannot = (
        questions.known.answers_as_links().must,
        questions.known.answers_as_links().cannot,
    )
    assert list(pair) not in [*must.tolist(), *cannot.tolist()]


def test_rows_are_asked_about_again_and_must_links_are_frequent():
    """Random pairs are the same once in K; rows that share links teach most."""
    X, y = blobs(400, 8)
    questions = Questions(X, 8)
    pairs = answered(questions, y, 60)
    assert questions.known.n_same >= 30
    assert len({row for pair in pairs for row in pair}) < 90  # of 120 ends


def test_every_cluster_is_seen_soon():
    X, y = blobs(300, 6)
    questions = Questions(X, 6)
    answered(questions, y, 40)
    seen = {int(y[row]) for rows in questions.known.members.values() if len(rows) > 1
            for row in rows}  # fmt: skip
    assert seen == set(range(6))


def test_a_row_is_compared_on_until_it_finds_its_group():
    """The view knows nothing: three of four first answers are "different"."""
    X, y = blobs(200, 4)
    questions = knowing_nothing(X, 4)
    pairs = answered(questions, y, 80)
    refused = {row for a, b in pairs if y[a] != y[b] for row in (a, b)}
    in_groups = {row for rows in questions.known.members.values() if len(rows) > 1 for row in rows}
    assert len(refused) > 20
    assert len(refused - in_groups) <= 1  # the last row is not done yet


def test_a_row_is_given_up_when_no_group_has_a_chance():
    """The view is sure, and wrong about a row: after its first group another row is asked about."""
    X, y = blobs(200, 4)
    questions = Questions(X, 4)
    seems = np.where(np.arange(200) == 0, 1, y)
    posteriors = (np.eye(4)[seems] * 0.996 + 0.001).astype(np.float32)
    code = (30 * np.eye(4)[seems] + 0.1 * X[:, :4]).astype(np.float32)
    questions.learn(View(questions.rows, posteriors, (code,), (1.0,)))
    pairs = answered(questions, y, 200)
    first = next(i for i, pair in enumerate(pairs) if 0 in pair)
    assert seems[list(pairs[first])].tolist() == [1, 1]
    assert 0 not in pairs[first + 1]


def test_rows_are_drawn_so_that_no_part_of_the_data_is_left_out():
    """The model doubts the rows of one cluster alone; the first row may come from any of them."""
    X, y = blobs(200, 4)
    posteriors = np.where((y == 0)[:, None], (0.4, 0.2, 0.2, 0.2), np.eye(4)[y] * 0.96 + 0.01)
    view = View(np.arange(200), posteriors.astype(np.float32), (X.astype(np.float32),), (20.0,))
    first = set()
    for seed in range(40):
        questions = Questions(X, 4, random_state=seed)
        questions.learn(view)
        questions.next_pair()
        first.update(y[questions.strategy.rows].tolist())
    assert first == {0, 1, 2, 3}


@pytest.mark.parametrize(("right", "least", "most"), [(True, 0.35, 1.0), (False, 0.0, 0.2)])
def test_doubted_rows_are_asked_about_where_the_model_is_right(right, least, most):
    """Of a tenth of the rows it knows nothing; of the others it is sure, rightly or wrongly."""
    X, y = blobs(400, 4)
    doubted = np.arange(400) % 10 == 0
    shares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        seems = y if right else rng.permutation(y)
        posteriors = np.where(doubted[:, None], 0.25, np.eye(4)[seems] * 0.96 + 0.01)
        code = 4 * posteriors + 0.3 * rng.normal(size=(400, 4))
        posteriors, code = posteriors.astype(np.float32), code.astype(np.float32)
        questions = Questions(X, 4, random_state=seed)
        questions.learn(View(questions.rows, posteriors, (code,), (4.0,)))
        asked = []
        while len(asked) < 30:
            pair = questions.next_pair()
            asked += [row for row in questions.strategy.rows if row not in asked]
            questions.answer(pair, "same" if y[pair.a] == y[pair.b] else "different")
        shares.append(doubted[asked[10:]].mean())
    assert least <= np.mean(shares) <= most


def test_two_people_are_asked_about_different_rows():
    X, y = blobs(200, 4)
    questions = knowing_nothing(X, 4)
    one = questions.next_pair()
    for _ in range(60):
        two = questions.next_pair(avoid=[one])
        assert not set(one) & set(two) & set(questions.strategy.rows)
        questions.answer(one, "same" if y[one.a] == y[one.b] else "different")
        one = two


def test_answers_that_contradict_each_other_do_not_end_the_questions():
    X, _ = blobs(40, 2)
    questions = Questions(X, 2)
    for pair, verdict in (((0, 1), "same"), ((1, 2), "same"), ((0, 2), "different")):
        questions.answer(pair, verdict)
    assert questions.next_pair() is not None
    assert len(questions.known.answers_as_links().contradictions()) == 1
    assert len(questions.links().contradictions()) == 0


def test_links_for_a_fit_are_the_answers_alone():
    """A wrong answer must not become many: nothing that follows from others is among them."""
    known = Known({Pair(0, 1): "same", Pair(1, 2): "same", Pair(2, 3): "different"}, 5)
    links = known.links()
    assert sorted(map(tuple, links.must.tolist())) == [(0, 1), (1, 2)]
    assert links.cannot.tolist() == [[2, 3]]
    assert known.says(0, 3)  # and is not asked


def test_bad_answers_are_refused_by_name():
    X, _ = blobs(20, 2)
    questions = Questions(X, 2)
    with pytest.raises(ValueError, match="An answer is one of same, different, unsure"):
        questions.answer((0, 1), "maybe")
    with pytest.raises(LinksError, match="rows"):
        questions.answer((0, 20), "same")
    with pytest.raises(LinksError, match="two different rows"):
        questions.answer((3, 3), "same")
    with pytest.raises(ValueError, match="strategy must be"):
        Questions(X, 2, strategy="clever")


def test_a_large_table_is_asked_about_by_a_sample():
    X = np.zeros((5000, 2), dtype=np.float32)
    X[:, 0] = np.arange(5000) % 7
    questions = Questions(X, 7)
    assert len(questions.rows) == 2000
    assert questions.next_pair() is not None


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(["same", "different", "unsure", "undo"]), max_size=40))
def test_any_sequence_of_answers_equals_a_plain_list(moves):
    X, _ = blobs(15, 3)
    questions = Questions(X, 3)
    plain = []
    for move in moves:
        if move == "undo":
            questions.undo()
            plain = plain[:-1]
            continue
        pair = questions.next_pair()
        if pair is None:
            break
        questions.answer(pair, move)
        plain.append((pair, move))
    assert [(one.pair, one.verdict) for one in questions.history] == plain


def test_the_same_seed_asks_the_same():
    X, y = blobs()
    one, two = (answered(Questions(X, 4, random_state=3), y, 30) for _ in range(2))
    assert one == two
