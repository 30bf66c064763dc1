"""What a training leaves in the project: kept neighbours, steady numbers, a report of answers."""

from __future__ import annotations

import os
import re
from itertools import pairwise

import numpy as np
import pytest

from s3c2 import S3C2, Links
from s3c2.page import worker
from s3c2.page.numbering import numbers_as_before, renumber
from s3c2.page.results import Opinions

from .conftest import SETTINGS


@pytest.fixture
def job(folder, blobs):
    """A job on the blobs, with answers that form a chain in each group."""
    X, y = blobs
    np.save(folder / ".rows.npy", X)
    chains = [np.flatnonzero(y == kind)[:5] for kind in range(3)]
    must = [(int(a), int(b)) for chain in chains for a, b in pairwise(chain)]
    answers = Links(must=must, cannot=[(int(chains[0][0]), int(chains[1][0]))], n_samples=len(X))
    answers.write(folder / ".links.csv")
    return SETTINGS | {
        "number": 1, "folder": str(folder), "rows": str(folder / ".rows.npy"), "n_clusters": 3,
        "links": str(folder / ".links.csv"),
        "sample": list(range(len(X))), "names": [f"i{row}" for row in range(len(X))],
        "texts": None, "preparation": None, "quick": False, "report": False,
        "steps": {"labnet__steps": 40, "clunet__steps": 40}, "scale": "auto",
    }  # fmt: skip


def numbers_of(folder):
    lines = (folder / "labels.csv").read_text().splitlines()[1:]
    return np.array([int(line.split(",")[1]) for line in lines])


def test_numbers_stay_and_agree_with_each_other(folder, job, blobs):
    X = blobs[0]
    worker.train(job)
    first = numbers_of(folder)
    # The numbers of an earlier model, in another order, and of a row that is gone.
    turned = np.array([2, 0, 1])[first]
    lines = [f"i{row},{number},1.0" for row, number in enumerate(turned)]
    (folder / "labels.csv").write_text("\n".join(["id,cluster,probability", *lines, "gone,1,1.0"]))
    worker.train(job | {"seed": 1})
    assert (numbers_of(folder) == turned).mean() > 0.9
    opinions = Opinions.read(folder)
    assert (opinions.labels == numbers_of(folder)).all()
    assert (opinions.view.labels == numbers_of(folder)).all()
    model = S3C2.load(folder / "model")
    assert (model.labels_ == numbers_of(folder)).all()
    assert (model.predict(X) == numbers_of(folder)).all()


def test_a_wrong_answer_is_doubted(folder, job, blobs):
    y = blobs[1]
    one, other = int(np.flatnonzero(y == 0)[9]), int(np.flatnonzero(y == 2)[9])
    links = Links.read(folder / ".links.csv", n_samples=len(y))
    wrong = Links(must=[*links.must, (one, other)], cannot=links.cannot, n_samples=len(y))
    wrong.write(folder / ".links.csv")
    worker.train(job)
    assert Opinions.read(folder).doubted.tolist() == [[*sorted((one, other)), 1]]


def test_it_tells_what_it_learns_and_how_far_it_is(job, monkeypatch):
    monkeypatch.setattr(worker, "TOLD_EVERY", 0)
    said = []
    worker.train(job, said.append)
    assert said[0] == "learning from the answers, 2%"  # 40 steps
    assert "learning the clusters, 50%" in said
    assert said[-1] == "learning the clusters, 100%"


def test_most_rows_keep_their_number():
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 3])
    before = np.array([2, 2, 0, 0, 0, 1, 7, -1])  # 7 is no number any more
    numbers = numbers_as_before(labels, before, 4)
    assert numbers.tolist() == [2, 0, 1, 3]
    assert sorted(numbers_as_before(labels, np.full(8, -1), 4)) == [0, 1, 2, 3]


def test_another_numbering_changes_nothing_else(blobs, blob_links, small):
    X = blobs[0]
    model = S3C2(3, **small).fit(X, links=blob_links)
    posteriors, labels = model.predict_proba(X), model.labels_
    renumber(model, np.array([1, 2, 0]))
    assert np.allclose(model.predict_proba(X)[:, [1, 2, 0]], posteriors, atol=1e-6)
    assert (model.labels_ == np.array([1, 2, 0])[labels]).all()
    assert (model.clunet_.labels_ == model.labels_).all()


def test_neighbours_are_looked_for_once(folder, job, monkeypatch):
    from s3c2 import labnet_training

    found = []
    looking = labnet_training.find_neighbours
    monkeypatch.setattr(
        labnet_training, "find_neighbours", lambda *given: found.append(1) or looking(*given)
    )
    (folder / ".neighbours").mkdir()
    for number in range(3):  # of other data
        older = folder / ".neighbours" / f"neighbours-{number}.safetensors"
        older.touch()
        os.utime(older, (number, number))
    worker.train(job | {"quick": True})
    worker.train(job)
    assert len(found) == 1
    assert len(list((folder / ".neighbours").iterdir())) == 2
    assert [path.name for path in folder.iterdir() if path.is_dir() and path.name != "model"] == [
        ".neighbours"
    ]


def test_the_report_speaks_of_answers_alone(folder, job, monkeypatch):
    from s3c2 import suspicion

    monkeypatch.setattr(
        suspicion, "doubts_of_links", lambda network, rows, links, *more: np.ones(links.n_links)
    )
    worker.train(job | {"report": True})
    report = (folder / "report.html").read_text()
    assert "learned from 13 pairs judged the same or different" in report
    named = re.search("Links that may be wrong(.*?)</table>", report, re.S)[1]
    assert named.count("<tr>") == 1 + 13
