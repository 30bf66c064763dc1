"""One vocabulary of scales, and "together": one shift and factor for all numbers."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from s3c2.cli.fit import fit
from s3c2.data import passes
from s3c2.data.scaling import SCALES, check_scaled, learn_scaling
from s3c2.errors import DataError


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("chunk", [2**24, 64])
def test_together_brings_all_numbers_onto_zero_one(form, chunk, monkeypatch):
    monkeypatch.setattr(passes, "CHUNK_BYTES", chunk)
    X = np.array([[2.0, 4], [12, 3], [7, 2]])
    learned = learn_scaling("together", form(X))
    np.testing.assert_allclose(learned.apply(X), (X - 2) / 10)


def test_together_makes_constant_numbers_zero():
    assert (learn_scaling("together", np.full((3, 2), 7.0)).apply(np.full((3, 2), 7.0)) == 0).all()


def test_together_divides_the_digits_exactly():
    X = load_digits().data
    scaled = learn_scaling("together", X).apply(X).astype(np.float32)
    np.testing.assert_array_equal(scaled, (X / 16).astype(np.float32))


def test_the_command_line_has_the_same_scales():
    (option,) = (option for option in fit.params if option.name == "scale")
    assert {None if name == "none" else name for name in option.type.choices} == set(SCALES)


def test_numbers_that_a_scaling_cannot_take():
    scaling = learn_scaling("unit", np.array([[0.0, 0], [1, 1e-9]]))
    check_scaled(np.array([[1e30, 1e28]]), scaling)
    with pytest.raises(DataError, match=r"X holds 1e\+30 at row 1, column 'b', .* too far beyond"):
        check_scaled(np.array([[1e30, 1e28], [0, 1e30]]), scaling, ["a", "b"])
