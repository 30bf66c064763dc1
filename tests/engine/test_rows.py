"""X in all its forms, scaled and checked."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from s3c2.data.passes import check_finite
from s3c2.data.scaling import learn_scaling
from s3c2.engine import rows as rows_module
from s3c2.engine.rows import Rows
from s3c2.errors import DataError


@pytest.fixture(name="X")
def table():
    return np.random.default_rng(0).normal(3, 2, size=(50, 4))


def test_rows_are_handed_out_as_float32(X):
    index = np.array([3, 3, 0])
    for given in (X, X.astype(np.float32), sparse.csr_matrix(X), sparse.csr_array(X)):
        rows = Rows(given, (4,))
        assert rows.take(index).dtype == torch.float32
        assert torch.equal(rows.take(index), torch.tensor(X[index], dtype=torch.float32))
        assert torch.equal(rows.block(2, 5), torch.tensor(X[2:5], dtype=torch.float32))


def test_replicas_come_as_a_leading_dimension(X):
    index = np.array([[0, 1, 2], [2, 2, 4]])
    taken = Rows(X, (4,)).take_replicas(torch.from_numpy(index))
    assert torch.equal(taken, torch.tensor(X[index], dtype=torch.float32))


def test_subset_renumbers(X):
    subset = Rows(X, (4,)).subset(np.arange(10, 20)).subset(np.array([1, 3]))
    assert subset.n == 2
    assert torch.equal(subset.block(0, 2), torch.tensor(X[[11, 13]], dtype=torch.float32))
    assert torch.equal(subset.take(np.array([1])), torch.tensor(X[[13]], dtype=torch.float32))


def test_what_the_caller_gave_is_not_changed(X):
    X32 = X.astype(np.float32)
    before = X32.copy()
    Rows(X32, (4,)).block(0, 50).zero_()
    assert (before == X32).all()


@pytest.mark.parametrize("chunk", [2**24, 64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_standard_scaling(X, form, chunk, monkeypatch):
    monkeypatch.setattr(rows_module, "CHUNK_BYTES", chunk)
    X = np.column_stack([X, np.full(50, 7.0), 1e9 + np.arange(50)])
    scaled = Rows(form(X), (6,), learn_scaling("standard", form(X))).block(0, 50).numpy()
    assert np.allclose(scaled[:, [0, 1, 2, 3, 5]].mean(0), 0, atol=1e-5)
    assert np.allclose(scaled[:, [0, 1, 2, 3, 5]].std(0), 1, atol=1e-5)
    assert (scaled[:, 4] == 0).all()  # constant column


@pytest.mark.parametrize("chunk", [2**24, 64])
def test_unit_scaling(X, chunk, monkeypatch):
    monkeypatch.setattr(rows_module, "CHUNK_BYTES", chunk)
    scaled = Rows(X, (4,), learn_scaling("unit", X)).block(0, 50).numpy()
    assert np.allclose(scaled.min(0), 0)
    assert np.allclose(scaled.max(0), 1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_scaling_by_the_root_of_the_mean_square(X, form):
    scaling = learn_scaling("rms", form(X))
    expected = X / np.sqrt((X.astype(np.float64) ** 2).mean())
    assert np.allclose(scaling.apply(X), expected, rtol=1e-5)
    zeros = learn_scaling("rms", np.zeros((3, 2)))
    assert (zeros.apply(np.zeros((3, 2))) == 0).all()


def test_images_have_one_scale_for_all_pixels():
    images = np.arange(3 * 2 * 2, dtype=np.uint8).reshape(3, 2, 2)
    scaled = Rows(images, (1, 2, 2), learn_scaling("unit", images)).block(0, 3)
    assert scaled.shape == (3, 1, 2, 2)
    assert torch.allclose(scaled.ravel(), torch.arange(12) / 11)


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "NaN"), (-np.inf, "infinity"), (1e300, "1e\\+300")]
)
def test_what_float32_cannot_hold_is_refused_with_its_place(X, value, words):
    X[7, 2] = value
    with pytest.raises(DataError, match=f"{words} at row 7, column 2"):
        check_finite(X)
    with pytest.raises(DataError, match=f"{words} at row 7, column 'c'"):
        check_finite(X, ["a", "b", "c", "d"])
    with pytest.raises(DataError, match=f"{words} at row 7, column 2"):
        check_finite(sparse.csr_matrix(X))
    with pytest.raises(DataError, match=rf"{words} at row 7, pixel \(1, 0\)"):
        check_finite(X.reshape(50, 2, 2))


def test_half_precision_is_checked_too():
    X = np.zeros((5, 2), dtype=np.float16)
    check_finite(X)
    X[3, 1] = np.inf
    with pytest.raises(DataError, match="infinity at row 3, column 1"):
        check_finite(X)
