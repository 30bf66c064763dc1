"""The networks of the paper's experiments: encoders, decoders and cluster networks.

A network knows sizes, not losses or data. ``shape`` is the shape of one row: ``(columns,)`` or
``(channels, height, width)``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from s3c2.engine.dropout import Dropout
from s3c2.errors import DataError

FILTERS = 32
KERNELS = (3, 5)
CONVOLUTIONAL_OUTPUT = 128
LENET_FILTERS = (20, 50)
LENET_KERNEL = 5
LENET_DENSE = 500
LENET_SIDE = 28  # the images that it was made for


@dataclass(frozen=True)
class Architecture:
    """The kind of network that both stages use.

    Attributes
    ----------
    kind : "dense" or "convolutional"
    layers : sizes of the dense network: hidden layers, then the representation
    dropout : rate after each hidden layer
    encoder, decoder : the user's own modules, which then stand in for the kind. They are copied
        and start from the weights they have, so a pretrained one stays pretrained.
    """

    kind: str
    layers: tuple[int, ...]
    dropout: float
    encoder: nn.Module | None = None
    decoder: nn.Module | None = None

    def build_encoder(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        """h: (rows, *shape) → (rows, dimensions)."""
        if self.encoder is not None:
            return _own(self.encoder)
        with torch.random.fork_rng([]):
            if self.kind == "dense":
                network = dense_encoder(shape, self.layers, self.dropout)
            else:
                network = convolutional_encoder(shape, self.dropout)
        return initialised(network, seed)

    def build_decoder(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        """g: (rows, dimensions) → (rows, *shape)."""
        if self.decoder is not None:
            return _own(self.decoder)
        with torch.random.fork_rng([]):
            if self.encoder is not None:
                layers = (*self.layers[:-1], output_size(_own(self.encoder), shape))
                network = dense_decoder(shape, layers, self.dropout)
            elif self.kind == "dense":
                network = dense_decoder(shape, self.layers, self.dropout)
            else:
                network = convolutional_decoder(shape, self.dropout)
        return initialised(network, seed)

    def build_clusters(self, shape: tuple[int, ...], n_clusters: int, seed: int) -> nn.Module:
        """p: (rows, *shape) → (rows, K), summing to 1."""
        if self.encoder is not None:
            return with_head(self.encoder, shape, n_clusters, seed)
        with torch.random.fork_rng([]):
            if self.kind == "dense":
                network = dense_clusters(shape, self.layers, self.dropout, n_clusters)
            else:
                network = convolutional_clusters(shape, self.dropout, n_clusters)
        return initialised(network, seed)


class Committee(nn.Module):
    """Encoders side by side, scaled so that squared distances are the mean of the members'."""

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.cat([member(x) for member in self.members], dim=-1)
        return h.div(len(self.members) ** 0.5)


def committee_of(encoders: Sequence[nn.Module]) -> nn.Module:
    """A committee, or the one encoder itself."""
    return encoders[0] if len(encoders) == 1 else Committee(encoders)


def members_of(encoder: nn.Module) -> list[nn.Module]:
    """The encoders of a committee, or the one encoder."""
    return list(encoder.members) if isinstance(encoder, Committee) else [encoder]


def dense_encoder(shape: tuple[int, ...], layers: tuple[int, ...], dropout: float) -> nn.Module:
    """LabNet's dense encoder: ReLU layers with dropout, a sigmoid output without."""
    return nn.Sequential(
        *_dense_layers(math.prod(shape), layers[:-1], dropout),
        nn.Linear((math.prod(shape), *layers)[-2], layers[-1]),  # (rows, layers[-1])
        nn.Sigmoid(),
    )


def dense_decoder(shape: tuple[int, ...], layers: tuple[int, ...], dropout: float) -> nn.Module:
    """The dense encoder mirrored, with a linear output of the row's own shape."""
    mirrored = layers[-2::-1]
    return nn.Sequential(
        *_dense_layers(layers[-1], mirrored, dropout),
        nn.Linear((layers[-1], *mirrored)[-1], math.prod(shape)),
        nn.Unflatten(1, shape),  # (rows, *shape)
    )


def dense_clusters(
    shape: tuple[int, ...], layers: tuple[int, ...], dropout: float, n_clusters: int
) -> nn.Module:
    """CluNet's dense network: ReLU layers with dropout, softmax over the clusters."""
    return nn.Sequential(
        *_dense_layers(math.prod(shape), layers[:-1], dropout),
        nn.Linear((math.prod(shape), *layers)[-2], n_clusters),  # (rows, K)
        nn.Softmax(-1),
    )


