"""Autoencoders pretrained to reconstruct rows from corrupted ones.

The pretraining knows no links: it depends on the rows and its settings alone, so that a grid of
models shares one, and a folder can keep it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from s3c2 import losses
from s3c2.engine.checkpoint import digest_of_module, fingerprint
from s3c2.engine.dropout import Dropout
from s3c2.engine.loop import check_converged, train
from s3c2.engine.randomness import Purpose, derived_seed
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses, Task
from s3c2.errors import StorageError
from s3c2.files import model_files
from s3c2.networks import (
    Architecture,
    convolutional_autoencoder,
    dense_autoencoder,
    initialised,
)
from s3c2.pairs import RandomRows

RATE_EPOCHS = 100  # after which the learning rate is divided by 10
DIVERGED = "Lower pretrain_learning_rate, or look for rows far larger than the others."


@dataclass(frozen=True)
class Pretraining:
    """How an autoencoder is built and pretrained.

    Attributes
    ----------
    network : "dense", "convolutional", or an encoder of the user's own
    decoder : of the user's own, for an own encoder; by default a dense one
    layers : of the encoder, the last is the embedding; the decoder is their mirror
    layer_epochs : length of the pretraining of each layer by itself; dense networks only
    epochs : length of the pretraining of the whole
    optimizer, learning_rate : the rate is divided by 10 after every RATE_EPOCHS
    corruption : share of inputs that are dropped
    batch_size : rows in a batch
    precision, seed
    scale : how the rows were scaled; for the cache alone
    stage : what callbacks call it
    """

    network: str | nn.Module
    decoder: nn.Module | None
    layers: tuple[int, ...]
    layer_epochs: int
    epochs: int
    optimizer: str
    learning_rate: float
    corruption: float
    batch_size: int
    precision: str
    seed: int
    scale: str | None
    stage: str

    @property
    def own(self) -> bool:
        return isinstance(self.network, nn.Module)


@dataclass
class Autoencoder:
    """Encoder (rows, *shape) → (rows, dimensions) and decoder back, both sequences of layers.

    ``complete`` says whether no callback ended its pretraining early.
    """

    encoder: nn.Sequential
    decoder: nn.Sequential
    complete: bool = True

    @classmethod
    def build(cls, how: Pretraining, shape: tuple[int, ...]) -> Autoencoder:
        """The untrained autoencoder that the settings ask for."""
        seeds = [derived_seed(how.seed, Purpose.WEIGHTS, part) for part in range(2)]
        if how.own:
            own = Architecture(how.network, how.layers, 0.0, how.decoder)
            encoder, decoder = (
                own.build_encoder(shape, seeds[0]),
                own.build_decoder(shape, seeds[1]),
            )
            return cls(nn.Sequential(encoder), nn.Sequential(decoder))
        with torch.random.fork_rng([]):
            if how.network == "dense":
                built = dense_autoencoder(shape, how.layers)
            else:
                built = convolutional_autoencoder(shape, how.layers[-1])
        for part, seed in zip(built, seeds):
            initialised(part, seed)
        return cls(*built)

    def state(self) -> dict[str, Tensor]:
        return nn.ModuleList([self.encoder, self.decoder]).state_dict()

    def load(self, state: dict[str, Tensor]) -> None:
        nn.ModuleList([self.encoder, self.decoder]).load_state_dict(state)


def pretrained_autoencoder(
    how: Pretraining, rows: Rows, run: FitRun, cache: str | os.PathLike[str] | None = None
) -> Autoencoder:
    """The autoencoder after its pretraining, out of the cache folder if it is there."""
    autoencoder = Autoencoder.build(how, rows.shape)
    path = None if cache is None else _cached(how, rows, cache)
    if path is not None and path.exists():
        try:
            autoencoder.load(model_files.read(path, "autoencoder")[1])
        except StorageError as error:
            raise StorageError(
                f"The pretrained autoencoder '{path}' cannot be used: {error} Or delete the file: "
                "the next fit then pretrains anew."
            ) from error
        return autoencoder
    complete = True
    if how.network == "dense":
        complete = _pretrain_layers(autoencoder, how, rows, run)
    encoder, decoder, whole = _denoise(
        how, rows, run, "whole", how.epochs,
        [Dropout(how.corruption, rows.shape), *autoencoder.encoder], list(autoencoder.decoder),
    )  # fmt: skip
    autoencoder = Autoencoder(nn.Sequential(*list(encoder)[1:]), decoder, complete and whole)
    if path is not None and autoencoder.complete:
        model_files.write(path, "autoencoder", {}, autoencoder.state())
    return autoencoder


def _cached(how: Pretraining, rows: Rows, cache: str | os.PathLike[str]) -> Path:
    """Where this pretraining is kept."""
    folder = model_files.cache_folder(cache)
    mark = fingerprint(_as_json(how), rows.X)
    return folder / f"autoencoder-{mark[:32]}.safetensors"


def _as_json(how: Pretraining) -> dict[str, Any]:
    """What the pretrained weights depend on, beside the rows."""
    given = {field.name: getattr(how, field.name) for field in fields(how)}
    modules = (how.network, how.decoder)
    own = [digest_of_module(one) if isinstance(one, nn.Module) else one for one in modules]
    return given | {"network": own[0], "decoder": own[1]}


def _pretrain_layers(autoencoder: Autoencoder, how: Pretraining, rows: Rows, run: FitRun) -> bool:
    """Train each layer as an autoencoder of what the layers before it give; whether to the end."""
    complete = True
    there = [layer for layer in autoencoder.encoder if isinstance(layer, nn.Linear)]
    back = [layer for layer in autoencoder.decoder if isinstance(layer, nn.Linear)][::-1]
    before: list[nn.Module] = [nn.Flatten()]
    for number, (encode, decode) in enumerate(zip(there, back), start=1):
        rate = how.corruption
        last = number == len(there)
        hidden = [] if last else [nn.ReLU(), Dropout(rate, (encode.out_features,))]
        encoder, decoder, ended = _denoise(
            how, rows, run, f"layer {number}", how.layer_epochs,
            [Dropout(rate, (encode.in_features,)), encode, *hidden], [decode], before,
        )  # fmt: skip
        encode.load_state_dict(encoder[1].state_dict())
        decode.load_state_dict(decoder[0].state_dict())
        before += [encode, nn.ReLU()]
        complete = complete and ended
    return complete


def _denoise(
    how: Pretraining,
    rows: Rows,
    run: FitRun,
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
    capturable = rows.settle(how.precision) and not how.own
    stacks = {
        name: Stack([nn.Sequential(*layers)], how.precision).to(rows.device)
        for name, layers in (("encoder", encoder), ("decoder", decoder))
    }
    given = Stack([nn.Sequential(*before)], how.precision).to(rows.device) if before else None
    complete = True
    # A task for each rate: a captured step keeps its own.
    for number, first in enumerate(range(0, epochs, RATE_EPOCHS)):
        last = min(first + RATE_EPOCHS, epochs)
        seeds = [derived_seed(how.seed, Purpose.STAGE, 100 * number + len(before))]
        task = Task(
            stage=how.stage,
            stacks=nn.ModuleDict(stacks),
            losses=_denoising_losses(how, rows, seeds, stacks, given),
            steps=[(last - first) * -(-rows.n // how.batch_size)],
            optimizer=how.optimizer,
            learning_rate=how.learning_rate * 0.1**number,
            foreign_seed=seeds[0] if how.own else None,
            part=part if epochs <= RATE_EPOCHS else f"{part}, epochs {first + 1}–{last}",
            capturable=capturable,
        )
        (history,) = train(task, run)
        check_converged(history, how.stage, DIVERGED)
        stacks["encoder"].clear_dropout()
        complete = len(history.get("loss", ())) == max(task.steps)
        if not complete:
            break
    trained = [stacks[name].network(0).cpu() for name in ("encoder", "decoder")]
    there, back = (nn.Sequential(*part.children()) for part in trained)
    return there, back, complete


def _denoising_losses(
    how: Pretraining,
    rows: Rows,
    seeds: Sequence[int],
    stacks: dict[str, Stack],
    given: Stack | None,
) -> Losses:
    """Step → mean squared error of the rows that come out against those that went in."""
    source = RandomRows(rows.n, how.batch_size, seeds, rows.device)

    def losses_of(step: int | Tensor) -> dict[str, Tensor]:
        x = rows.take_replicas(source.draw(step).rows)
        with torch.no_grad():
            x = x.float() if given is None else given(x)
        stacks["encoder"].lay_dropout(how.batch_size, seeds, step)
        x_hat = stacks["decoder"](stacks["encoder"](x))
        error = losses.reconstruction_error(x_hat.flatten(2), x.flatten(2), "mean")
        return {"loss": error.mean(1)}

    return losses_of
