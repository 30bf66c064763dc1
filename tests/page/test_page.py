"""The page over HTTP: asking, saying what is saved, and keeping others out."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from s3c2.links import Links
from s3c2.page.app import make_app
from s3c2.page.items import read_items
from s3c2.page.project import Project
from s3c2.page.trainer import Trainer
from s3c2.questions import Pair

from .conftest import BASE, PORT, SETTINGS, client_of


def fields(html):
    """The hidden fields of the question."""
    form = re.search(r'action="/answer".*?</form>', html, re.S).group()
    return dict(re.findall(r'name="(\w+)" value="([^"]*)">', form))


def answer(client, verdict, html=None):
    html = html or client.get("/").text
    return client.post("/answer", data=fields(html) | {"verdict": verdict})


def test_a_question_shows_two_pictures_of_the_data(client):
    html = client.get("/").text
    found = fields(html)
    for side in ("left", "right"):
        row = found[side]
        assert f'src="/items/{row}.png"' in html
        picture = client.get(f"/items/{row}.png")
        assert picture.headers["content-type"] == "image/png"
        assert Image.open(io.BytesIO(picture.content)).width >= 12


# In place of a training that goes on: tells how far it is.
SLOW = """
import json, sys, time
sys.stdin.readline()
for line in ({"doing": "looking for neighbours, 5%"}, {"doing": "learning the clusters, 40%"}):
    print(json.dumps(line), flush=True)
