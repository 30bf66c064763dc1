"""The loop: history, callbacks, checkpoints and real kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import torch

from s3c2 import S3C2, Callback, CluNet, LabNet, Links
from s3c2.engine import checkpoint
from s3c2.engine import loop as training
from s3c2.engine.optimizers import OPTIMIZERS, new_optimizer
from s3c2.engine.progress import Progress
from s3c2.errors import StorageError


class Counter(Callback):
    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        self.seen.append("setup")

    def on_fit_task_begin(self, estimator, context):
        assert isinstance(estimator, S3C2)
        assert context.terms == {}
        self.seen.append(("begin", context.stage, context.step))

    def on_fit_task_end(self, estimator, context):
        assert 0 <= context.loss < 5
        self.seen.append(("end", context.stage, context.step))

    def teardown(self, estimator, context):
        self.seen.append("teardown")


def test_a_callback_sees_every_step(blobs, blob_links, small):
    counter = Counter()
    S3C2(3, **{**small, "labnet_steps": 3, "clunet_steps": 2}, callbacks=counter).fit(
        blobs[0], links=blob_links
    )
    steps = [("labnet", i) for i in range(3)] + [("clunet", i) for i in range(2)]
    expected = [(when, *step) for step in steps for when in ("begin", "end")]
    assert counter.seen == ["setup", *expected, "teardown"]


def test_a_callback_may_end_a_stage(blobs, blob_links, small):
    model = S3C2(3, **small, callbacks=lambda step: step.stage == "labnet" and step.step == 9)
    model.fit(blobs[0], links=blob_links)
    assert len(model.history_["labnet"]["loss"]) == 10
    assert len(model.history_["clunet"]["loss"]) == 150


class InterruptError(Exception):
    pass


def interrupt_at(stage, at):
    def callback(step):
        if (step.stage, step.step) == (stage, at):
            raise InterruptError

    return callback


@pytest.mark.parametrize(("stage", "at"), [("labnet", 0), ("labnet", 30), ("labnet", 59),
                                           ("clunet", 0), ("clunet", 77)])  # fmt: skip
@pytest.mark.parametrize("own", [False, True])
def test_an_interrupted_fit_ends_as_an_uninterrupted_one(
    blobs, blob_links, small, tmp_path, monkeypatch, stage, at, own
):
    X = blobs[0]
    if own:
        torch.manual_seed(0)
        layers = torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.3)
        small["encoder"] = torch.nn.Sequential(*layers)
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
        model.set_params(threshold=0.2)
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
        LabNet(layers=(16, 8), steps=20, random_state=seed, verbose=0).fit(X, links=blob_links)
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
    model = S3C2(3, **{**small, "learning_rate": 1e38, "scale": None}, checkpoint=path)
    with pytest.raises(ValueError, match="diverged"):
        model.fit(blobs[0], links=blob_links)
    assert not path.exists()


def test_a_training_without_hope_ends_before_its_length(blobs, blob_links, small, monkeypatch):
    monkeypatch.setattr(training, "LOOK_EVERY", 5)
    seen = []
    changed = {"learning_rate": 1e38, "scale": None, "labnet_steps": 60}
    model = S3C2(3, **{**small, **changed}, callbacks=lambda step: seen.append(step.step))
    with pytest.raises(ValueError, match="at step [0-9]: training diverged"):
        model.fit(blobs[0], links=blob_links)
    assert len(seen) < 20


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


SCRIPT = textwrap.dedent(
    """
    import sys
    import numpy as np, torch
    from s3c2 import S3C2, Links
    from s3c2.engine import checkpoint
    torch.set_num_threads(1)
    checkpoint.Checkpoint.due = lambda self: True
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    X = rng.normal(size=(200, 6)) + 3 * np.eye(4, 6)[y]
    model = S3C2(4, layers=(32, 8), labnet_steps=80, clunet_steps=120, clunet_pairs=50,
                 random_state=0, verbose=0, checkpoint=sys.argv[1])
    print("ready", flush=True)
    model.fit(X, links=Links.from_labels(y, 100, random_state=0))
    np.save(sys.argv[2], model.predict_proba(X))
    """
)


def test_a_killed_process_goes_on_to_the_same_result(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    state = tmp_path / "state.safetensors"

    def run(result, kill_after=None, state=state):
        command = [sys.executable, str(script), str(state), str(result)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"CI": "1"})
        process.stdout.readline()
        if kill_after is not None:
            time.sleep(kill_after)
            process.send_signal(signal.SIGKILL)
        process.wait(timeout=120)
        process.stdout.close()
        return process.returncode

    assert run(tmp_path / "whole.npy", state=tmp_path / "other.safetensors") == 0
    codes = [run(tmp_path / "killed.npy", kill_after) for kill_after in (0.3, 0.5, 0.7)]
    assert codes[0] == -signal.SIGKILL
    if not (tmp_path / "killed.npy").exists():
        assert run(tmp_path / "killed.npy") == 0
    whole, killed = (np.load(tmp_path / f"{name}.npy") for name in ("whole", "killed"))
    assert (whole == killed).all()


def test_optimizers_are_the_scripts():
    parameter = torch.nn.Parameter(torch.zeros(1))
    rmsprop = OPTIMIZERS["rmsprop"]([parameter], lr=1e-3)
    assert rmsprop.defaults["alpha"] == 0.9
    adam = OPTIMIZERS["adam"]([parameter], lr=1e-3)
    assert adam.defaults["betas"] == (0.9, 0.999)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_adam_gives_replicas_the_bits_they_have_alone(threads):
    torch.manual_seed(0)
    start = [torch.randn(7, 640, 100), torch.randn(7, 26), torch.randn(7, 17, 16)]
    gradients = [[torch.randn_like(p) for p in start] for _ in range(20)]

    def end(of):
        parameters = [torch.nn.Parameter(p[of].clone()) for p in start]
        optimizer = new_optimizer("adam", parameters, 1e-2, torch.device("cpu"), len(parameters[0]))
        for step in gradients:
            for p, gradient in zip(parameters, step):
                p.grad = gradient[of].clone()
            optimizer.step()
        return parameters

    torch.set_num_threads(threads)
    try:
        together = end(slice(None))
        for r in range(7):
            alone = end(slice(r, r + 1))
            assert all(torch.equal(a[r], b[0]) for a, b in zip(together, alone))
    finally:
        torch.set_num_threads(1)


def test_progress_goes_to_stderr_and_can_be_switched_off(capsys, monkeypatch):
    monkeypatch.setattr("s3c2.engine.progress.PATIENCE", 0.0)
    for verbose in (0, 1):
        with Progress("training", 10, verbose) as progress:
            progress.update(5, "loss 0.5")
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("training: 5 of 10, loss 0.5") if verbose else err == ""
