"""The clusters of a representation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info, threadpool_limits

from s3c2 import representation
from s3c2.representation import Asked, Linked, clusters_of, clusters_of_each, disagreement


def groups(sizes, spread=0.1, seed=0):
    """So many rows around each corner of a simplex, in random order: (h, group)."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    h = np.eye(len(sizes))[y] + spread * rng.normal(size=(len(y), len(sizes)))
    order = rng.permutation(len(y))
    return h[order].astype(np.float32), y[order]


@pytest.mark.parametrize("sizes", [(100, 100, 100), (900, 900, 20, 25, 30, 35), (30,) * 12])
def test_groups_of_any_size_are_found(sizes):
    h, y = groups(sizes)
    assert adjusted_rand_score(y, clusters_of(h, len(sizes), 0, 0.5)) > 0.99


def groups_in_pairs(seed):
    """Eight groups of two sizes, two and two near each other: (h, group)."""
    y = np.repeat(np.arange(8), [100, 100, 30, 30] * 2)
    corners = 1.2 * np.eye(4)
    middle = corners[y // 2] + (y % 2)[:, None] * 2 / 3 * corners[(y // 2 + 1) % 4]
    noise = 0.12 * np.random.default_rng(seed).normal(size=middle.shape)
    return (middle + noise).astype(np.float32), y


def test_it_does_not_hang_on_one_start_of_k_means(monkeypatch):
    def agreement():
        made = [groups_in_pairs(seed) for seed in range(8)]
        return [
            adjusted_rand_score(y, clusters_of(h, 8, seed, 0.45))
            for seed, (h, y) in enumerate(made)
        ]

    assert min(agreement()) > 0.98
    monkeypatch.setattr(representation, "STARTS", 1)
    monkeypatch.setattr(representation, "MERGERS", 0)
    assert min(agreement()) < 0.95  # groups were joined, and others cut


def hardly_apart(seed):
    """Two groups that T takes for one, two clear ones and a few rows far from all: (h, group)."""
    y = np.repeat(np.arange(4), [150, 150, 300, 300])
    corners = np.array([[0, 0, 0], [0.45, 0, 0], [0, 2, 0], [0, 0, 2]])
    rng = np.random.default_rng(seed)
    h = corners[y] + 0.09 * rng.normal(size=(len(y), 3))
    h[rng.choice(300, 3, replace=False)] -= [0.9, 0.9, 0]
    return h.astype(np.float32), y


def judges(h, y, n_links, wrong):
    """Links of both kinds, as many of each, some of the wrong kind."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(y), (20 * n_links, 2))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    pairs = np.concatenate([pairs[same][: n_links // 2], pairs[~same][: n_links // 2]])
    same = (np.arange(n_links) < n_links // 2) ^ (rng.random(n_links) < wrong)
    return Linked(h[pairs.T], same, np.where(same, 0.3 / same.sum(), 0.7 / (~same).sum()))


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_links_tell_groups_apart_that_t_takes_for_one(wrong):
    for seed in range(3):
        h, y = hardly_apart(seed)
        by_t_alone = clusters_of(h, 4, seed, 0.6)
        assert np.bincount(by_t_alone).min() < 10  # a cluster of the far rows alone
        with_links = clusters_of(h, 4, seed, 0.6, judges(h, y, 2000, wrong))
        assert adjusted_rand_score(y, with_links) > 0.95
        with_few = clusters_of(h, 4, seed, 0.6, judges(h, y, 20, wrong))
        assert np.array_equal(with_few, by_t_alone)  # 20 links may contradict it by chance


def test_disagreement_counts_pairs():
    rng = np.random.default_rng(0)
    for n_clusters in (1, 3, 9):
        labels = rng.integers(0, n_clusters, 40)
        must = np.triu(rng.random((40, 40)) < 0.2, 1)
        must = must | must.T | np.eye(40, dtype=bool)
        slow = sum((labels[i] == labels[j]) != must[i, j] for i in range(40) for j in range(40))
        assert disagreement(labels, must.astype(np.float32)) == slow


def test_rows_that_were_not_judged_have_a_cluster_too():
    h, y = groups((3000, 3000))
    assert adjusted_rand_score(y, clusters_of(h, 2, 0, 0.5)) > 0.99


def test_several_at_a_time_are_as_one_by_one():
    asked = [Asked(groups((50, 60, 70), 0.3, seed)[0], 3, seed, 0.3) for seed in range(4)]
    for one, found in zip(asked, clusters_of_each(asked)):
        assert np.array_equal(clusters_of(*one), found)


def test_more_clusters_than_rows_that_are_looked_at(monkeypatch):
    monkeypatch.setattr(representation, "JUDGED", 20)
    labels = clusters_of(groups((30, 30))[0], 25, 0, 0.3)
    assert len(labels) == 60
    assert labels.max() < 25


@pytest.mark.parametrize(
    "h", [np.zeros((12, 3)), np.eye(3)[[0, 0, 1, 2]], np.eye(6), np.zeros((5, 1))]
)
def test_fewer_different_rows_than_clusters(h):
    labels = clusters_of_each([Asked(h.astype(np.float32), 4, 0, 0.3)])[0]
    assert len(labels) == len(h)
    assert labels.min() >= 0
    assert labels.max() < 4


def test_a_clustering_has_two_threads_at_most(monkeypatch):
    """Sums of more threads would differ from run to run."""
    seen = []

    def note(*asked):
        seen.append(
            [one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"]
        )
        return asked

    monkeypatch.setattr(representation, "clusters_of", note)
    with threadpool_limits(limits=4, user_api="openmp"):
        clusters_of_each([Asked(np.zeros((3, 1), np.float32), 1, 0, 0.3)] * 3)
    assert seen
    assert max(max(one) for one in seen) <= 2
