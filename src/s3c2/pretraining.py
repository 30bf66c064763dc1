"""IDEC's autoencoder, pretrained to reconstruct rows from corrupted ones.

The pretraining knows no links: it depends on the data, the settings and ``pretrain_seed`` alone, so
that a grid of models shares one, and a folder can keep it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from s3c2 import losses, networks
from s3c2.base import digest_of_module
from s3c2.engine.checkpoint import fingerprint
from s3c2.engine.dropout import Dropout
from s3c2.engine.loop import Run, Task, check_converged, train
from s3c2.engine.randomness import Draws, Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack
from s3c2.errors import StorageError
from s3c2.files import model_files as storage
from s3c2.networks import Architecture
from s3c2.published import IDEC_PRETRAINING, Pretraining
from s3c2.published import IDEC_RATE_EPOCHS as RATE_EPOCHS

if TYPE_CHECKING:
    from s3c2.baselines.idec import IDEC

STAGE = "idec pretraining"
DIVERGED = "Lower pretrain_learning_rate, or look for rows far larger than the others."
# What the pretrained weights depend on, beside the rows.
SETTINGS = (
    "network", "layers", "scale", "layer_epochs", "corruption", "batch_size", "precision",
    "pretrain_seed",
)  # fmt: skip


@dataclass
class Autoencoder:
    """Encoder (rows, *shape) → (rows, dimensions) and decoder back, both sequences of layers."""

    encoder: nn.Sequential
    decoder: nn.Sequential

    @classmethod
    def build(cls, settings: IDEC, shape: tuple[int, ...]) -> Autoencoder:
        """The untrained autoencoder that the settings ask for."""
        seeds = [derived_seed(settings.pretrain_seed, Purpose.WEIGHTS, part) for part in range(2)]
        if settings.encoder is not None:
            own = Architecture(
                "dense", tuple(settings.layers), 0.0, settings.encoder, settings.decoder
            )
            parts = own.build_encoder(shape, seeds[0]), own.build_decoder(shape, seeds[1])
            return cls(*(nn.Sequential(part) for part in parts))
        with torch.random.fork_rng([]):
            if settings.network == "dense":
                built = networks.dense_autoencoder(shape, tuple(settings.layers))
            else:
                built = networks.convolutional_autoencoder(shape, settings.layers[-1])
        for part, seed in zip(built, seeds):
            networks.initialised(part, seed)
        return cls(*built)

    def state(self) -> dict[str, Tensor]:
        return nn.ModuleList([self.encoder, self.decoder]).state_dict()

    def take(self, state: dict[str, Tensor]) -> None:
        nn.ModuleList([self.encoder, self.decoder]).load_state_dict(state)


def pretrained_autoencoder(settings: IDEC, rows: Rows, run: Run) -> Autoencoder:
    """The autoencoder after its pretraining, out of the cache if it is there."""
    autoencoder = Autoencoder.build(settings, rows.shape)
    path = None if settings.cache is None else _cached(settings, rows, settings.cache)
    if path is not None and path.exists():
        try:
            autoencoder.take(storage.read(path, "autoencoder")[1])
        except StorageError as error:
            raise StorageError(
                f"The pretrained autoencoder '{path}' cannot be used: {error} Or delete the file: "
                "the next fit then pretrains anew."
            ) from error
        return autoencoder
    complete = True
    if settings.encoder is None and settings.network == "dense":
        complete = _pretrain_layers(autoencoder, settings, rows, run)
    encoder, decoder, whole = _denoise(
        settings, rows, run, "whole", _pretraining(settings).epochs,
        [Dropout(settings.corruption, rows.shape), *autoencoder.encoder], list(autoencoder.decoder),
    )  # fmt: skip
    autoencoder = Autoencoder(nn.Sequential(*list(encoder)[1:]), decoder)
    if path is not None and complete and whole:  # a callback may have ended it early
        storage.write(path, "autoencoder", {}, autoencoder.state())
    return autoencoder


def _cached(settings: IDEC, rows: Rows, cache: str | os.PathLike[str]) -> Path:
    """Where this pretraining is kept; the folder is made now, not after hours of work."""
    try:
        Path(cache).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The 'cache' folder '{cache}' cannot be made: {error.strerror}. Name another one."
        ) from error
    if not os.access(cache, os.W_OK):
        raise StorageError(f"The 'cache' folder '{cache}' cannot be written to. Name another one.")
    given = {name: getattr(settings, name) for name in SETTINGS}
    given["layers"] = [int(size) for size in settings.layers]
    given |= _pretraining(settings)._asdict()
    given["own"] = [digest_of_module(m) for m in (settings.encoder, settings.decoder)]
    mark = fingerprint(given, rows.X)
    return Path(cache) / f"autoencoder-{mark[:32]}.safetensors"


def _pretraining(settings: IDEC) -> Pretraining:
    """The pretraining of such a network, and what the settings change of it."""
    usual = IDEC_PRETRAINING[settings.network]
    rate, epochs = settings.pretrain_learning_rate, settings.whole_epochs
    return Pretraining(
        usual.optimizer,
        usual.learning_rate if rate is None else rate,
        usual.epochs if epochs is None else epochs,
    )


def _pretrain_layers(autoencoder: Autoencoder, settings: IDEC, rows: Rows, run: Run) -> bool:
    """Train each layer as an autoencoder of what the layers before it give; whether to the end."""
    complete = True
    there = [layer for layer in autoencoder.encoder if isinstance(layer, nn.Linear)]
    back = [layer for layer in autoencoder.decoder if isinstance(layer, nn.Linear)][::-1]
    before: list[nn.Module] = [nn.Flatten()]
    for number, (encode, decode) in enumerate(zip(there, back), start=1):
        rate = settings.corruption
        last = number == len(there)
        hidden = [] if last else [nn.ReLU(), Dropout(rate, (encode.out_features,))]
        encoder, decoder, ended = _denoise(
            settings, rows, run, f"layer {number}", settings.layer_epochs,
            [Dropout(rate, (encode.in_features,)), encode, *hidden], [decode], before,
        )  # fmt: skip
        encode.load_state_dict(encoder[1].state_dict())
        decode.load_state_dict(decoder[0].state_dict())
        before += [encode, nn.ReLU()]
        complete = complete and ended
    return complete


def _denoise(
    settings: IDEC,
    rows: Rows,
    run: Run,
    part: str,
    epochs: int,
    encoder: Sequence[nn.Module],
    decoder: Sequence[nn.Module],
    before: Sequence[nn.Module] = (),
) -> tuple[nn.Sequential, nn.Sequential, bool]:
    """Train encoder and decoder to give back what ``before`` makes of rows, drawn at random.

    The encoder begins with a dropout layer, which corrupts its input. Returned are both, and
    whether no callback ended the training early.
    """
    settled = rows.settle(settings.precision)
    stacks = {
        name: Stack([nn.Sequential(*layers)], settings.precision).to(rows.device)
        for name, layers in (("encoder", encoder), ("decoder", decoder))
    }
    given = Stack([nn.Sequential(*before)], settings.precision).to(rows.device)
    size = settings.batch_size
    own = settings.encoder is not None
    how = _pretraining(settings)
    complete = True
    # A task for each rate: a captured step keeps its own.
    for number, first in enumerate(range(0, epochs, RATE_EPOCHS)):
        last = min(first + RATE_EPOCHS, epochs)
        seeds = [derived_seed(settings.pretrain_seed, Purpose.STAGE, 100 * number + len(before))]
        draws = Draws(seeds, Purpose.PAIRS, rows.device)

        def losses_of(
            step: int | Tensor, seeds: Sequence[int] = seeds, draws: Draws = draws
        ) -> dict[str, Tensor]:
            x = rows.take_replicas(draws.integers(step, size, rows.n))
            with torch.no_grad():
                x = given(x) if before else x.float()
            stacks["encoder"].lay_dropout(size, seeds, step)
            x_hat = stacks["decoder"](stacks["encoder"](x))
            error = losses.reconstruction_error(x_hat.flatten(2), x.flatten(2), "mean")
            return {"loss": error.mean(1)}

        task = Task(
            stage=STAGE,
            stacks=nn.ModuleDict(stacks),
            losses=losses_of,
            steps=[(last - first) * -(-rows.n // size)],
            optimizer=how.optimizer,
            learning_rate=how.learning_rate * 0.1**number,
            foreign_seed=seeds[0] if own else None,
            part=part if epochs <= RATE_EPOCHS else f"{part}, epochs {first + 1}–{last}",
            capturable=settled and not own,
        )
        (history,) = train(task, run)
        check_converged(history, STAGE, DIVERGED)
        stacks["encoder"].clear_dropout()
        complete = len(history.get("loss", ())) == max(task.steps)
        if not complete:
            break
    trained = [stacks[name].network(0).cpu() for name in ("encoder", "decoder")]
    there, back = (nn.Sequential(*part.children()) for part in trained)
    return there, back, complete
