"""The Links class: what it takes, what it refuses, and that it never meets the wrong rows."""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_validate

from s3c2.errors import LinksError, LinksWarning, RowNumberError
from s3c2.links import Links

N = 12
quick = settings(deadline=None, max_examples=60)


@st.composite
def row_links(draw, n=N, max_links=20):
    """Any links on n rows, contradictions included."""
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    must = draw(st.lists(pair, max_size=max_links))
    cannot = draw(st.lists(pair.filter(lambda p: p[0] != p[1]), max_size=max_links))
    return Links(must, cannot, n_samples=n)


def pair_set(pairs):
    return {frozenset(pair) for pair in pairs.tolist()}


# What it holds


def test_holds_pairs_weights_and_counts():
    links = Links([(0, 1), (2, 3)], [(0, 2)], n_samples=4, must_weight=[0.5, 1], cannot_weight=0.25)
    assert links.must.tolist() == [[0, 1], [2, 3]]
    assert links.cannot.tolist() == [[0, 2]]
    assert links.must_weight.tolist() == [0.5, 1.0]
    assert links.cannot_weight.tolist() == [0.25]
    assert (links.n_must, links.n_cannot, links.n_links) == (2, 1, 3)
    assert links.n_samples == 4
    assert not links.by_id
    assert repr(links) == "Links(2 must-links, 1 cannot-link, 4 rows)"


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1), (2, 3)],
        [[0, 1], [2, 3]],
        np.array([[0, 1], [2, 3]], dtype=np.uint8),
        np.array([[0, 1], [2, 3]], dtype=object),
        pd.DataFrame({"a": [0, 2], "b": [1, 3]}),
        zip([0, 2], [1, 3]),
        [(np.int32(0), np.int64(1)), (2, 3)],
    ],
)
def test_takes_any_sequence_of_pairs(pairs):
    links = Links(pairs, n_samples=4)
    assert links.must.tolist() == [[0, 1], [2, 3]]
    assert links.must.dtype == np.int64


def test_takes_string_ids():
    links = Links(np.array([["x", "y"]]), [("x", "z\0")])
    assert links.by_id
    assert links.n_samples is None
    assert links.cannot.tolist() == [["x", "z\0"]]
    assert all(type(v) is str for v in links.must.ravel())


def test_empty_links():
    links = Links(n_samples=3)
    assert links.must.shape == (0, 2)
    assert links.cannot.shape == (0, 2)
    assert Links().by_id
    assert Links() == Links([], [])
    assert Links().closure().n_components == 0


def test_duplicates_count_once_with_the_largest_weight():
    links = Links([(0, 1), (2, 3), (1, 0)], n_samples=4, must_weight=[0.2, 0.3, 0.9])
    assert links.must.tolist() == [[0, 1], [2, 3]]
    assert links.must_weight.tolist() == [0.9, 0.3]
    assert links.n_duplicates == 1
    assert Links([("a", "b"), ("b", "a"), ("a", "b")]).n_duplicates == 2


def test_must_link_to_itself_is_left_out():
    links = Links([(1, 1), (0, 1)], n_samples=2, must_weight=[0.1, 0.2])
    assert links.must.tolist() == [[0, 1]]
    assert links.must_weight.tolist() == [0.2]
    assert links.n_duplicates == 0


def test_a_pair_given_both_ways_is_kept():
    links = Links([(0, 1)], [(1, 0)], n_samples=2)
    assert links.n_links == 2


def test_the_caller_array_stays_as_it_is():
    pairs = np.array([[0, 1]])
    weight = np.array([0.5])
    links = Links(pairs, n_samples=2, must_weight=weight)
    pairs[0, 0] = 1
    weight[0] = 0.1
    assert links.must.tolist() == [[0, 1]]
    assert links.must_weight.tolist() == [0.5]


# Frozen and opaque


@pytest.mark.parametrize("name", ["__len__", "shape", "__array__", "__iter__", "__getitem__"])
def test_is_opaque(name):
    assert not hasattr(Links(n_samples=1), name)


def test_is_read_only_also_after_copying():
    links = Links([(0, 1)], [(1, 2)], n_samples=3)
    for same in (links, copy.copy(links), copy.deepcopy(links), pickle.loads(pickle.dumps(links))):
        assert same == links
        assert hash(same) == hash(links)
        for array in (same.must, same.cannot, same.must_weight, same.cannot_weight):
            assert not array.flags.writeable
        with pytest.raises(AttributeError):
            same.must = np.zeros((0, 2))
        with pytest.raises(AttributeError):
            same.other = 1


