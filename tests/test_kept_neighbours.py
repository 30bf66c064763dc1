"""Neighbours that are kept: a later fit of the same rows is faster, and the same to the bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone

from s3c2 import S3C2, CluNet, LabNet, Links, fit_many, labnet_training
from s3c2.engine.rows import Rows
from s3c2.errors import StorageError
from s3c2.files import model_files
from s3c2.kept_neighbours import KIND, read_neighbours, write_neighbours
from s3c2.prior import find_neighbours


def quick(**more):
    stages = {
        "labnet": LabNet(neighbors=5, steps=10), "clunet": CluNet(steps=10, batch_points=16),
    }  # fmt: skip
    model = S3C2(3, **stages, layers=(32, 16), random_state=0, verbose=0)
    return model.set_params(**more)


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """A small autoencoder is trained on few rows, too."""
    monkeypatch.setattr(labnet_training, "CODE_ROWS", 100)
    monkeypatch.setattr(labnet_training, "CODE_LAYERS", (16, 4))
    monkeypatch.setattr(labnet_training, "CODE_EPOCHS", 3)


@pytest.fixture
def counted():
    """A model, and a fit of it that gives the model and the number of steps of each stage."""

    def fit(model, X, links):
        taken = {}

        def count(step):
            taken[step.stage] = taken.get(step.stage, 0) + 1

        return clone(model).set_params(callbacks=count).fit(X, links=links), taken

    return fit


def kept(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("more", [{}, {"labnet__n_committee": 2}, {"labnet__code": False}])
def test_the_result_is_the_same_with_and_without(blobs, blob_links, tmp_path, counted, more):
    X = blobs[0]
    model = quick(**more)
    expected, steps = counted(model, X, blob_links)
    model.set_params(labnet__cache=tmp_path / "kept")
    first, steps_first = counted(model, X, blob_links)
    second, steps_second = counted(model, X, blob_links)
    assert len(kept(tmp_path / "kept")) == 1
    assert steps_first == steps
    assert steps_second == {name: n for name, n in steps.items() if name != "autoencoder"}
    for one in (first, second):
        assert (one.predict_proba(X) == expected.predict_proba(X)).all()
        assert (one.transform(X) == expected.transform(X)).all()
        assert one.threshold_ == expected.threshold_
        assert (one.link_doubts_ == expected.link_doubts_).all()


def test_stacks_take_them_too(blobs, tmp_path):
    X, y = blobs
    base = quick()
    alone = [
        (clone(base).set_params(random_state=seed), Links.from_labels(y, 60, random_state=seed))
        for seed in range(2)
    ]
    cached = [
        (clone(model).set_params(labnet__cache=str(tmp_path)), links) for model, links in alone
    ]
    for _ in range(2):
        for one, two in zip(fit_many(X, alone), fit_many(X, cached)):
            assert (one.predict_proba(X) == two.predict_proba(X)).all()
    assert len(kept(tmp_path)) == 1


def test_other_rows_and_settings_have_files_of_their_own(blobs, blob_links, tmp_path):
    X = blobs[0]
    model = LabNet(neighbors=5, steps=1, layers=(8, 4), cache=tmp_path, random_state=0, verbose=0)
    moved = X.copy()
    moved[7, 2] += 1e-3
    wanted = 0
    for rows, settings, new in (
        (X, {}, True),
        (X, {"random_state": 1, "steps": 2, "scale": "auto", "n_committee": 2}, False),
        (X.astype(np.float64), {}, False),  # the same rows
        (moved, {}, True),
        (X, {"neighbors": 6}, True),
        (X, {"code": False}, True),
        (X, {"scale": "unit"}, True),
        (X, {"precision": "bf16"}, True),
        (X, {"code": False, "precision": "bf16"}, False),  # which the autoencoder alone knows
    ):
        clone(model).set_params(**settings).fit(rows, links=blob_links)
        wanted += new
        assert len(kept(tmp_path)) == wanted, settings


@pytest.mark.parametrize("harm", ["cut", "altered", "renamed", "another kind", "wrong rows"])
def test_a_file_that_is_damaged_or_foreign_is_made_anew(blobs, blob_links, tmp_path, harm):
    X = blobs[0]
    model = quick(labnet__cache=tmp_path)
    expected = clone(model).fit(X, links=blob_links).predict_proba(X)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    found = read_neighbours(path, len(X))
    if harm == "cut":
        path.write_bytes(whole[:-100])
    elif harm == "altered":
        path.write_bytes(whole[:-3] + bytes(3))
    elif harm == "renamed":
        other = find_neighbours(Rows(X[::-1].copy(), (5,)), 3)
        write_neighbours(tmp_path / "neighbours-0.safetensors", other)
        (tmp_path / "neighbours-0.safetensors").replace(path)
    elif harm == "another kind":
        model_files.write(path, "model", {"name": path.stem}, {"rows": torch.zeros(3)})
    else:
        tensors = vars(found) | {"others": found.others + len(X)}
        model_files.write(path, KIND, {"name": path.stem}, tensors)
    assert path.read_bytes() != whole
    assert (clone(model).fit(X, links=blob_links).predict_proba(X) == expected).all()
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_said_before_the_work(blobs, blob_links, tmp_path):
    (tmp_path / "file").touch()
    model = quick(labnet__cache=tmp_path / "file" / "kept")
    with pytest.raises(StorageError, match=r"'cache' folder '.*kept' cannot be made: .* another"):
        model.fit(blobs[0], links=blob_links)
    with pytest.raises(TypeError, match="'cache' parameter of LabNet must be None or a path"):
        model.set_params(labnet__cache=3).fit(blobs[0], links=blob_links)


def test_an_autoencoder_that_a_callback_ended_is_not_kept(blobs, blob_links, tmp_path):
    model = quick(labnet__cache=tmp_path, callbacks=lambda step: step.stage == "autoencoder")
    model.fit(blobs[0], links=blob_links)
    assert kept(tmp_path) == []


def test_it_is_said_and_no_model_holds_the_folder(blobs, blob_links, tmp_path, capsys):
    model = quick(labnet__cache=tmp_path / "kept", verbose=1)
    model.fit(blobs[0], links=blob_links)
    assert "as kept" not in capsys.readouterr().err
    model.fit(blobs[0], links=blob_links)
    assert f"neighbours: as kept in {tmp_path / 'kept'}" in capsys.readouterr().err
    model.save(tmp_path / "model")
    assert S3C2.load(tmp_path / "model").labnet.cache is None
