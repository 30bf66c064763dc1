"""The published settings, all in this one place.

The paper is the specification. Where it is silent the value of the authors' script is taken; a
comment says which. Where the two differ the paper wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

LAYERS = (256, 256, 256)  # paper: two hidden layers of 256; LabNet's output 256
THRESHOLD = 0.3  # paper: d² < 0.3
RECONSTRUCTION_WEIGHT = 0.05  # paper: λ
LEARNING_RATE = 1e-3  # paper, both networks
DROPOUT = {
    "dense": 0.1,  # paper (0.5 for Reuters)
    "convolutional": 0.5,  # script; the paper gives no rate here
}
NEIGHBORS = 30  # paper: d-graph's must-links in a batch
DCPR_FLOOR = 1e-3  # script: posteriors are clipped to [0.001, 0.999]
DIVERGENCE_MARGIN = 2.0  # NNclustering's authors

# IDEC with constraints: from its authors' code, unless a comment says that the value is s3c2's own
IDEC_LAYERS = (500, 500, 2000, 10)  # the last is the embedding
IDEC_POWER = 2.0  # of the assignment; their paper has Student's t, which is 1
IDEC_BATCH = 256
IDEC_EPOCHS = 500
IDEC_TOLERANCE = 1e-3  # share of labels that change from epoch to epoch
IDEC_CLUSTERING_WEIGHT = 0.1
IDEC_MUST_WEIGHT = 0.1  # 1 for Fashion-MNIST
IDEC_CANNOT_WEIGHT = 1.0
IDEC_STARTS = 20  # of k-means
IDEC_LAYER_EPOCHS = 300  # of the pretraining of each layer
IDEC_CORRUPTION = 0.2


class UsualPretraining(NamedTuple):
    """How IDEC's autoencoder of one kind is pretrained."""

    optimizer: str
    learning_rate: float  # at first
    epochs: int  # of the whole; each layer has IDEC_LAYER_EPOCHS before


IDEC_PRETRAINING = {
    # With momentum 0.9. Theirs is 0.1 on half of the mean squared error: the same steps.
    "dense": UsualPretraining("sgd", 0.05, 500),
    "convolutional": UsualPretraining("adam", 1e-3, 200),  # s3c2's own: they have no convolutions
}


@dataclass(frozen=True)
class Training:
    """How one network is trained.

    Attributes
    ----------
    links : given links in a batch
    pairs : further pairs in a batch, drawn from all rows
    steps : number of steps, or None where ``epochs`` says it
    epochs : walks through all links, used where ``steps`` is None
    optimizer : "adam" or "rmsprop"
    decay : whether the learning rate falls to 0 over the second half of the steps
    """

    links: int
    pairs: int
    steps: int | None
    epochs: int | None
    optimizer: str
    decay: bool = False

    def changed(
        self,
        *,
        links: int | None = None,
        pairs: int | None = None,
        steps: int | None = None,
        epochs: int | None = None,
        optimizer: str | None = None,
    ) -> Training:
        """The same with what is given in its place; a length replaces the other kind of length."""
        keep_length = steps is None and epochs is None
        return Training(
            links=int(links or self.links),
            pairs=int(pairs or self.pairs),
            steps=self.steps if keep_length else _int(steps),
            epochs=self.epochs if keep_length or steps is not None else _int(epochs),
            optimizer=optimizer or self.optimizer,
            decay=self.decay,
        )

    def n_steps(self, steps_per_epoch: int) -> int:
        return self.steps if self.steps is not None else (self.epochs or 0) * steps_per_epoch


def _int(value: int | None) -> int | None:
    return None if value is None else int(value)  # a small NumPy integer would overflow


def labnet_training(network: str, semi_supervised: bool) -> Training:
    """LabNet: batch and rate from the paper; optimiser and length from the script."""
    if not semi_supervised:
        if network == "dense":
            return Training(links=256, pairs=0, steps=None, epochs=100, optimizer="rmsprop")
        return Training(links=256, pairs=0, steps=1500, epochs=None, optimizer="rmsprop")
    # The paper does not say how a batch divides into linked and other pairs: the script's numbers.
    if network == "dense":
        return Training(links=50, pairs=200, steps=None, epochs=100, optimizer="rmsprop")
    return Training(links=100, pairs=100, steps=1500, epochs=None, optimizer="rmsprop")


def clunet_training() -> Training:
    """CluNet: batch and rate from the paper; optimiser from the script, which runs 2,000–4,000."""
    return Training(links=100, pairs=1000, steps=3000, epochs=None, optimizer="adam")


def nnclustering_training() -> Training:
    """NNclustering: its authors' batch of 128; CluNet's optimiser and length."""
    return Training(links=128, pairs=0, steps=3000, epochs=None, optimizer="adam")
