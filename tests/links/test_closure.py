"""Closure, contradictions and cliques, against plain Python over all pairs of rows."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_links import N, pair_set, quick, row_links

from s3c2.errors import ContradictoryLinksError, LinksError, LinksWarning
from s3c2.links import Links


def slow_components(links):
    """The root of each row by union-find."""
    root = list(range(N))

    def find(i):
        while root[i] != i:
            i = root[i]
        return i

    for a, b in links.must.tolist():
        root[find(a)] = find(b)
    return [find(i) for i in range(N)]


def slow_relation(links, a, b):
    root = slow_components(links)
    if root[a] == root[b]:
        return "must"
    for c, d in links.cannot.tolist():
        if {root[a], root[b]} == {root[c], root[d]}:
            return "cannot"
    return None


def slow_distance(links, a, b):
    """Number of must-links on a shortest chain, None without one."""
    reached, distance = {a}, 0
    while b not in reached:
        more = {y for p in links.must.tolist() for x, y in (p, p[::-1]) if x in reached} | reached
        if more == reached:
            return None
        reached, distance = more, distance + 1
    return distance


def named(links):
    """The same links by string id."""
    names = np.array([f"id {i}" for i in range(N)], dtype=object)
    return Links(names[links.must], names[links.cannot])


# Closure


@quick
@given(row_links(max_links=8))
def test_closure_agrees_with_plain_python(links):
    closure = links.closure()
    by_id = named(links).closure()
    root = slow_components(links)
    assert closure.n_components == len(set(root)) == closure.component.max() + 1
    relations = {}
    for a in range(N):
        for b in range(N):
            expected = slow_relation(links, a, b)
            assert closure.relation(a, b) == expected
            assert by_id.relation(f"id {a}", f"id {b}") == expected
            if a < b:
                relations[a, b] = expected
    n_must = sum(r == "must" for r in relations.values())
    n_cannot = sum(r == "cannot" for r in relations.values())
    for one in (closure, by_id):
        assert (one.n_implied_must, one.n_implied_cannot) == (n_must, n_cannot)
    implied = links.implied()
    assert pair_set(implied.must) == {frozenset(p) for p, r in relations.items() if r == "must"}
    assert pair_set(implied.cannot) == {frozenset(p) for p, r in relations.items() if r == "cannot"}
    assert implied.n_duplicates == 0
    assert named(links).implied().n_links == implied.n_links


def test_closure_describes_components():
    closure = Links([(0, 1), (1, 2)], [(4, 0), (3, 2), (4, 1)], n_samples=5).closure()
    assert closure.component.tolist() == [0, 0, 0, 1, 2]
    assert closure.cannot.tolist() == [[0, 1], [0, 2]]
    assert closure.rows.tolist() == [0, 1, 2, 3, 4]
    assert repr(closure) == "Closure(5 rows in 3 components, 2 cannot-linked pairs of components)"
    assert closure.relations([0, 3, 0], [2, 1, 0]).tolist() == [1, -1, 1]
    assert closure.relations([3], [4]).dtype == np.int8


def test_closure_by_id_names_its_rows():
    closure = Links([(70, 10)], [(10, 40)]).closure()
    component = dict(zip(closure.rows.tolist(), closure.component.tolist()))
    assert component[70] == component[10] != component[40]
    assert closure.relation(40, 70) == "cannot"
    assert closure.relation(40, 99) is None
    assert closure.relation(99, 99) == "must"


def test_closure_counts_exactly_what_it_will_not_list():
    rows = np.arange(1_000_000)
    must = np.column_stack([rows[:-1], rows[1:]])
    must = must[must[:, 0] != 499_999]  # two components of half a million rows
    links = Links(must, [(0, 999_999)], n_samples=1_000_000)
    closure = links.closure()
    assert closure.n_implied_must == 2 * (500_000 * 499_999 // 2)
    assert closure.n_implied_cannot == 500_000**2
    assert type(closure.n_implied_must) is type(closure.n_implied_cannot) is int
    message = "imply 499,999,500,000 pairs (249,999,500,000 must-links and 250,000,000,000 cannot-"
    with pytest.raises(LinksError, match=re.escape(message)) as error:
        links.implied()
    assert "limit=1,000,000" in str(error.value)


@pytest.mark.parametrize(
    ("links", "a", "b", "message"),
    [
        (Links(n_samples=3), [0], [3], "b holds 3; row numbers are the integers 0 to 2."),
        (Links(n_samples=3), [-1], [0], "a holds -1"),
        (Links(n_samples=3), ["x"], [0], "a holds 'x'"),
        (Links(n_samples=3), [0.5], [0], "a[0] = 0.5 is neither an integer nor a string"),
        (Links(n_samples=3), [0, 1], [0], "a and b must be equally long. Got 2 and 1 rows."),
        (Links([("x", "y")]), [1], [2], "a holds integers, but the links' ids are strings."),
    ],
)
def test_relations_refuse(links, a, b, message):
    with pytest.raises(LinksError, match=re.escape(message)):
        links.closure().relations(a, b)


# Contradictions


@quick
@given(row_links(max_links=14))
def test_contradictions_agree_with_plain_python(links):
    found = links.contradictions()
    root = slow_components(links)
    expected = [(a, b) for a, b in links.cannot.tolist() if root[a] == root[b]]
    assert [(c.a, c.b) for c in found] == expected
    assert len(found) == len(expected)
    assert bool(found) == bool(expected)
    given_must = pair_set(links.must)
    for one in found:
        assert one.chain[0] == one.a
        assert one.chain[-1] == one.b
        assert all(frozenset(step) in given_must for step in zip(one.chain, one.chain[1:]))
        assert len(one.chain) - 1 == slow_distance(links, one.a, one.b)
    by_id = named(links).contradictions()
    assert [c.chain[0] for c in by_id] == [f"id {a}" for a, _ in expected]
    assert [len(c.chain) for c in by_id] == [len(c.chain) for c in found]


def test_contradictions_in_words():
    links = Links([(3, 5), (5, 9), (0, 1)], [(3, 9), (1, 0)], n_samples=10)
    long, both_ways = links.contradictions()
    assert str(long) == (
        "3 and 9 are a cannot-link, but must-links join them: 3–5, 5–9. "
        "At least one of these 3 links is wrong: correct or remove it."
    )
    assert str(both_ways) == (
        "1 and 0 are a cannot-link, but a must-link joins them: 1–0. "
        "At least one of these 2 links is wrong: correct or remove it."
    )
    assert links.contradictions()[-1] == both_ways
    assert links.contradictions()[:1] == [long]
    with pytest.raises(IndexError):
        links.contradictions()[2]
    assert repr(links.contradictions()) == "Contradictions(2)"


def test_contradictions_name_the_lines_of_a_file(tmp_path):
    file = tmp_path / "links.csv"
    file.write_text('a,b,link\nx,y,must\n"p\nq",r,cannot\n\nz,y,must\nx,z,cannot\n')
    (one,) = Links.read(file).contradictions()
    assert str(one).startswith(
        "'x' and 'z' are a cannot-link (line 7), but must-links join them: "
        "'x'–'y' (line 2), 'y'–'z' (line 6)."
    )


def test_a_long_chain_is_shown_by_its_ends():
    chain = [(i, i + 1) for i in range(100)]
    (one,) = Links(chain, [(0, 100)], n_samples=101).contradictions()
    assert one.chain == tuple(range(101))
    assert "4–5, … 90 more …, 95–96" in str(one)
    assert "these 101 links" in str(one)


@quick
@given(row_links(max_links=14))
def test_without_contradictions_is_consistent(links):
    rest, n_dropped = links.without_contradictions()
    assert n_dropped == links.n_links - rest.n_links
    assert not rest.contradictions()
    both_ways = pair_set(links.must) & pair_set(links.cannot)
    assert pair_set(rest.must) == pair_set(links.must) - both_ways
    root = slow_components(rest)
    assert pair_set(rest.cannot) == {
        frozenset((a, b))
        for a, b in links.cannot.tolist()
        if root[a] != root[b] and frozenset((a, b)) not in both_ways
    }


def test_check_consistent():
    good = Links([(0, 1)], [(1, 2)], n_samples=3)
    assert good.check_consistent() is good
    assert good.check_consistent("drop") is good
    chain = [(i, i + 1) for i in range(9)]
    bad = Links(chain, [(0, k) for k in (2, 3, 4, 5)], n_samples=11)
    with pytest.raises(ContradictoryLinksError) as error:
        bad.check_consistent()
    lines = str(error.value).splitlines()
    assert lines[0] == "4 of 4 cannot-links contradict the must-links:"
    assert [line.split(" are")[0] for line in lines[1:4]] == ["  0 and 2", "  0 and 3", "  0 and 4"]
    assert lines[4:] == [
        "  … and 1 more",
        "Correct the links, or leave these out by contradictions='drop'.",
    ]
    with pytest.warns(LinksWarning, match="4 of 13 links were left out because they contradict"):
        assert bad.check_consistent("drop") == Links(chain, n_samples=11)
    with pytest.raises(LinksError, match=r"must be 'raise' or 'drop'\. Got 'ignore'"):
        bad.check_consistent("ignore")


# Cliques


@quick
@given(row_links(max_links=20), st.integers(1, 5))
def test_clique_is_one(links, n_groups):
    rows = links.cannot_clique(n_groups)
    closure = links.closure()
    if rows is not None:
        assert len(rows) == n_groups + 1
        assert all(closure.relation(a, b) == "cannot" for a, b in combinations(rows, 2))
    elif n_groups == 1:
        assert closure.n_implied_cannot == 0


def test_clique_through_must_links_and_beside_a_hub():
    # 0–1 joins; {0, 1}, 2, 3 are all different; row 9 has many neighbours but no clique.
    cannot = [(0, 2), (1, 3), (2, 3), *((9, k) for k in range(10, 30))]
    links = Links([(0, 1)], cannot, n_samples=30)
    assert links.cannot_clique(2) == (0, 2, 3)
    assert links.cannot_clique(3) is None


def test_clique_hidden_in_random_links():
    rng = np.random.default_rng(0)
    noise = [p for p in rng.integers(0, 2000, (3000, 2)).tolist() if p[0] != p[1]]
    hidden = list(combinations(range(0, 2000, 250), 2))
    links = Links(cannot=noise + hidden, n_samples=2000)
    assert links.cannot_clique(7) == tuple(range(0, 2000, 250))
    names = np.array([f"id {i}" for i in range(2000)], dtype=object)
    assert Links(cannot=names[links.cannot]).cannot_clique(7) is not None


@pytest.mark.parametrize("n_groups", [0, True, 1.5])
def test_clique_refuses(n_groups):
    with pytest.raises(LinksError, match="n_groups must be an integer of at least 1"):
        Links(n_samples=3).cannot_clique(n_groups)
