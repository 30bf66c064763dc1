"""Dense networks: LabNet's encoder and decoder, CluNet's softmax, an autoencoder."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from torch import nn

from s3c2.engine.dropout import Dropout

OUTPUTS: dict[str, Callable[[], nn.Module]] = {
    "sigmoid": nn.Sigmoid,
    "softmax": lambda: nn.Softmax(-1),
}


def dense_encoder(
    shape: tuple[int, ...], layers: tuple[int, ...], dropout: float, output: str = "sigmoid"
) -> nn.Module:
    """LabNet's dense encoder: ReLU layers with dropout, an output without."""
    return nn.Sequential(
        *_dense_layers(math.prod(shape), layers[:-1], dropout),
        nn.Linear((math.prod(shape), *layers)[-2], layers[-1]),  # (rows, layers[-1])
        OUTPUTS[output](),
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


def normalised_clusters(
    shape: tuple[int, ...], layers: tuple[int, ...], n_clusters: int
) -> nn.Module:
    """The dense network for NNclustering: batch normalisation in place of dropout."""
    return nn.Sequential(
        nn.Flatten(),
        *normalised_layers(math.prod(shape), layers[:-1]),
        nn.Linear((math.prod(shape), *layers)[-2], n_clusters),  # (rows, K)
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


def _dense_layers(inputs: int, layers: tuple[int, ...], dropout: float) -> list[nn.Module]:
    body: list[nn.Module] = [nn.Flatten()]
    for size in layers:
        body += [nn.Linear(inputs, size), nn.ReLU(), Dropout(dropout, (size,))]  # (rows, size)
        inputs = size
    return body


def normalised_layers(inputs: int, layers: tuple[int, ...]) -> list[nn.Module]:
    body: list[nn.Module] = []
    for size in layers:
        body += [nn.Linear(inputs, size), nn.BatchNorm1d(size), nn.ReLU()]  # (rows, size)
        inputs = size
    return body