def test_equality():
    links = Links([(0, 1)], n_samples=3)
    assert links == Links([(0, 1)], n_samples=3)
    assert links != Links([(0, 1)], n_samples=4)
    assert links != Links([(0, 1)])
    assert links != Links(cannot=[(0, 1)], n_samples=3)
    assert links != Links([(0, 1)], n_samples=3, must_weight=0.5)
    assert links != "links"


# What it refuses


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"must": [(0, 1), (0, 60)], "n_samples": 60},
            "must[1] = (0, 60): 60 is not a row number. "
            "With 60 rows row numbers are the integers 0 to 59.",
        ),
        ({"cannot": [(0, -1)], "n_samples": 60}, "cannot[0] = (0, -1): -1 is not a row number."),
        ({"must": [(0, 1.0)], "n_samples": 6}, "must[0] = (0, 1.0): 1.0 is not a row number."),
        ({"must": np.array([[0.0, 1.0]]), "n_samples": 6}, "0.0 is not a row number."),
        ({"must": [(0, True)], "n_samples": 6}, "True is not a row number."),
        ({"must": [("x", "y")], "n_samples": 6}, "'x' is not a row number."),
        ({"must": [(0, "y")], "n_samples": 6}, "'y' is not a row number."),
        (
            {"must": [(0, 1)], "n_samples": 0},
            "With 0 rows there are none. For ids, leave out n_samples.",
        ),
        ({"must": [(0, "y")]}, "must[0] = (0, 'y'): 'y' is a string, but 0 is an integer"),
        ({"must": [("x", 2)]}, "2 is an integer, but 'x' is a string"),
        ({"must": [(0, 1.5)]}, "1.5 is neither an integer nor a string"),
        ({"must": [(0, None)]}, "None is neither an integer nor a string"),
        ({"must": [("x", "")]}, "'' is an empty string"),
        ({"must": [(0, 2**70)]}, "does not fit in 64 bits"),
        ({"must": [(0, 1)], "cannot": [("a", "b")]}, "must holds integers and cannot holds string"),
        ({"must": [(0, 1), (1, 2, 3)], "n_samples": 6}, "must[1] must be a pair (a, b). Got (1, 2"),
        ({"must": ["ab"]}, "must[0] must be a pair (a, b). Got 'ab'"),
        ({"must": np.zeros((2, 3), int)}, "shape (m, 2). Got shape (2, 3)"),
        ({"must": 5}, "must must be a sequence of pairs (a, b). Got 5 instead."),
        (
            {"cannot": [(0, 1), (5, 5)], "n_samples": 6},
            "cannot[1] = (5, 5): a cannot-link of row 5 t",
        ),
        ({"cannot": [("x", "x")]}, "cannot-link of id 'x' to itself"),
        (
            {"must": [(0, 1)], "must_weight": 0.0},
            "must_weight is 0.0. A weight is a number above 0",
        ),
        ({"must": [(0, 1), (1, 2)], "must_weight": [1, 1.5]}, "must_weight[1] is 1.5."),
        ({"cannot": [(0, 1)], "cannot_weight": [np.nan]}, "cannot_weight[0] is nan."),
        ({"must": [(0, 1)], "must_weight": [1, 1]}, "one per pair: shape (1,). Got shape (2,)"),
        ({"must": [(0, 1)], "must_weight": "heavy"}, "must_weight must be numbers above 0"),
        ({"n_samples": -1}, "n_samples must be the number of rows"),
        ({"n_samples": 1.5}, "Got 1.5 instead."),
        ({"n_samples": True}, "Got True instead."),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(LinksError, match=re.escape(message)):
        Links(**arguments)


# From labels


def test_from_labels_draws_true_distinct_pairs():
    y = np.random.default_rng(0).integers(-1, 5, 300)
    links = Links.from_labels(y, 1000, must_share=0.3, random_state=1)
    assert (links.n_must, links.n_cannot, links.n_samples) == (300, 700, 300)
    assert links.n_duplicates == 0
    assert np.all(y[links.must[:, 0]] == y[links.must[:, 1]])
    assert np.all(y[links.cannot[:, 0]] != y[links.cannot[:, 1]])
    assert np.all(y[links.must] != -1)
    assert np.all(y[links.cannot] != -1)
    assert np.all(links.must[:, 0] < links.must[:, 1])


