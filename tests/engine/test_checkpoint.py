"""A fit that was stopped goes on from its checkpoint, after an exception and after a real kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from s3c2 import S3C2, CluNet, LabNet, Links
from s3c2.engine import checkpoint
from s3c2.errors import StorageError


class InterruptError(Exception):
    pass


def interrupt_at(stage, at):
    def callback(step):
        if (step.stage, step.step) == (stage, at):
            raise InterruptError

    return callback


@pytest.mark.parametrize(("stage", "at"), [("labnet", 0), ("labnet", 6), ("labnet", 11),
                                           ("clunet", 0), ("clunet", 13)])  # fmt: skip
@pytest.mark.parametrize("own", [False, True])
def test_an_interrupted_fit_ends_as_an_uninterrupted_one(
    blobs, blob_links, small, tmp_path, monkeypatch, stage, at, own
):
    X = blobs[0]
    if own:
        torch.manual_seed(0)
        layers = torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.3)
        small["network"] = torch.nn.Sequential(*layers)
    small["labnet"].set_params(steps=12)
    small["clunet"].set_params(steps=20)
    expected = S3C2(3, **small).fit(X, links=blob_links)
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    path = tmp_path / "state.safetensors"
    model = S3C2(3, **small, checkpoint=path)
    with pytest.raises(InterruptError):
        model.set_params(callbacks=interrupt_at(stage, at)).fit(X, links=blob_links)
    first = []
    model.set_params(callbacks=lambda step: first.append((step.stage, step.step)))
    model.fit(X, links=blob_links)
    assert first[0] == (stage, at)  # the interrupted step had not been kept
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()
    for name in ("labnet", "clunet"):
        assert (model.history_[name]["loss"] == expected.history_[name]["loss"]).all()
    assert not path.exists()


def test_an_early_stop_is_not_undone_by_resuming(blobs, blob_links, small, tmp_path):
    path = tmp_path / "state.safetensors"

    def stop_then_interrupt(step):
        if step.stage == "clunet":
            raise InterruptError
        return step.step == 9

    model = S3C2(3, **small, checkpoint=path, callbacks=stop_then_interrupt)
    with pytest.raises(InterruptError):
        model.fit(blobs[0], links=blob_links)
    model.set_params(callbacks=None).fit(blobs[0], links=blob_links)
    assert len(model.history_["labnet"]["loss"]) == 10


@pytest.mark.parametrize("what", ["settings", "data", "one value", "links"])
def test_a_checkpoint_of_another_fit_is_refused(blobs, blob_links, small, tmp_path, what):
    X, y = blobs
    path = tmp_path / "state.safetensors"
    model = S3C2(3, **small, checkpoint=path, callbacks=interrupt_at("clunet", 3))
    with pytest.raises(InterruptError):
        model.fit(X, links=blob_links)
    model.set_params(callbacks=None)
    if what == "settings":
        model.set_params(labnet__threshold=0.2)
    links = Links.from_labels(y, 81, random_state=0) if what == "links" else blob_links
    changed = X + 1 if what == "data" else X.copy()
    changed[77, 3] += what == "one value"
    with pytest.raises(StorageError, match="other settings, data or links. Remove it"):
        model.fit(changed, links=links)
    assert path.exists()


def test_a_damaged_checkpoint_is_named(blobs, blob_links, small, tmp_path):
    path = tmp_path / "state.safetensors"
    path.write_bytes(b"cut off")
    with pytest.raises(StorageError, match="state.safetensors' cannot be used: .* Or remove it"):
        S3C2(3, **small, checkpoint=path).fit(blobs[0], links=blob_links)


def test_a_checkpoint_of_a_clunet_with_another_labnet_is_refused(
    blobs, blob_links, tmp_path, monkeypatch
):
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    X = blobs[0]
    one, two = (
        LabNet(code=False, layers=(16, 8), steps=20, random_state=seed, verbose=0).fit(
            X, links=blob_links
        )
        for seed in range(2)
    )
    clunet = CluNet(3, layers=(16,), steps=20, random_state=0, verbose=0)
    clunet.set_params(checkpoint=tmp_path / "state", callbacks=interrupt_at("clunet", 9))
    with pytest.raises(InterruptError):
        clunet.fit(X, links=blob_links, labnet=one)
    with pytest.raises(StorageError, match="other settings, data or links"):
        clunet.fit(X, links=blob_links, labnet=two)


def test_a_diverged_fit_leaves_no_checkpoint(blobs, blob_links, small, tmp_path):
    path = tmp_path / "state.safetensors"
    model = S3C2(3, **small, checkpoint=path).set_params(scale=None)
    model.set_params(labnet__semi_supervised=True)
    with pytest.raises(ValueError, match="diverged"):
        model.fit(1e20 * blobs[0], links=blob_links)
    assert not path.exists()


def test_without_a_seed_a_resumed_fit_keeps_the_seed_it_began_with(
    blobs, blob_links, small, tmp_path
):
    path = tmp_path / "state.safetensors"
    small["random_state"] = None
    model = S3C2(3, **small, checkpoint=path, callbacks=interrupt_at("clunet", 3))
    with pytest.raises(InterruptError):
        model.fit(blobs[0], links=blob_links)
    (seed,) = checkpoint.storage.read(path, "checkpoint")[0]["seeds"]
    resumed = model.set_params(callbacks=None).fit(blobs[0], links=blob_links)
    same = S3C2(3, **{**small, "random_state": seed}).fit(blobs[0], links=blob_links)
    assert (resumed.labels_ == same.labels_).all()


TRAINING = """
import numpy as np
from s3c2 import S3C2, CluNet, LabNet, Links

