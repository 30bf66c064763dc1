"""Sizes of the paper's networks, and modules of the user's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from s3c2.engine.dropout import Dropout
from s3c2.errors import DataError
from s3c2.networks import Architecture, convolutional_autoencoder, dense_autoencoder, lenet_clusters

DENSE = Architecture("dense", (256, 256, 256), 0.1)
CONVOLUTIONAL = Architecture("convolutional", (256, 256, 256), 0.5)


def kinds(network):
    return [type(layer).__name__ for layer in network]


def sizes(network):
    return [tuple(p.shape) for p in network.parameters()]


def test_dense_networks_are_the_papers():
    encoder = DENSE.build_encoder((16,), 0)
    assert kinds(encoder) == [
        "Flatten", "Linear", "ReLU", "Dropout", "Linear", "ReLU", "Dropout", "Linear", "Sigmoid",
    ]  # fmt: skip
    assert sizes(encoder)[::2] == [(256, 16), (256, 256), (256, 256)]
    clusters = DENSE.build_clusters((16,), 26, 0)
    assert kinds(clusters)[-3:] == ["Dropout", "Linear", "Softmax"]
    assert sizes(clusters)[::2] == [(256, 16), (256, 256), (26, 256)]
    decoder = DENSE.build_decoder((16,), 0)
    assert sizes(decoder)[::2] == [(256, 256), (256, 256), (16, 256)]


def test_convolutional_networks_are_the_papers():
    encoder = CONVOLUTIONAL.build_encoder((1, 28, 28), 0)
    assert kinds(encoder) == [
        "Conv2d", "MaxPool2d", "ReLU", "Dropout", "Conv2d", "MaxPool2d", "ReLU", "Dropout",
        "Flatten", "Linear", "ReLU",
    ]  # fmt: skip
    assert sizes(encoder)[::2] == [(32, 1, 3, 3), (32, 32, 5, 5), (128, 32 * 7 * 7)]
    clusters = CONVOLUTIONAL.build_clusters((1, 28, 28), 10, 0)
    assert kinds(clusters)[-5:] == ["Linear", "ReLU", "Dropout", "Linear", "Softmax"]


def test_autoencoder_is_that_of_idec():
    encoder, decoder = dense_autoencoder((28, 28), (500, 500, 2000, 10))
    assert kinds(encoder) == ["Flatten", *["Linear", "ReLU"] * 3, "Linear"]
    assert kinds(decoder) == [*["Linear", "ReLU"] * 3, "Linear", "Unflatten"]
    assert sizes(encoder)[::2] == [(500, 784), (500, 500), (2000, 500), (10, 2000)]
    assert sizes(decoder)[::2] == [(2000, 10), (500, 2000), (500, 500), (784, 500)]
    x = torch.rand(3, 28, 28)
    assert decoder(encoder(x)).shape == x.shape


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 9, 13)])
def test_convolutional_autoencoder_shapes(shape):
    encoder, decoder = convolutional_autoencoder(shape, 10)
    x = torch.rand(3, *shape)
    assert encoder(x).shape == (3, 10)
    assert decoder(encoder(x)).shape == x.shape


def test_lenet_is_that_of_nnclustering():
    network = lenet_clusters((1, 28, 28), 10)
    block = ["Conv2d", "BatchNorm2d", "ReLU", "MaxPool2d"]
    assert kinds(network) == [
        *block, *block, "Flatten", "Linear", "BatchNorm1d", "ReLU", "Linear", "Softmax",
    ]  # fmt: skip
    weights = [size for size in sizes(network) if len(size) > 1]
    assert weights == [(20, 1, 5, 5), (50, 20, 5, 5), (500, 50 * 4 * 4), (10, 500)]


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 4, 5), (1, 27, 30), (3, 32, 32)])
def test_lenet_takes_smaller_images_too(shape):
    p = lenet_clusters(shape, 4)(torch.rand(5, *shape))
    assert p.shape == (5, 4)
    assert torch.allclose(p.sum(1), torch.ones(5))


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 9, 13), (1, 28, 28), (2, 4, 5)])
def test_convolutional_shapes(shape):
    x = torch.rand(5, *shape)
    h = CONVOLUTIONAL.build_encoder(shape, 0)(x)
    assert h.shape == (5, 128)
    assert CONVOLUTIONAL.build_decoder(shape, 0)(h).shape == x.shape
    p = CONVOLUTIONAL.build_clusters(shape, 4, 0)(x)
    assert p.shape == (5, 4)
    assert torch.allclose(p.sum(1), torch.ones(5))


@pytest.mark.parametrize("shape", [(7,), (1, 8, 8)])
def test_dense_shapes(shape):
    x = torch.rand(5, *shape)
    h = DENSE.build_encoder(shape, 0)(x)
    assert h.shape == (5, 256)
    assert DENSE.build_decoder(shape, 0)(h).shape == x.shape


def test_images_too_small_or_no_images():
    for shape in ((64,), (1, 3, 8)):
        with pytest.raises(DataError, match="needs images of at least 4 × 4"):
            CONVOLUTIONAL.build_encoder(shape, 0)


def test_weights_are_glorots_and_come_from_the_seed_alone():
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    one, two, other = (DENSE.build_encoder((16,), seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters()))
    assert not torch.equal(one[1].weight, other[1].weight)
    bound = (6 / (16 + 256)) ** 0.5
    assert float(one[1].weight.detach().abs().max()) == pytest.approx(bound, rel=0.01)
    assert float(one[1].bias.detach().abs().max()) == 0


def test_dropout_without_a_mask_is_the_ordinary_one():
    layer = Dropout(0.5, (1000,))
    x = torch.ones(20, 1000)
    assert 0.4 < float((layer(x) == 0).float().mean()) < 0.6
    assert torch.equal(layer.eval()(x), x)


def test_own_encoder_keeps_its_weights_and_is_copied():
    own = nn.Sequential(nn.Linear(6, 5), nn.Tanh())
    kind = Architecture(own, (8, 8), 0.1)
    encoder = kind.build_encoder((6,), 0)
    assert torch.equal(encoder[0][0].weight, own[0].weight)
    assert encoder[0][0].weight is not own[0].weight
    assert kind.build_clusters((6,), 3, 0)(torch.rand(2, 6)).shape == (2, 3)
    assert kind.build_decoder((6,), 0)(torch.rand(2, 5)).shape == (2, 6)


def test_own_decoder_keeps_its_weights_and_is_copied():
    own = nn.Linear(8, 6)
    decoder = Architecture("dense", (8, 8), 0.1, own).build_decoder((6,), 0)
    assert torch.equal(decoder[0].weight, own.weight)
    assert decoder[0].weight is not own.weight
    assert decoder(torch.rand(2, 8)).shape == (2, 6)


def test_own_encoder_of_another_shape_is_refused():
    kind = Architecture(nn.Linear(6, 5), (8, 8), 0.1)
    with pytest.raises(DataError, match=r"cannot take a batch of shape \(rows, 7\)"):
        kind.build_clusters((7,), 3, 0)
