"""A Ray cluster: found or started, and functions that run on it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from s3c2.engine.progress import Progress
from s3c2.errors import ClusterError, MissingExtraError

R = TypeVar("R")

CONNECT_SECONDS = 10


def ray_package() -> Any:
    """The package ray, with ray.data, or which extra installs it."""
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtraError("Working on a cluster", "ray", "ray") from None
    return ray


@contextmanager
def connected(address: str | None = None) -> Iterator[None]:
    """A Ray cluster: the one this process is connected to already, the one at this address, or a
    new one on this machine alone.
    """
    if address is None:  # Ray would listen on all interfaces, unless it is told that it is alone
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    ray = ray_package()
    if ray.is_initialized():
        yield
        return
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what it says of its own workings
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        _check_reachable(address)
        if address is None:
            ray.init("local", **quiet, include_dashboard=False)
        else:
            ray.init(address, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        place = "on this machine" if address is None else f"at {address}"
        raise ClusterError(
            f"Ray cannot be reached {place}: {why[:200]}. Start it with 'ray start --head', and "
            "give the address that this prints."
        ) from None
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield
    finally:
        ray.shutdown()


def n_workers() -> tuple[int, dict[str, float]]:
    """How many tasks the cluster runs at a time, and what each gets: a GPU, or else a CPU."""
    there = ray_package().cluster_resources()
    n_gpus = int(there.get("GPU", 0))
    if n_gpus:
        return n_gpus, {"num_gpus": 1, "num_cpus": 0}
    return max(1, int(there.get("CPU", 1))), {"num_cpus": 1}


def spread(
    function: Callable[[Any, Any], R], common: Any, groups: Sequence[Any], verbose: int
) -> list[R]:
    """``function(common, group)`` of every group, on the cluster, in the order of the groups.

    What was under way on a worker that is lost is begun again on another one.
    """
    ray = ray_package()
    _, gets = n_workers()
    task = ray.remote(max_retries=-1, **gets)(function)
    shared = ray.put(common)
    left = [task.remote(shared, group) for group in groups]
    order = {reference: number for number, reference in enumerate(left)}
    results: dict[int, R] = {}
    with Progress("training on the cluster, groups", len(groups), verbose) as progress:
        while left:
            (done, *_), left = ray.wait(left)
            try:
                results[order[done]] = ray.get(done)
            except ray.exceptions.RayTaskError as error:
                raise error.as_instanceof_cause() from None
            progress.update(len(results))
    return [results[number] for number in range(len(groups))]


def _check_reachable(address: str | None) -> None:
    """Find out within seconds whether anyone answers there; Ray itself tries for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
