"""Checking parameters: what is allowed, what came, in one shape of sentence."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import torch
from torch import nn

MOST = 2**31 - 1  # of a whole number: what no machine could hold is refused by its name
NETWORKS = ("dense", "convolutional")


def parameter(estimator: Any, name: str) -> str:
    """The parameter in the words of an error."""
    return f"'{name}' parameter of {type(estimator).__name__}"


def check_choice(estimator: Any, name: str, allowed: tuple[Any, ...]) -> None:
    """Refuse a parameter that is none of the allowed values."""
    value = getattr(estimator, name)
    if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
        raise ValueError(
            f"The {parameter(estimator, name)} must be one of "
            f"{', '.join(map(repr, allowed))}. Got {value!r} instead."
        )


def check_flag(estimator: Any, name: str) -> None:
    """Refuse a parameter that is neither True nor False."""
    value = getattr(estimator, name)
    if not isinstance(value, bool | np.bool_):
        raise ValueError(
            f"The {parameter(estimator, name)} must be True or False. Got {value!r} instead."
        )


def check_network(estimator: Any) -> None:
    """Refuse a network that is neither a known kind nor a module."""
    value = estimator.network
    if not (isinstance(value, nn.Module) or (isinstance(value, str) and value in NETWORKS)):
        raise ValueError(
            f"The {parameter(estimator, 'network')} must be one of "
            f"{', '.join(map(repr, NETWORKS))}, or a torch.nn.Module of your own. "
            f"Got {value!r} instead."
        )


def check_module(estimator: Any, name: str) -> None:
    """Refuse a parameter that is neither None nor a module."""
    value = getattr(estimator, name)
    if value is not None and not isinstance(value, nn.Module):
        raise TypeError(
            f"The {parameter(estimator, name)} must be a torch.nn.Module. Got {value!r} instead."
        )


def check_layers(estimator: Any) -> None:
    """Refuse layer sizes that are not whole numbers, at least one of them."""
    value = estimator.layers
    whole = isinstance(value, tuple | list) and all(
        isinstance(size, int | np.integer) and 1 <= size <= MOST for size in value
    )
    if not whole or len(value) == 0:
        raise ValueError(
            f"The {parameter(estimator, 'layers')} must be a tuple of ints from 1 to {MOST}, "
            f"hidden layers and then the representation, such as (256, 256, 256). "
            f"Got {value!r} instead."
        )


def check_number(
    estimator: Any,
    name: str,
    low: float,
    high: float | None = None,
    *,
    whole: bool = False,
    optional: bool = False,
    word: str | None = None,
) -> None:
    """Refuse a parameter that is neither a number in [low, high] nor this word."""
    value = getattr(estimator, name)
    if value is None and optional:
        return
    if word is not None and isinstance(value, str) and value == word:
        return
    if high is None:
        high = MOST if whole else math.inf
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    right = isinstance(value, kinds) and not isinstance(value, bool)
    if not right or not low <= value <= high or value == math.inf:
        kind = "an int" if whole else "a number"
        upto = f"{high})" if high == math.inf else f"{high}]"
        other = "" if word is None else f"{word!r} or "
        raise ValueError(
            f"The {parameter(estimator, name)} must be {other}{kind} in the range [{low}, {upto}. "
            f"Got {value!r} instead."
        )


def check_memory(estimator: Any, name: str, needed: int) -> None:
    """Refuse a size that the memory of this machine cannot hold, before anything is allocated."""
    there = host_memory()
    if needed > there:
        raise ValueError(
            f"The {parameter(estimator, name)} is {getattr(estimator, name)!r}, which takes at "
            f"least {needed / 2**30:,.0f} GiB of memory, and this machine has "
            f"{there / 2**30:.0f}. Make it smaller."
        )


def host_memory() -> int:
    """Bytes of memory of this machine; without a limit where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**62


def torch_device(name: Any) -> torch.device:
    """The device of this name; "auto" is a GPU if there is one."""
    if isinstance(name, str) and name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise _no_device(name, "torch knows no such device") from None
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise _no_device(name, str(error).splitlines()[0].rstrip(".")) from error
    return device


def _no_device(name: Any, why: str) -> ValueError:
    return ValueError(
        f"The 'device' parameter is {name!r}, which this machine does not have: {why}. "
        "Use 'auto' or 'cpu'."
    )
