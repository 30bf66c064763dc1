"""Matrix products in oneDNN: the numbers of MKL, and the same bits in a stack and alone."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from s3c2.engine.inference import outputs_of
from s3c2.engine.kernels import products as module
from s3c2.engine.kernels.products import (
    LEAST,
    gradients_of_weights,
    has_onednn,
    in_onednn,
    products,
)
from s3c2.engine.linear import linear
from s3c2.engine.stack import Stack
from s3c2.networks import initialised
from s3c2.networks.dense import dense_clusters

pytestmark = pytest.mark.skipif(not has_onednn(), reason="this torch has no oneDNN")
CPU = torch.device("cpu")
ROWS, INPUTS, OUTPUTS = 512, 96, 128


@pytest.fixture
def onednn(monkeypatch):
    """As on a processor where oneDNN is faster."""
    monkeypatch.setattr(module, "_suits_processor", lambda: True)


@pytest.fixture
def layer():
    made = torch.Generator().manual_seed(0)
    shapes = (3, ROWS, INPUTS), (3, OUTPUTS, INPUTS), (3, OUTPUTS), (3, ROWS, OUTPUTS)
    return [torch.randn(shape, generator=made) for shape in shapes]


def exact(a, b):
    return (a.double() @ b.double()).float()


def test_only_large_products_are_taken_by_onednn(onednn, layer, monkeypatch):
    x, weight, *_ = layer
    assert ROWS * INPUTS * OUTPUTS >= LEAST
    assert in_onednn(x, weight)
    assert not in_onednn(x[:, :8], weight)
    assert not in_onednn(x.double(), weight.double())
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    assert not in_onednn(x, weight)


def test_it_gives_the_product(onednn, layer):
    x, weight, bias, grad = layer
    near = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(products(x, weight), exact(x, weight.mT), **near)
    torch.testing.assert_close(
        products(x, weight, bias), exact(x, weight.mT) + bias.unsqueeze(1), **near
    )
    torch.testing.assert_close(products(grad, weight.mT), exact(grad, weight), **near)
    for one, other in ((grad, x), (x, grad)):  # the longer side first, and last
        torch.testing.assert_close(gradients_of_weights(one, other), exact(one.mT, other), **near)


def test_matrices_may_lie_in_memory_in_any_way(onednn, layer):
    x, weight, _, _ = layer
    wide = torch.cat([x, x], 2)[:, :, :INPUTS]  # rows with gaps between them
    torch.testing.assert_close(products(wide, weight), products(x, weight), rtol=0, atol=0)
    same = torch.ones(3, 1, 1).expand(3, ROWS, OUTPUTS)  # one number, seen everywhere
    found = gradients_of_weights(same, x)
    torch.testing.assert_close(found, exact(same.mT, x), rtol=1e-4, atol=1e-3)


def test_a_replica_has_the_bits_that_it_has_alone(onednn, layer):
    *of_layer, grad = layer

    def outcome(x, weight, bias, grad):
        given = [one.clone().requires_grad_() for one in (x, weight, bias)]
        out = linear(*given, relu=True)
        out.backward(grad)
        return [out, *(one.grad for one in given)]

    together = outcome(*of_layer, grad)
    for r in range(3):
        alone = outcome(*(one[r : r + 1] for one in (*of_layer, grad)))
        assert all(torch.equal(one[r : r + 1], two) for one, two in zip(together, alone))


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_torch(onednn, layer, masked):
    *of_layer, grad = layer
    mask = (torch.rand(grad.shape, generator=torch.Generator().manual_seed(1)) > 0.5) / 0.5
    mask = mask if masked else None
    given = [one.clone().requires_grad_() for one in of_layer]
    linear(*given, relu=True, mask=mask).backward(grad)
    plain = [one.clone().requires_grad_() for one in of_layer]
    out = torch.stack([functional.linear(*one).relu() for one in zip(*plain)])
    (out if mask is None else out * mask).backward(grad)
    for one, two in zip(given, plain):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-4, atol=1e-3)


def networks():
    flat = initialised(dense_clusters((6, 16), (96, 64, 8), 0.2, 5), 0)
    own = nn.Sequential(nn.Linear(16, 8), nn.Flatten())  # a layer that takes rows of any shape
    return [flat, own]


@pytest.mark.parametrize("number", range(2))
def test_a_network_gives_the_same_by_layer_and_as_a_module(onednn, number):
    network = networks()[number]
    x = torch.randn(1200, 6, 16, generator=torch.Generator().manual_seed(2))
    found = torch.cat([outputs_of(network, CPU, 1024)(part) for part in x.split(1024)])
    torch.testing.assert_close(found, network.eval()(x).detach(), rtol=1e-4, atol=1e-5)
    none = Stack([network, network])(x[None, :0].expand(2, 0, 6, 16))
    assert none.shape == (2, 0, *found.shape[1:])


def test_a_stack_of_one_learns_as_a_module_does(onednn, monkeypatch):
    """The same draws of dropout, outputs and gradients, whatever multiplies."""

    def learned():
        stack = Stack([networks()[0]]).train()
        stack.lay_dropout(512, [7], step=3)
        x = torch.randn(1, 512, 6, 16, generator=torch.Generator().manual_seed(2))
        out = stack(x)
        out.square().sum().backward()
        stack.clear_dropout()
        return [out.detach(), *(one.grad for one in stack.parameters())]

    by_layer = learned()
    monkeypatch.setattr(module, "_suits_processor", lambda: False)
    for one, two in zip(by_layer, learned()):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)


class Doubled(nn.Sequential):
    def forward(self, x):
        return 2 * super().forward(x)


def of_one_relu():
    relu = nn.ReLU()
    return nn.Sequential(nn.Linear(16, 64), relu, nn.Linear(64, 64), relu, nn.Linear(64, 3))


def with_hook():
    layer = nn.Linear(16, 5)
    layer.register_forward_hook(lambda layer, given, out: 10 * out.relu())
    return nn.Sequential(layer)


def of_one_matrix():
    one, two = nn.Linear(16, 16), nn.Linear(16, 16)
    two.weight = one.weight
    return nn.Sequential(one, nn.ReLU(), two)


@pytest.mark.parametrize(
    "network",
    [
        of_one_relu(),
        with_hook(),
        of_one_matrix(),
        nn.Sequential(nn.Unflatten(1, (4, 4)), nn.Flatten(2), nn.Linear(4, 5), nn.Flatten(1)),
        nn.Sequential(nn.Linear(16, 5), nn.Softmax(1)),  # of a stack that would be over the rows
        Doubled(nn.Linear(16, 5)),
    ],
)
def test_what_is_no_plain_sequence_runs_as_a_module(onednn, network):
    x = torch.randn(1024, 16, generator=torch.Generator().manual_seed(2))
    found = outputs_of(network, CPU, 1024)(x)
    torch.testing.assert_close(found, network(x).detach(), rtol=1e-4, atol=1e-5)


def test_a_torch_without_it_is_not_asked(monkeypatch):
    def absent(*_):
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")

    monkeypatch.setattr(module, "_linear", absent)
    assert not has_onednn()
    assert not module._suits_processor.__wrapped__()


@pytest.mark.parametrize(
    ("vendor", "capability", "faster"),
    [
        ("AuthenticAMD", "AVX512", True),
        ("AuthenticAMD", "AVX2", False),
        ("GenuineIntel", "AVX512", False),
        ("", "AVX512", False),
    ],
)
def test_it_is_faster_where_mkl_uses_half_of_the_width(monkeypatch, vendor, capability, faster):
    monkeypatch.setattr(module, "processor", lambda what: vendor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert module._suits_processor.__wrapped__() is faster
