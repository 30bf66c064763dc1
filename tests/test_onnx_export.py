"""A model in onnxruntime says what it says here."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from s3c2 import S3C2, CluNet, LabNet, Links, export_onnx
from s3c2.baselines import DGraph
from s3c2.errors import MissingExtraError, StorageError

runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

QUICK = {
    "labnet": LabNet(code=False, steps=40, views=False),
    "clunet": CluNet(steps=60, batch_points=40, views=False),
    "layers": (32, 16),
    "random_state": 0,
    "verbose": 0,
}


def served(path, X):
    session = runtime.InferenceSession(path)
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {"rows": X})))


def rows_of(kind, n):
    """Rows in three groups, and their groups."""
    rng = np.random.default_rng(1)
    y = np.arange(n) % 3
    if kind == "images":
        X = rng.random((n, 8, 8)) + np.eye(3)[y][:, [0, 0, 0, 1, 1, 1, 2, 2], None]
    elif kind == "counts":
        X = rng.poisson(0.03 + 0.6 * (np.arange(300) % 3 == y[:, None]) * (np.arange(300) < 60))
    else:
        X = rng.normal(size=(n, 6)) * 0.4 + 3 * np.eye(3, 6)[y]
        X[:, 5] = np.exp(4 * X[:, 5])  # a heavy tail
        if kind == "large":
            X[:, 4] += 1.7e9  # float32 would lose what is behind it
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "dtype", "scale"),
    [
        ("table", "float32", "robust"),
        ("large", "float64", "robust"),
        ("table", "float32", "unit"),
        ("counts", "float32", "topics"),
        ("images", "float32", "together"),
    ],
)
def test_ten_thousand_rows_get_the_same_clusters(tmp_path, kind, dtype, scale):
    X, y = rows_of(kind, 10_000)
    X = X.astype(dtype)
    links = Links.from_labels(y[:200], 60, random_state=0)
    model = S3C2(3, **QUICK, scale=scale).fit(X[:200], links=links)
    export_onnx(model, tmp_path / "model.onnx", dtype=dtype)
    found = served(tmp_path / "model.onnx", X)
    assert len(np.unique(found["cluster"])) > 1
    assert (found["cluster"] == model.predict(X)).all()
    np.testing.assert_allclose(found["probability"], model.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(found["representation"], model.transform(X), atol=1e-5)


def test_the_file_says_what_it_is(tmp_path):
    import onnx

    X, y = rows_of("table", 60)
    links = Links.from_labels(y, 20, random_state=0)
    model = DGraph(3, steps=5, random_state=0, verbose=0).fit(X, links=links)
    export_onnx(model, tmp_path / "model.onnx")
    found = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(found, full_check=True)
    assert [(one.domain, one.version) for one in found.opset_import] == [("", 18)]
    assert found.producer_name == "s3c2"
    assert {one.key: one.value for one in found.metadata_props} == {
        "model": "DGraph",
        "n_clusters": "3",
    }
    assert [one.name for one in found.graph.output] == ["cluster", "probability"]
    with pytest.raises(StorageError, match="cannot be written"):
        export_onnx(model, tmp_path / "no folder" / "model.onnx")
    with pytest.raises(ValueError, match="'dtype' parameter must be one of"):
        export_onnx(model, tmp_path / "model.onnx", dtype="float16")


def test_without_the_extra_the_install_line_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    X, y = rows_of("table", 60)
    links = Links.from_labels(y, 20, random_state=0)
    model = DGraph(3, steps=1, random_state=0, verbose=0).fit(X, links=links)
    with pytest.raises(MissingExtraError, match=r"pip install 's3c2\[onnx\]'"):
        export_onnx(model, tmp_path / "model.onnx")
