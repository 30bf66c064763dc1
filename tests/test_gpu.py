"""On a CUDA device: training, prediction, and files that load anywhere."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links, baselines, fit_many, labnet_training
from s3c2.baselines import IDEC
from s3c2.engine import captured as captured_steps
from s3c2.engine import checkpoint, convolution, scheduling
from s3c2.engine import rows as rows_of_x
from s3c2.engine.kernels import steps as kernels
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.stack import Stack, runs_stacked
from s3c2.labnet_training import LabNetReplica, train_replicas
from s3c2.networks import Architecture, initialised, lenet_clusters
from s3c2.pairs import GivenLinks, KnownPairs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.fixture
def quick(small):
    """Builds models of the blobs, with these parameters changed."""

    def build(**parameters):
        return clone(S3C2(3, **small, device="cuda")).set_params(**parameters)

    return build


@pytest.fixture
def fitted(blobs, blob_links, quick):
    return quick().fit(blobs[0], links=blob_links)


def distance(one, two):
    """Largest relative difference of two networks' weights."""
    states = ([v.cpu().float() for v in n.state_dict().values()] for n in (one, two))
    return max(float((a - b).norm() / b.norm().clamp(min=1e-3)) for a, b in zip(*states))


def test_auto_takes_the_gpu(blobs, blob_links, small):
    model = S3C2(3, **small).fit(blobs[0], links=blob_links)
    assert next(model.clunet_.network_.parameters()).device.type == "cuda"


def test_it_learns_and_repeats_itself(fitted, blobs, blob_links, quick):
    X, y = blobs
    assert adjusted_rand_score(y, fitted.labels_) > 0.9
    again = quick().fit(X, links=blob_links)
    assert (again.labels_ == fitted.labels_).all()


def test_all_pairs_of_some_rows_restarts_and_committees(blobs, blob_links, quick):
    X, y = blobs
    model = quick(clunet__batch_points=24, clunet__n_restarts=3, labnet__n_committee=2)
    model.fit(X, links=blob_links)
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.parametrize("batch_points", [None, 40])  # None: pairs of rows of their own
def test_convolutional_semi_supervised(quick, batch_points):
    data = load_digits(n_class=3)
    links = Links.from_labels(data.target, 300, random_state=0)
    model = quick(
        network="convolutional", scale="unit", labnet__steps=200, clunet__steps=200,
        labnet__dropout=0.1, clunet__dropout=0.1, labnet__semi_supervised=True,
        labnet__reconstruction_weight=0.005, clunet__batch_points=batch_points,
    ).fit(data.images, links=links)  # fmt: skip
    rates = model.labnet_.rates(Links.from_labels(data.target, 1000, random_state=1), data.images)
    assert rates.accuracy > 0.9
    assert adjusted_rand_score(data.target, model.predict(data.images)) > 0.5


def test_a_stack_too_large_for_the_memory_is_split(blobs, monkeypatch):
    X, y = blobs
    links = Links.from_labels(y, 40, random_state=0)
    stages = {"labnet": LabNet(code=False, steps=5), "clunet": CluNet(steps=5)}
    base = S3C2(3, **stages, layers=(64, 32), verbose=0)
    grid = [(clone(base).set_params(random_state=r), links) for r in range(5)]
    real, sizes = scheduling.train, []

    def scarce(task, run):
        sizes.append(len(task.steps))
        if len(task.steps) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return real(task, run)

    monkeypatch.setattr(scheduling, "train", scarce)
    assert len(fit_many(X, grid)) == 5
    assert sizes == [5, 2, 2, 1] * 3  # LabNets, where CluNets begin, and CluNets


def test_the_callers_generators_are_untouched(blobs, blob_links, quick):
    torch.cuda.manual_seed(3)
    before = torch.cuda.get_rng_state()
    own = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5))
    quick(network=own).fit(blobs[0], links=blob_links)
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