@pytest.mark.parametrize(
    "y",
    [
        ["b", "a", "a", "b"],
        np.array(["b", "a", "a", "b"]),
        pd.Series(["b", "a", "a", "b"]),
        [True, False, False, True],
        [2.0, 1.0, 1.0, 2.0],
        np.array([2, 1, 1, 2], dtype=object),
        np.array(["", "a", "a", ""], dtype=object),
    ],
)
def test_from_labels_of_any_kind(y):
    links = Links.from_labels(y, 6, must_share=None, random_state=0)
    assert pair_set(links.must) == {frozenset((0, 3)), frozenset((1, 2))}
    assert links.n_cannot == 4


@pytest.mark.parametrize("n", [1, 2])
def test_from_labels_knows_the_unknown_in_a_list(n):
    links = Links.from_labels(["a", "a", "b", "b", -1, -1, -1], n, must_share=1, random_state=0)
    assert {tuple(pair) for pair in links.must.tolist()} <= {(0, 1), (2, 3)}


@pytest.mark.parametrize("y", [["a", "a", np.nan, np.nan], [0.0, 0.0, np.inf, np.inf]])
def test_from_labels_refuses_what_is_no_class(y):
    with pytest.raises(LinksError, match="y must hold integers or strings"):
        Links.from_labels(y, 1)


def test_from_labels_strings_beside_unknown():
    links = Links.from_labels(np.array(["a", -1, "a", "b"], dtype=object), 3, must_share=None)
    assert pair_set(links.must) == {frozenset((0, 2))}
    assert links.n_cannot == 2


@quick
@given(st.lists(st.integers(-1, 3), max_size=9), st.randoms(use_true_random=False))
def test_from_labels_can_draw_every_pair_there_is(y, random):
    known = [i for i, label in enumerate(y) if label != -1]
    pairs = [frozenset((i, j)) for i in known for j in known if i < j]
    must = {p for p in pairs if len({y[i] for i in p}) == 1}
    seed = random.randrange(1000)
    links = Links.from_labels(y, len(pairs), must_share=None, random_state=seed)
    assert pair_set(links.must) == must
    assert pair_set(links.cannot) == set(pairs) - must
    some = Links.from_labels(y, len(must), must_share=1, random_state=seed)
    assert pair_set(some.must) == must
    other = Links.from_labels(y, len(pairs) - len(must), must_share=0, random_state=seed)
    assert pair_set(other.cannot) == set(pairs) - must


@pytest.mark.parametrize("must_share", [0, 1, None])
@pytest.mark.parametrize("n", [1, 4])
def test_from_labels_is_uniform(must_share, n):
    y = [0, 0, 0, 0, 1, 1, 2, -1]
    rng = np.random.default_rng(0)
    counts: dict[tuple[int, int], int] = {}
    n_draws = 3000
    for _ in range(n_draws):
        links = Links.from_labels(y, n, must_share=must_share, random_state=rng)
        for pair in [*links.must.tolist(), *links.cannot.tolist()]:
            counts[tuple(pair)] = counts.get(tuple(pair), 0) + 1
    n_pairs = {0: 14, 1: 7, None: 21}[must_share]
    share = n / n_pairs
    assert len(counts) == n_pairs
    # Five standard deviations of a binomial count.
    slack = 5 * np.sqrt(n_draws * share * (1 - share))
    assert all(abs(c - n_draws * share) < slack for c in counts.values())


def test_numbers_of_pairs_are_exact_where_floats_round():
    from s3c2.links.sampling import _pair_of_number

    j = np.array([2, 3, 60_000, 94_906_267, 3_000_000_000 - 1])
    first = j * (j - 1) // 2
    assert _pair_of_number(first).tolist() == [[0, k] for k in j.tolist()]
    assert _pair_of_number(first - 1).tolist() == [[k - 2, k - 1] for k in j.tolist()]


