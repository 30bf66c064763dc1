"""Stacks: replicas trained together are the replicas trained alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links
from s3c2.clunet_training import CluNetReplica, Pools, train_clunets
from s3c2.engine import scheduling
from s3c2.engine import stack as stack_module
from s3c2.engine.callbacks import AfterStep
from s3c2.engine.checkpoint import Checkpoint
from s3c2.engine.dropout import Dropout
from s3c2.engine.kernels.steps import keyed_dropout, keys_from
from s3c2.engine.loop import train
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.scheduling import stack_size
from s3c2.engine.stack import Stack
from s3c2.engine.task import Task
from s3c2.errors import OutOfMemoryError
from s3c2.labnet_training import LabNetReplica, LabNetResult, train_replicas
from s3c2.networks import Architecture, initialised, lenet_clusters, normalised_clusters

CPU = torch.device("cpu")


@pytest.fixture
def rows(blobs):
    return Rows(blobs[0], (5,))


@pytest.fixture
def replicas(blobs):
    """Seven LabNets that differ in seed, links, number of links and λ."""
    budgets = [10, 10, 80, 33, 20, 100, 64]
    return [
        LabNetReplica(Links.from_labels(blobs[1], n, random_state=i), i, 0.01 * i)
        for i, n in enumerate(budgets)
    ]


def same_weights(one, two):
    return all(
        torch.equal(a, b) for a, b in zip(one.state_dict().values(), two.state_dict().values())
    )


@pytest.mark.parametrize("semi_supervised", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_labnets_of_a_stack_have_the_bits_of_those_alone(rows, replicas, semi_supervised, threads):
    labnet = LabNet(
        layers=(32, 16, 8), epochs=2, batch_links=16, batch_pairs=16,
        semi_supervised=semi_supervised, verbose=0,
    )  # fmt: skip
    torch.set_num_threads(threads)
    try:
        seen = []
        watched = FitRun(labnet, [AfterStep(seen.append)])
        together = train_replicas(labnet, replicas, rows, watched)
        assert len(seen) == 14  # one stack, as long as its longest
        lengths = [len(trained.history["loss"]) for trained in together]
        assert lengths == [2, 2, 10, 6, 4, 14, 8]  # 2 epochs of ⌈links / 16⌉ steps
        for replica, trained in zip(replicas, together):
            (alone,) = train_replicas(labnet, [replica], rows, FitRun(labnet))
            assert same_weights(trained.network, alone.network)
            assert (trained.history["loss"] == alone.history["loss"]).all()
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("points", [None, 32])
@pytest.mark.parametrize("shared", [False, True])
def test_clunets_of_a_stack_have_the_bits_of_those_alone(rows, replicas, shared, points):
    labnet = LabNet(layers=(32, 8), steps=30, batch_links=16, verbose=0)
    labnets = [
        LabNetResult(trained.network, 0.1 * (i + 1), trained.history)
        for i, trained in enumerate(train_replicas(labnet, replicas, rows, FitRun(labnet)))
    ]
    clunet = CluNet(
        3, layers=(32, 8), steps=25, batch_links=16, batch_pairs=16, batch_points=points,
        start="random", verbose=0,
    )  # fmt: skip
    mine = [
        CluNetReplica(replica.links, 100 + i, labnets[0 if shared else i], 0)
        for i, replica in enumerate(replicas)
    ]

    def trained_with(some):
        sizes = []
        watched = AfterStep(lambda step: sizes.append(len(step.terms["loss"])))
        trained = train_clunets(clunet, some, Pools(clunet, rows), rows, FitRun(clunet, [watched]))
        assert sizes == [len(some)] * 25  # one stack
        return trained

    together = trained_with(mine)
    for replica, trained in zip(mine, together):
        (alone,) = trained_with([replica])
        assert same_weights(trained.network, alone.network)


def test_a_diverging_replica_does_not_reach_the_others(rows, replicas):
    labnet = LabNet(
        layers=(32, 8), steps=10, batch_links=16, batch_pairs=16, semi_supervised=True, verbose=0
    )
    bad = LabNetReplica(replicas[0].links, 0, float("inf"))
    together = train_replicas(labnet, [replicas[1], bad, replicas[2]], rows, FitRun(labnet))
    assert not np.isfinite(together[1].history["loss"]).any()
    for replica, trained in ((replicas[1], together[0]), (replicas[2], together[2])):
        (alone,) = train_replicas(labnet, [replica], rows, FitRun(labnet))
        assert same_weights(trained.network, alone.network)


def test_replicas_that_do_not_fit_are_split(rows, replicas, monkeypatch):
    labnet = LabNet(layers=(32, 16, 8), steps=8, batch_links=16, verbose=0)
    whole = train_replicas(labnet, replicas, rows, FitRun(labnet))
    monkeypatch.setattr(scheduling, "CACHE_BYTES", 3 * 4 * 32 * 32)
    parts = []
    watched = FitRun(labnet, [AfterStep(lambda step: parts.append(step.step))])
    split = train_replicas(labnet, replicas, rows, watched)
    assert parts == [*range(8)] * 3  # seven replicas, three at a time
    assert all(same_weights(a.network, b.network) for a, b in zip(whole, split))


def test_one_network_that_does_not_fit_is_no_divergence(blobs, blob_links, tmp_path, monkeypatch):
    def no_memory(task, run):
        if task.stage == "clunet":
            raise torch.cuda.OutOfMemoryError
        return train(task, run)

    monkeypatch.setattr(scheduling, "train", no_memory)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (0, 2**33))
    path = tmp_path / "state"
    clunet = CluNet(start="random", batch_links=10, batch_pairs=30, batch_points=None)
    labnet = LabNet(code=False, steps=5)
    model = S3C2(3, labnet=labnet, clunet=clunet, layers=(16,), verbose=0)
    said = "80 rows does not fit .* .8 GiB in all.. Make the batch"
    with pytest.raises(OutOfMemoryError, match=said):
        model.set_params(checkpoint=path).fit(blobs[0], links=blob_links)
    assert path.exists()  # for a start with other memory


def test_other_networks_are_trained_one_after_another(blobs, replicas):
    own = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Dropout(0.2))
    labnet = LabNet(network=own, steps=5, batch_links=16, verbose=0)
    rows = Rows(blobs[0], (5,))
    together = train_replicas(labnet, replicas[:3], rows, FitRun(labnet))
    for replica, trained in zip(replicas, together):
        (alone,) = train_replicas(labnet, [replica], rows, FitRun(labnet))
        assert same_weights(trained.network, alone.network)


def test_batch_normalisation_of_a_stack_is_each_replicas_own():
    networks = [initialised(normalised_clusters((5,), (32, 16, 8), 4), seed) for seed in range(3)]
    stacked = Stack(networks).train()
    x = torch.rand(3, 32, 5)
    for _ in range(2):
        y = stacked(x)
    for r, alone in enumerate(networks):
        for _ in range(2):
            expected = alone(x[r])
        assert torch.equal(y[r], expected)
        trained = stacked.network(r)
        assert same_weights(trained, alone)  # running means among them
        assert torch.equal(trained(x[r]), alone.eval()(x[r]))


@pytest.mark.parametrize("size", [(1, 28, 28), (3, 8, 9)])  # convolutions unpadded, and padded
def test_lenets_of_a_stack_are_those_alone(size):
    networks = [initialised(lenet_clusters(size, 4), seed) for seed in range(2)]
    stacked = Stack(networks).train()
    x = torch.rand(2, 6, *size)
    y = stacked(x)
    for r, alone in enumerate(networks):
        assert torch.allclose(y[r], alone(x[r]), atol=1e-6)
        for one, two in zip(stacked.network(r).state_dict().values(), alone.state_dict().values()):
            assert torch.allclose(one, two, atol=1e-6)


def test_a_replica_that_ends_early_keeps_its_running_means():
    def networks():
        torch.manual_seed(0)
        return [nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16)) for _ in range(2)]

    x = torch.rand(2, 10, 32, 5)

    def trained(some, steps):
        stacked = Stack([networks()[r] for r in some])
        task = Task(
            stage="test", stacks=nn.ModuleDict({"a": stacked}), steps=steps,
            losses=lambda step: {"loss": stacked(x[some, step]).square().mean((1, 2))},
            optimizer="adam", learning_rate=1e-2,
        )  # fmt: skip
        train(task, FitRun(None))
        return [stacked.network(r) for r in range(len(some))]

    together = trained([0, 1], [4, 9])
    for r, steps in ((0, 4), (1, 9)):
        (alone,) = trained([r], [steps])
        assert same_weights(together[r], alone)
        assert int(alone[1].num_batches_tracked) == steps


def test_a_stack_runs_each_replica_on_its_own_rows():
    kind = Architecture("dense", (16, 8, 4), 0.0)
    networks = [kind.build_encoder((3, 5), seed) for seed in range(4)]
    x = torch.rand(4, 32, 3, 5)
    together = Stack(networks)(x)
    assert together.shape == (4, 32, 4)
    for r, network in enumerate(networks):
        assert torch.equal(together[r], network(x[r]))
        assert same_weights(Stack(networks).network(r), network)


def test_replicas_of_other_shapes_are_refused():
    networks = [Architecture("dense", (16, size), 0.0).build_encoder((3,), 0) for size in (4, 5)]
    with pytest.raises(ValueError, match=r"'4.weight' is \(4, 16\) in replica 0 and \(5, 16\)"):
        Stack(networks)


def test_a_layer_without_bias_is_trained_alone(blobs, blob_links):
    own = nn.Linear(5, 16, bias=False)
    labnet = LabNet(network=own, n_committee=2, code=False, steps=3, random_state=0, verbose=0)
    assert labnet.fit(blobs[0], links=blob_links).transform(blobs[0]).shape == (120, 32)


def test_stack_sizes():
    dense = Architecture("dense", (256, 256, 256), 0.1).build_encoder((16,), 0)
    assert stack_size(dense, 2200, CPU) == 1
    assert stack_size(dense, 32, CPU) >= 30
    images = Architecture("convolutional", (256,), 0.1).build_encoder((1, 8, 8), 0)
    assert stack_size(images, 32, CPU) == 1


def test_a_stack_goes_on_after_some_replicas_were_done(rows, replicas, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    labnet = LabNet(layers=(32, 16, 8), epochs=6, batch_links=16, verbose=0)
    whole = train_replicas(labnet, replicas, rows, FitRun(labnet))

    def interrupted(step):
        if step.step == 20:  # of 42; four of the seven replicas were done by then
            raise KeyboardInterrupt

    for callbacks in ([AfterStep(interrupted)], []):
        checkpoint = Checkpoint(tmp_path / "state", "mark", [0])
        try:
            resumed = train_replicas(
                labnet, replicas, rows, FitRun(labnet, callbacks, 0, checkpoint)
            )
        except KeyboardInterrupt:
            assert callbacks
    for one, two in zip(whole, resumed):
        assert same_weights(one.network, two.network)
        assert (one.history["loss"] == two.history["loss"]).all()


@pytest.mark.parametrize("size", [(8, 8), (7, 10)])
def test_a_stack_of_images_runs_each_replica_on_its_own(size):
    kind = Architecture("convolutional", (), 0.0)
    for build in (kind.build_encoder, kind.build_decoder):
        networks = [build((1, *size), seed) for seed in range(3)]
        x = torch.rand(3, 4, *((1, *size) if build == kind.build_encoder else (128,)))
        together = Stack(networks)(x)
        for r, network in enumerate(networks):
            assert torch.allclose(together[r], network(x[r]), rtol=1e-5, atol=1e-6)


def test_a_pass_without_learning_gives_the_rows_their_gradient_and_the_weights_none():
    networks = [
        initialised(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16)), seed)
        for seed in range(3)
    ]
    stack = Stack(networks)
    x = torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    slopes = []
    for learning in (True, False):
        x.grad = None
        stack.without_dropout(x, learning).square().sum().backward()
        slopes.append(x.grad)
        assert all((one.grad is not None) == learning for one in stack.parameters())
        stack.zero_grad()
    assert torch.equal(*slopes)


def test_a_share_of_the_rows_drops_what_all_of_them_do():
    """As ranks have it on a GPU, here without its kernels; test_gpu.py has it with them."""
    keys, step = torch.tensor([11, 2**40 + 7, -5, 2**63 - 9]), torch.tensor(3)
    x = torch.ones(4, 50, 64)
    whole = keyed_dropout(x, keys, step, 0.3)
    share = keyed_dropout(x[:, 20:], keys_from(keys, 20 * 64), step, 0.3)
    assert torch.equal(share, whole[:, 20:])
    assert not torch.equal(share, whole[:, :30])


def test_a_rank_drops_what_one_process_does(monkeypatch):
    """Keys and masks that were laid in for all rows are those of this rank's rows while it runs."""
    stack = Stack([nn.Sequential(Dropout(0.3, (64,)), nn.Linear(64, 2))]).train()
    (layer,) = stack.layers_that_drop
    x = torch.ones(50, 64)
    for step in (torch.tensor(3), 3):  # keys, and a mask
        stack.clear_dropout()
        stack.lay_dropout(50, [11], step)
        whole = layer(x).reshape(50, 64)
        monkeypatch.setattr(stack_module, "bounds", lambda rows: (20, rows, 0))
        with stack._dropout_of_share(50):
            share = layer(x[20:]).reshape(30, 64)
        assert torch.equal(share, whole[20:])
        assert torch.equal(layer(x).reshape(50, 64), whole)
