"""A Ray cluster: found or started, and functions that run on it."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import torch

from s3c2 import __version__
from s3c2.engine.progress import Progress
from s3c2.errors import ClusterError, MissingExtraError

R = TypeVar("R")

CONNECT_SECONDS = 10
# Each worker has one processor. Where OMP_NUM_THREADS says more, workers would wait for each other.
ONE_THREAD = {"env_vars": {"OMP_NUM_THREADS": "1"}}
MODE = "RAY_AUTH_MODE"
# Ray hides it in the cause of another error.
REFUSED_TOKEN = ("InvalidAuthToken", "Unauthenticated")


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
    if address is None:
        # Ray would listen on all interfaces, unless it is told that it is alone,
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        # and would tell its makers how it is used.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what it says of its own workings
    ray = ray_package()
    if ray.is_initialized():
        yield
        return
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    how: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    how["runtime_env"] = ONE_THREAD
    try:
        try:
            _check_reachable(address)
            with _nothing_said(), _interrupted_afterwards():
                if address is None:
                    ray.init("local", **how, include_dashboard=False)
                else:
                    with _waiting_briefly():
                        ray.init(address, **how)
        except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            raise _not_connected(ray, address, error) from None
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield
    finally:
        ray.shutdown()


@contextmanager
def _waiting_briefly() -> Iterator[None]:
    """Let Ray try for some seconds alone to reach a cluster, also where it is refused."""
    name = "RAY_gcs_server_port_wait_time_s"
    before = os.environ.get(name)
    os.environ.setdefault(name, str(CONNECT_SECONDS))
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


@contextmanager
def _interrupted_afterwards() -> Iterator[None]:
    """Let Ctrl-C wait: a process that leaves Ray in the middle of its start ends by a signal."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # Ctrl-C goes elsewhere, or nowhere
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


@contextmanager
def _nothing_said() -> Iterator[None]:
    """Keep what Ray's own library writes to stderr from the user, who gets one sentence of ours."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _not_connected(ray: Any, address: str | None, error: Exception) -> ClusterError:
    """Why there is no cluster, and what to do about it."""
    place = "on this machine" if address is None else f"at {address}"
    missing = isinstance(error, getattr(ray.exceptions, "AuthenticationError", ()))
    if missing or any(word in f"{error} {error.__cause__}" for word in REFUSED_TOKEN):
        sent = "no token" if missing or os.environ.get(MODE) != "token" else "another one"
        return ClusterError(
            f"The Ray cluster {place} asks for its token, and got {sent}. Set {MODE}=token, and "
            "RAY_AUTH_TOKEN to what 'ray get-auth-token' prints on the cluster's head."
        )
    why = (str(error).splitlines() or [type(error).__name__])[0]
    return ClusterError(
        f"Ray cannot be reached {place}: {why[:200]}. Start it with 'ray start --head', and give "
        "the address that this prints."
    )


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
    """``function(common, group)`` of every group, on the cluster, in the order of the groups."""
    n, gets = n_workers()
    results: dict[int, R] = {}
    with Progress("training on the cluster, groups", len(groups), verbose) as progress:
        for number, result in as_they_come(function, common, groups, gets, n):
            results[number] = result
            progress.update(len(results))
    return [results[number] for number in range(len(groups))]


def as_they_come(
    function: Callable[[Any, Any], R],
    common: Any,
    groups: Sequence[Any],
    gets: Mapping[str, float],
    at_once: int,
) -> Iterator[tuple[int, R]]:
    """``function(common, group)`` of each group as soon as it is there, with the group's place.

    What was under way on a worker that is lost is begun again on another one. When the caller goes,
    or after an error, no more is begun, and what is under way ends by itself: a task that is done
    while Ray 2.60 cancels it takes this process down.

    Parameters
    ----------
    gets : what each task needs of the cluster, such as ``{"num_cpus": 1}``
    at_once : tasks under way, at most
    """
    ray = ray_package()
    task = ray.remote(max_retries=-1, **gets)(_in_version)
    shared = ray.put(common)
    places = iter(range(len(groups)))
    under_way: dict[Any, int] = {}
    while True:
        for place in islice(places, at_once - len(under_way)):
            under_way[task.remote(versions(), function, shared, groups[place])] = place
        if not under_way:
            return
        (done, *_), _ = ray.wait(list(under_way))
        place = under_way.pop(done)
        try:
            result = ray.get(done)
        except ray.exceptions.RayTaskError as error:
            raise _of_a_worker(error) from None
        yield place, result


def _of_a_worker(error: Any) -> BaseException:
    """What went wrong there: in one sentence if it is about what the user gave, else with all."""
    if isinstance(error.cause, ValueError):  # S3C2Error among them
        return error.cause
    whole: BaseException = error.as_instanceof_cause()
    return whole


def versions() -> dict[str, str]:
    """What must be the same on all nodes for the same results."""
    release = torch.__version__.split("+")[0]  # builds for CPUs and for GPUs go together
    return {"s3c2": __version__, "torch": release}


def _in_version(
    asked: Mapping[str, str], function: Callable[[Any, Any], R], common: Any, group: Any
) -> R:
    for name, here in versions().items():
        if asked[name] != here:
            raise ClusterError(
                f"A worker of the cluster has {name} {here}, and the one who asked has "
                f"{asked[name]}. Install the same version on every node."
            )
    return function(common, group)


def _check_reachable(address: str | None) -> None:
    """Find out within seconds whether anyone answers there; Ray itself tries for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
