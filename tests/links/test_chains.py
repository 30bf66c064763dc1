"""Links in chains, as the authors' script draws them: rows have links of both kinds."""

from __future__ import annotations

import numpy as np
import pytest

from s3c2 import Links
from s3c2.errors import LinksError


def drawn(y, n, seed=0):
    return Links.from_labels(y, n, design="chained", random_state=seed)


@pytest.mark.parametrize(("classes", "n"), [(10, 1000), (26, 5000), (4, 100), (3, 60), (2, 80)])
def test_half_of_the_links_are_of_each_kind_in_every_class(classes, n):
    y = np.random.default_rng(0).integers(0, classes, 12_000)
    links = drawn(y, n)
    assert (links.n_must, links.n_cannot, links.n_duplicates) == (n // 2, n // 2, 0)
    assert (y[links.must[:, 0]] == y[links.must[:, 1]]).all()
    assert (y[links.cannot[:, 0]] != y[links.cannot[:, 1]]).all()
    per_class = np.bincount(y[links.must[:, 0]], minlength=classes)
    assert per_class.max() - per_class.min() <= 1
    assert len(links.contradictions()) == 0


def test_must_links_are_one_chain_in_each_class():
    y = np.repeat(np.arange(5), 300)
    links = drawn(y, 400)
    for one in range(5):
        of_class = links.must[y[links.must[:, 0]] == one]
        rows, times = np.unique(of_class, return_counts=True)
        assert len(of_class) == 40
        assert len(rows) == 41
        assert sorted(times) == [1, 1, *[2] * 39]


def test_rows_of_cannot_links_have_must_links_too():
    """Of links drawn uniformly, few rows do."""
    y = np.random.default_rng(0).integers(0, 10, 12_000)

    def shared(links):
        of_cannot = set(links.cannot.ravel())
        return len(of_cannot & set(links.must.ravel())) / len(of_cannot)

    assert shared(drawn(y, 1000)) == 1
    assert shared(Links.from_labels(y, 1000, random_state=0)) < 0.2


@pytest.mark.parametrize("n", [0, 1, 2, 7, 33])
def test_any_number_of_links(n):
    links = drawn(np.arange(60) % 4, n)
    assert links.n_links == n
    assert abs(links.n_must - links.n_cannot) <= 1


def test_the_same_seed_draws_the_same_links():
    y = np.arange(300) % 3
    assert drawn(y, 60, 5) == drawn(y, 60, 5)
    assert drawn(y, 60, 5) != drawn(y, 60, 6)


def test_unknown_labels_and_classes_of_any_name():
    y = np.array(["cat", "dog", -1] * 40, dtype=object)
    links = drawn(y, 40)
    assert not set(np.flatnonzero(y == -1)) & set(
        np.concatenate([links.must, links.cannot]).ravel()
    )


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(LinksError, match="at least two classes"):
        drawn(np.zeros(50, int), 10)
    with pytest.raises(LinksError, match="need 26 rows of every class, but one has only 5"):
        drawn(np.r_[np.zeros(60, int), np.ones(5, int)], 100)
    with pytest.raises(LinksError, match="leave must_share at 0.5. Got 0.3"):
        Links.from_labels(np.arange(60) % 2, 10, design="chained", must_share=0.3)
    with pytest.raises(LinksError, match="must be 'uniform' or 'chained'. Got 'x'"):
        Links.from_labels(np.arange(60) % 2, 10, design="x")