def test_from_labels_randomness_is_scoped():
    y = np.arange(50) % 5
    before = np.random.get_state()[1].copy()
    same = [Links.from_labels(y, 20, random_state=3) for _ in range(2)]
    assert same[0] == same[1]
    state = [Links.from_labels(y, 20, random_state=np.random.RandomState(3)) for _ in range(2)]
    assert state[0] == state[1]
    rng = np.random.default_rng(3)
    assert Links.from_labels(y, 20, random_state=rng) != Links.from_labels(y, 20, random_state=rng)
    assert Links.from_labels(y, 20) != Links.from_labels(y, 20)
    assert np.array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0, 1], 4, None), "4 pairs of labelled rows were asked for, but y has only 3."),
        (([0, 0, 1], 2, 1), "2 pairs with the same label were asked for, but y has only 1."),
        (([0, 0, 1], 3, 0), "3 pairs with different labels were asked for, but y has only 2."),
        (([0, 0, 1], -1, 0), "n must be the number of links"),
        (([0, 0, 1], 1.5, 0), "n must be the number of links"),
        (([0, 0, 1], 1, 1.5), "must_share must be a number from 0 to 1, or None."),
        (([0, 0, 1], 1, "half"), "must_share must be a number from 0 to 1, or None."),
        (([0.5, 0, 1], 1, 0), "y must hold integers or strings"),
        (([np.nan, 0, 1], 1, 0), "y must hold integers or strings"),
        (([[0, 0, 1]], 1, 0), "one label per row. Got shape (1, 3)"),
    ],
)
def test_from_labels_refuses(arguments, message):
    y, n, must_share = arguments
    with pytest.raises(LinksError, match=re.escape(message)):
        Links.from_labels(y, n, must_share=must_share, random_state=0)


def test_from_labels_refuses_a_bad_seed():
    with pytest.raises(LinksError, match=r"random_state must be None, an integer .* Got 'x'"):
        Links.from_labels([0, 0], 1, must_share=1, random_state="x")


# Restrict


@quick
@given(row_links(), st.permutations(range(N)), st.integers(0, N))
def test_restrict_keeps_links_between_the_rows(links, order, n_rows):
    rows = order[:n_rows]
    part = links.restrict(np.array(rows, dtype=int))
    assert part.n_samples == n_rows
    for pairs, kept in ((links.must, part.must), (links.cannot, part.cannot)):
        expected = [[rows.index(a), rows.index(b)] for a, b in pairs if a in rows and b in rows]
        assert kept.tolist() == expected


def test_restrict_by_mask_and_weights():
    links = Links([(0, 2), (1, 2)], n_samples=3, must_weight=[0.5, 0.25])
    part = links.restrict(np.array([False, True, True]))
    assert part.must.tolist() == [[0, 1]]
    assert part.must_weight.tolist() == [0.25]


def test_restrict_by_id():
    links = Links([("a", "b"), ("b", "c")], [("a", "c")])
    part = links.restrict(["c", "b", "z"])
    assert part == Links([("b", "c")])
    assert Links([(5, 7)]).restrict([7, 5]) == Links([(5, 7)])
    assert links.restrict([]).n_links == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 3], "rows[1] is 3, but the links speak of the rows 0 to 2."),
        ([-1], "rows[0] is -1"),
        (["a"], "rows[0] is 'a'"),
        ([0, 1, 0], "rows must be different for every row. 0 stands at positions 0 and 2."),
        ([True, False], "A mask of rows must have shape (3,)"),
        ([0.5], "rows[0] = 0.5 is neither"),
        ([[0]], "rows must have one dimension"),
    ],
)
def test_restrict_refuses(rows, message):
    with pytest.raises(LinksError, match=re.escape(message)):
        Links([(0, 1)], n_samples=3).restrict(rows)


def test_restrict_refuses_ids_of_another_kind():
    with pytest.raises(LinksError, match="rows holds integers, but the links' ids are strings"):
        Links([("a", "b")]).restrict([1, 2])


# Resolve


def test_resolve_by_row_number():
    links = Links([(0, 1)], n_samples=3)
    assert links.resolve(3) == links
    with pytest.raises(LinksError, match=r"speak of 3 rows, but X has 2\. Pass sample_id"):
        links.resolve(2)


def test_resolve_ids():
    links = Links([("a", "b")], [("b", "c")], cannot_weight=0.5)
    with pytest.raises(LinksError, match=r"speak of ids.*Pass sample_id"):
        links.resolve(3)
    rows = links.resolve(4, ["c", "b", "z", "a"])
    assert rows == Links([(3, 1)], [(1, 0)], n_samples=4, cannot_weight=0.5)


def test_resolve_row_numbers_as_ids():
    links = Links([(0, 5)], n_samples=6)
    assert links.resolve(2, np.array([5, 0])) == Links([(1, 0)], n_samples=2)