def convolutional_encoder(shape: tuple[int, ...], dropout: float) -> nn.Module:
    """LabNet's convolutional encoder: two pooled convolutions, a dense ReLU output of 128."""
    body, flat = _convolutions(shape, dropout)
    return nn.Sequential(*body, nn.Linear(flat, CONVOLUTIONAL_OUTPUT), nn.ReLU())


def convolutional_decoder(shape: tuple[int, ...], dropout: float) -> nn.Module:
    """The convolutional encoder mirrored: upsampling and deconvolutions, a linear output."""
    channels, height, width = shape
    half, quarter = (height // 2, width // 2), (height // 4, width // 4)
    return nn.Sequential(
        nn.Linear(CONVOLUTIONAL_OUTPUT, FILTERS * quarter[0] * quarter[1]),
        nn.ReLU(),
        nn.Unflatten(1, (FILTERS, *quarter)),
        Dropout(dropout, (FILTERS, *quarter)),
        nn.Upsample(size=half),
        _deconvolution(FILTERS, FILTERS, KERNELS[1]),  # (rows, 32, h/2, w/2)
        nn.ReLU(),
        Dropout(dropout, (FILTERS, *half)),
        nn.Upsample(size=(height, width)),
        _deconvolution(FILTERS, channels, KERNELS[0]),  # (rows, c, h, w)
    )


def convolutional_clusters(shape: tuple[int, ...], dropout: float, n_clusters: int) -> nn.Module:
    """CluNet's convolutional network: two pooled convolutions, dense 128, softmax."""
    body, flat = _convolutions(shape, dropout)
    return nn.Sequential(
        *body,
        nn.Linear(flat, CONVOLUTIONAL_OUTPUT),
        nn.ReLU(),
        Dropout(dropout, (CONVOLUTIONAL_OUTPUT,)),
        nn.Linear(CONVOLUTIONAL_OUTPUT, n_clusters),  # (rows, K)
        nn.Softmax(-1),
    )


def dense_autoencoder(
    shape: tuple[int, ...], layers: tuple[int, ...]
) -> tuple[nn.Sequential, nn.Sequential]:
    """IDEC's autoencoder: ReLU layers to a linear embedding, and the same way back."""

    def way(sizes: tuple[int, ...]) -> list[nn.Module]:
        layers: list[nn.Module] = []
        for inputs, size in pairwise(sizes):
            layers += [nn.Linear(inputs, size), nn.ReLU()]  # (rows, size)
        return layers[:-1]  # the last one is linear

    there, back = (math.prod(shape), *layers), (*layers[::-1], math.prod(shape))
    encoder = nn.Sequential(nn.Flatten(), *way(there))  # (rows, layers[-1])
    return encoder, nn.Sequential(*way(back), nn.Unflatten(1, shape))  # (rows, *shape)


def convolutional_autoencoder(
    shape: tuple[int, ...], dimensions: int
) -> tuple[nn.Sequential, nn.Sequential]:
    """LabNet's convolutional encoder and decoder around a linear embedding, without dropout."""
    body, flat = _convolutions(shape, 0.0)
    encoder = nn.Sequential(
        *body,
        nn.Linear(flat, CONVOLUTIONAL_OUTPUT),
        nn.ReLU(),
        nn.Linear(CONVOLUTIONAL_OUTPUT, dimensions),  # (rows, dimensions)
    )
    decoder = nn.Sequential(
        nn.Linear(dimensions, CONVOLUTIONAL_OUTPUT),
        nn.ReLU(),
        *convolutional_decoder(shape, 0.0).children(),  # (rows, c, h, w)
    )
    return encoder, decoder


def lenet_clusters(shape: tuple[int, ...], n_clusters: int) -> nn.Module:
    """NNclustering's LeNet: pooled 5×5 convolutions of 20 and 50, dense 500, softmax.

    Batch normalisation after every layer but the last. Images smaller than 28 × 28 are padded, so
    that a convolution keeps their size.
    """
    _check_images(shape)
    padding = "valid" if min(shape[1:]) >= LENET_SIDE else "same"
    body: list[nn.Module] = []
    inputs = shape[0]
    for filters in LENET_FILTERS:
        body += [
            nn.Conv2d(inputs, filters, LENET_KERNEL, padding=padding),  # (rows, filters, h', w')
            nn.BatchNorm2d(filters, eps=1e-3),
            nn.ReLU(),
            nn.MaxPool2d(2),  # (rows, filters, h'/2, w'/2)
        ]
        inputs = filters
    flat = output_size(nn.Sequential(*body, nn.Flatten()), shape)
    return nn.Sequential(
        *body,
        nn.Flatten(),
        *_normalised_layers(flat, (LENET_DENSE,)),
        nn.Linear(LENET_DENSE, n_clusters),  # (rows, K)
        nn.Softmax(-1),
    )


def normalised_clusters(
    shape: tuple[int, ...], layers: tuple[int, ...], n_clusters: int
) -> nn.Module:
    """The dense network for NNclustering: batch normalisation in place of dropout."""
    return nn.Sequential(
        nn.Flatten(),
        *_normalised_layers(math.prod(shape), layers[:-1]),
        nn.Linear((math.prod(shape), *layers)[-2], n_clusters),  # (rows, K)
        nn.Softmax(-1),
    )


def with_head(encoder: nn.Module, shape: tuple[int, ...], n_clusters: int, seed: int) -> nn.Module:
    """A copy of the user's encoder with a softmax layer on top."""
    with torch.random.fork_rng([]):
        body = _own(encoder)
        head = nn.Sequential(nn.Linear(output_size(body, shape), n_clusters), nn.Softmax(-1))
    return nn.Sequential(body, initialised(head, seed))


def output_size(encoder: nn.Module, shape: tuple[int, ...]) -> int:
    """Dimensions of the encoder's output, found by handing it a batch of zeros."""
    device = next((p.device for p in encoder.parameters()), None)
    was_training = encoder.training
    try:
        with torch.no_grad():
            return int(encoder.eval()(torch.zeros(2, *shape, device=device)).shape[1])
    except Exception as error:
        sizes = ", ".join(["rows", *map(str, shape)])
        raise DataError(
            f"The encoder cannot take a batch of shape ({sizes}): {error}. "
            "Give X in the shape that it expects."
        ) from error
    finally:
        encoder.train(was_training)


def _own(module: nn.Module) -> nn.Module:
    return nn.Sequential(copy.deepcopy(module), nn.Flatten()).cpu()


def initialised(network: nn.Module, seed: int) -> nn.Module:
    """Glorot's uniform weights and zero biases, from the seed alone."""
    generator = torch.Generator().manual_seed(seed)
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            nn.init.xavier_uniform_(layer.weight, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return network


def _dense_layers(inputs: int, layers: tuple[int, ...], dropout: float) -> list[nn.Module]:
    body: list[nn.Module] = [nn.Flatten()]
    for size in layers:
        body += [nn.Linear(inputs, size), nn.ReLU(), Dropout(dropout, (size,))]  # (rows, size)
        inputs = size
    return body


def _normalised_layers(inputs: int, layers: tuple[int, ...]) -> list[nn.Module]:
    body: list[nn.Module] = []
    for size in layers:
        body += [nn.Linear(inputs, size), nn.BatchNorm1d(size), nn.ReLU()]  # (rows, size)
        inputs = size
    return body


def _check_images(shape: tuple[int, ...]) -> None:
    if len(shape) != 3 or min(shape[1:]) < 4:
        raise DataError(
            "The convolutional network needs images of at least 4 × 4 pixels: X of shape "
            f"(n, h, w) or (n, channels, h, w). Got rows of shape {shape}. Reshape X, or use "
            "network='dense'."
        )


def _convolutions(shape: tuple[int, ...], dropout: float) -> tuple[list[nn.Module], int]:
    _check_images(shape)
    channels, height, width = shape
    half, quarter = (height // 2, width // 2), (height // 4, width // 4)
    body = [
        # ReLU and maximum commute, and after the pooling there is a quarter to do.
        nn.Conv2d(channels, FILTERS, KERNELS[0], padding="same"),  # (rows, 32, h, w)
        nn.MaxPool2d(2),  # (rows, 32, h/2, w/2)
        nn.ReLU(),
        Dropout(dropout, (FILTERS, *half)),
        nn.Conv2d(FILTERS, FILTERS, KERNELS[1], padding="same"),
        nn.MaxPool2d(2),  # (rows, 32, h/4, w/4)
        nn.ReLU(),
        Dropout(dropout, (FILTERS, *quarter)),
        nn.Flatten(),
    ]
    return body, FILTERS * quarter[0] * quarter[1]


def _deconvolution(inputs: int, outputs: int, kernel: int) -> nn.Module:
    return nn.ConvTranspose2d(inputs, outputs, kernel, padding=kernel // 2)