def test_resuming_on_a_gpu(blobs, blob_links, quick, tmp_path, monkeypatch):
    class InterruptError(Exception):
        pass

    def interrupt(step):
        if (step.stage, step.step) == ("clunet", 20):
            raise InterruptError

    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    expected = quick().fit(blobs[0], links=blob_links)
    model = quick(checkpoint=tmp_path / "state")
    with pytest.raises(InterruptError):
        model.set_params(callbacks=interrupt).fit(blobs[0], links=blob_links)
    model.set_params(callbacks=None).fit(blobs[0], links=blob_links)
    assert (model.labels_ == expected.labels_).all()


def test_kept_neighbours_come_back_to_the_gpu(blobs, blob_links, quick, tmp_path, monkeypatch):
    monkeypatch.setattr(labnet_training, "CODE_ROWS", 100)
    stages = []
    model = quick(labnet__code=True, labnet__cache=tmp_path)
    model.set_params(callbacks=lambda step: stages.append(step.stage))
    first = model.fit(blobs[0], links=blob_links).labels_
    assert "autoencoder" in stages
    stages.clear()
    assert (model.fit(blobs[0], links=blob_links).labels_ == first).all()
    assert "autoencoder" not in stages


def test_a_replica_of_a_stack_is_close_to_the_one_alone(blobs):
    X, y = blobs
    # From random weights: k-means on what differs in the last bit may end elsewhere.
    clunet = CluNet(steps=20, start="random", smoothing=0)
    labnet = LabNet(code=False, steps=20)
    base = S3C2(3, labnet=labnet, clunet=clunet, layers=(64, 64, 32), verbose=0)
    grid = [
        (clone(base).set_params(random_state=r), Links.from_labels(y, 20 + 10 * r, random_state=r))
        for r in range(5)
    ]
    for (model, links), stacked in zip(grid, fit_many(X, grid)):
        alone = model.fit(X, links=links)
        for one, two in (
            (stacked.labnet_.encoder_, alone.labnet_.encoder_),
            (stacked.clunet_.network_, alone.clunet_.network_),
        ):
            assert distance(one, two) <= 1e-4


def test_captured_steps_are_the_eager_ones(blobs, blob_links, quick, monkeypatch):
    captured = quick().fit(blobs[0], links=blob_links)
    monkeypatch.setattr(captured_steps, "WARM_UP", 10**9)
    eager = quick().fit(blobs[0], links=blob_links)
    for stage in ("labnet", "clunet"):
        one, two = captured.history_[stage]["loss"], eager.history_[stage]["loss"]
        assert np.allclose(one[:20], two[:20], rtol=1e-3, atol=1e-4)
    assert (captured.labels_ == eager.labels_).mean() > 0.95


def test_the_rate_of_captured_steps_falls(blobs, blob_links, quick, monkeypatch):
    """So few steps that the networks stay comparable; most of them are after the half."""
    short = {"labnet__steps": 10, "clunet__steps": 10}
    assert captured_steps.WARM_UP < 5
    captured = quick(**short).fit(blobs[0], links=blob_links)
    steady = quick(**short, clunet__decay=False).fit(blobs[0], links=blob_links)
    monkeypatch.setattr(captured_steps, "WARM_UP", 10**9)
    eager = quick(**short).fit(blobs[0], links=blob_links)
    assert distance(captured.labnet_.encoder_, eager.labnet_.encoder_) <= 1e-3
    assert distance(captured.clunet_.network_, eager.clunet_.network_) <= 1e-3
    assert distance(captured.clunet_.network_, steady.clunet_.network_) > 5e-3


def test_replicas_of_different_lengths(many_blobs):
    X, y = many_blobs
    labnet = LabNet(layers=(32, 16), epochs=5, batch_links=16, verbose=0, dropout=0.1)
    rows = Rows(X, (5,), device="cuda")
    replicas = [
        LabNetReplica(Links.from_labels(y, n, random_state=n), n, 0.0) for n in (16, 100, 40)
    ]
    together = train_replicas(labnet, replicas, rows, FitRun(labnet))
    assert [len(one.history["loss"]) for one in together] == [5, 35, 15]
    for replica, one in zip(replicas, together):
        (alone,) = train_replicas(labnet, [replica], rows, FitRun(labnet))
        assert distance(one.network, alone.network) <= 1e-3