def test_resolve_leaves_out_absent_rows_with_a_warning():
    links = Links([(0, 1), (1, 2)], [(2, 3)], n_samples=4)
    with pytest.warns(LinksWarning, match=r"2 of 3 links were left out.*cross_validate_links"):
        rows = links.resolve(2, [1, 0])
    assert rows == Links([(1, 0)], n_samples=2)


def test_the_warning_of_absent_rows_names_a_link():
    links = Links([("ann", "bea")], [("bea", "zoe")])
    with pytest.warns(LinksWarning, match=r"1 of 2 .*such as that of 'bea' and 'zoe'\."):
        links.resolve(2, ["ann", "bea"])
    with pytest.raises(LinksError, match=r"speak of, for example, 'ann'"):
        links.resolve(2, ["x", "y"])


def test_resolve_no_links():
    assert Links().resolve(2, ["a", "b"]) == Links(n_samples=2)


@pytest.mark.parametrize(
    ("links", "n", "sample_id", "message"),
    [
        (Links([("a", "b")]), 2, ["x", "y"], "None of the 1 links has both rows in X: the links "
         "speak of, for example, 'a', and sample_id holds, for example, 'x'."),
        (Links([(0, 1)], n_samples=4), 2, [2, 3], "None of the 1 links"),
        (Links([(0, 1)]), 0, [], "X has no rows"),
        (Links([("1", "2")]), 2, [1, 2], "The links' ids are strings (such as '1'), but "
         "sample_id holds integers (such as 1)."),
        (Links([(1, 2)]), 2, ["1", "2"], "The links' ids are integers"),
        (Links([("a", "b")]), 3, ["a", "b"], "one id per row of X: 3. Got 2 instead."),
        (Links([("a", "b")]), 2, ["a", "a"], "sample_id must be different for every row. 'a'"),
        (Links([(0, 1)], n_samples=2), 2, [0, 2], "sample_id[1] is 2, but the links hold row numb"),
        (Links([(0, 1)], n_samples=2), 2, ["0", "1"], "sample_id[0] is '0', but the links hold"),
        (Links([("a", "b")]), 2, 7, "sample_id must be a sequence with one id per row. Got 7"),
        (Links([("a", "b")]), 2, ["a", 1], "sample_id[1] = 1 is an integer, but 'a' is a string"),
    ],
)  # fmt: skip
def test_resolve_refuses(links, n, sample_id, message):
    with pytest.raises(LinksError, match=re.escape(message)):
        links.resolve(n, sample_id)


# Split


def split_of(links, k, seed=0):
    """The folds, and whether a warning spoke of finer groups; None when there are too few."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return links.split(k, random_state=seed), bool(caught)
        except LinksError:
            return None


@quick
@given(row_links(n=20, max_links=12), st.integers(2, 4), st.integers(0, 5))
def test_split_never_leaks(links, k, seed):
    answer = split_of(links, k, seed)
    if answer is None:
        return
    folds, finer = answer
    assert len(folds) == k
    for train, held_out in folds:
        assert train.n_samples == held_out.n_samples == 20
        assert held_out.n_links > 0
        assert pair_set(train.must) | pair_set(held_out.must) == pair_set(links.must)
        assert pair_set(train.cannot) | pair_set(held_out.cannot) == pair_set(links.cannot)
        closure = train.closure()
        for a, b in [*held_out.must.tolist(), *held_out.cannot.tolist()]:
            assert closure.relation(a, b) is None
        if not finer:
            rows = [set(np.append(x.must, x.cannot).tolist()) for x in (train, held_out)]
            assert not rows[0] & rows[1]
    assert sum(held_out.n_must for _, held_out in folds) == links.n_must
    assert sum(held_out.n_cannot for _, held_out in folds) == links.n_cannot


def test_split_is_balanced_in_both_kinds():
    pairs = np.arange(400).reshape(-1, 2)
    links = Links(pairs[:100], pairs[100:], n_samples=400)
    for _, held_out in links.split(5, random_state=0):
        assert (held_out.n_must, held_out.n_cannot) == (20, 20)
    uneven = Links(pairs[:103], pairs[103:], n_samples=400)
    for _, held_out in uneven.split(5, random_state=0):
        assert held_out.n_must in (20, 21)
        assert held_out.n_links in (40, 41)


def test_split_by_seed():
    links = Links(np.arange(40).reshape(-1, 2), n_samples=40)
    assert links.split(3, random_state=0) == links.split(3, random_state=0)
    assert links.split(3, random_state=0) != links.split(3, random_state=1)


def test_split_of_one_large_component_warns():
    links = Links([(0, 1), (2, 3), (4, 5)], [(0, 2), (1, 3), (3, 5)], n_samples=6)
    with pytest.warns(LinksWarning, match=r"largest holds 6 of the 6 links.*finer groups"):
        folds = links.split(2, random_state=0)
    # Both cannot-links between {0, 1} and {2, 3} are one group.
    assert all({(0, 2) in fold, (1, 3) in fold} != {True, False} for fold in
               ({tuple(p) for p in held_out.cannot.tolist()} for _, held_out in folds))  # fmt: skip


def test_split_keeps_ids():
    folds = Links([("a", "b"), ("c", "d")]).split(2, random_state=0)
    assert sorted(held_out.must.tolist()[0] for _, held_out in folds) == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize(
    ("links", "k", "message"),
    [
        (Links([(0, 1), (1, 2)], n_samples=3), 2, "The 2 links form 1 group(s)"),
        (Links(n_samples=3), 2, "The 0 links form 0 group(s)"),
        (Links([(0, 1)], n_samples=3), 1, "k must be the number of folds"),
        (Links([(0, 1)], n_samples=3), 2.5, "k must be the number of folds"),
    ],
)
def test_split_refuses(links, k, message):
    with pytest.raises(LinksError, match=re.escape(message)):
        links.split(k)


# scikit-learn


class Recorder(BaseEstimator):
    """Keeps what its fit receives; X carries each row's original number."""

    seen: list = []  # noqa: RUF012 (clones share it on purpose)

    def __init__(self, a=0, default_links=None):
        self.a = a
        self.default_links = default_links

    def fit(self, X, y=None, *, links=None, sample_id=None):
        self.seen.append((X[:, 0].astype(int), links, sample_id))
        return self

    def score(self, X, y=None):
        return 0.0


