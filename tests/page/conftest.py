"""A small project of pictures, without training, and a client for its page."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from s3c2.page.app import make_app
from s3c2.page.items import read_items
from s3c2.page.project import Project
from s3c2.page.results import Opinions
from s3c2.questions import View
from s3c2.report.answers import DoubtedLink

SETTINGS = {
    "title": "shapes",
    "device": "cpu",
    "seed": 0,
    "scale": None,
    "image_shape": None,
    "steps": {},
}
PORT = 8000
BASE = f"http://127.0.0.1:{PORT}"


def draw_pictures(folder, n=24, k=3):
    """Pictures of k kinds: a bright bar at the top, in the middle, at the bottom."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for i in range(n):
        pixels = rng.integers(0, 60, size=(12, 12), dtype=np.uint8)
        pixels[4 * (i % k) : 4 * (i % k) + 3] += 180
        Image.fromarray(pixels).save(folder / f"{i:02d}.png")
    return folder


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    return draw_pictures(tmp_path_factory.mktemp("data") / "shapes")


@pytest.fixture
def items(pictures):
    return read_items(pictures)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def project(folder, items):
    made = Project(folder, items, 3, SETTINGS, train=False)
    yield made
    made.close()


@pytest.fixture
def with_clusters(folder, items):
    """A project whose last model is known: the kind of each picture, and two links it doubts."""
    kinds = np.arange(len(items)) % 3
    posteriors = (np.eye(3)[kinds] * 0.9 + 1 / 30).astype(np.float32)
    code = items.data.X.reshape(len(items), -1)
    view = View(np.arange(len(items)), posteriors, (code,), (1.0,))
    doubted = [DoubtedLink(0, 4, "must", 0.9), DoubtedLink(2, 5, "cannot", 0.8)]
    Opinions.of(view, posteriors, doubted).write(folder)
    made = Project(folder, items, 3, SETTINGS, train=False)
    yield made
    made.close()


def client_of(project, **headers):
    app = make_app(project, "127.0.0.1", PORT, None)
    return TestClient(app, base_url=BASE, headers={"sec-fetch-site": "same-origin", **headers})


@pytest.fixture
def client(project):
    return client_of(project)
