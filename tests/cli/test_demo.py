"""The demo's way with a model of few steps: what it prints and writes."""

import json
import sys

import pytest

from s3c2 import S3C2

FILES = [
    "clusters.png", "held_out.csv", "labels.csv", "links.csv",
    "model", "report.html", "train.csv", "truth.csv",
]  # fmt: skip


@pytest.fixture
def quick(monkeypatch):
    """Few steps, whatever the model: of the default and of the published one."""
    fit = S3C2.fit

    def fit_few_steps(self, X, **given):
        return fit(
            self.set_params(labnet__steps=3, labnet__code=False, clunet__steps=3), X, **given
        )

    monkeypatch.setattr(S3C2, "fit", fit_few_steps)


def test_demo_prints_a_table_and_writes_its_files(folder, quick):
    result = folder.run("demo", "--sets", 2, "--quiet")
    assert result.exit_code == 0, result.output
    methods = [line.split("│")[1].strip() for line in result.stdout.splitlines() if "│" in line]
    assert methods == ["S3C2", "S3C2 as published", "k-means"]
    assert "±" in result.stdout
    assert "2 link sets" in result.stdout
    assert sorted(p.name for p in (folder / "demo").iterdir()) == FILES
    assert len(folder.read("demo/links.csv")) == 500
    assert len(folder.read("demo/labels.csv")) == 1297
    assert 'alt="The most typical rows of cluster' in (folder / "demo/report.html").read_text(
        encoding="utf-8"
    )


def test_without_matplotlib_it_is_refused_before_training(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("s3c2.cli.digits.cluster_digits", lambda *_, **__: pytest.fail("trained"))
    result = folder.run("demo")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: The report needs the package 'matplotlib'")
    assert "s3c2[app]" in result.stderr
    assert "--no-report" not in result.stderr
    assert "demo" not in folder.names()


def test_its_files_serve_the_other_commands(folder, quick):
    result = folder.run("demo", "--json")
    held_out = json.loads(result.stdout)["held_out"]
    assert list(held_out) == ["s3c2", "as_published", "kmeans"]
    assert held_out["s3c2"] != held_out["as_published"]
    scores = held_out["s3c2"][0]  # the model and the files are the default's
    assert S3C2.load(folder / "demo/model").labnet.neighbors == 10
    folder.run("predict", "demo", "demo/held_out.csv", "-o", "new.csv")
    again = json.loads(folder.run("evaluate", "new.csv", "demo/truth.csv", "--json").stdout)
    assert {name: again[name] for name in scores} == pytest.approx(scores)
    check = ["links", "check", "demo/links.csv", "--data", "demo/train.csv", "--id-column", "id"]
    assert folder.run(*check).exit_code == 0
