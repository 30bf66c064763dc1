"""What scale="auto" chooses, and the scales that it has for itself: "robust" and "topics"."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from s3c2.data import passes, robust, topics
from s3c2.data.scaling import check_scaled, choose_scale, learn_scaling
from s3c2.errors import DataError

RNG = np.random.default_rng(0)


def counts(n=200, columns=400, groups=4):
    """Texts of a few groups of words each: (counts, group)."""
    rng = np.random.default_rng(1)
    y = rng.integers(groups, size=n)
    own = rng.random((groups, columns)) < 0.1
    return rng.poisson(0.02 + 0.4 * own[y]), y


COUNTS = counts()[0]
ONE_HOT = np.eye(300)[RNG.integers(300, size=500)]
HALF_ZEROS = np.where(RNG.random((50, 300)) < 0.5, 0.0, RNG.random((50, 300)))


@pytest.mark.parametrize(
    ("X", "scale"),
    [
        (RNG.integers(0, 255, (9, 8, 8)), "together"),
        (RNG.random((9, 3, 8, 8)), "together"),
        (load_digits().data, "together"),  # some pixels are 0 in all images
        (load_digits().data - 1e6, "together"),
        (RNG.integers(1, 6, (100, 7)), "together"),  # answers from 1 to 5
        (HALF_ZEROS, "together"),
        (load_iris().data, "robust"),
        (load_wine().data, "robust"),
        (load_breast_cancer().data, "robust"),
        (RNG.normal(size=(50, 1)), "robust"),
        (np.full((9, 4), 7.0), "robust"),
        (COUNTS, "topics"),
        (COUNTS / 7, "topics"),
        (sparse.csr_matrix(COUNTS), "topics"),
        (ONE_HOT, "topics"),
        (sparse.csr_matrix(RNG.normal(size=(20, 300))), "topics"),
        (COUNTS * RNG.normal(size=400), "robust"),  # negative numbers, and not said to be sparse
        (COUNTS[:, :250], "robust"),
        (sparse.csr_matrix(load_wine().data), "robust"),
    ],
)  # fmt: skip
def test_the_choice(X, scale, monkeypatch):
    assert choose_scale(X)[0] == scale
    monkeypatch.setattr(passes, "CHUNK_BYTES", 2**12)
    assert choose_scale(X)[0] == scale


class TestRobust:
    def test_columns_without_heavy_tails_are_standardised(self):
        X = np.column_stack([RNG.normal(5, 3, 100_000), RNG.random(100_000) * 1e6])
        expected = learn_scaling("standard", X)
        learned = learn_scaling("robust", X)
        assert (learned.spread == 0).all()
        np.testing.assert_allclose(learned.apply(X[:9]), expected.apply(X[:9]))

    @pytest.mark.parametrize("n", [20, 200, 20_000])
    @pytest.mark.parametrize("outlier", [1e6, -1e30, 3e38])
    def test_an_outlier_does_not_flatten_the_rest(self, n, outlier):
        X = np.random.default_rng(2).normal(size=(n, 3))
        X[3, 1] = outlier
        scaled = learn_scaling("robust", X).apply(X)
        rest = np.delete(scaled, 3, axis=0).std(axis=0)
        assert rest.min() > 0.6
        assert np.abs(scaled).max() < 150

    def test_heavy_tails_come_nearer(self):
        X = np.exp(2 * RNG.normal(size=(5000, 2)))
        scaled = learn_scaling("robust", X).apply(X)
        assert np.abs(scaled).max() < 10
        assert (np.argsort(scaled[:, 0]) == np.argsort(X[:, 0])).all()

    def test_nearly_only_zeros(self):
        gains = np.where(RNG.random(2000) < 0.92, 0, np.exp(8 + RNG.normal(size=2000)))
        rare = RNG.random(2000) < 0.02
        learned = learn_scaling("robust", np.column_stack([gains, rare, np.full(2000, 3.0)]))
        assert (learned.spread > 0).tolist() == [True, False, False]
        assert np.isfinite(learned.apply(np.zeros((2, 3)))).all()

    def test_a_constant_column_becomes_zero(self):
        X = np.full((30, 2), 1e20)
        assert (learn_scaling("robust", X).apply(X) == 0).all()

    def test_in_chunks_from_a_sample_and_sparse(self, monkeypatch):
        X = np.exp(2 * RNG.normal(size=(3000, 4)))
        whole = learn_scaling("robust", X).apply(X)
        monkeypatch.setattr(passes, "CHUNK_BYTES", 2**10)
        np.testing.assert_allclose(learn_scaling("robust", X).apply(X), whole)
        sparse_x = sparse.csr_matrix(X)
        np.testing.assert_allclose(learn_scaling("robust", sparse_x).apply(sparse_x), whole)
        monkeypatch.setattr(robust, "SAMPLED", 500)
        assert np.abs(learn_scaling("robust", X).apply(X) - whole).mean() < 0.2

    def test_images_have_one_scale(self):
        images = RNG.normal(size=(30, 5, 5))
        learned = learn_scaling("robust", images)
        assert learned.shift.shape == ()
        np.testing.assert_allclose(learned.apply(images), (images - images.mean()) / images.std())

    def test_numbers_beyond_float32(self):
        learned = learn_scaling("robust", RNG.normal(size=(50, 2)) * 1e-9)
        with pytest.raises(DataError, match="row 0, column 1, which is too far beyond"):
            check_scaled(np.array([[0, 3e38]]), learned)


class TestTopics:
    def test_rows_have_a_mean_square_of_one(self):
        learned = learn_scaling("topics", COUNTS)
        scaled = learned.apply(COUNTS)
        assert scaled.shape == (200, topics.DIMENSIONS)
        assert learned.shape((400,)) == (64,)
        np.testing.assert_allclose((scaled**2).mean(axis=1), 1)

    def test_sparse_and_dense_are_the_same_bits(self):
        with_zeros = sparse.csr_matrix(COUNTS.astype(float))
        with_zeros.data[::7] = 0
        dense = with_zeros.toarray()
        one, two = learn_scaling("topics", with_zeros), learn_scaling("topics", dense)
        assert (one.projection == two.projection).all()
        assert (one.apply(with_zeros) == two.apply(dense)).all()
        assert (with_zeros.data[::7] == 0).all()  # what the user gave stays
        assert with_zeros.nnz == np.count_nonzero(COUNTS)

    def test_a_row_alone_is_the_row_among_others(self):
        learned = learn_scaling("topics", COUNTS)
        alone = np.concatenate([learned.apply(COUNTS[i : i + 1]) for i in range(20)])
        assert (alone == learned.apply(COUNTS)[:20]).all()

    def test_counts_are_weighted_and_others_are_not(self):
        assert learn_scaling("topics", COUNTS).idf.shape == (400,)
        assert learn_scaling("topics", COUNTS / 3).idf.shape == ()
        assert learn_scaling("topics", -COUNTS).idf.shape == ()

    def test_the_length_of_a_row_does_not_matter(self):
        learned = learn_scaling("topics", COUNTS / 3)
        np.testing.assert_allclose(learned.apply(COUNTS * 1e30), learned.apply(COUNTS))

    def test_rows_of_zeros_stay_zeros(self):
        X = COUNTS.copy()
        X[:5] = 0
        learned = learn_scaling("topics", X)
        assert (learned.apply(X)[:5] == 0).all()
        assert (learn_scaling("topics", X * 0).apply(X * 0) == 0).all()

    @pytest.mark.parametrize("n", [2, 3, 40])
    def test_few_rows_have_few_dimensions(self, n):
        learned = learn_scaling("topics", COUNTS[:n])
        assert learned.projection.shape == (400, n - 1)
        assert np.isfinite(learned.apply(COUNTS)).all()

    def test_rows_that_are_all_the_same(self):
        learned = learn_scaling("topics", np.repeat(COUNTS[:1], 30, axis=0))
        assert learned.projection.shape == (400, 1)
        np.testing.assert_allclose(np.abs(learned.apply(COUNTS[:1])), 1)

    def test_a_sample_of_many_rows(self, monkeypatch):
        monkeypatch.setattr(topics, "SAMPLED", 100)
        monkeypatch.setattr(passes, "CHUNK_BYTES", 2**16)
        one, two = (learn_scaling("topics", X) for X in (COUNTS, sparse.csr_matrix(COUNTS)))
        assert (one.projection == two.projection).all()

    def test_groups_lie_apart(self):
        X, y = counts()
        scaled = learn_scaling("topics", X).apply(X)
        same = y[:, None] == y
        alike = scaled @ scaled.T
        assert alike[same].mean() > 4 * np.abs(alike[~same].mean())

    def test_not_for_images(self):
        with pytest.raises(DataError, match="scale='topics' is for tables"):
            learn_scaling("topics", np.zeros((5, 8, 8)))
