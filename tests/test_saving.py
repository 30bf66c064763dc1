"""Saved models: complete or refused."""

from __future__ import annotations

import copy
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

from s3c2 import S3C2, CluNet, LabNet, Links
from s3c2.errors import StorageError
from s3c2.files import model_files as storage


@pytest.fixture(scope="module")
def model(blobs, blob_links):
    return S3C2(
        3, labnet=LabNet(code=False, steps=5), clunet=CluNet(steps=5), layers=(16, 8),
        scale="standard", random_state=0, verbose=0,
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
    assert loaded._flat_params() == model._flat_params() | {"verbose": 1}
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
    X = np.random.default_rng(0).uniform(size=(30, 8, 8))
    model = S3C2(
        2, labnet=LabNet(code=False, semi_supervised=True, steps=2), clunet=CluNet(steps=2),
        network="convolutional", random_state=0, verbose=0,
    )  # fmt: skip
    model.fit(X, links=Links(must=[(0, 1)], cannot=[(1, 2)], n_samples=30)).save(tmp_path)
    assert (S3C2.load(tmp_path).predict_proba(X) == model.predict_proba(X)).all()


def test_own_encoder_comes_back_with_the_module(blobs, blob_links, small, tmp_path):
    def own(size=6):
        return nn.Sequential(nn.Linear(5, size), nn.BatchNorm1d(size))

    model = S3C2(3, **small, network=own()).fit(blobs[0], links=blob_links)
    model.save(tmp_path)
    with pytest.raises(StorageError, match=r"load\(folder, network=module\)"):
        S3C2.load(tmp_path)
    loaded = S3C2.load(tmp_path, network=own())
    assert (loaded.predict_proba(blobs[0]) == model.predict_proba(blobs[0])).all()
    with pytest.raises(
        StorageError, match=r"'labnet.network.0.0.weight' is .* \(6, 5\), and .* \(7"
    ):
        S3C2.load(tmp_path, network=own(7))


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


@pytest.mark.parametrize("other", [1, 3])
def test_another_format(saved, monkeypatch, other):
    content, tensors = storage.read(saved, "model")
    monkeypatch.setattr(storage, "FORMAT", other)
    storage.write(saved, "model", content, tensors)
    monkeypatch.setattr(storage, "FORMAT", 2)
    with pytest.raises(StorageError, match=f"has format {other}, and this s3c2 reads format 2"):
        S3C2.load(saved.parent)


def test_not_a_model(tmp_path, saved):
    with pytest.raises(StorageError, match=r"nowhere' is not there. Give the folder that"):
        S3C2.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StorageError, match=r"is not a model folder: it holds no model.safetensors"):
        S3C2.load(tmp_path / "empty")
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
    assert header["format"] == 2
    assert header["content"]["settings"]["n_clusters"] == 3


def test_the_same_model_gives_the_same_file(model, saved, tmp_path):
    for number in range(5):
        model.save(tmp_path / f"{number}")
        assert (tmp_path / f"{number}" / storage.MODEL_FILE).read_bytes() == saved.read_bytes()


def test_tied_weights(blobs, blob_links, small, tmp_path):
    def tied():
        layer = nn.Linear(5, 5)
        return nn.Sequential(layer, nn.ReLU(), layer)

    model = S3C2(3, **small, network=tied()).fit(blobs[0], links=blob_links)
    model.save(tmp_path)
    loaded = S3C2.load(tmp_path, network=tied())
    assert (loaded.predict_proba(blobs[0]) == model.predict_proba(blobs[0])).all()


# One process imports; a copy of it writes files without end, for every line that comes.
SERVER = """
import os, sys, torch
from s3c2.files import model_files as storage
from pathlib import Path
for _ in sys.stdin:
    pid = os.fork()
    if not pid:
        number = 0
        while True:
            number += 1
            tensors = {"a": torch.full((200_000,), float(number))}
            storage.write(Path(sys.argv[1]), "model", {"number": number}, tensors)
            if number == 1:
                print(os.getpid(), flush=True)
    os.waitpid(pid, 0)
    print("ended", flush=True)
"""


@pytest.mark.slow
def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "model.safetensors"
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for wait in np.linspace(0, 0.03, 10):
            print(file=server.stdin, flush=True)
            pid = int(server.stdout.readline())
            time.sleep(wait)
            os.kill(pid, signal.SIGKILL)
            assert server.stdout.readline() == "ended\n"
            content, tensors = storage.read(path, "model")
            assert (tensors["a"] == content["number"]).all()
    finally:
        server.kill()
        server.communicate()


@pytest.mark.parametrize("later", [{"n_clusters": 5}, {"labnet__output": "softmax"}, {"layers": 1}])
def test_what_is_set_after_fit_is_not_saved(model, later, blobs, tmp_path):
    X = blobs[0]
    changed = copy.deepcopy(model).set_params(**later)
    changed.save(tmp_path)
    loaded = S3C2.load(tmp_path)
    assert (loaded.transform(X) == model.transform(X)).all()
    assert loaded.n_clusters == model.n_clusters
    loaded.save(tmp_path)  # what was loaded can be saved again
    assert (S3C2.load(tmp_path).predict(X) == model.predict(X)).all()
