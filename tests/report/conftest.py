"""Digits, links and a model of them, fitted with few steps: the page shows what a real one says."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from s3c2 import S3C2, CluNet, LabNet, Links


@pytest.fixture(scope="session")
def digits():
    """X, links and a fitted model, with a row in each of its ten clusters."""
    X, y = load_digits(return_X_y=True)
    X, y = (X[:300] / 16).astype(np.float32), y[:300]
    links = Links.from_labels(y, 400, random_state=0)
    model = S3C2(
        10,
        labnet=LabNet(threshold=0.1, code=False, steps=60),
        clunet=CluNet(steps=80, batch_pairs=400, learning_rate=2e-3),
        layers=(64, 64, 32), random_state=0, verbose=0,
    )  # fmt: skip
    model.fit(X, links=links)
    assert len(np.unique(model.labels_)) == 10
    return X, links, model
