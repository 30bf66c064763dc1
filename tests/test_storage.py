"""Saved models: complete or refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn

from s3c2 import S3C2
from s3c2.errors import StorageError
from s3c2.files import model_files as storage


@pytest.fixture(scope="module")
def model(blobs, blob_links):
    return S3C2(
        3, layers=(16, 8), labnet_steps=5, clunet_steps=5, scale="standard", random_state=0,
        verbose=0,
    ).fit(blobs[0], links=blob_links)  # fmt: skip


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model" / storage.MODEL_FILE


def test_a_loaded_model_is_the_saved_one(model, saved, blobs):
    loaded = S3C2.load(saved.parent)
    X = blobs[0]
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    assert (loaded.transform(X) == model.transform(X)).all()
    assert (loaded.labels_ == model.labels_).all()
    assert loaded.get_params() == model.get_params() | {"verbose": 1}
    assert loaded.threshold_ == model.threshold_
    for stage in ("labnet", "clunet"):
        assert (loaded.history_[stage]["loss"] == model.history_[stage]["loss"]).all()
    assert (loaded.labnet_.distance(X[:5], X[5:10]) == model.labnet_.distance(X[:5], X[5:10])).all()
    with pytest.raises(ValueError, match="expecting 5 features"):
        loaded.predict(X[:, :4])


def test_one_file_and_no_leftovers(saved):
    assert [p.name for p in saved.parent.iterdir()] == [storage.MODEL_FILE]


def test_names_of_columns_are_kept(blobs, blob_links, small, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(blobs[0], columns=list("abcde"))
    S3C2(3, **small).fit(frame, links=blob_links).save(tmp_path)
    loaded = S3C2.load(tmp_path)
    assert list(loaded.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("bacde")])


def test_convolutional_semi_supervised(tmp_path):
    from s3c2 import Links

    X = np.random.default_rng(0).uniform(size=(30, 8, 8))
    model = S3C2(2, network="convolutional", semi_supervised=True, labnet_steps=2, clunet_steps=2,
                 random_state=0, verbose=0)  # fmt: skip
    model.fit(X, links=Links(must=[(0, 1)], cannot=[(1, 2)], n_samples=30)).save(tmp_path)
    assert (S3C2.load(tmp_path).predict_proba(X) == model.predict_proba(X)).all()


def test_own_encoder_comes_back_with_the_module(blobs, blob_links, small, tmp_path):
    def own(size=6):
        return nn.Sequential(nn.Linear(5, size), nn.BatchNorm1d(size))

    model = S3C2(3, **small, encoder=own()).fit(blobs[0], links=blob_links)
    model.save(tmp_path)
    with pytest.raises(StorageError, match=r"load\(folder, encoder=module\)"):
        S3C2.load(tmp_path)
    loaded = S3C2.load(tmp_path, encoder=own())
    assert (loaded.predict_proba(blobs[0]) == model.predict_proba(blobs[0])).all()
    with pytest.raises(StorageError, match="do not fit the network"):
        S3C2.load(tmp_path, encoder=own(7))


@pytest.mark.parametrize("seed", range(4))
def test_no_altered_byte_goes_unnoticed(saved, seed):
    data = saved.read_bytes()
    rng = np.random.default_rng(seed)
    header = 8 + int.from_bytes(data[:8], "little")
    places = np.concatenate(
        [np.arange(8), rng.integers(8, header, 60), rng.integers(header, len(data), 60)]
    )
    for place in places:
        altered = bytearray(data)
        altered[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(bytes(altered))
        with pytest.raises(StorageError):
            S3C2.load(saved.parent)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 100, -1000, -1])
def test_truncated(saved, length):
    saved.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(StorageError, match="cut off or altered"):
        S3C2.load(saved.parent)


def test_from_a_newer_version(saved, monkeypatch):
    content, tensors = storage.read(saved, "model")
    monkeypatch.setattr(storage, "FORMAT", 2)
    storage.write(saved, "model", content, tensors)
    monkeypatch.setattr(storage, "FORMAT", 1)
    with pytest.raises(StorageError, match="has format 2, and this s3c2 reads up to 1"):
        S3C2.load(saved.parent)


@pytest.mark.parametrize(
    "name", ["clunet.network.1.weight", "scaling.shift", "labnet.network.4.bias"]
)
@pytest.mark.parametrize("damage", ["shape", "missing"])
def test_wrong_shapes_under_a_right_checksum(saved, name, damage):
    content, tensors = storage.read(saved, "model")
    if damage == "shape":
        tensors[name] = torch.zeros(3)
    else:
        del tensors[name]
    storage.write(saved, "model", content, tensors)
    with pytest.raises(StorageError, match="do not fit the network"):
        S3C2.load(saved.parent)


def test_not_a_model(tmp_path, saved):
    with pytest.raises(StorageError, match=r"is not a model folder: it holds no model.safetensors"):
        S3C2.load(tmp_path / "nowhere")
    safetensors.torch.save_file({"a": torch.zeros(2)}, saved)
    with pytest.raises(StorageError, match="is not a model of s3c2"):
        S3C2.load(saved.parent)
    storage.write(saved, "checkpoint", {}, {})
    with pytest.raises(StorageError, match="is a checkpoint of s3c2, not a model"):
        S3C2.load(saved.parent)


def test_unwritable(model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be made: .*Choose a folder"):
        model.save(tmp_path / "file" / "model")


def test_header_is_readable_by_others(saved):
    with safetensors.safe_open(saved, "pt") as file:
        metadata = file.metadata()
    header = json.loads(metadata["s3c2"])
    assert header["format"] == 1
    assert header["content"]["settings"]["n_clusters"] == 3


def test_the_same_model_gives_the_same_file(model, saved, tmp_path):
    for number in range(5):
        model.save(tmp_path / f"{number}")
        assert (tmp_path / f"{number}" / storage.MODEL_FILE).read_bytes() == saved.read_bytes()


def test_tied_weights(blobs, blob_links, small, tmp_path):
    def tied():
        layer = nn.Linear(5, 5)
        return nn.Sequential(layer, nn.ReLU(), layer)

    model = S3C2(3, **small, encoder=tied()).fit(blobs[0], links=blob_links)
    model.save(tmp_path)
    loaded = S3C2.load(tmp_path, encoder=tied())
    assert (loaded.predict_proba(blobs[0]) == model.predict_proba(blobs[0])).all()


SCRIPT = """
import sys, torch
from s3c2.files import model_files as storage
from pathlib import Path
print("ready", flush=True)
number = 0
while True:
    number += 1
    tensors = {"a": torch.full((200_000,), float(number))}
    storage.write(Path(sys.argv[1]), "model", {"number": number}, tensors)
"""


def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "model.safetensors"
    for wait in (0.05, 0.11, 0.17):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, env=dict(os.environ)
        )
        process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        process.stdout.close()
        content, tensors = storage.read(path, "model")
        assert (tensors["a"] == content["number"]).all()
