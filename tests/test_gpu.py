"""On a CUDA device: training, prediction, and files that load anywhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from s3c2 import S3C2

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.fixture
def fitted(blobs, blob_links, small):
    return S3C2(3, **small, device="cuda").fit(blobs[0], links=blob_links)


def distance(one, two):
    """Largest relative difference of two networks' weights."""
    pairs = zip(one.state_dict().values(), two.state_dict().values())
    return max(float((a.cpu() - b.cpu()).norm() / b.cpu().norm().clamp(min=1e-3)) for a, b in pairs)


def test_auto_takes_the_gpu(blobs, blob_links, small):
    model = S3C2(3, **small).fit(blobs[0], links=blob_links)
    assert next(model.clunet_.network_.parameters()).device.type == "cuda"


def test_it_learns_and_repeats_itself(fitted, blobs, blob_links, small):
    X, y = blobs
    assert adjusted_rand_score(y, fitted.labels_) > 0.9
    again = S3C2(3, **small, device="cuda").fit(X, links=blob_links)
    assert (again.labels_ == fitted.labels_).all()


def test_all_pairs_of_some_rows_restarts_and_committees(blobs, blob_links, small):
    X, y = blobs
    settings = {**small, "clunet_points": 24, "n_restarts": 3, "n_committee": 2}
    model = S3C2(3, **settings, device="cuda").fit(X, links=blob_links)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_convolutional_semi_supervised(small):
    from sklearn.datasets import load_digits

    from s3c2 import Links

    data = load_digits(n_class=3)
    links = Links.from_labels(data.target, 300, random_state=0)
    settings = {**small, "scale": "unit", "labnet_steps": 200, "clunet_steps": 200, "dropout": 0.1}
    model = S3C2(3, network="convolutional", semi_supervised=True, **settings, device="cuda")
    model.set_params(reconstruction_weight=0.005).fit(data.images, links=links)
    rates = model.labnet_.rates(Links.from_labels(data.target, 1000, random_state=1))
    assert rates.accuracy > 0.9
    assert adjusted_rand_score(data.target, model.predict(data.images)) > 0.5


def test_a_stack_too_large_for_the_memory_is_split(blobs, monkeypatch):
    from s3c2 import Links, fit_many, stack

    X, y = blobs
    links = Links.from_labels(y, 40, random_state=0)
    base = {"layers": (64, 32), "labnet_steps": 5, "clunet_steps": 5, "verbose": 0}
    grid = [(S3C2(3, random_state=r, **base), links) for r in range(5)]
    real, sizes = stack.train, []

    def scarce(task, run):
        sizes.append(len(task.steps))
        if len(task.steps) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return real(task, run)

    monkeypatch.setattr(stack, "train", scarce)
    assert len(fit_many(X, grid)) == 5
    assert sizes == [5, 2, 2, 1] * 2


def test_the_callers_generators_are_untouched(blobs, blob_links, small):
    torch.cuda.manual_seed(3)
    before = torch.cuda.get_rng_state()
    own = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Dropout(0.5))
    S3C2(3, **small, encoder=own, device="cuda").fit(blobs[0], links=blob_links)
    assert torch.equal(torch.cuda.get_rng_state(), before)


def test_a_model_trained_on_a_gpu_loads_on_a_cpu(fitted, blobs, tmp_path):
    fitted.save(tmp_path)
    loaded = S3C2.load(tmp_path, device="cpu")
    assert next(loaded.clunet_.network_.parameters()).device.type == "cpu"
    assert np.allclose(loaded.predict_proba(blobs[0]), fitted.predict_proba(blobs[0]), atol=1e-3)
    assert (loaded.predict(blobs[0]) == fitted.predict(blobs[0])).all()


def test_a_row_has_the_same_bits_in_any_batch(fitted):
    X = np.random.default_rng(0).normal(size=(3000, 5)).astype(np.float32)
    together = fitted.predict_proba(X)
    order = np.random.default_rng(1).permutation(len(X))
    assert (fitted.predict_proba(X[order]) == together[order]).all()
    assert (fitted.predict_proba(X[:1]) == together[:1]).all()


def test_resuming_on_a_gpu(blobs, blob_links, small, tmp_path, monkeypatch):
    from s3c2 import checkpoint

    class InterruptError(Exception):
        pass

    def interrupt(step):
        if (step.stage, step.step) == ("clunet", 40):
            raise InterruptError

    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    expected = S3C2(3, **small, device="cuda").fit(blobs[0], links=blob_links)
    model = S3C2(3, **small, device="cuda", checkpoint=tmp_path / "state")
    with pytest.raises(InterruptError):
        model.set_params(callbacks=interrupt).fit(blobs[0], links=blob_links)
    model.set_params(callbacks=None).fit(blobs[0], links=blob_links)
    assert (model.labels_ == expected.labels_).all()


def test_a_replica_of_a_stack_is_close_to_the_one_alone(blobs):
    from s3c2 import Links, fit_many

    X, y = blobs
    grid = [
        (
            S3C2(
                3, layers=(64, 64, 32), labnet_steps=20, clunet_steps=20, random_state=r, verbose=0
            ),
            Links.from_labels(y, 20 + 10 * r, random_state=r),
        )
        for r in range(5)
    ]
    for (model, links), stacked in zip(grid, fit_many(X, grid)):
        alone = model.fit(X, links=links)
        for one, two in (
            (stacked.labnet_.encoder_, alone.labnet_.encoder_),
            (stacked.clunet_.network_, alone.clunet_.network_),
        ):
            assert distance(one, two) <= 1e-4


