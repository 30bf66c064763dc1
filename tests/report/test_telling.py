"""What tells a cluster from the other rows: found by ranks, and shown in the report of a table."""

import numpy as np
import pandas as pd
import pytest

from s3c2 import S3C2, Links
from s3c2.report import write_report
from s3c2.report.telling import MOST_COLUMNS, in_words, telling_columns

NAMES = ("noise", "size", "rare", "extreme")


@pytest.fixture
def table():
    """Two clusters that differ in size, and in how often a flag is set, but in nothing else."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [300, 100])
    noise, size = rng.normal(size=400), rng.normal(size=400) + 10 * labels
    rare = (rng.random(400) < np.where(labels == 1, 0.9, 0.05)).astype(float)
    extreme = rng.normal(size=400)
    extreme[0] = 1e9  # one value that would rule any mean
    return np.stack([noise, size, rare, extreme], axis=1), labels


def test_columns_that_differ_are_named_the_most_telling_first(table):
    X, labels = table
    both = telling_columns(X, labels, 2, NAMES)
    for found in both:
        assert [one.column for one in found] == ["size", "rare"]
    (size, _), inside = both[1], labels == 1
    assert size.here == pytest.approx(np.percentile(X[inside, 1], [25, 50, 75]))
    assert size.elsewhere == pytest.approx(np.percentile(X[~inside, 1], [25, 50, 75]))


def test_units_do_not_matter(table):
    X, labels = table
    other = telling_columns(X * [1, 1e-6, 1e6, 1] + [0, 5, 0, 0], labels, 2, NAMES)
    assert [[one.column for one in found] for found in other] == [["size", "rare"]] * 2


def test_a_cluster_without_rows_or_without_others_has_none(table):
    X, labels = table
    assert telling_columns(X, labels, 3, NAMES)[2] == []
    assert telling_columns(X, np.zeros_like(labels), 1, NAMES) == [[]]


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_few_rows_do_not_differ_by_chance(n):
    X = np.random.default_rng(0).normal(size=(400, 8))
    found = telling_columns(X, (np.arange(400) < n).astype(int), 2, range(8))
    assert found == [[], []]


def test_many_columns_are_ranked_in_blocks():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    X = rng.normal(size=(300, 150))
    X[:, 140] += 9 * (labels == 1)
    found = telling_columns(X, labels, 3, range(150))
    assert [[one.column for one in each][:1] for each in found] == [["140"]] * 3


def test_few_columns_are_named():
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    X = rng.normal(size=(200, 30)) + 5 * labels[:, None]
    assert [len(found) for found in telling_columns(X, labels, 2, range(30))] == [MOST_COLUMNS] * 2


@pytest.mark.parametrize(
    ("quartiles", "words"),
    [
        ((1, 2, 3), "2 (1 to 3)"),
        ((-0.0, 0, 0), "0"),
        ((999, 999.6, 1e4), "1,000 (999 to 10,000)"),
        ((0.1234, 1500, 25000), "1,500 (0.123 to 25,000)"),
    ],
)
def test_numbers_are_short(quartiles, words):
    assert in_words(np.array(quartiles, dtype=float)) == words


def test_the_report_of_a_table_names_them(tmp_path, table):
    X, labels = table
    frame = pd.DataFrame(X[:, :3], columns=["noise", "<size>", "rare"])
    links = Links.from_labels(labels, 60, random_state=0)
    model = S3C2(2, random_state=0, verbose=0).set_params(labnet__steps=60, clunet__steps=60)
    write_report(tmp_path / "report.html", model.fit(frame, links=links), frame, links)
    html = (tmp_path / "report.html").read_text()
    assert '<th scope="row">&lt;size&gt;</th>' in html
    assert '<th scope="row">noise</th>' not in html


def test_a_report_without_names_has_none(tmp_path, table):
    X, labels = table
    links = Links.from_labels(labels, 60, random_state=0)
    model = S3C2(2, random_state=0, verbose=0).set_params(labnet__steps=20, clunet__steps=20)
    write_report(tmp_path / "report.html", model.fit(X, links=links), X, links)
    assert ">in this cluster</th>" not in (tmp_path / "report.html").read_text()
