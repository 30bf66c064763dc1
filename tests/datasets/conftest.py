"""Data sets of a few rows, and a server on this machine that can misbehave."""

from __future__ import annotations

import gzip
import hashlib
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from s3c2.datasets import Store
from s3c2.datasets.registry import DataFile


class FileServer:
    """Serves files over HTTP until its block is left.

    Attributes
    ----------
    files : content by path
    ranges : whether it can begin in the middle of a file
    sends_size : whether it says how long a file is
    cuts : for one request after the other, after how many bytes the connection breaks
    pause : waited for after a cut, with the connection still open
    requests : path and Range header of every request
    """

    def __init__(self):
        self.files = {}
        self.ranges = True
        self.sends_size = True
        self.cuts = []
        self.pause = None
        self.requests = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.daemon = True

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _handler(server):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked = self.headers.get("Range")
                server.requests.append((self.path, asked))
                content = server.files.get(self.path)
                if content is None:
                    self.send_error(404)
                    return
                start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
                start = start if server.ranges else 0
                self.send_response(206 if asked and server.ranges else 200)
                if asked and server.ranges:
                    total = len(content)
                    self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
                if server.sends_size:
                    self.send_header("Content-Length", str(len(content) - start))
                self.end_headers()
                cut = server.cuts.pop(0) if server.cuts else None
                end = None if cut is None else start + cut
                with suppress(ConnectionError):  # a client that refuses the file hangs up
                    self.wfile.write(content[start:end])
                if cut is not None and server.pause is not None:
                    server.pause.wait(30)

            def log_message(self, *_):
                pass

        return Handler


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with FileServer() as server:
        yield server


@pytest.fixture
def closed_port():
    """The address of a server that is not there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def idx(array):
    """A gzipped IDX file of unsigned bytes."""
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(head + array.astype(np.uint8).tobytes(), mtime=0)


@pytest.fixture(scope="session")
def contents():
    """The files of a small MNIST and a small Letters, by name."""
    rng = np.random.default_rng(0)
    letters = [
        ",".join([chr(ord("A") + n % 26), *map(str, rng.integers(0, 16, 16))]) + "\n"
        for n in range(15_100)
    ]
    return {
        "mnist/train-images-idx3-ubyte.gz": idx(rng.integers(0, 256, (40, 28, 28))),
        "mnist/train-labels-idx1-ubyte.gz": idx(np.arange(40) % 10),
        "mnist/t10k-images-idx3-ubyte.gz": idx(rng.integers(0, 256, (20, 28, 28))),
        "mnist/t10k-labels-idx1-ubyte.gz": idx(np.arange(20)[::-1] % 10),
        "letters/letter-recognition.data": "".join(letters).encode(),
    }


def registry(contents, *mirrors):
    """What the real registry says of the real files, for these."""
    files = {"mnist": (), "fashion-mnist": (), "letters": (), "digits": ()}
    for name, content in contents.items():
        sha256 = hashlib.sha256(content).hexdigest()
        urls = tuple(f"{mirror}/{name}" for mirror in mirrors)
        files[name.split("/")[0]] += (DataFile(name, len(content), sha256, urls),)
    files["reuters"] = (DataFile("reuters/rcv1-four-roots.npz", 10, "0" * 64),)
    return files


@pytest.fixture
def store(tmp_path, server, contents):
    """A store with an empty cache, whose files the server has."""
    server.files = {f"/{name}": content for name, content in contents.items()}
    return Store(None, tmp_path / "cache", registry(contents, server.url))


def write_files(folder, contents):
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