def train(checkpoint=None, callbacks=None):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4
    X = rng.normal(size=(60, 6)) + 3 * np.eye(4, 6)[y]
    model = S3C2(
        4, labnet=LabNet(code=False, steps=20), clunet=CluNet(steps=30, batch_pairs=50),
        layers=(16, 8), random_state=0, verbose=0, checkpoint=checkpoint, callbacks=callbacks,
    )
    model.fit(X, links=Links.from_labels(y, 100, random_state=0))
    return model.predict_proba(X)
"""

# One process imports; a copy of it trains, for every line that comes, and tells of every step.
SERVER = (
    TRAINING
    + """
import os, sys, torch
from s3c2.engine import checkpoint
torch.set_num_threads(1)
train(callbacks=lambda step: True)  # what torch imports late
checkpoint.Checkpoint.due = lambda self: True
state, result = sys.argv[1:]
print("ready", flush=True)
for _ in sys.stdin:
    pid = os.fork()
    if not pid:
        print(os.getpid(), flush=True)
        p = train(state, lambda step: print(step.stage, step.step, flush=True))
        np.save(result, p)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    print("ended", os.waitstatus_to_exitcode(status), flush=True)
"""
)


@pytest.mark.slow
def test_a_killed_process_goes_on_to_the_same_result(tmp_path):
    result = tmp_path / "p.npy"
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path / "state"), str(result)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    def run(kill_at=None):
        """Train, up to a kill at this step if there is one: the steps that were told of."""
        print(file=server.stdin, flush=True)
        pid, told = int(server.stdout.readline()), []
        while True:
            line = server.stdout.readline().split()
            if line[0] == "ended":
                return told, int(line[1])
            told.append((line[0], int(line[-1])))  # a stage may have two words
            if told[-1] == kill_at:
                os.kill(pid, signal.SIGKILL)

    try:
        assert server.stdout.readline() == "ready\n"
        for kill_at in (("labnet", 4), ("labnet", 15), ("clunet", 6), ("clunet", 20)):
            assert run(kill_at)[1] == -signal.SIGKILL
        told, code = run()
        assert code == 0
        assert told[0][0] == "clunet"  # it went on, and did not begin anew
        assert told[0][1] >= 20
        assert not (tmp_path / "state").exists()
        after_kills = np.load(result)
        told, code = run()
        assert (told[0], code) == (("labnet", 0), 0)  # from the beginning, and to the end
    finally:
        server.kill()
        server.communicate()
    assert (np.load(result) == after_kills).all()
