"""fit without links, with links of one kind, and what it says of links that may be wrong."""

import json

import pytest

from s3c2 import S3C2
from s3c2.cli.summary import words_of_doubt
from s3c2.report import Answers
from s3c2.report.answers import DoubtedLink

from .conftest import fit_command

TRAINED = ["--labnet-steps", 200, "--clunet-steps", 100]


def test_fit_and_predict_without_links(folder):
    result = folder.run(*fit_command(links=None), *TRAINED, "--json")
    assert result.exit_code == 0, result.output
    first, *others = result.stderr.splitlines()
    assert first.startswith("There are no links: the clusters follow from the neighbours")
    assert "A few links would help" in first
    assert "Warning" not in result.stderr
    assert not any("no links" in line for line in others)
    assert "60 rows without links in clusters of 20, 20, 20" in others[-1]
    summary = json.loads(result.stdout)
    assert [summary[name] for name in ("must_links", "cannot_links", "links_left_out")] == [0] * 3
    assert summary["ml_rate"] is summary["cl_rate"] is summary["doubted_links"] is None
    out = folder / "out"
    assert sorted(path.name for path in out.iterdir()) == ["labels.csv", "model", "report.html"]
    assert "found without links" in (out / "report.html").read_text(encoding="utf-8")
    assert S3C2.load(out / "model").suspicious_links_ is None
    assert folder.run("predict", "out", "data.csv").stdout == (out / "labels.csv").read_text()
    scores = folder.run("evaluate", "out/labels.csv", "truth.csv", "--id-column", "name", "--json")
    assert json.loads(scores.stdout)["ari"] == 1


def test_quiet_without_links_says_nothing(folder):
    result = folder.run(*fit_command(links=None), "--quiet", "--contradictions", "drop")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(("kind", "other"), [("must", "cl_rate"), ("cannot", "ml_rate")])
def test_links_of_one_kind(folder, kind, other):
    rows = (folder / "links.csv").read_text().splitlines()
    kept = [rows[0], *(row for row in rows if row.endswith(kind))]
    folder.write("l.csv", "\n".join(kept) + "\n")
    result = folder.run(*fit_command(links="l.csv"), "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert [name for name in ("ml_rate", "cl_rate") if summary[name] is None] == [other]
    assert "no links" not in result.stderr


def test_doubted_links_are_counted_and_said(folder, monkeypatch):
    doubted = [DoubtedLink(0, 1, "must", 0.9), DoubtedLink(2, 3, "cannot", 0.6)]
    monkeypatch.setattr(Answers, "doubted_links", doubted)
    names = [row["name"] for row in folder.read("data.csv")]
    result = folder.run(*fit_command(), "--json")
    assert json.loads(result.stdout)["doubted_links"] == 2
    said = (
        "2 links are doubtful: the neighbours of their rows speak against them; the report lists "
        "them."
    )
    assert result.stderr.splitlines()[-1] == said
    report = (folder / "out/report.html").read_text(encoding="utf-8")
    assert f"{names[0]} – {names[1]}" in report
    assert folder.run(*fit_command(), "--quiet").output == ""
    result = folder.run(*fit_command(), "--no-report")
    assert result.stderr.splitlines()[-1].endswith(
        "the neighbours of their rows speak against them."
    )


def test_words_of_doubt():
    assert words_of_doubt(1, True) == (
        "1 link is doubtful: the neighbours of its rows speak against it; the report lists it."
    )
    assert words_of_doubt(1234, True).startswith("1,234 links are doubtful")
    assert words_of_doubt(1234, True).endswith("; the report lists the first 20.")


def test_links_are_judged_by_default_and_not_as_published(fitted, folder):
    assert json.loads(fitted.result.stdout)["doubted_links"] is not None
    result = folder.run(*fit_command(), "--as-published", "--no-report", "--json")
    assert json.loads(result.stdout)["doubted_links"] is None
