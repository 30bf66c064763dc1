"""The kind of network that a model is made of."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from s3c2.networks.convolutional import (
    convolutional_clusters,
    convolutional_decoder,
    convolutional_encoder,
)
from s3c2.networks.dense import dense_clusters, dense_decoder, dense_encoder
from s3c2.networks.modules import initialised, output_size, own_copy, with_head


@dataclass(frozen=True)
class Architecture:
    """The kind of network that both stages use.

    ``shape`` is the shape of one row: ``(columns,)`` or ``(channels, height, width)``.

    Attributes
    ----------
    network : "dense", "convolutional", or the user's own encoder, which is copied and starts from
        the weights it has: a pretrained one stays pretrained
    layers : sizes of the dense network: hidden layers, then the representation
    dropout : rate after each hidden layer
    decoder : the user's own decoder
    output : of a dense encoder, one of OUTPUTS
    """

    network: str | nn.Module
    layers: tuple[int, ...]
    dropout: float
    decoder: nn.Module | None = None
    output: str = "sigmoid"

    def build_encoder(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        """h: (rows, *shape) → (rows, dimensions)."""
        if isinstance(self.network, nn.Module):
            return own_copy(self.network)
        with torch.random.fork_rng([]):
            if self.network == "dense":
                network = dense_encoder(shape, self.layers, self.dropout, self.output)
            else:
                network = convolutional_encoder(shape, self.dropout)
        return initialised(network, seed)

    def build_decoder(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        """g: (rows, dimensions) → (rows, *shape)."""
        if self.decoder is not None:
            return own_copy(self.decoder)
        with torch.random.fork_rng([]):
            if isinstance(self.network, nn.Module):
                layers = (*self.layers[:-1], output_size(own_copy(self.network), shape))
                network = dense_decoder(shape, layers, self.dropout)
            elif self.network == "dense":
                network = dense_decoder(shape, self.layers, self.dropout)
            else:
                network = convolutional_decoder(shape, self.dropout)
        return initialised(network, seed)

    def build_clusters(self, shape: tuple[int, ...], n_clusters: int, seed: int) -> nn.Module:
        """p: (rows, *shape) → (rows, K), summing to 1."""
        if isinstance(self.network, nn.Module):
            return with_head(self.network, shape, n_clusters, seed)
        with torch.random.fork_rng([]):
            if self.network == "dense":
                network = dense_clusters(shape, self.layers, self.dropout, n_clusters)
            else:
                network = convolutional_clusters(shape, self.dropout, n_clusters)
        return initialised(network, seed)
