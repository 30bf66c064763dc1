"""``s3c2 ask`` as a process: going on after a kill, training beside, and what it refuses."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from click.testing import CliRunner

from s3c2.cli.commands import s3c2
from s3c2.page.lock import ProjectLock
from s3c2.page.store import Store

from .conftest import draw_pictures

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")


class Asking:
    """The command in a process of its own."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "s3c2.cli", "ask", *map(str, arguments), "--no-browser"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + self.process.stderr.read()
        self.address = found.group()

    def get(self, path):
        with urllib.request.urlopen(self.address.rstrip("/") + path, timeout=30) as reply:
            return reply.read().decode()

    def post(self, path, **fields):
        body = urllib.parse.urlencode(fields).encode()
        with urllib.request.urlopen(self.address.rstrip("/") + path, body, timeout=30) as reply:
            return reply.status

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=120)
        return out + err


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return draw_pictures(tmp_path_factory.mktemp("data") / "shapes", 60)


def under_load(asking, n):
    """Send answers from three threads; the keys of those that were acknowledged before a kill."""
    acknowledged, numbers = [], iter(range(10**6))

    def send():
        while True:
            number = next(numbers)
            try:
                asking.post(
                    "/answer", key=f"k{number}", left=number % 59, right=59, verdict="unsure"
                )
            except (OSError, urllib.error.URLError):
                return
            acknowledged.append(f"k{number}")

    senders = [threading.Thread(target=send) for _ in range(3)]
    for sender in senders:
        sender.start()
    deadline = time.monotonic() + 60
    while len(acknowledged) < n and time.monotonic() < deadline:
        time.sleep(0.01)
    asking.end(signal.SIGKILL)
    for sender in senders:
        sender.join()
    return acknowledged


def answer_truly(asking, n):
    for number in range(n):
        html = asking.get("/")
        left, right = (
            int(re.search(rf'name="{side}" value="(\d+)"', html)[1]) for side in ("left", "right")
        )
        verdict = "same" if left % 3 == right % 3 else "different"
        asking.post("/answer", key=f"true-{number}", left=left, right=right, verdict=verdict)


@pytest.mark.slow
def test_killed_under_load_it_goes_on_trains_beside_and_writes_results(tmp_path):
    """What was acknowledged before the kill is there, once; Ctrl-C ends with all outputs."""
    project, data = tmp_path / "project", tmp_path / "rows.csv"
    lines = [f"r{i},{10 * (i % 3) + i / 50},{i % 7 / 7}" for i in range(60)]
    data.write_text("\n".join(["name,u,v", *lines]) + "\n")
    start = data, "--id-column", "name", "-k", 3, "-o", project, "--device", "cpu"
    acknowledged = under_load(Asking(*start, "--no-training"), 20)
    keys = [event.key for event in Store(project / "answers.sqlite").answers()]
    assert len(acknowledged) >= 20
    assert set(acknowledged) <= set(keys)
    assert len(keys) == len(set(keys))

    asking = Asking(*start, "--labnet-steps", 800, "--clunet-steps", 300)
    assert f"{len(keys):,} answers" in asking.get("/")
    answer_truly(asking, 8)
    deadline = time.monotonic() + 120
    while "The clusters come with" in asking.get("/clusters"):
        assert time.monotonic() < deadline
        time.sleep(0.3)
    assert asking.get("/picture.svg").startswith("<svg")
    said = asking.end()
    assert f"Going on after {len(keys):,} answers" in said
    assert "Done in" in said, said
    assert re.search(r"labnet: \d+ of 800, .* left", said), said
    assert "Traceback" not in said
    for name in ("labels.csv", "links.csv", "report.html", "model"):
        assert (project / name).exists(), name
    clusters = {}
    for line in (project / "labels.csv").read_text().splitlines()[1:]:
        name, cluster, _ = line.split(",")
        clusters.setdefault(int(name[1:]) % 3, set()).add(cluster)
    assert all(len(found) == 1 for found in clusters.values())
    result = CliRunner().invoke(s3c2, ["predict", str(project), str(data)])
    assert result.exit_code == 0, result.stderr


def refused(*arguments):
    result = CliRunner().invoke(s3c2, ["ask", *map(str, arguments), "--no-browser"])
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    return result.stderr


def test_what_cannot_be_asked_about_is_refused_in_a_line(data, tmp_path):
    (tmp_path / "empty").mkdir()
    out = tmp_path / "project"
    assert "no picture in this folder" in refused(tmp_path / "empty", "-k", 3, "-o", out)
    assert "only 60 rows" in refused(data, "-k", 61, "-o", out)
    assert "at least 2" in refused(data, "-k", 1, "-o", out)
    assert "such as 28x28" in refused(data, "-k", 3, "-o", out, "--image-shape", "28")
    assert "not for a folder of pictures" in refused(data, "-k", 3, "-o", out, "--id-column", "id")
    assert not out.exists()


def test_the_second_process_on_a_project_is_told_so(data, tmp_path):
    out = tmp_path / "project"
    out.mkdir()
    with ProjectLock(out) as lock:
        lock.tell("http://127.0.0.1:4321/")
        said = refused(data, "-k", 3, "-o", out)
    assert "is open already, in http://127.0.0.1:4321/" in said


@pytest.mark.parametrize("name", ["model/model.safetensors", "links.csv", "labels.csv"])
def test_what_is_not_of_this_page_is_not_replaced(data, tmp_path, name):
    there = tmp_path / "out" / name
    there.parent.mkdir(parents=True)
    there.write_text("the only copy")
    result = CliRunner().invoke(s3c2, ["ask", str(data), "-k", "3", "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert f"holds {name.split('/')[0]}, which this command did not make there" in result.output
    assert there.read_text() == "the only copy"
    assert len(list((tmp_path / "out").iterdir())) == 1