@pytest.fixture
def sixty():
    """As many links as rows, the case in which scikit-learn would slice them."""
    Recorder.seen.clear()
    X = np.column_stack([np.arange(60.0), np.zeros(60)])
    links = Links.from_labels(np.arange(60) % 4, 60, random_state=0)
    assert len(X) == links.n_links
    return X, links


def true_pairs_only(rows, links, resolved):
    given_must, given_cannot = pair_set(links.must), pair_set(links.cannot)
    return pair_set(rows[resolved.must]) <= given_must and (
        pair_set(rows[resolved.cannot]) <= given_cannot
    )


@pytest.mark.filterwarnings("ignore::s3c2.errors.LinksWarning")
def test_a_thousand_random_splits_never_meet_wrong_rows(sixty):
    X, links = sixty
    folds = ShuffleSplit(1000, test_size=0.4, random_state=0)
    params = {"links": links, "sample_id": np.arange(60)}
    cross_validate(Recorder(), X, cv=folds, params=params, error_score="raise")
    assert len(Recorder.seen) == 1000
    n_kept = 0
    for rows, seen_links, sample_id in Recorder.seen:
        assert seen_links is links
        resolved = seen_links.resolve(len(rows), sample_id)
        assert true_pairs_only(rows, links, resolved)
        n_kept += resolved.n_links
        with pytest.raises(LinksError, match="speak of 60 rows, but X has 36"):
            seen_links.resolve(len(rows))
    # 36 of 60 rows keep 36·35 / (60·59) of the links.
    assert n_kept / 60_000 == pytest.approx(36 * 35 / (60 * 59), abs=0.01)


@pytest.mark.filterwarnings("ignore::s3c2.errors.LinksWarning")
def test_grid_search_with_string_ids(sixty):
    X, links = sixty
    names = np.array([f"row {i}" for i in range(60)])
    by_name = Links(names[links.must], names[links.cannot])
    search = GridSearchCV(Recorder(), {"a": [0, 1]}, cv=3, error_score="raise")
    search.fit(X, links=by_name, sample_id=names)
    assert len(Recorder.seen) == 7
    for rows, seen_links, sample_id in Recorder.seen:
        assert true_pairs_only(rows, links, seen_links.resolve(len(rows), sample_id))


def test_clone_keeps_links():
    links = Links([(0, 1)], n_samples=2)
    assert clone(Recorder(default_links=links)).default_links == links


def test_errors_survive_pickling():
    with pytest.raises(RowNumberError) as error:
        Links([(0, 9)], n_samples=9)
    again = pickle.loads(pickle.dumps(error.value))
    assert (type(again), str(again)) == (RowNumberError, str(error.value))
