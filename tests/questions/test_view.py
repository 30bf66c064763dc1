"""What is thought of rows: by a committee of LabNets and CluNet, or by k-means."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from s3c2 import S3C2, CluNet, LabNet
from s3c2.errors import NoLinksWarning
from s3c2.questions import Questions, View
from s3c2.questions.view import squared_distances


def test_every_labnet_of_a_committee_and_clunet_have_a_say():
    X = np.random.default_rng(0).normal(size=(40, 4)) + 8 * (np.arange(40) % 2)[:, None]
    model = S3C2(
        2, labnet=LabNet(code=False, steps=5, n_committee=2), clunet=CluNet(steps=5),
        layers=(8, 4), random_state=0, verbose=0,
    )  # fmt: skip
    with pytest.warns(NoLinksWarning):
        model.fit(X)
    rows = np.arange(0, 40, 2)
    view = View.of_model(model, X, rows)
    assert len(view.codes) == 2
    each = [squared_distances(code) for code in view.codes]
    assert np.allclose(
        np.mean(each, axis=0), squared_distances(model.transform(X[rows])), atol=1e-5
    )
    assert view.same.shape == (20, 20)
    assert 0 <= view.same.min() <= view.same.max() <= 1.0001
    questions = Questions(X, 2)
    questions.learn(model)
    questions.learn(model)
    assert questions.moved == [0.0]


def test_a_pair_at_the_threshold_is_undecided_for_labnet():
    code = np.array([[0.0], [1.0], [9.0]], dtype=np.float32)
    sure = np.full((3, 2), 0.5, dtype=np.float32)
    view = View(np.arange(3), sure, (code,), (1.0,))
    assert view.same[0, 1] == pytest.approx(0.5)
    assert view.same[0, 2] < 0.3
    assert view.near[0, 0] == 1


def test_sparse_rows_and_images_have_a_first_view():
    rng = np.random.default_rng(0)
    counts = sparse.csr_matrix(rng.poisson(0.05, size=(30, 400)).astype(float))
    for X in (counts, rng.random((30, 6, 6)), rng.random((30, 3, 5, 5))):
        questions = Questions(X, 3)
        assert np.allclose(questions.view.posteriors.sum(axis=1), 1, atol=1e-5)
        assert questions.next_pair() is not None


def test_rows_are_taken_as_fit_takes_them():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(30, 60))  # more columns than rows
    expected = Questions(X, 3).next_pair()
    counts = sparse.random_array((30, 40), density=0.2, rng=0)
    assert Questions(counts.tocoo(), 3).next_pair() == Questions(counts.tocsr(), 3).next_pair()
    frame = pandas.DataFrame(X)
    for given in (frame, X.tolist(), torch.from_numpy(X)):
        assert Questions(given, 3).next_pair() == expected
    model = S3C2(3, labnet=LabNet(steps=5), clunet=CluNet(steps=5), layers=(8, 4), verbose=0)
    with pytest.warns(NoLinksWarning):
        model.fit(frame)
    questions = Questions(frame, 3)
    questions.learn(model)
    assert np.array_equal(questions.view.posteriors, model.predict_proba(frame))