time.sleep(60)
"""


def test_one_sees_how_far_the_training_is(folder, items, monkeypatch):
    def started(self, shown):
        self._end()
        self._process = subprocess.Popen(
            [sys.executable, "-c", SLOW], stdin=-1, stdout=-1, text=True
        )
        return self._process

    monkeypatch.setattr(Trainer, "_running", started)
    project = Project(folder, items, 3, SETTINGS)
    client = client_of(project)
    while "40%" not in client.get("/state").json()["training"]:
        time.sleep(0.01)
    words = "A model is being trained (learning the clusters, 40%); you need not wait."
    assert client.get("/state").json()["training"] == words
    assert words in client.get("/").text
    assert "It is under way: learning the clusters, 40%." in client.get("/clusters").text
    project.trainer.stop()
    assert client.get("/state").json()["training"] == ""
    project.close()


def test_an_answer_is_saved_and_the_next_question_comes(client, project):
    first = client.get("/").text
    page = answer(client, "same", first)
    assert page.status_code == 200
    assert "Saved: same." in page.text
    assert fields(page.text)["key"] != fields(first)["key"]
    assert "1 answer: 1 same" in page.text
    assert [event.verdict for event in project.store.answers()] == ["same"]


def test_the_same_form_sent_again_counts_once(client, project):
    first = client.get("/").text
    answer(client, "same", first)
    answer(client, "different", first)
    assert [event.verdict for event in project.store.answers()] == ["same"]


def test_a_reload_asks_the_same(client):
    assert fields(client.get("/").text) == fields(client.get("/").text)


def test_undo_asks_again(client, project):
    first = fields(client.get("/").text)
    answer(client, "same")
    page = client.post("/undo", data={"key": "u1"})
    assert "Taken back" in page.text
    again = fields(page.text)
    assert (again["left"], again["right"]) == (first["left"], first["right"])
    assert project.counts()["answers"] == 0
    assert "nothing to take back" in client.post("/undo", data={"key": "u2"}).text


def test_an_answer_that_cannot_be_saved_is_said_so(client, project):
    answer(client, "same")
    (pages,) = project.store._connection.execute("PRAGMA page_count").fetchone()
    project.store._connection.execute(f"PRAGMA max_page_count={pages}")
    sent = {"verdict": "same", "left": "0", "right": "1"}
    replies = [client.post("/answer", data=sent | {"key": f"{i:064}"}) for i in range(60)]
    failed = [page for page in replies if page.status_code == 507]
    assert failed
    assert 'role="alert"' in failed[0].text
    assert "The answer was not saved" in failed[0].text
    assert len(project.questions.history) == len(project.store.answers())


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"key": "k", "verdict": "maybe", "left": "0", "right": "1"},
        {"key": "k", "verdict": "same", "left": "0", "right": "0"},
        {"key": "k", "verdict": "same", "left": "0", "right": "24"},
        {"key": "k", "verdict": "same", "left": "-1", "right": "2"},
        {"key": "k" * 65, "verdict": "same", "left": "0", "right": "1"},
        {"key": "", "verdict": "same", "left": "0", "right": "1"},
        {"key": "k", "verdict": "same", "left": "x", "right": "1"},
    ],
)
def test_what_is_no_answer_is_refused(client, project, body):
    assert client.post("/answer", data=body).status_code == 400
    assert project.store.answers() == []


def test_each_person_has_a_name_and_a_question(project):
    app = make_app(project, "127.0.0.1", PORT, None)
    ann, bob = (
        TestClient(app, base_url=BASE, headers={"sec-fetch-site": "same-origin"}) for _ in range(2)
    )
    assert "Person 1" in ann.get("/").text
    assert "Person 2" in bob.get("/").text
    assert "Ann" in ann.post("/people", data={"name": "  Ann "}).text
    assert fields(ann.get("/").text)["key"] != fields(bob.get("/").text)["key"]
    answer(ann, "same")
    answer(bob, "different")
    assert project.authors() == {"Ann": 1, "Person 2": 1}
    assert ann.post("/people", data={"name": ""}).status_code == 400


def test_a_person_is_known_after_a_restart_on_another_port(client, project):
    answer(client, "same")
    assert "Person 1" in client.get("/answers").text
    app = make_app(project, "127.0.0.1", 9000, None)
    again = TestClient(app, "http://127.0.0.1:9000", cookies=dict(client.cookies))
    again.headers["sec-fetch-site"] = "same-origin"
    assert "Person 1" in again.get("/").text
    assert project.counts()["answers"] == 1
    again.post("/undo", data={"key": "other"})
    assert project.counts()["answers"] == 0


def test_without_training_nothing_is_promised(client):
    for path in ("/results", "/clusters"):
        page = client.get(path).text
        assert "started with --no-training" in page
        assert "first training" not in page
    assert "Finish" not in client.get("/results").text


def test_contradictions_are_counted_shown_and_mended(client, project):
    for number, (a, b, verdict) in enumerate(((0, 3, "same"), (3, 6, "same"), (0, 6, "different"))):
        project.answer("Person 1", str(number), a, b, verdict)
    assert 'class="count">1' in client.get("/").text
    page = client.get("/answers").text
    assert "These 3 answers exclude each other" in page
    form = re.findall(r'action="/answer" class="change">(.*?)</form>', page, re.S)[0]
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)">', form))
    mended = client.post("/answer", data=sent | {"verdict": "same"})
    assert mended.url.path == "/answers"
    assert "all answers go together" in mended.text


def test_an_answer_that_the_model_doubts_is_shown_and_can_be_given_again(with_clusters):
    client = client_of(with_clusters)
    with_clusters.answer("Person 1", "1", 0, 4, "same")
    page = client.get("/answers").text
    section = page[page.index("Answers to look at again") : page.index("All answers")]
    assert "said Person 1" in section
    form = re.findall(r'action="/answer" class="change">(.*?)</form>', section, re.S)[0]
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)">', form))
    again = client.post("/answer", data=sent | {"verdict": "same"})
    assert again.url.path == "/answers"
    assert "look at again" not in again.text


def own_answer(client, html):
    """The first answer that can be changed: its page, and the hidden fields there."""
    address = re.search(r'href="(/answers/change[^"]*)"', html)[1].replace("&amp;", "&")
    page = client.get(address).text
    return page, fields(page)


def test_an_old_answer_of_ones_own_can_be_changed_or_withdrawn(project):
    app = make_app(project, "127.0.0.1", PORT, None)
    headers = {"sec-fetch-site": "same-origin"}
    ann, bob = (TestClient(app, base_url=BASE, headers=headers) for _ in range(2))
    ann.post("/people", data={"name": "Ann"})
    bob.post("/people", data={"name": "Bob"})
    project.answer("Ann", "1", 0, 3, "same")
    project.answer("Bob", "2", 1, 4, "same")
    for number in range(40):  # a long time ago, therefore
        project.answer("Carol", f"c{number}", 5, 6 + number % 10, "unsure")
        project.answer("Carol", f"d{number}", 7, 8 + number % 10, "unsure")
        project.answer("Dan", f"e{number}", 9, 10 + number % 12, "unsure")
    first = ann.get("/answers").text
    assert "page 1 of 2" in first
    assert "/answers/change" not in first
    page, found = own_answer(ann, ann.get("/answers?page=1").text)
    assert "You said: <b>same</b>" in page
    assert 'value="same"' not in page
    assert "keys D, U and W" in page
    after = ann.post("/answer", data=found | {"verdict": "different"})
    assert after.url.path == "/answers"
    assert "Saved: different." in after.text
    assert project.said_by("Ann", Pair(0, 3)) == "different"
    page, found = own_answer(ann, after.text)  # it is the newest now
    withdrawn = ann.post("/withdraw", data=found)
    assert "Withdrawn." in withdrawn.text
    assert project.said_by("Ann", Pair(0, 3)) is None
    assert project.links().n_links == 1  # Bob's
    assert "no answer of yours" in ann.post("/withdraw", data=found).text
    assert ann.get("/answers/change?a=1&b=4").status_code == 404  # Bob's
    assert ann.get("/answers/change?a=1&b=1").status_code == 404
    assert ann.post("/withdraw", data={"key": "k", "left": "1", "right": "99"}).status_code == 400
    assert [event.author for event in project.store.answers()].count("Bob") == 1


def test_clusters_can_be_looked_at_and_sorted_out(with_clusters):
    client = client_of(with_clusters)
    page = client.get("/clusters").text
    assert page.count('<section class="cluster') == 3
    assert "8 items" in page
    one = client.get("/clusters/1").text
    form = re.search(r'action="/outlier">(.*?)</form>', one, re.S).group(1)
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)">', form))
    after = client.post("/outlier", data=sent)
    assert "is different from 3 typical items" in after.text
    assert one.count('action="/outlier"') == after.text.count('action="/outlier"') + 1
    assert after.text.count("Marked as not belonging") == 1
    assert with_clusters.links().n_cannot == 3
    assert client.get("/clusters/3").status_code == 404
    assert (
        client.post("/outlier", data={"row": "99", "cluster": "1", "key": "k"}).status_code == 400
    )
    assert client.get("/picture.svg").text.startswith("<svg")


def test_links_can_be_taken_at_any_time(client, project, tmp_path, items):
    assert client.get("/download/links.csv").status_code == 200
    answer(client, "same")
    answer(client, "different")
    answer(client, "unsure")
    (tmp_path / "links.csv").write_bytes(client.get("/download/links.csv").content)
    links = Links.read(tmp_path / "links.csv", ids=items.names)
    assert (links.n_must, links.n_cannot) == (1, 1)
    assert client.get("/download/labels.csv").status_code == 404
    assert client.get("/download/model.zip").status_code == 404
    (project.folder / "model").mkdir()
    (project.folder / "model" / "model.safetensors").write_bytes(b"weights")
    archive = zipfile.ZipFile(io.BytesIO(client.get("/download/model.zip").content))
    assert archive.namelist() == ["model/model.safetensors"]


def test_texts_and_names_are_escaped(folder, tmp_path):
    path = tmp_path / "texts.csv"
    nasty = "<script>alert(1)</script> & words of some kind"
    path.write_text("id,text\n" + "".join(f'"<b>{i}</b>",{nasty} {i}\n' for i in range(8)))
    items = read_items(path, id_column="id", text_column="text")
    project = Project(folder, items, 2, SETTINGS | {"title": "<i>t</i>"}, train=False)
    html = client_of(project).get("/").text
    assert "&lt;script&gt;alert(1)" in html
    assert "<script>alert" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    project.close()


def test_only_the_columns_that_differ_are_set_off(folder, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("name,weight,height\n" + "".join(f"r{i},{i},5\n" for i in range(8)))
    items = read_items(path, id_column="name")
    project = Project(folder, items, 2, SETTINGS | {"scale": "auto"}, train=False)
    html = client_of(project).get("/").text
    assert re.findall(r'<tr class="differs"><th scope="row">(\w+)', html) == ["weight"]
    assert '<tr><th scope="row">height' in html
    project.close()


class TestSafety:
    """Other sites, other hosts, other paths."""

    @pytest.mark.parametrize(
        "headers",
        [
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"sec-fetch-site": "same-origin", "origin": "null"},
            {"sec-fetch-site": "same-origin", "origin": "http://evil.example"},
            {"origin": "http://127.0.0.1:9999"},
            {"origin": "https://127.0.0.1:8000"},
            {"cookie": "s3c2-name-8000=Ann"},
        ],
    )
    def test_writes_from_other_sites_are_refused(self, project, headers):
        app = make_app(project, "127.0.0.1", PORT, None)
        client = TestClient(app, base_url=BASE)
        sent = {"key": "k", "verdict": "same", "left": "0", "right": "1"}
        for path in ("/answer", "/undo", "/withdraw", "/outlier", "/finish", "/people"):
            assert client.post(path, data=sent, headers=headers).status_code == 403
        assert project.store.answers() == []

    @pytest.mark.parametrize(
        "host", ["evil.example", "evil.example:8000", "127.0.0.1:9999", "127.0.0.1", "", "[::1]:1"]
    )
    def test_foreign_hosts_are_refused(self, project, host):
        client = client_of(project)
        assert client.get("/", headers={"host": host}).status_code == 403

    def test_own_names_are_known(self, project):
        client = client_of(project)
        for host in (f"localhost:{PORT}", f"127.0.0.1:{PORT}", f"[::1]:{PORT}"):
            assert client.get("/", headers={"host": host}).status_code == 200

    def test_another_address_needs_the_token(self, project):
        client = TestClient(make_app(project, "0.0.0.0", PORT, "secret"), base_url=BASE)
        for path in ("/", "/items/0.png", "/static/ask.js", "/download/links.csv", "/state"):
            assert client.get(path).status_code == 403
        assert client.get("/?token=wrong").status_code == 403
        page = client.get("/clusters?token=secret&page=1")
        assert page.status_code == 200
        assert "token" not in str(page.url)
        cookie = page.history[0].headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert f"s3c2-token-{PORT}" in cookie
        assert client.get("/").status_code == 200
        assert client.get("/", headers={"host": f"evil.example:{PORT}"}).status_code == 403

    def test_no_path_leads_out_of_the_data(self, client, project):
        (project.folder / "secret.txt").write_text("secret")
        inside = ("..", "%2e%2e", "..%2f", "....//", "\\..", "%5c..", "0.png/..", "%00", "é")
        rng = np.random.default_rng(0)
        for base in ("/items/", "/static/", "/download/", "/clusters/", "/"):
            for _ in range(60):
                parts = rng.choice(inside, size=rng.integers(1, 6))
                path = base + "/".join(parts) + "/project/secret.txt"
                answer = client.get(path)
                assert "secret" not in answer.text or answer.status_code >= 400
                assert answer.status_code in (400, 403, 404, 405)

    def test_the_headers_keep_others_out_on_every_page(self, client):
        for path in ("/", "/clusters", "/nowhere", "/static/ask.css"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"

    def test_pages_hold_no_address_of_another_host(self, with_clusters):
        client = client_of(with_clusters)
        for path in ("/", "/clusters", "/clusters/1", "/answers", "/results", "/people",
                     "/static/ask.js", "/static/ask.css"):  # fmt: skip
            assert "//" not in re.sub(r"(?m)^\s*//.*$", "", client.get(path).text), path

    def test_long_bodies_and_other_methods_are_refused(self, client):
        assert client.post("/answer", content=b"x" * 20_000).status_code == 413
        assert client.put("/answer").status_code == 405
