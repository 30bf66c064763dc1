"""A grid of models fitted together is the models fitted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links, fit_many, grids
from s3c2.baselines import DCPR, IDEC
from s3c2.engine import checkpoint, scheduling
from s3c2.errors import StorageError


def base(**changes):
    """A small S3C2."""
    model = S3C2(
        3, labnet=LabNet(code=False, epochs=5, batch_links=16, learning_rate=5e-3),
        clunet=CluNet(steps=20, batch_links=16, batch_pairs=16, learning_rate=5e-3),
        layers=(32, 16), verbose=0,
    )  # fmt: skip
    return model.set_params(**changes)


@pytest.fixture
def grid(blobs):
    link_sets = [Links.from_labels(blobs[1], n, random_state=n) for n in (20, 50)]
    return [
        (base(labnet__threshold=T, random_state=seed), links)
        for links in link_sets
        for T in (0.1, 0.3)
        for seed in range(2)
    ]


def test_each_model_is_as_from_its_own_fit(blobs, grid):
    X = blobs[0]
    together = fit_many(X, grid)
    assert len(together) == 8
    for (model, links), fitted in zip(grid, together):
        alone = model.fit(X, links=links)
        assert (fitted.predict_proba(X) == alone.predict_proba(X)).all()
        assert (fitted.transform(X) == alone.transform(X)).all()
        assert (fitted.labels_ == alone.labels_).all()
        assert fitted.threshold_ == alone.threshold_ == model.labnet.threshold
        assert (fitted.history_["labnet"]["loss"] == alone.history_["labnet"]["loss"]).all()


def test_labnets_that_differ_in_threshold_alone_are_trained_once(blobs, grid):
    together = fit_many(blobs[0], grid)
    assert together[0].labnet_.encoder_ is together[2].labnet_.encoder_
    assert together[0].labnet_.encoder_ is not together[1].labnet_.encoder_


def test_restarts_committees_and_calibration(many_blobs, tmp_path):
    X, y = many_blobs
    model = base(clunet__n_restarts=3, labnet__n_committee=2, labnet__threshold="auto")
    grid = [
        (clone(model).set_params(random_state=seed), Links.from_labels(y, 300, random_state=seed))
        for seed in range(2)
    ]
    for (model, links), fitted in zip(grid, fit_many(X, grid)):
        alone = model.fit(X, links=links)
        assert fitted.threshold_ == alone.threshold_ != 0.3
        assert (fitted.predict_proba(X) == alone.predict_proba(X)).all()
        fitted.save(tmp_path)
        assert (S3C2.load(tmp_path).transform(X) == alone.transform(X)).all()


def test_layers_may_be_a_list_or_a_tuple(blobs, blob_links, small):
    grid = [(S3C2(3, **{**small, "layers": kind((32, 16))}), blob_links) for kind in (list, tuple)]
    one, two = fit_many(blobs[0], grid)
    assert (one.labels_ == two.labels_).all()


def test_models_of_different_kinds_are_refused(blobs, blob_links):
    grid = [(base(), blob_links), (base(n_clusters=4), blob_links)]
    with pytest.raises(ValueError, match="'n_clusters' is 3 in configuration 0 and 4 in"):
        fit_many(blobs[0], grid)
    assert fit_many(blobs[0], []) == []


def test_the_models_given_are_not_changed(blobs, grid):
    before = [model.get_params() for model, _ in grid[:2]]
    fit_many(blobs[0], grid[:2])
    for (model, _), params in zip(grid, before):
        assert not hasattr(model, "labels_")
        assert not hasattr(model.labnet, "encoder_")
        assert model.get_params() == params


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Links([(0, 1)], n_samples=7), "Configuration 1 .*7 rows, but X has"),
        (Links([(0, 1)], [(0, 1)], n_samples=60), "Configuration 1 .*contradict"),
        ("links.csv", "links is a Links object or None. Configuration 1 is"),
    ],
)
def test_errors_say_which_configuration_is_wrong(blobs, blob_links, wrong, message):
    grid = [(base(), blob_links), (base(), wrong)]
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
        fit_many(blobs[0], grid)
    with pytest.raises(ValueError, match=r"Configuration 1 \(of 2, the first is 0\): The 'thresh"):
        fit_many(blobs[0], [(base(labnet__threshold=T), blob_links) for T in (0.3, -1)])


def test_a_diverging_configuration_leaves_the_others(blobs, blob_links):
    model = base(random_state=0, labnet__semi_supervised=True, labnet__batch_pairs=16)
    grid = [
        (clone(model).set_params(labnet__reconstruction_weight=w), blob_links)
        for w in (0.05, 1e38, 0.01)
    ]
    with pytest.warns(UserWarning, match="1 of 3 configurations diverged .* unfitted: 1"):
        good, bad, other = fit_many(blobs[0], grid)
    assert not hasattr(bad, "labels_")
    for fitted, (model, links) in ((good, grid[0]), (other, grid[2])):
        assert (fitted.labels_ == model.fit(blobs[0], links=links).labels_).all()
    with pytest.raises(ValueError, match="training diverged"):
        fit_many(blobs[0], grid[1:2])


def test_own_encoders_and_generators(blobs, blob_links):
    own = nn.Sequential(nn.Linear(5, 16, bias=False), nn.ReLU())
    rng = np.random.default_rng(0)
    grid = [(base(network=own, random_state=rng), blob_links) for _ in range(2)]
    one, two = fit_many(blobs[0], grid)
    assert (one.transform(blobs[0]) != two.transform(blobs[0])).any()


class InterruptError(Exception):
    pass


def interrupted_after(counts):
    """A callback that raises after so many steps, of all fits together, and those it has seen."""
    seen = []

    def callback(step):
        seen.append((step.stage, step.step))
        if len(seen) in counts:
            raise InterruptError

    return callback, seen


def fit_with_interruptions(X, grid, path, counts):
    """fit_many, again after each interruption; also the steps that were taken."""
    callback, seen = interrupted_after(counts)
    for model, _ in grid:
        model.set_params(checkpoint=path, callbacks=callback)
    for _ in counts:
        with pytest.raises(InterruptError):
            fit_many(X, grid)
        assert path.exists()
    fitted = fit_many(X, grid)
    assert not path.exists()
    return fitted, seen


@pytest.mark.parametrize("seed", [0, None])
def test_an_interrupted_grid_goes_on(blobs, grid, tmp_path, monkeypatch, seed):
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    X, path = blobs[0], tmp_path / "state"
    whole = []
    grid[0][0].set_params(callbacks=whole.append)
    expected = fit_many(X, grid)
    grid[0][0].set_params(callbacks=None)
    if seed is None:  # the seeds of the first start are kept
        drawn = iter([model.random_state for model, _ in grid])
        monkeypatch.setattr(grids, "seed_from", lambda state: next(drawn, 77))
        for model, _ in grid:
            model.set_params(random_state=None)
    resumed, seen = fit_with_interruptions(X, grid, path, (7, 30, 70))
    for one, two in zip(expected, resumed):
        assert (one.predict_proba(X) == two.predict_proba(X)).all()
        for stage, history in one.history_.items():
            assert (history["loss"] == two.history_[stage]["loss"]).all()
    assert len(seen) == len(whole) + 3  # only the interrupted steps were taken again


@pytest.fixture
def idec_grid(blobs):
    """IDECs that end after different epochs; with few links and with more, one stack for each."""
    X = np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)  # hard to be sure of
    settings = {
        "layers": (32, 8), "layer_epochs": 2, "whole_epochs": 3, "epochs": 12, "batch_size": 32,
        "n_init": 2, "tol": 0.02, "learning_rate": 0.01, "verbose": 0,
    }  # fmt: skip
    grid = [
        (IDEC(3, random_state=seed, **settings), Links.from_labels(blobs[1], n, random_state=seed))
        for n in (30, 100)
        for seed in range(3)
    ]
    return X, grid


def test_an_interrupted_grid_of_idec_goes_on(idec_grid, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    X, grid = idec_grid
    expected = fit_many(X, grid)
    lengths = [len(model.history_["loss"]) for model in expected]
    assert len(set(lengths[:3])) > 1  # they end after different epochs
    resumed, _ = fit_with_interruptions(X, grid, tmp_path / "state", range(5, 120, 9))
    for one, two in zip(expected, resumed):
        assert (one.predict_proba(X) == two.predict_proba(X)).all()
        assert len(one.history_["loss"]) == len(two.history_["loss"])


def test_a_grid_that_is_split_otherwise_after_an_interruption(idec_grid, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    X, grid = idec_grid
    expected = fit_many(X, grid)
    stages = []

    def interrupt(step):
        stages.append(step.step if step.stage == "idec" else None)
        if stages[-1] == 0 and stages.count(0) == 2:  # the first step of the second stack
            raise InterruptError

    for model, _ in grid:
        model.set_params(checkpoint=tmp_path / "state", callbacks=interrupt)
    with pytest.raises(InterruptError):
        fit_many(X, grid)
    sizes = iter([2])  # less memory than before, for the first stack alone
    whole = scheduling.stack_size
    monkeypatch.setattr(scheduling, "stack_size", lambda *given: next(sizes, None) or whole(*given))
    for one, two in zip(expected, fit_many(X, grid)):
        assert (one.predict_proba(X) == two.predict_proba(X)).all()


def test_equal_links_may_be_other_objects_after_an_interruption(blobs, tmp_path):
    X, y = blobs
    callback, _ = interrupted_after([60])
    shared = Links.from_labels(y, 50, random_state=0)
    settings = {"random_state": 0, "checkpoint": tmp_path / "state"}

    def grid(callbacks, *links):
        return [
            (base(labnet__threshold=T, callbacks=callbacks, **settings), one)
            for T, one in zip((0.1, 0.3), links)
        ]

    with pytest.raises(InterruptError):
        fit_many(X, grid(callback, shared, shared))
    apart = (Links.from_labels(y, 50, random_state=0) for _ in range(2))
    found = fit_many(X, grid(None, *apart))
    settings["checkpoint"] = None
    for one, two in zip(found, fit_many(X, grid(None, shared, shared))):
        assert (one.predict_proba(X) == two.predict_proba(X)).all()


def test_a_grid_trained_one_by_one_is_not_written_for_each(
    blobs, blob_links, tmp_path, monkeypatch
):
    written = []
    write = checkpoint.storage.write
    monkeypatch.setattr(
        checkpoint.storage, "write", lambda *given: written.append(given) or write(*given)
    )
    settings = {"layers": (16,), "steps": 2, "batch_links": 5, "verbose": 0}
    grid = [
        (DCPR(3, random_state=r, checkpoint=tmp_path / "state", **settings), blob_links)
        for r in range(20)
    ]
    fit_many(blobs[0], grid)
    assert not written  # it took no ten seconds
    clock = iter(range(0, 10**6, 3))
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: next(clock))
    fit_many(blobs[0], grid)
    assert 0 < len(written) < 10  # each takes three seconds, and sixty go by before the next


def test_a_checkpoint_of_another_grid_is_refused(blobs, grid, tmp_path):
    X, path = blobs[0], tmp_path / "state"
    callback, _ = interrupted_after([60])
    for model, _ in grid:
        model.set_params(checkpoint=path, callbacks=callback)
    with pytest.raises(InterruptError):
        fit_many(X, grid)
    with pytest.raises(StorageError, match="other settings, data or links. Remove it"):
        fit_many(X, grid[:-1])
    grid[3][0].set_params(checkpoint=tmp_path / "other")
    with pytest.raises(ValueError, match="'checkpoint' is .*state.* in configuration 0"):
        fit_many(X, grid)
