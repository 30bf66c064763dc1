"""Scores against brute force and against cases one can do by hand."""

from itertools import permutations

import numpy as np
import pytest

from s3c2.errors import DataError
from s3c2.metrics import Scores, acc, ari, evaluate, nmi, nmi_geometric


def best_over_permutations(truth, labels, n):
    return max(np.mean(np.array(names)[labels] == truth) for names in permutations(range(n), n))


@pytest.mark.parametrize("seed", range(20))
def test_acc_is_the_best_over_all_matchings(seed):
    rng = np.random.default_rng(seed)
    truth, labels = rng.integers(0, 5, 40), rng.integers(0, 5, 40)
    assert acc(truth, labels) == pytest.approx(best_over_permutations(truth, labels, 5))


def test_acc_with_more_clusters_than_classes_matches_each_class_once():
    assert acc([0, 0, 0, 0], [0, 1, 2, 3]) == 0.25
    assert acc([0, 1, 2, 3], [0, 0, 0, 0]) == 0.25


def test_names_of_clusters_do_not_matter():
    truth = np.array(["a", "a", "b", "c", "c"])
    assert evaluate(truth, [7, 7, 3, 5, 5]) == Scores(nmi=1.0, ari=1.0, acc=1.0)


def test_nmi_by_hand():
    # Entropies ln 2 and 2 ln 2, mutual information ln 2.
    truth, labels = [0, 0, 1, 1], [0, 1, 2, 3]
    assert nmi(truth, labels) == pytest.approx(2 / 3)
    assert nmi_geometric(truth, labels) == pytest.approx(1 / np.sqrt(2))


def test_ari_of_unrelated_clusters_is_about_zero():
    rng = np.random.default_rng(0)
    assert abs(ari(rng.integers(0, 4, 5000), rng.integers(0, 4, 5000))) < 0.01


@pytest.mark.parametrize("score", [nmi, nmi_geometric, ari, acc])
def test_lengths_must_agree(score):
    with pytest.raises(DataError, match="same length"):
        score([0, 1], [0, 1, 2])
