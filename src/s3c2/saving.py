"""Fitted models as files, and back: everything is checked before a network is built."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import nn

from s3c2.data.scaling import CLASSES, Scaling
from s3c2.engine.usual_torch import usual_torch
from s3c2.errors import DataError, StorageError
from s3c2.files import model_files
from s3c2.files.saved import Saved
from s3c2.parameters import AUTO, MOST, torch_device
from s3c2.reading import Reading, network_kind, scaled_shape

if TYPE_CHECKING:
    from s3c2.surface import LinkEstimator

E = TypeVar("E", bound="LinkEstimator")
OWN = {"own": True}  # stands for a module of the user's own: files hold no code
MODULES = ("network", "decoder", "labnet__decoder")  # the settings that may be such a module


def save_model(model: LinkEstimator, folder: str | os.PathLike[str]) -> None:
    """Write a fitted model as one file into a folder."""
    reading = model.reading_
    names = reading.feature_names_in
    saved = Saved(
        {
            "class": type(model).__name__,
            "settings": model._settings_of_fit,
            "input_shape": list(reading.input_shape),
            "feature_names_in": None if names is None else [str(name) for name in names],
            "scale": reading.scale,
        }
    )
    if reading.scaling is not None:
        for name in CLASSES[reading.scaling.kind].shapes(reading.input_shape):
            saved.put_array(f"scaling.{name}", getattr(reading.scaling, name))
    model._pack(saved)
    path = model_files.model_file_to_write(folder)
    model_files.write(path, "model", saved.content, saved.tensors)


def load_model(
    kind: type[E], folder: str | os.PathLike[str], network: nn.Module | None, device: str
) -> E:
    """The model of a folder, or a refusal that says what is wrong with its file."""
    if network is not None and not isinstance(network, nn.Module):
        raise TypeError(
            f"The 'network' parameter of load must be a torch.nn.Module. Got {network!r} instead."
        )
    torch_device(device)
    path = model_files.model_file(folder)
    content, tensors = model_files.read(path, "model")
    saved = Saved(content, tensors)
    try:
        _check_class(saved, kind, folder)
        model = _unfitted(saved, kind, folder, network, device)
        reading = _reading(saved, model)
        with usual_torch():
            learned = model._with_network(reading)._unpack(saved, reading)
        saved.check_nothing_left()
    except _Refused as refused:
        raise StorageError(str(refused)) from None
    except (StorageError, DataError) as error:
        remedy = "Take the copy that was saved, or save it again."
        if network is not None:
            remedy = f"Pass a module of the architecture that it was fitted with, or: {remedy}"
        raise StorageError(
            f"'{path}' is not a model of {kind.__name__} that can be loaded: {error} {remedy}"
        ) from error
    model._set_fitted(reading, learned)
    return model


class _Refused(Exception):  # noqa: N818
    """A sound file that is not what was asked for: the words are complete."""


def _check_class(saved: Saved, kind: type[Any], folder: Any) -> None:
    name = saved.take("class", lambda v: isinstance(v, str), "the name of a class")
    if name != kind.__name__:
        raise _Refused(
            f"'{folder}' holds a model of {name}, not of {kind.__name__}. Load it with {name}.load."
        )


def _unfitted(
    saved: Saved, kind: type[E], folder: Any, network: nn.Module | None, device: str
) -> E:
    """The estimator with the settings of the file, checked."""
    settings = saved.take("settings", lambda v: isinstance(v, dict), "an object")
    usual = kind()._settings()
    missing = [name for name in usual if name not in settings]
    unknown = [name for name in settings if name not in {*usual, "random_state"}]
    for names, how in ((missing, "is missing"), (unknown, "is unknown")):
        if names:
            raise StorageError(f"the setting '{names[0]}' {how}.")
    own = [name for name in MODULES if settings.get(name) == OWN]
    if "network" in own and network is None:
        raise _Refused(
            f"The model in '{folder}' was fitted with a network of your own. Files hold no "
            "code: pass the same module again, load(folder, network=module)."
        )
    if "network" not in own and network is not None:
        raise _Refused(f"The model in '{folder}' has no network of your own: leave network= out.")
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
    given |= dict.fromkeys(own)
    if "network" in own:
        given["network"] = network
    try:
        model: E = kind().set_params(**given, device=device)
        model._check_parameters()
    except (ValueError, TypeError) as error:
        raise StorageError(str(error)) from error
    if len(model.layers) > len(saved.tensors):
        raise StorageError(f"it holds {len(saved.tensors)} tensors, too few for its 'layers'.")
    return model


def _reading(saved: Saved, model: LinkEstimator) -> Reading:
    def is_shape(value: Any) -> bool:
        return (
            isinstance(value, list)
            and 1 <= len(value) <= 3
            and all(type(size) is int and 1 <= size <= MOST for size in value)
        )

    shape = tuple(saved.take("input_shape", is_shape, "the sizes of a row"))

    def are_names(value: Any) -> bool:
        return value is None or (
            isinstance(value, list)
            and len(value) == shape[0]
            and all(isinstance(name, str) for name in value)
        )

    names = saved.take("feature_names_in", are_names, f"{shape[0]} names, or null")
    scaling = _scaling(saved, model.scale, shape)
    kind, _ = network_kind(model.network, scaled_shape(shape, scaling))
    as_names = None if names is None else np.array(names, dtype=object)
    return Reading(shape, shape[0], kind, as_names, scaling)


def _scaling(saved: Saved, asked: str | None, shape: tuple[int, ...]) -> Scaling | None:
    allowed = tuple(CLASSES) if asked == AUTO else (asked,)
    scale = saved.take("scale", lambda v: v in allowed, " or ".join(map(repr, allowed)))
    if scale is None:
        return None
    arrays = {
        name: saved.take_array(f"scaling.{name}", torch.float64, shapes)
        for name, shapes in CLASSES[scale].shapes(shape).items()
    }
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise StorageError("the scaling holds NaN or infinity.")
    return CLASSES[scale](scale, **arrays)
