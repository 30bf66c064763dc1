"""Serving the page on this machine."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

import uvicorn

from s3c2.errors import StorageError
from s3c2.page.app import make_app
from s3c2.page.guard import is_loopback
from s3c2.page.project import Project


def listening(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends replies at once; else each waits 40 ms for the reader.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(128)  # before the address is told: a browser may be quick
    except OSError as error:
        found.close()
        raise StorageError(
            f"{host}:{port} cannot be listened on ({error.strerror}). Give another --port, or "
            f"--port 0 for any that is free."
        ) from None
    return found


def serve(project: Project, place: socket.socket, host: str, tell: Callable[[str], None]) -> None:
    """Serve until interrupted; ``tell`` is called with the address once."""
    port = place.getsockname()[1]
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    shown = f"[{host}]" if ":" in host else host
    tell(f"http://{shown}:{port}/" + (f"?token={token}" if token else ""))
    config = uvicorn.Config(
        make_app(project, host, port, token), log_level="warning", access_log=False,
        server_header=False, timeout_graceful_shutdown=2, ws="none", lifespan="off",
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[place])
