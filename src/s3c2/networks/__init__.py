"""The networks of the paper's experiments: encoders, decoders and cluster networks.

A network knows sizes, not losses or data. ``shape`` is the shape of one row: ``(columns,)`` or
``(channels, height, width)``.
"""

from s3c2.networks.architecture import Architecture
from s3c2.networks.convolutional import convolutional_autoencoder, lenet_clusters
from s3c2.networks.dense import OUTPUTS, dense_autoencoder, normalised_clusters
from s3c2.networks.modules import (
    Committee,
    check_own,
    committee_of,
    continued_from,
    initialised,
    members_of,
    output_size,
    with_head,
)

__all__ = [
    "OUTPUTS",
    "Architecture",
    "Committee",
    "check_own",
    "committee_of",
    "continued_from",
    "convolutional_autoencoder",
    "dense_autoencoder",
    "initialised",
    "lenet_clusters",
    "members_of",
    "normalised_clusters",
    "output_size",
    "with_head",
]
