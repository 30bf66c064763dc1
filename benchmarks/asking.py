"""How long the next question takes, while a model is trained beside the page and while none is.

    python benchmarks/asking.py    # 500 answers about digits; writes benchmarks/results/asking.csv

Someone who knows the digits answers over HTTP: the time is that from sending an answer to having
the page with the next question, the answer being on the disk. The reference of the same run is the
smallest request that the page knows, which neither asks nor writes.
"""

from __future__ import annotations

import argparse
import http.client
import re
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import numpy as np
import uvicorn

from s3c2.datasets import load
from s3c2.page.app import make_app
from s3c2.page.items import read_items
from s3c2.page.project import Project
from s3c2.page.server import listening

from tables import publish

STEPS = {"labnet__steps": None, "clunet__steps": None}  # those of the default


class Person:
    """Answers over one connection."""

    def __init__(self, port: int, y: np.ndarray) -> None:
        self.line, self.y = http.client.HTTPConnection("127.0.0.1", port), y
        self.cookie = ""

    def get(self, path: str) -> str:
        self.line.request("GET", path, headers={"cookie": self.cookie, "sec-fetch-site": "none"})
        reply = self.line.getresponse()
        self.cookie = (reply.getheader("set-cookie") or self.cookie).partition(";")[0]
        return reply.read().decode()

    def answer(self, html: str) -> str | None:
        """Answer the question of a page; the next page, or None if nothing was asked."""
        found = dict(re.findall(r'name="(key|left|right)" value="([^"]*)"', html.split("/undo")[0]))
        if "left" not in found:
            return None
        same = self.y[int(found["left"])] == self.y[int(found["right"])]
        body = urllib.parse.urlencode(found | {"verdict": "same" if same else "different"})
        headers = {"cookie": self.cookie, "sec-fetch-site": "same-origin"}
        self.line.request("POST", "/answer", body, headers)
        self.line.getresponse().read()
        return self.get("/")


def measured(n_answers: int, rows: Path, y: np.ndarray, train: bool, steps: dict) -> dict:
    """A run of answers: milliseconds from each to its next question."""
    with tempfile.TemporaryDirectory() as folder, listening("127.0.0.1", 0) as place:
        items = read_items(rows, image_shape=(8, 8))
        settings = {
            "title": "digits", "device": "cpu", "seed": 0, "scale": "auto", "image_shape": (8, 8),
            "steps": steps,
        }  # fmt: skip
        project = Project(Path(folder), items, 10, settings, train=train)
        port = place.getsockname()[1]
        app = make_app(project, "127.0.0.1", port, None)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
        thread.start()
        person, times, bare, busy = Person(port, y), [], [], 0
        html: str | None = person.get("/")
        while html is not None and len(times) < n_answers:
            began = time.perf_counter()
            html = person.answer(html)
            middle = time.perf_counter()
            person.get("/state")
            times.append(middle - began)
            bare.append(time.perf_counter() - middle)
            busy += project.trainer is not None and project.trainer.busy
        trainings = project.n_trainings
        person.line.close()
        server.should_exit = True
        thread.join()
        project.close()
    median, reference = 1000 * np.median(times), 1000 * np.median(bare)
    return {
        "training_beside": "yes" if train else "no", "answers": len(times),
        "share_while_training": round(busy / len(times), 2), "trainings_ended": trainings,
        "median_ms": round(median, 1),
        "ms_of_95_percent": round(1000 * np.quantile(times, 0.95), 1),
        "largest_ms": round(1000 * max(times), 1), "bare_request_ms": round(reference, 1),
        "ratio": round(median / reference, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=500)
    parser.add_argument("--steps", type=int, help="of both stages, for a short trial")
    args = parser.parse_args()
    steps = dict.fromkeys(STEPS, args.steps)
    digits = load("digits")
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "digits.npy")
        np.save(rows, digits.X_train.reshape(len(digits.X_train), -1))
        publish(
            "asking",
            [measured(args.answers, rows, digits.y_train, train, steps) for train in (False, True)],
        )


if __name__ == "__main__":
    main()
