"""What all estimators share: reading X, resolving links, device, seed, saving."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor, nn

from s3c2 import published
from s3c2.data.scaling import SCALES, Scaling, check_finite
from s3c2.engine.callbacks import as_callbacks
from s3c2.engine.checkpoint import Checkpoint, fingerprint
from s3c2.engine.loop import History, Run
from s3c2.engine.optimizers import OPTIMIZERS
from s3c2.engine.randomness import seed_from
from s3c2.engine.rows import Rows
from s3c2.errors import DataError, LinksError, StorageError
from s3c2.files import model_files as storage
from s3c2.links import Links
from s3c2.networks import Architecture

# Not settings of the method: who watches, and where it runs.
CIRCUMSTANCES = ("cache", "callbacks", "checkpoint", "device", "verbose")
MODULES = ("encoder", "decoder")


class SiameseEstimator(BaseEstimator):
    """Base of the estimators. Subclasses store their parameters in ``__init__``, as scikit-learn
    asks; the ones named here are common to all.
    """

    network: str
    encoder: nn.Module | None
    layers: tuple[int, ...]
    dropout: float | None
    scale: str | None
    device: str
    random_state: Any
    verbose: int
    callbacks: Any
    checkpoint: str | os.PathLike[str] | None
    contradictions: Literal["raise", "drop"]
    scaling_: Scaling | None
    input_shape_: tuple[int, ...]
    n_features_in_: int
    _named_by: tuple[str, dict[str, str]]

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the estimator as it was if the work fails: a fitted one stays usable."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            for name in set(vars(self)) - set(before):
                delattr(self, name)
            for name, value in before.items():
                setattr(self, name, value)
            raise

    def _read(self, X: Any, *, reset: bool) -> Rows:
        """Validate X and wrap it; ``reset`` learns its shape, names and scaling."""
        X = _to_numpy(X)
        _check_columns_numeric(X)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,  # checked below, naming the place
            allow_nd=True,
            ensure_min_samples=2 if reset else 1,  # one row has no pairs to learn from
        )
        if X.ndim not in (2, 3, 4):
            raise DataError(
                "X must have the shape (n, columns), (n, h, w) or (n, channels, h, w). "
                f"Got {X.shape}."
            )
        if not reset and X.shape[1:] != self.input_shape_:
            raise DataError(
                f"X has rows of shape {X.shape[1:]}, and {type(self).__name__} was fitted on rows "
                f"of shape {self.input_shape_}. Bring the new rows into that shape."
            )
        check_finite(X, getattr(self, "feature_names_in_", None))
        if reset:
            self.input_shape_ = X.shape[1:]
            self.scaling_ = None if self.scale is None else Scaling.learn(self.scale, X)
        return Rows(X, self._row_shape(), self.scaling_, self._device())

    def _row_shape(self) -> tuple[int, ...]:
        """The shape in which a row enters the network: grey images get their one channel."""
        images = self.network == "convolutional" or self.encoder is not None
        if images and len(self.input_shape_) == 2:
            return (1, *self.input_shape_)
        return self.input_shape_

    def _resolve(self, links: Any, sample_id: Any, rows: Rows, y: Any = None) -> Links:
        """The links by row number of this X, consistent, with both kinds among them."""
        if isinstance(y, Links):
            raise LinksError("The links were given as y, which is ignored: write fit(X, links=…).")
        if links is None:
            links = self._default_links(rows)
        if not isinstance(links, Links):
            raise LinksError(
                f"links must be a Links object. Got {type(links).__name__}. Make one with "
                "Links(must=…, cannot=…, n_samples=len(X)) or Links.read('links.csv', …)."
            )
        # Contradictions are looked for first: their words name the ids that the user gave.
        found = links.check_consistent(self.contradictions).resolve(rows.n, sample_id)
        for kind, count in (("must", found.n_must), ("cannot", found.n_cannot)):
            if count == 0:
                raise LinksError(
                    f"There is no {kind}-link among the {found.n_links} links. Both kinds are "
                    f"needed to tell the same from the different: add some {kind}-links."
                )
        return found

    def _default_links(self, rows: Rows) -> Links:
        raise LinksError(
            f"{type(self).__name__} learns from links, and got none. "
            "Pass fit(X, links=Links(must=…, cannot=…, n_samples=len(X)))."
        )

    def _begin(self, rows: Rows, links: Links, beside: Any = None) -> tuple[Run, int]:
        """The run of one ``fit``, and its seed; ``beside`` is what else decides its result."""
        run, (seed,) = begin([self], rows, [links], [seed_from(self.random_state)], beside)
        return run, seed

    def _architecture(self) -> Architecture:
        """The kind of network that the parameters ask for."""
        dropout = published.DROPOUT[self.network] if self.dropout is None else self.dropout
        decoder = getattr(self, "decoder", None)
        return Architecture(self.network, tuple(self.layers), dropout, self.encoder, decoder)

    def _check_shared_parameters(self) -> None:
        """Refuse what no stage could work with."""
        check_choice(self, "network", tuple(published.DROPOUT))
        check_choice(self, "scale", SCALES)
        check_choice(self, "precision", ("float32", "bf16"))
        check_choice(self, "contradictions", ("raise", "drop"))
        check_choice(self, "optimizer", (None, *OPTIMIZERS))
        check_module(self, "encoder")
        check_layers(self)
        check_number(self, "learning_rate", 0)
        if hasattr(self, "dropout"):
            check_number(self, "dropout", 0, 0.99, optional=True)
        for name in ("steps", "batch_links", "batch_pairs"):
            if hasattr(self, name):
                check_number(self, name, 1, whole=True, optional=True)

    def _device(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            device = torch.device(self.device)
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:
            why = str(error).splitlines()[0].rstrip(".")
            if "device string" in why:  # torch goes on to list all that any build of it knows
                why = "torch knows no such device"
            raise ValueError(
                f"The 'device' parameter is {self.device!r}, which is not to be had here: {why}. "
                "Use 'auto' or 'cpu'."
            ) from error
        return device

    def _settings(self) -> dict[str, Any]:
        """The parameters that decide the result, as JSON holds them."""
        left_out = (*CIRCUMSTANCES, *MODULES)
        given = {k: v for k, v in self.get_params(deep=False).items() if k not in left_out}
        if not isinstance(self.random_state, int | np.integer):
            given.pop("random_state", None)
        return {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}

    def _identity(self) -> dict[str, Any]:
        """What tells this estimator from others, beside data and links."""
        modules = {name: digest_of_module(getattr(self, name, None)) for name in MODULES}
        return {"class": type(self).__name__, **self._settings(), **modules}

    def _adopt(self, other: SiameseEstimator) -> None:
        """Take over what another estimator learned about X."""
        for name in ("n_features_in_", "feature_names_in_", "input_shape_", "scaling_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    # Saving. A subclass says what it holds; this class knows how X was read.

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the fitted model as one file in this folder.

        A model that was there is replaced in one move: a kill leaves the old one or the new one.
        """
        content, tensors = self._pack()
        storage.write(Path(folder) / storage.MODEL_FILE, "model", content, tensors)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        encoder: nn.Module | None = None,
        device: str = "auto",
    ) -> Self:
        """Load a model that ``save`` wrote.

        Parameters
        ----------
        folder : path
        encoder : nn.Module, optional
            A module of the same architecture, needed if the model was fitted with an encoder of
            the user's own; its weights come from the file.
        device : str
            Where the model runs from now on; it may have been trained elsewhere.
        """
        path = storage.model_file(folder)
        content, tensors = storage.read(path, "model")
        if content["class"] != cls.__name__:
            raise StorageError(
                f"'{folder}' holds a model of {content['class']}, not of {cls.__name__}. "
                f"Load it with {content['class']}.load."
            )
        if content["own_encoder"] and encoder is None:
            raise StorageError(
                f"The model in '{folder}' was fitted with an encoder of your own. Files hold no "
                "code: pass the same module again, load(folder, encoder=module)."
            )
        settings = content["settings"]
        settings["layers"] = tuple(settings["layers"])
        model = cls(**settings, device=device)
        if content["own_encoder"]:
            model.set_params(encoder=encoder)
        try:
            model._unpack(content, tensors)
        except (KeyError, RuntimeError, TypeError, DataError) as error:
            reason = " ".join(str(error).split())
            raise StorageError(
                f"The weights in '{folder}' do not fit the network they are for: {reason}"
            ) from error
        return model

    def _pack(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """(JSON content, tensors) of the fitted model."""
        names = getattr(self, "feature_names_in_", None)
        content = {
            "class": type(self).__name__,
            "settings": self._settings(),
            "own_encoder": self.encoder is not None,
            "input_shape": list(self.input_shape_),
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": None if names is None else [str(name) for name in names],
        }
        tensors = {}
        if self.scaling_ is not None:
            tensors["scaling.shift"] = torch.from_numpy(np.asarray(self.scaling_.shift))
            tensors["scaling.factor"] = torch.from_numpy(np.asarray(self.scaling_.factor))
        return content, tensors

    def _unpack(self, content: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.input_shape_ = tuple(content["input_shape"])
        self.n_features_in_ = content["n_features_in"]
        if content["feature_names_in"] is not None:
            self.feature_names_in_ = np.array(content["feature_names_in"], dtype=object)
        self.scaling_ = None
        if self.scale is not None:
            shift, factor = (tensors[f"scaling.{k}"].numpy() for k in ("shift", "factor"))
            for array in (shift, factor):
                if array.shape not in ((), self.input_shape_):
                    raise DataError(f"the scaling has the shape {array.shape}.")
            self.scaling_ = Scaling(shift, factor)


def begin(
    models: Sequence[SiameseEstimator],
    rows: Rows,
    links: Sequence[Links],
    seeds: Sequence[int],
    beside: Any = None,
) -> tuple[Run, Sequence[int]]:
    """The run of models that are fitted together, and their seeds.

    The seeds are those of an earlier start, if it left a checkpoint. The first model's callbacks
    and checkpoint are those of all. ``beside`` is what else decides their results.
    """
    first = models[0]
    checkpoint = None
    if first.checkpoint is not None:
        # Own modules are the same in all of them.
        identities = [first._identity(), *(model._settings() for model in models[1:])]
        mark = fingerprint([beside, *identities], rows.X, links)
        checkpoint = Checkpoint(first.checkpoint, mark, seeds)
        seeds = checkpoint.seeds
    return Run(first, as_callbacks(first.callbacks), first.verbose, checkpoint), seeds


def pack_network(stage: str, network: nn.Module, history: History) -> dict[str, Tensor]:
    """A stage's weights and history as tensors."""
    tensors = {f"{stage}.network.{k}": v for k, v in network.state_dict().items()}
    return tensors | {f"{stage}.history.{k}": torch.from_numpy(v) for k, v in history.items()}


def unpack_network(stage: str, network: nn.Module, tensors: dict[str, Tensor]) -> History:
    """Lay a stage's weights into the network and return its history."""
    weights, history = f"{stage}.network.", f"{stage}.history."
    network.load_state_dict(
        {k[len(weights) :]: v for k, v in tensors.items() if k.startswith(weights)}
    )
    network.eval()
    return {k[len(history) :]: v.numpy() for k, v in tensors.items() if k.startswith(history)}


def check_choice(estimator: Any, name: str, allowed: tuple[Any, ...]) -> None:
    """Refuse a parameter that is none of the allowed values."""
    value = getattr(estimator, name)
    if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
        raise ValueError(
            f"The {_as_called(estimator, name)} must be one of "
            f"{', '.join(map(repr, allowed))}. Got {value!r} instead."
        )


def check_module(estimator: Any, name: str) -> None:
    """Refuse a parameter that is neither None nor a module."""
    value = getattr(estimator, name)
    if value is not None and not isinstance(value, nn.Module):
        raise TypeError(
            f"The {_as_called(estimator, name)} must be a torch.nn.Module. Got {value!r} instead."
        )


def check_layers(estimator: Any) -> None:
    """Refuse layer sizes that are not whole numbers, at least one of them."""
    value = estimator.layers
    whole = isinstance(value, tuple | list) and all(
        isinstance(size, int | np.integer) and size >= 1 for size in value
    )
    if not whole or len(value) == 0:
        raise ValueError(
            f"The {_as_called(estimator, 'layers')} must be a tuple of ints of at least 1, hidden "
            f"layers and then the representation, such as (256, 256, 256). Got {value!r} instead."
        )


def _as_called(estimator: Any, name: str) -> str:
    """The parameter as the user knows it: a stage inside S3C2 has S3C2's names."""
    owner: str = type(estimator).__name__
    names: dict[str, str] = {}
    owner, names = getattr(estimator, "_named_by", (owner, names))
    return f"'{names.get(name, name)}' parameter of {owner}"


def check_number(
    estimator: Any,
    name: str,
    low: float,
    high: float = np.inf,
    *,
    whole: bool = False,
    optional: bool = False,
    word: str | None = None,
) -> None:
    """Refuse a parameter that is neither a number in [low, high] nor this word."""
    value = getattr(estimator, name)
    if (value is None and optional) or (word is not None and value == word):
        return
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "an int" if whole else "a number"
        upto = f"{high})" if high == np.inf else f"{high}]"
        other = "" if word is None else f"{word!r} or "
        raise ValueError(
            f"The {_as_called(estimator, name)} must be {other}{kind} in the range [{low}, {upto}. "
            f"Got {value!r} instead."
        )


def _to_numpy(X: Any) -> Any:
    return X.detach().cpu().numpy() if isinstance(X, Tensor) else X


def _check_columns_numeric(X: Any) -> None:
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    for name in X.columns:
        try:
            if getattr(X[name].dtype, "kind", "O") in "mM":
                raise TypeError("dates are no numbers")
            X[name].to_numpy(dtype=np.float64)
        except (TypeError, ValueError):
            first = X[name].iloc[0] if hasattr(X[name], "iloc") and len(X[name]) else "?"
            raise DataError(
                f"Column {name!r} of X is not numeric (its first value is {first!r}). "
                "Leave it out, or turn it into numbers first (scikit-learn's OneHotEncoder does)."
            ) from None


def digest_of_module(module: nn.Module | None) -> str | None:
    """A mark of a module's architecture and weights."""
    if module is None:
        return None
    digest = hashlib.sha256(repr(module).encode())
    for name, value in module.state_dict().items():
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(value.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
