"""Checking parameters: what is allowed, what came, in one shape of sentence."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from s3c2.errors import ClusterError

MOST = 2**31 - 1  # of a whole number: what no machine could hold is refused by its name
MOST_LAYERS = 1000
NETWORKS = ("dense", "convolutional")
AUTO = "auto"  # chosen by what X is


def parameter(estimator: Any, name: str) -> str:
    """The parameter in the words of an error."""
    return f"'{name}' parameter of {type(estimator).__name__}"


def got(value: Any) -> str:
    """What came, in the words of an error."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**100 else "a huge int"
    return f"Got {text if len(text) <= 200 else text[:199] + '…'} instead."


def check_choice(estimator: Any, name: str, allowed: tuple[Any, ...]) -> None:
    """Refuse a parameter that is none of the allowed values."""
    value = getattr(estimator, name)
    if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
        raise ValueError(
            f"The {parameter(estimator, name)} must be one of "
            f"{', '.join(map(repr, allowed))}. {got(value)}"
        )


def check_flag(estimator: Any, name: str) -> None:
    """Refuse a parameter that is neither True nor False."""
    value = getattr(estimator, name)
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"The {parameter(estimator, name)} must be True or False. {got(value)}")


def check_network(estimator: Any) -> None:
    """Refuse a network that is neither a known kind nor a module."""
    value = estimator.network
    allowed = (AUTO, *NETWORKS)
    if not (isinstance(value, nn.Module) or (isinstance(value, str) and value in allowed)):
        raise ValueError(
            f"The {parameter(estimator, 'network')} must be one of "
            f"{', '.join(map(repr, allowed))}, or a torch.nn.Module of your own. "
            f"{got(value)}"
        )


def check_module(estimator: Any, name: str) -> None:
    """Refuse a parameter that is neither None nor a module."""
    value = getattr(estimator, name)
    if value is not None and not isinstance(value, nn.Module):
        raise TypeError(f"The {parameter(estimator, name)} must be a torch.nn.Module. {got(value)}")


def check_layers(estimator: Any) -> None:
    """Refuse layer sizes that are not whole numbers, at least one of them."""
    value = estimator.layers
    whole = isinstance(value, tuple | list) and all(
        is_whole(size) and 1 <= size <= MOST for size in value[: MOST_LAYERS + 1]
    )
    if not whole or not 1 <= len(value) <= MOST_LAYERS:
        raise ValueError(
            f"The {parameter(estimator, 'layers')} must be a tuple of 1 to {MOST_LAYERS:,} ints, "
            f"each at least 1: hidden layers and then the representation, such as "
            f"(256, 256, 256). {got(value)}"
        )


def check_number(
    estimator: Any,
    name: str,
    low: float,
    high: float | None = None,
    *,
    whole: bool = False,
    optional: bool = False,
    words: Sequence[str] = (),
) -> None:
    """Refuse a parameter that is neither a number in [low, high] nor one of these words."""
    value = getattr(estimator, name)
    if value is None and optional:
        return
    if isinstance(value, str) and value in words:
        return
    check_value(value, parameter(estimator, name), low, high, whole=whole, words=words)


def check_value(
    value: Any,
    what: str,
    low: float,
    high: float | None = None,
    *,
    whole: bool = False,
    words: Sequence[str] = (),
) -> None:
    """Refuse what is no number in [low, high]; ``what`` it is and ``words`` are for the message."""
    if high is None:
        high = MOST if whole else math.inf
    right = is_whole(value) or (not whole and isinstance(value, float | np.floating))
    number = _as_float(value) if right and not whole else value
    if not right or not low <= number <= high or number == math.inf:
        kind = "an int" if whole else "a number"
        upto = f"{high})" if high == math.inf else f"{high}]"
        other = "".join(f"{word!r} or " for word in words)
        raise ValueError(
            f"The {what} must be {other}{kind} in the range [{low}, {upto}. {got(value)}"
        )


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an int beyond all floats
        return math.inf


def is_whole(value: Any) -> bool:
    """Whether this is an int, of Python or NumPy; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_path(estimator: Any, name: str) -> None:
    """Refuse a parameter that is neither None nor the name of a file or folder."""
    value = getattr(estimator, name)
    if value is None:
        return
    try:
        path = os.fspath(value)
    except TypeError:
        path = None
    if not isinstance(path, str) or not path or "\0" in path:
        raise TypeError(f"The {parameter(estimator, name)} must be None or a path. {got(value)}")


def check_random_state(estimator: Any, name: str = "random_state") -> None:
    """Refuse what no seed can be taken from, without taking one."""
    value = getattr(estimator, name)
    generator = isinstance(value, np.random.Generator | np.random.RandomState)
    if value is not None and not generator and not (is_whole(value) and 0 <= value < 2**64):
        raise ValueError(
            f"The {parameter(estimator, name)} must be None, an int in the range [0, 2**64), or a "
            f"numpy generator. {got(value)}"
        )


def check_verbose(estimator: Any) -> None:
    """Refuse what does not say how much is told."""
    if not isinstance(estimator.verbose, bool | np.bool_):
        check_number(estimator, "verbose", 0, whole=True)


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
    """The device of this name; "auto" is a GPU if there is one.

    Of the processes that torchrun started each has a GPU of its own, unless the name has a number.
    """
    if isinstance(name, str) and name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if not isinstance(name, str | torch.device):
        raise TypeError(
            f"The 'device' parameter must be 'auto' or the name of a device. {got(name)}"
        )
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise _no_device(name, "torch knows no such device") from None
    if device.type == "meta":
        raise _no_device(name, "it holds no numbers")
    if str(device) == "cuda" and "TORCHELASTIC_RUN_ID" in os.environ:
        device = _gpu_of_rank()
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise _no_device(name, str(error).splitlines()[0].rstrip(".")) from error
    return device


def _gpu_of_rank() -> torch.device:
    """The GPU of this process, of those that torchrun started on this machine."""
    own, there = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if own >= there > 0:
        raise ClusterError(
            f"torchrun started {os.environ.get('LOCAL_WORLD_SIZE', own + 1)} processes on this "
            f"machine, which has {there} GPU{'s' if there > 1 else ''}, and each needs one of its "
            f"own. Start {there} with --nproc-per-node {there}, or use device='cpu'."
        )
    return torch.device("cuda", own)


def _no_device(name: Any, why: str) -> ValueError:
    return ValueError(
        f"The 'device' parameter is {name!r}, which this machine does not have: {why}. "
        "Use 'auto' or 'cpu'."
    )


def whole(value: Any) -> int | None:
    """A whole number as Python's own; a small NumPy integer would overflow."""
    return None if value is None else int(value)