def test_keyed_dropout_drops_at_its_rate_and_per_replica():
    keys = torch.tensor([11, 2**40 + 7, -5], device="cuda")
    step = torch.tensor(3, device="cuda")
    x = torch.ones(3, 500, 256, device="cuda", requires_grad=True)
    y = kernels.keyed_dropout(x, keys, step, 0.1)
    shares = (y == 0).float().mean((1, 2))
    assert ((shares - 0.1).abs() < 0.01).all()
    assert torch.allclose(y.max(), torch.tensor(1 / 0.9, device="cuda"))
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    for r in range(3):
        assert torch.equal(kernels.keyed_dropout(x[r], keys[r : r + 1], step, 0.1), y[r])
    other = kernels.keyed_dropout(x, keys, step + 1, 0.1)
    assert 0.15 < float(((other == 0) != (y == 0)).float().mean()) < 0.21


def test_kernels_agree_with_torch(monkeypatch, blobs):
    """Integers, batches of links, labels of pairs and taken rows are the same without Triton."""
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
    assert 0.2 < float(labels.mean()) < 0.8
    assert ((labels == 0) | (labels == 1)).all()

    monkeypatch.setattr(kernels, "triton", None)
    assert torch.equal(kernels.hashed_integers(keys, step, 5000, high), drawn)
    assert torch.equal(kernels.hashed_integers(keys.cpu(), 123456, 5000, high.cpu()), drawn.cpu())
    assert torch.equal(kernels.hashed_integers(keys, 123456, 5000, 60000), drawn_each)
    on_cpu = GivenLinks(links, 64, [1, 2, 3], "cpu")
    for t, batch in zip((0, 1, 5, 99), batches):
        for name in ("a", "b", "same", "weight"):
            assert torch.equal(getattr(on_cpu.draw(t), name), getattr(batch, name).cpu())
    d2 = (h[a] - h[b]).square().sum(-1)
    clear = (d2 - threshold).abs() > 1e-3  # rounding may decide the others
    assert torch.equal(known.relabel(a, b, (d2 < threshold).float())[clear], labels[clear])
    assert torch.equal(h.view(120, 10, 20)[a], taken)


def test_dropout_after_a_relu_in_one_pass():
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