def test_captured_steps_are_the_eager_ones(blobs, blob_links, small, monkeypatch):
    from s3c2 import training

    captured = S3C2(3, **small).fit(blobs[0], links=blob_links)
    monkeypatch.setattr(training, "WARM_UP", 10**9)
    eager = S3C2(3, **small).fit(blobs[0], links=blob_links)
    for stage in ("labnet", "clunet"):
        one, two = captured.history_[stage]["loss"], eager.history_[stage]["loss"]
        assert np.allclose(one[:20], two[:20], rtol=1e-3, atol=1e-4)
    assert (captured.labels_ == eager.labels_).mean() > 0.95


def test_replicas_of_different_lengths(many_blobs):
    from s3c2 import LabNet, Links
    from s3c2.labnet import LabNetReplica, train_labnets
    from s3c2.training import Run

    X, y = many_blobs
    labnet = LabNet(layers=(32, 16), epochs=5, batch_links=16, verbose=0, dropout=0.1)
    rows = LabNet(layers=(32, 16), verbose=0)._read(X, reset=True)
    replicas = [LabNetReplica(Links.from_labels(y, n, random_state=n), n) for n in (16, 100, 40)]
    together = train_labnets(labnet, rows, replicas, Run(labnet))
    assert [len(one.history["loss"]) for one in together] == [5, 35, 15]
    for replica, one in zip(replicas, together):
        (alone,) = train_labnets(labnet, rows, [replica], Run(labnet))
        assert distance(one.network, alone.network) <= 1e-3


def test_keyed_dropout_drops_at_its_rate_and_per_replica():
    from s3c2.kernels import keyed_dropout

    keys = torch.tensor([11, 2**40 + 7, -5], device="cuda")
    step = torch.tensor(3, device="cuda")
    x = torch.ones(3, 500, 256, device="cuda", requires_grad=True)
    y = keyed_dropout(x, keys, step, 0.1)
    shares = (y == 0).float().mean((1, 2))
    assert ((shares - 0.1).abs() < 0.01).all()
    assert torch.allclose(y.max(), torch.tensor(1 / 0.9, device="cuda"))
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    for r in range(3):
        assert torch.equal(keyed_dropout(x[r], keys[r : r + 1], step, 0.1), y[r])
    other = keyed_dropout(x, keys, step + 1, 0.1)
    assert 0.15 < float(((other == 0) != (y == 0)).float().mean()) < 0.21


def test_kernels_agree_with_torch(monkeypatch, blobs):
    """Integers, batches of links, labels of pairs and taken rows are the same without Triton."""
    from s3c2 import Links, kernels
    from s3c2.pairs import GivenLinks, KnownPairs

    keys = torch.tensor([[5], [2**62], [-77]], device="cuda")
    step = torch.tensor(123456, device="cuda")
    high = torch.tensor([[10], [999], [2**31 - 1]], device="cuda")
    links = [Links.from_labels(blobs[1], n, random_state=n) for n in (30, 200, 77)]
    given = GivenLinks(links, 64, [1, 2, 3], "cuda")
    known = KnownPairs(links, "cuda")
    h = torch.rand(120, 200, device="cuda")
    a, b = torch.randint(120, (2, 3, 5000), device="cuda")
    threshold = torch.tensor([[30.0], [33.0], [36.0]], device="cuda")

    drawn = kernels.hashed_integers(keys, step, 5000, high)
    drawn_each = kernels.hashed_integers(keys, torch.full((3, 1), 123456).cuda(), 5000, 60000)
    batches = [given.draw(torch.tensor(t, device="cuda")) for t in (0, 1, 5, 99)]
    labels = kernels.labelled_pairs(h, a, b, a, b, threshold, known)
    taken = kernels.take_rows(h.view(120, 10, 20), a)
    assert 0.2 < float(labels.float().mean()) < 0.8

    monkeypatch.setattr(kernels, "triton", None)
    assert torch.equal(kernels.hashed_integers(keys, step, 5000, high), drawn)
    assert torch.equal(kernels.hashed_integers(keys.cpu(), 123456, 5000, high.cpu()), drawn.cpu())
    assert torch.equal(kernels.hashed_integers(keys, 123456, 5000, 60000), drawn_each)
    on_cpu = GivenLinks(links, 64, [1, 2, 3], "cpu")
    for t, batch in zip((0, 1, 5, 99), batches):
        for name in ("a", "b", "must", "weight"):
            assert torch.equal(getattr(on_cpu.draw(t), name), getattr(batch, name).cpu())
    d2 = (h[a] - h[b]).square().sum(-1)
    clear = (d2 - threshold).abs() > 1e-3  # rounding may decide the others
    assert torch.equal(known.relabel(a, b, d2 < threshold)[clear], labels[clear])
    assert torch.equal(h.view(120, 10, 20)[a], taken)


def test_dropout_after_a_relu_in_one_pass():
    from s3c2 import kernels

    keys, step = torch.tensor([5, 2**62, -77], device="cuda"), torch.tensor(9, device="cuda")
    x = torch.randn(3, 100, 64, device="cuda", requires_grad=True)
    bias = torch.randn(3, 64, device="cuda", requires_grad=True)
    y = kernels.keyed_dropout(x, keys, step, 0.3, relu_of_bias=bias)
    plain = (x + bias.unsqueeze(1)).relu() / 0.7
    assert torch.allclose(y, torch.where(y > 0, plain, 0))
    assert 0.6 < float((y > 0).float().mean() / (plain > 0).float().mean()) < 0.8
    y.square().sum().backward()
    expected = torch.where(y > 0, 2 * y.detach() / 0.7, 0)
    assert torch.allclose(x.grad, expected, rtol=1e-5)
    assert torch.allclose(bias.grad, expected.sum(1), rtol=1e-4, atol=1e-4)
