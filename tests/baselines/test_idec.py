"""IDEC: its pretraining, its epochs, its end, and grids of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from torch import nn

from s3c2 import Links, fit_many
from s3c2 import pretraining as autoencoder
from s3c2.baselines import IDEC
from s3c2.baselines.epochs import Epochs
from s3c2.baselines.pair_methods import Replica
from s3c2.data.scaling import learn_scaling
from s3c2.engine import checkpoint, scheduling
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack
from s3c2.errors import StorageError
from s3c2.files import model_files
from s3c2.pretraining import Autoencoder

QUICK = {
    "layers": (32, 16, 8), "layer_epochs": 4, "whole_epochs": 6, "epochs": 6, "batch_size": 32,
    "n_init": 3, "scale": "standard", "random_state": 0, "verbose": 0,
}  # fmt: skip


def steps_of(model, X, links):
    """(stage, step, steps of the stage) of every step that a fit takes."""
    seen = []
    model = clone(model).set_params(callbacks=lambda s: seen.append((s.stage, s.step, s.steps)))
    model.fit(X, links=links)
    return seen


@pytest.fixture
def epochs(blobs):
    """The epochs of one replica on the blobs, with untrained weights and random centres."""
    X, y = blobs
    links = Links.from_labels(y, 40, random_state=0)
    links = Links(must=links.must, cannot=links.cannot, n_samples=120, cannot_weight=0.25)
    model = IDEC(3, **QUICK, must_weight=0.3, cannot_weight=0.7, clustering_weight=0.2)
    rows = Rows(X, (5,))
    built = Autoencoder.build(model._pretraining(), (5,))
    stacks = {name: Stack([getattr(built, name)]) for name in ("encoder", "decoder")}
    centres = torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(0))
    found = Epochs(model, [Replica(model, links, 5)], rows, stacks, centres, (4, 1, 1))
    with torch.no_grad():
        z = built.encoder(torch.from_numpy(X))
        x_hat = built.decoder(z).numpy().astype(np.float64)
    d2 = ((z.numpy()[:, None] - centres[0].numpy()) ** 2).sum(-1).astype(np.float64)
    q = 1 / (1 + d2) ** 2
    return found, links, q / q.sum(1, keepdims=True), ((x_hat - X) ** 2).mean(1)


def test_an_epoch_goes_over_all_rows_then_must_links_then_cannot_links(epochs):
    found, links, q, errors = epochs
    assert [found.kind(step).__name__ for step in range(7)] == [
        *["of_rows"] * 4, "of_must_links", "of_cannot_links", "of_rows",
    ]  # fmt: skip
    assert found.before(0) is None
    target = q**2 / q.sum(0)
    target /= target.sum(1, keepdims=True)
    assert np.allclose(found.clustering.target[0].numpy(), target, atol=1e-5)
    kl = (target * np.log(target / q)).sum(1)
    clustering, reconstruction = 0.0, 0.0
    for step in range(4):
        terms = found.of_rows(step)
        share = 32 if step < 3 else 24  # 120 rows
        clustering += share * float(terms["clustering"].detach())
        reconstruction += share * float(terms["reconstruction"].detach())
        loss = 0.2 * terms["clustering"] + terms["reconstruction"]
        assert float(terms["loss"].detach()) == pytest.approx(float(loss.detach()))
    # Every row was met once.
    assert clustering / 120 == pytest.approx(kl.mean(), rel=1e-3)
    assert reconstruction / 120 == pytest.approx(errors.mean(), rel=1e-4)

    terms = found.of_must_links(4)
    likelihood = np.mean([-np.log(q[i] @ q[j]) for i, j in links.must])
    both = np.mean([errors[i] + errors[j] for i, j in links.must])
    assert float(terms["must"].detach()) == pytest.approx(likelihood, rel=1e-4)
    assert float(terms["loss"].detach()) == pytest.approx(0.3 * likelihood + both, rel=1e-4)

    terms = found.of_cannot_links(5)
    likelihood = np.mean([-np.log(1 - q[i] @ q[j]) for i, j in links.cannot])
    assert float(terms["loss"].detach()) == pytest.approx(0.7 * likelihood, rel=1e-4)
    terms["loss"].sum().backward()
    assert all(p.grad is None for p in found.decoder.parameters())


def test_it_ends_when_few_labels_change(epochs):
    found = epochs[0]
    found.before(0)
    assert found.before(3) is None  # within an epoch nothing is taken anew
    assert found.before(6) == [True]  # no step was taken
    with torch.no_grad():
        found.clustering.centres.copy_(found.clustering.centres.roll(1, dims=1))
    assert found.before(12) == [False]
    assert found.before(18) == [True]


def test_pretraining_layer_by_layer_and_whole_then_epochs(blobs, blob_links):
    model = IDEC(3, **QUICK, tol=0.0)
    seen = steps_of(model, blobs[0], blob_links)
    per_epoch = 4  # 120 rows in batches of 32
    lengths = [steps for stage, step, steps in seen if step == 0]
    pretraining = [4 * per_epoch] * 3 + [6 * per_epoch]
    assert lengths == [*pretraining, 6 * (per_epoch + 2 + 2)]  # 40 links of each kind
    assert len(seen) == sum(lengths)


def test_pretraining_learns_to_reconstruct(blobs, tmp_path):
    X, y = blobs
    links = Links.from_labels(y, 40, random_state=0)
    before = Autoencoder.build(IDEC(3, **QUICK)._pretraining(), (5,))
    model = IDEC(
        3, **{**QUICK, "layer_epochs": 20, "whole_epochs": 100, "epochs": 1, "scale": None}
    )
    model.set_params(corruption=0.05, cache=tmp_path).fit(X, links=links)
    after = Autoencoder.build(model._pretraining(), (5,))
    (file,) = tmp_path.iterdir()
    after.load(model_files.read(file, "autoencoder")[1])
    x = torch.from_numpy(X)
    with torch.no_grad():
        errors = [float(((a.decoder(a.encoder(x)) - x) ** 2).mean()) for a in (before, after)]
    assert errors[1] < 0.1 < errors[0]


def test_the_cache_spares_the_pretraining_and_changes_nothing(blobs, blob_links, tmp_path):
    X = blobs[0]
    model = IDEC(3, **QUICK)
    expected = clone(model).fit(X, links=blob_links)
    model.set_params(cache=tmp_path / "kept")
    assert {stage for stage, *_ in steps_of(model, X, blob_links)} == {"idec pretraining", "idec"}
    assert {stage for stage, *_ in steps_of(model, X, blob_links)} == {"idec"}
    again = clone(model).fit(X, links=blob_links)
    assert (again.predict_proba(X) == expected.predict_proba(X)).all()
    for changed in (
        {"whole_epochs": 7}, {"pretrain_seed": 1}, {"layers": (32, 8)},
        {"pretrain_learning_rate": 0.02},
    ):  # fmt: skip
        other = clone(model).set_params(**changed)
        assert "idec pretraining" in {stage for stage, *_ in steps_of(other, X, blob_links)}
    other = X.copy()
    other[0, 0] += 1
    assert "idec pretraining" in {stage for stage, *_ in steps_of(model, other, blob_links)}
    # Links, random_state and the weights of the losses have no part in it.
    other = clone(model).set_params(random_state=7, must_weight=0.5)
    links = Links.from_labels(blobs[1], 30, random_state=1)
    assert {stage for stage, *_ in steps_of(other, X, links)} == {"idec"}


def test_the_assignment_of_the_paper_is_kept_with_the_model(blobs, blob_links, tmp_path):
    X = blobs[0]
    model = IDEC(3, **QUICK, assignment_power=1.0).fit(X, links=blob_links)
    z = model.network_[0](torch.from_numpy(learn_scaling("standard", X).apply(X)))
    near = 1 / (1 + (z[:, None] - model.network_[1].centres).square().sum(-1))
    expected = (near / near.sum(1, keepdim=True)).detach().numpy()
    assert np.allclose(model.predict_proba(X), expected, atol=1e-5)
    model.save(tmp_path)
    assert (IDEC.load(tmp_path).predict_proba(X) == model.predict_proba(X)).all()
    far = model.set_params(assignment_power=2.0).fit(X, links=blob_links).predict_proba(1e12 * X)
    assert np.allclose(far.sum(1), 1)


def test_a_callback_ends_the_layer_whatever_rates_are_left(blobs, blob_links, monkeypatch):
    monkeypatch.setattr(autoencoder, "RATE_EPOCHS", 2)
    seen = []

    def stop(step):
        seen.append(step)
        return step.stage == "idec pretraining" and len(seen) == 5

    settings = {**QUICK, "layers": (32, 8), "whole_epochs": 0}
    IDEC(3, **settings, callbacks=stop).fit(blobs[0], links=blob_links)
    pretraining = [step for step in seen if step.stage == "idec pretraining"]
    assert len(pretraining) == 5 + 4 * 4  # the second layer has all its 4 epochs of 4 steps


def test_an_embedding_that_died_is_told(blobs, blob_links):
    own = nn.Linear(5, 4)
    nn.init.zeros_(own.weight)
    model = IDEC(3, **{**QUICK, "whole_epochs": 0}, network=own)
    with pytest.warns(UserWarning, match="fewer than 3 different points"):
        model.fit(blobs[0], links=blob_links)


def test_a_pretraining_that_was_ended_early_is_not_kept(blobs, blob_links, tmp_path):
    X = blobs[0]
    kept = tmp_path / "kept"
    model = IDEC(3, **QUICK, cache=kept)
    early = clone(model).set_params(
        callbacks=lambda s: s.stage == "idec pretraining" and s.step >= 1
    )
    early.fit(X, links=blob_links)
    assert list(kept.iterdir()) == []
    model.fit(X, links=blob_links)
    assert len(list(kept.iterdir())) == 1


def test_a_cache_that_cannot_be_used_is_told_before_the_work(blobs, blob_links, tmp_path):
    (tmp_path / "file").write_text("")
    model = IDEC(3, **QUICK, cache=tmp_path / "file" / "folder")
    model.set_params(callbacks=lambda s: pytest.fail("a step was taken"))
    with pytest.raises(StorageError, match=r"'cache' folder '.*folder' cannot be made"):
        model.fit(blobs[0], links=blob_links)
    model.set_params(cache=tmp_path / "kept", callbacks=None).fit(blobs[0], links=blob_links)
    (file,) = (tmp_path / "kept").iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(StorageError, match=r"cannot be used: .* Or delete the file"):
        model.fit(blobs[0], links=blob_links)


def test_own_encoders_of_another_architecture_have_a_pretraining_of_their_own(
    blobs, blob_links, tmp_path
):
    for activation in (nn.ReLU(), nn.Tanh()):
        torch.manual_seed(0)
        own = nn.Sequential(nn.Linear(5, 4), activation)
        IDEC(3, **QUICK, network=own, cache=tmp_path).fit(blobs[0], links=blob_links)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_decoder_without_an_encoder_is_refused(blobs, blob_links):
    with pytest.raises(ValueError, match="'decoder' parameter of IDEC goes with an encoder"):
        IDEC(3, decoder=nn.Linear(4, 5)).fit(blobs[0], links=blob_links)


def grid_of_unlike_lengths(y):
    """Models that end after unlike numbers of epochs."""
    settings = {**QUICK, "epochs": 15, "tol": 0.01, "learning_rate": 3e-3}
    return [
        (IDEC(3, **{**settings, "random_state": i}, must_weight=0.1 * (i + 1)),
         Links.from_labels(y, n, random_state=i))
        for i, n in enumerate((20, 60, 24, 140, 30, 50))
    ]  # fmt: skip


def noisy(X):
    return X + np.random.default_rng(0).normal(size=X.shape).astype(np.float32) * 1.5


def test_a_grid_is_the_models_one_by_one(blobs, monkeypatch):
    """Bit for bit, with one pretraining, though they end at different epochs."""
    X, y = blobs
    X = noisy(X)
    real, tasks = scheduling.train, []

    def watched(task, run):
        tasks.append(len(task.steps))
        return real(task, run)

    monkeypatch.setattr(scheduling, "train", watched)
    left_alone, fewer = [], Stack.fewer
    monkeypatch.setattr(
        Stack, "fewer", lambda stack, numbers: left_alone.append(numbers) or fewer(stack, numbers)
    )
    grid = grid_of_unlike_lengths(y)
    seen = []
    grid[0][0].set_params(callbacks=lambda step: seen.append((step.stage, step.step)))
    for model, _ in grid[1:]:
        model.set_params(callbacks=grid[0][0].callbacks)
    together = fit_many(X, grid)
    assert seen.count(("idec pretraining", 0)) == 4
    assert tasks == [5, 1]  # 140 links make more batches than the others
    assert left_alone  # the last of the five had a stack of their own
    assert {len(numbers) for numbers in left_alone} == {2}
    lengths = set()
    for (model, links), fitted in zip(grid, together):
        alone = clone(model).set_params(callbacks=None).fit(X, links=links)
        assert (fitted.predict_proba(X) == alone.predict_proba(X)).all()
        for name, values in alone.history_.items():
            assert np.array_equal(fitted.history_[name], values, equal_nan=True)
        lengths.add(len(alone.history_["loss"]))
    assert len(lengths) > 2


def test_a_stopped_grid_goes_on_where_some_models_had_ended(blobs, tmp_path, monkeypatch):
    X, y = noisy(blobs[0]), blobs[1]
    expected = fit_many(X, grid_of_unlike_lengths(y))
    ends = sorted(len(model.history_["loss"]) for model in expected)
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)

    def stop(step):
        if step.stage == "idec" and step.step == ends[-2] - 1:  # the last two are alone by now
            raise KeyboardInterrupt

    def with_checkpoint(callbacks):
        grid = grid_of_unlike_lengths(y)
        for model, _ in grid:
            model.set_params(checkpoint=tmp_path / "state", callbacks=callbacks)
        return fit_many(X, grid)

    with pytest.raises(KeyboardInterrupt):
        with_checkpoint(stop)
    for one, other in zip(with_checkpoint(None), expected):
        assert (one.predict_proba(X) == other.predict_proba(X)).all()
        for name, values in other.history_.items():
            assert np.array_equal(one.history_[name], values, equal_nan=True)


def test_history_has_a_term_for_each_kind_of_step(blobs, blob_links):
    model = IDEC(3, **QUICK, tol=0.0).fit(blobs[0], links=blob_links)
    known = {name: np.isfinite(values[:8]) for name, values in model.history_.items()}
    assert known["loss"].all()
    assert known["clustering"].tolist() == [True] * 4 + [False] * 4
    assert known["must"].tolist() == [False] * 4 + [True] * 2 + [False] * 2
    assert known["cannot"].tolist() == [False] * 6 + [True] * 2
    assert known["reconstruction"].tolist() == [True] * 6 + [False] * 2


def test_convolutional_autoencoder(tmp_path):
    data = load_digits(n_class=2)
    links = Links.from_labels(data.target, 60, random_state=0)
    model = IDEC(
        2, network="convolutional", layers=(5,), whole_epochs=15, epochs=5, batch_size=64,
        scale="unit", n_init=2, random_state=0, verbose=0,
    ).fit(data.images, links=links)  # fmt: skip
    assert adjusted_rand_score(data.target, model.labels_) > 0.9
    assert model.network_[0](torch.zeros(2, 1, 8, 8)).shape == (2, 5)
    model.save(tmp_path)
    loaded = IDEC.load(tmp_path)
    assert (loaded.predict_proba(data.images) == model.predict_proba(data.images)).all()


def test_own_autoencoder(blobs, blob_links, tmp_path):
    def own():
        return nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Dropout(0.1), nn.Linear(12, 4))

    torch.manual_seed(0)
    settings = {**QUICK, "layers": (16, 8)}
    model = IDEC(3, network=own(), decoder=nn.Linear(4, 5), **settings)
    labels = model.fit_predict(blobs[0], links=blob_links)
    assert (clone(model).fit_predict(blobs[0], links=blob_links) == labels).all()
    model.save(tmp_path)
    loaded = IDEC.load(tmp_path, network=own())
    assert (loaded.predict_proba(blobs[0]) == model.predict_proba(blobs[0])).all()


def test_a_pretraining_that_diverges_is_told(blobs, blob_links):
    with pytest.raises(ValueError, match=r"pretraining was .* Lower pretrain_learning_rate"):
        IDEC(3, **QUICK, pretrain_learning_rate=1e30).fit(blobs[0], links=blob_links)


@pytest.mark.parametrize(
    ("network", "optimizer", "rate", "epochs"),
    [("dense", "sgd", 0.05, 500), ("convolutional", "adam", 1e-3, 200)],
)
def test_the_pretraining_is_each_networks_own(network, optimizer, rate, epochs, monkeypatch):
    monkeypatch.setattr(autoencoder, "RATE_EPOCHS", 500)
    tasks, train = [], autoencoder.train
    monkeypatch.setattr(autoencoder, "train", lambda t, run: tasks.append(t) or train(t, run))
    images = np.random.default_rng(0).random((40, 1, 8, 8), dtype=np.float32)
    X = images.reshape(40, -1) if network == "dense" else images
    links = Links.from_labels(np.arange(40) % 2, 20, random_state=0)
    model = IDEC(2, network=network, layers=(8,), layer_epochs=0, epochs=1, verbose=0)
    ending = {"callbacks": lambda step: True}  # ends every stage after a step
    clone(model).set_params(**ending).fit(X, links=links)
    given = {"pretrain_learning_rate": 0.01, "whole_epochs": 7}
    clone(model).set_params(**ending, **given).fit(X, links=links)
    found = [(task.optimizer, task.learning_rate, task.steps) for task in tasks if task.steps[0]]
    assert found == [(optimizer, rate, [epochs]), (optimizer, 0.01, [7])]


def test_the_rate_of_the_pretraining_falls_as_it_goes_on(blobs, blob_links, monkeypatch):
    monkeypatch.setattr(autoencoder, "RATE_EPOCHS", 3)
    tasks, train = [], autoencoder.train
    monkeypatch.setattr(
        autoencoder, "train", lambda task, run: tasks.append(task) or train(task, run)
    )
    IDEC(3, **QUICK).fit(blobs[0], links=blob_links)
    epochs = {"layer 1": (3, 1), "layer 2": (3, 1), "layer 3": (3, 1), "whole": (3, 3)}
    expected = [
        (f"{part}, epochs {'1–3' if number == 0 else f'4–{3 + n}'}", rate, 4 * n)
        for part, pieces in epochs.items()
        for number, (n, rate) in enumerate(zip(pieces, (0.05, 0.005)))
    ]
    found = [(t.part, pytest.approx(t.learning_rate), max(t.steps)) for t in tasks]
    assert found == expected
    assert {task.optimizer for task in tasks} == {"sgd"}