@pytest.mark.parametrize(
    ("channels", "filters", "size", "before", "after"),
    [
        (1, 32, (8, 6), [], [nn.MaxPool2d(2), nn.ReLU()]),
        (32, 32, (6, 6), [], [nn.MaxPool2d(2), nn.ReLU()]),
        (3, 16, (7, 9), [], [nn.MaxPool2d(2), nn.ReLU()]),  # a row and a column left
        (3, 20, (7, 9), [], [nn.MaxPool2d(2), nn.ReLU()]),  # not a power of two
        (32, 32, (3, 3), [nn.Upsample(size=(6, 6))], [nn.ReLU()]),
        (32, 1, (5, 4), [nn.Upsample(size=(10, 8))], []),
        (32, 8, (3, 5), [nn.Upsample(size=(7, 11))], [nn.ReLU()]),  # more than twice
    ],
)
@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_of_a_stack_are_those_of_torch(
    channels, filters, size, before, after, kernel, transposed, monkeypatch
):

    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    convolution = (
        nn.ConvTranspose2d(channels, filters, kernel, padding=kernel // 2)
        if transposed
        else nn.Conv2d(channels, filters, kernel, padding="same")
    )
    network = nn.Sequential(*before, convolution, *after)
    assert runs_stacked(network, torch.device("cuda"))
    torch.manual_seed(0)
    networks = []
    for _ in range(3):
        for parameter in network.parameters():
            nn.init.normal_(parameter)
        networks.append(nn.Sequential(*before, type(convolution)(*_arguments(convolution)), *after))
        networks[-1].load_state_dict(network.state_dict())
    stack = Stack(networks).cuda()
    x = torch.randn(3, 4, channels, *size, device="cuda", requires_grad=True)
    y = stack(x)
    expected = torch.stack([one.cuda()(x[r]) for r, one in enumerate(networks)])
    assert torch.allclose(y, expected, rtol=1e-4, atol=1e-3)
    grad = torch.randn_like(y)
    got = torch.autograd.grad(y, [x, *stack.stacked], grad)
    alone = torch.autograd.grad(expected, [x, *(p for n in networks for p in n.parameters())], grad)
    assert torch.allclose(got[0], alone[0], rtol=1e-4, atol=1e-2)
    for i, name in enumerate(("weight", "bias")):
        for r in range(3):
            assert torch.allclose(got[1 + i][r], alone[1 + 2 * r + i], rtol=1e-4, atol=1e-2), name


@pytest.mark.parametrize("size", [(1, 28, 28), (3, 8, 9)])  # convolutions unpadded, and padded
def test_lenets_of_a_stack_are_those_alone(size, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    networks = [initialised(lenet_clusters(size, 10), seed) for seed in range(3)]
    assert runs_stacked(networks[0], torch.device("cuda"))
    stack = Stack(copy.deepcopy(networks)).cuda().train()
    exact = [one.double() for one in networks]  # on the CPU: cuDNN rounds as it sees fit
    x = torch.rand(3, 40, *size)
    for _ in range(2):  # also the running means of the second batch
        y = stack(x.cuda())
        expected = torch.stack([one(x[r].double()) for r, one in enumerate(exact)])

    def assert_close(a, b, name=""):
        a, b = (one.detach().cpu().double() for one in (a, b))
        gap, size = float((a - b).norm()), float(b.norm())
        assert gap < 1e-3 * size + 1e-3, f"{name}: {gap} of {size}"

    assert_close(y, expected)
    grad = torch.randn_like(expected)
    got = torch.autograd.grad(y, list(stack.stacked), grad.float().cuda())
    for r, one in enumerate(exact):
        wanted = torch.autograd.grad(expected, list(one.parameters()), grad, retain_graph=True)
        for (name, _), a, b in zip(one.named_parameters(), got, wanted):
            assert_close(a[r], b, name)
        trained, one = stack.network(r).cuda(), one.eval()
        for (name, b), a in zip(one.state_dict().items(), trained.state_dict().values()):
            assert_close(a, b, name)
        assert_close(trained(x[r].cuda()), one(x[r].double()))


def _arguments(convolution):
    return (
        convolution.in_channels, convolution.out_channels, convolution.kernel_size,
        1, convolution.padding,
    )  # fmt: skip


def test_dropout_of_convolutions_has_its_rate_and_is_per_replica():
    networks = [Architecture("convolutional", (), 0.4).build_encoder((1, 8, 8), 7)] * 3
    x = torch.rand(1, 200, 1, 8, 8, device="cuda").expand(3, -1, -1, -1, -1)
    step = torch.tensor(5, device="cuda")

    def hidden(seeds):
        stack = Stack(networks[: len(seeds)]).cuda().train()
        stack.lay_dropout(200, seeds, step)
        del stack._template[0][8:]  # what follows the second dropout
        return stack(x[: len(seeds)])

    with torch.no_grad():
        together = hidden([1, 2, 1])
        plain = networks[0].cuda().eval()[:8](x[0])
        passed = plain > 0
        for r in range(3):
            share = float((together[r][passed] == 0).float().mean())
            assert abs(share - 0.4) < 0.03
        assert torch.equal(together[0], together[2])
        assert not torch.equal(together[0], together[1])
        assert torch.equal(hidden([2])[0], together[1])


def convolutional_grid(data, labnet, clunet):
    """Three models with links and seeds of their own, and these models trained together."""
    base = S3C2(10, labnet=labnet, clunet=clunet, network="convolutional", scale="unit", verbose=0)
    grid = [
        (
            clone(base).set_params(random_state=r),
            Links.from_labels(data.target, 100 + 50 * r, random_state=r),
        )
        for r in range(3)
    ]
    return zip(grid, fit_many(data.images, grid))


@pytest.mark.parametrize("semi_supervised", [False, True])
def test_convolutional_replicas_are_close_to_those_alone(semi_supervised, monkeypatch):
    # Without TF32, which rounds what differs in the last bit to what differs in the eleventh.
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    data = load_digits()
    labnet = LabNet(neighbors=0, smoothing=0, steps=20, semi_supervised=semi_supervised)
    clunet = CluNet(steps=20, start="random", smoothing=0, batch_points=None)
    for (model, links), stacked in convolutional_grid(data, labnet, clunet):
        alone = model.fit(data.images, links=links)
        assert distance(stacked.labnet_.encoder_, alone.labnet_.encoder_) <= 1e-4
        if not semi_supervised:  # then LabNets differ by a rounding, and a pair at T by its label
            assert distance(stacked.clunet_.network_, alone.clunet_.network_) <= 1e-4


def test_convolutional_replicas_with_neighbours_begin_like_those_alone(monkeypatch):
    """Distances of all pairs are rounded otherwise in a stack, and Adam makes more of it."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    data = load_digits()
    stages = LabNet(code=False, steps=20), CluNet(steps=20, start="random", smoothing=0)
    for (model, links), stacked in convolutional_grid(data, *stages):
        alone = model.fit(data.images, links=links)
        one, two = (m.history_["labnet"]["loss"] for m in (stacked, alone))
        assert np.abs(one - two)[:5].max() <= 1e-4
        assert np.abs(one - two).max() <= 5e-3


def test_a_diverged_replica_is_seen_in_its_loss(blobs):
    X, y = blobs
    links = Links.from_labels(y, 60, random_state=0)
    labnet = LabNet(code=False, steps=40, semi_supervised=True)
    base = S3C2(3, labnet=labnet, clunet=CluNet(steps=10), layers=(64, 32), verbose=0)
    grid = [
        (clone(base).set_params(labnet__reconstruction_weight=w, random_state=0), links)
        for w in (0.05, 1e39)  # more than a float32 holds
    ]
    with pytest.warns(UserWarning, match="1 of 2 configurations diverged"):
        good, bad = fit_many(X, grid)
    assert hasattr(good, "labels_")
    assert not hasattr(bad, "labels_")


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_rows_in_pinned_memory_give_what_rows_on_the_gpu_give(
    blobs, blob_links, quick, precision, monkeypatch
):
    laid = []  # where the rows lay at each stage
    settle = Rows.settle

    def watched(self, precision="float32"):
        settled = settle(self, precision)
        laid.append(self.resident)
        return settled

    def fit(**parameters):
        laid.clear()
        return quick(precision=precision, **parameters).fit(blobs[0], links=blob_links)

    monkeypatch.setattr(Rows, "settle", watched)
    resident = fit()
    assert len(laid) == 3  # LabNet, where CluNet begins, and CluNet
    assert all(one.is_cuda for one in laid)
    with monkeypatch.context() as patch:
        patch.setattr(rows_of_x, "RESIDENT_SHARE", 0.0)
        pinned = fit()
        assert len(laid) == 3
        assert all(one.is_pinned() and not one.is_cuda for one in laid)
        patch.setattr(rows_of_x, "PINNED_SHARE", 0.0)
        streamed = fit(clunet__steps=20)
        assert laid == [None] * 3
    assert (pinned.labels_ == resident.labels_).all()
    assert np.array_equal(pinned.history_["clunet"]["loss"], resident.history_["clunet"]["loss"])
    loss = streamed.history_["labnet"]["loss"]
    assert np.allclose(loss[:20], resident.history_["labnet"]["loss"][:20], rtol=0.05)


def baseline_grid(X, y, baseline, **settings):
    return [
        (
            baseline(3, random_state=r, verbose=0, **settings),
            Links.from_labels(y, 20 + 10 * r, random_state=r),
        )
        for r in range(5)
    ]


@pytest.mark.parametrize("network", ["dense", "convolutional"])
@pytest.mark.parametrize("name", ["DGraph", "DCPR", "NNClustering"])
def test_pair_baselines_of_a_grid_are_close_to_those_alone(name, network, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    data = load_digits(n_class=3)
    X = data.data if network == "dense" else data.images
    settings = {"network": network, "scale": "unit", "layers": (64, 64, 32), "steps": 20}
    grid = baseline_grid(X, data.target, getattr(baselines, name), **settings)
    for (model, links), stacked in zip(grid, fit_many(X, grid)):
        alone = model.fit(X, links=links)
        assert next(stacked.network_.parameters()).device.type == "cuda"
        # Losses rather than weights: Adam makes full steps of gradients that are 0 but for their
        # rounding, such as a bias's before a batch normalisation, which then soon matter there.
        compared = 3 if name == "NNClustering" else 20
        one, two = (model.history_["loss"][:compared] for model in (stacked, alone))
        assert np.allclose(one, two, rtol=1e-3)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("name", ["DGraph", "DCPR", "NNClustering"])
def test_pair_baselines_learn(name, precision):
    X, y = load_digits(return_X_y=True)
    settings = {"scale": "unit", "steps": 1000, "precision": precision, "verbose": 0}
    grid = [
        (
            getattr(baselines, name)(10, random_state=r, **settings),
            Links.from_labels(y, n, random_state=r),
        )
        for n in (50, 2000)
        for r in range(3)
    ]
    reached = [adjusted_rand_score(y, one.labels_) for one in fit_many(X, grid)]
    few, many = np.mean(reached[:3]), np.mean(reached[3:])
    assert few > 0.1
    assert many > few + 0.05


def idec(**given):
    settings = {
        "layers": (64, 64, 10), "layer_epochs": 5, "whole_epochs": 20, "epochs": 8, "tol": 0.0,
        "batch_size": 64, "n_init": 3, "scale": "unit", "random_state": 0, "verbose": 0,
    }  # fmt: skip
    return IDEC(**{"n_clusters": 3, **settings, **given})


@pytest.mark.parametrize("network", ["dense", "convolutional"])
def test_idec_of_a_grid_is_close_to_the_one_alone(network, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    data = load_digits(n_class=3)
    X = data.data if network == "dense" else data.images
    settings = {"network": network, "epochs": 2, "cache": tmp_path}
    grid = [
        (idec(**settings, random_state=r), Links.from_labels(data.target, n, random_state=r))
        for r, n in enumerate((40, 60, 80, 300, 320))
    ]
    for (model, links), stacked in zip(grid, fit_many(X, grid)):
        alone = model.fit(X, links=links)
        assert next(stacked.network_.parameters()).device.type == "cuda"
        assert distance(stacked.network_, alone.network_) <= 5e-3
        assert (stacked.labels_ == alone.labels_).mean() > 0.99


def test_a_convolutional_idec_whose_first_convolution_is_a_prediction(tmp_path):
    data = load_digits(n_class=3)
    links = Links.from_labels(data.target, 100, random_state=0)
    settings = {"network": "convolutional", "epochs": 2, "cache": tmp_path}
    expected = idec(**settings).fit(data.images, links=links)
    for table in (convolution._forwards, convolution._backwards):
        table.cache_clear()  # as in a process that finds the autoencoder in the cache
    again = idec(**settings).fit(data.images, links=links)
    assert (again.labels_ == expected.labels_).mean() > 0.97


def test_an_interrupted_grid_of_idec_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    X, y = load_digits(n_class=3, return_X_y=True)
    seen = []

    def interrupt(step):
        seen.append(step)
        if len(seen) in (30, 300, 340):
            raise KeyboardInterrupt

    def grid(**given):
        return [
            (idec(tol=0.01, epochs=10, random_state=r, **given),
             Links.from_labels(y, n, random_state=r))
            for r, n in enumerate((40, 60, 300, 320))
        ]  # fmt: skip

    expected = fit_many(X, grid())
    given = grid(checkpoint=tmp_path / "state", callbacks=interrupt)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            fit_many(X, given)
    for one, two in zip(expected, fit_many(X, given)):
        assert (one.labels_ == two.labels_).mean() > 0.97
    assert not (tmp_path / "state").exists()


def test_idec_ends_each_replica_at_its_own_epoch():
    X, y = load_digits(n_class=3, return_X_y=True)
    grid = [
        (idec(tol=0.01, epochs=30, random_state=r), Links.from_labels(y, n, random_state=r))
        for r, n in enumerate((40, 60, 80))
    ]
    for (model, links), stacked in zip(grid, fit_many(X, grid)):
        alone = model.fit(X, links=links)
        assert len(stacked.history_["loss"]) % (9 + 1 + 1) == 0  # whole epochs of 537 rows
        assert (stacked.labels_ == alone.labels_).mean() > 0.97


def test_captured_steps_of_idec_are_the_eager_ones(monkeypatch, tmp_path):
    X, y = load_digits(n_class=3, return_X_y=True)
    links = Links.from_labels(y, 300, random_state=0)
    captured = idec(cache=tmp_path).fit(X, links=links)
    monkeypatch.setattr(captured_steps, "WARM_UP", 10**9)
    eager = idec(cache=tmp_path).fit(X, links=links)
    for name, values in captured.history_.items():
        assert np.allclose(values[:60], eager.history_[name][:60], 1e-2, 1e-3, equal_nan=True)
    assert (captured.labels_ == eager.labels_).mean() > 0.97


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_idec_learns(precision, tmp_path):
    X, y = load_digits(return_X_y=True)
    model = idec(n_clusters=10, precision=precision, whole_epochs=60, epochs=40)
    grid = [(model, Links.from_labels(y, n, random_state=0)) for n in (50, 3000)]
    few, many = (adjusted_rand_score(y, one.labels_) for one in fit_many(X, grid))
    assert few > 0.4
    assert many > few + 0.05


@pytest.mark.parametrize("width", [256, 500, 10])
@pytest.mark.parametrize("relu", [False, True])
def test_linear_layers_in_bf16_whatever_their_width(width, relu):
    """Products of rows that begin at 16 bytes give what torch's own give, and so do gradients."""
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Linear(36, width), *([nn.ReLU()] if relu else []), nn.Linear(width, 5))
    stack = Stack([copy.deepcopy(layer), initialised(layer, 1)], "bf16").cuda()
    x = torch.randn(2, 40, 36, device="cuda", requires_grad=True)
    out = stack(x)
    out.square().sum().backward()
    for r in range(2):
        alone, x_r = stack.network(r).cuda(), x.detach()[r].clone().requires_grad_()
        plain = alone(x_r)
        plain.square().sum().backward()
        assert (out[r] - plain).norm() <= 2e-2 * plain.norm()
        assert (x.grad[r] - x_r.grad).norm() <= 2e-2 * x_r.grad.norm()
        for mine, theirs in zip(stack.stacked, alone.parameters()):
            assert mine.grad.dtype == torch.float32
            assert (mine.grad[r] - theirs.grad).norm() <= 2e-2 * theirs.grad.norm()


def test_a_share_of_the_rows_drops_what_all_of_them_do():
    keys, step = torch.tensor([11, 2**40 + 7, -5], device="cuda"), torch.tensor(3, device="cuda")
    x = torch.ones(3, 50, 64, device="cuda")
    whole = kernels.keyed_dropout(x, keys, step, 0.3)
    share = kernels.keyed_dropout(x[:, 20:], kernels.keys_from(keys, 20 * 64), step, 0.3)
    assert torch.equal(share, whole[:, 20:])
