"""Convolutional networks: the paper's, an autoencoder of its layers, and NNclustering's LeNet."""

from __future__ import annotations

from torch import nn

from s3c2.engine.dropout import Dropout
from s3c2.errors import DataError
from s3c2.networks.dense import normalised_layers
from s3c2.networks.modules import output_size

FILTERS = 32
KERNELS = (3, 5)
CONVOLUTIONAL_OUTPUT = 128
LEAST_SIDE = 4  # of an image that is pooled twice
LENET_FILTERS = (20, 50)
LENET_KERNEL = 5
LENET_DENSE = 500
LENET_SIDE = 28  # the images that it was made for


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
        *normalised_layers(flat, (LENET_DENSE,)),
        nn.Linear(LENET_DENSE, n_clusters),  # (rows, K)
        nn.Softmax(-1),
    )


def _check_images(shape: tuple[int, ...]) -> None:
    if len(shape) != 3 or min(shape[1:]) < LEAST_SIDE:
        raise DataError(
            f"The convolutional network needs images of at least {LEAST_SIDE} × {LEAST_SIDE} "
            "pixels: X of shape (n, h, w) or (n, channels, h, w). Got rows of shape "
            f"{shape}. Reshape X, or use network='dense'."
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
