"""The page is what the committed results give."""

from __future__ import annotations

import pytest

from experiments import command_line, ledger, page, provenance, runs
from experiments.figures import figure_2


def test_the_page_is_not_made_from_other_results(monkeypatch, tmp_path):
    monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
    before = page.PAGE.read_text()
    with pytest.raises(SystemExit, match="S3C2_RESULTS names others"):
        command_line.main(["page"])
    assert page.PAGE.read_text() == before


class TestPage:
    def test_the_page_is_what_the_committed_results_give(self, monkeypatch):
        monkeypatch.delenv("S3C2_RESULTS")
        command_line.main(["page", "--check"])

    def test_missing_runs_are_named(self, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        done = [run for run in figure_2.EXPERIMENT.runs(runs.FULL) if run.n_links != 500]
        ledger.append(tmp_path / "dense.csv", [ledger.identity(run) for run in done])
        said = provenance.missing_runs()
        assert "- Figure 2: 160 of 960 runs (S3C2 on MNIST, S3C2 on Fashion-MNIST," in said
        monkeypatch.setattr(ledger, "missing", lambda wanted, rows: [])
        assert provenance.missing_runs() == ""

    def test_tables_come_from_the_rows(self, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        rows = [
            ledger.identity(run) | {"nmi": 0.5 + run.link_seed / 100, "seconds_per_run": 2}
            for run in runs.grid("DCPR", ["letters"], [100, 5000], 2)
        ]
        ledger.append(tmp_path / "dense.csv", rows)
        copy = tmp_path / "page.md"
        copy.write_text(
            "before\n<!-- table figure_2 -->\nold\n<!-- end -->\nafter\n"
            "<!-- table times -->\n<!-- end -->\n<!-- table figure_5 -->\n<!-- end -->\n"
        )
        with pytest.raises(SystemExit, match="not up to date"):
            command_line.main(["page", "--check", "--page", str(copy)])
        command_line.main(["page", "--page", str(copy)])
        text = copy.read_text()
        assert "old" not in text
        assert "| Letters | DCPR | .505 ± .007 | .505 ± .007 |" in text
        assert "| Figure 2 | DCPR | 4 | 8 |" in text
        assert "<!-- table figure_5 -->\nNo runs yet.\n<!-- end -->" in text
        assert text.startswith("before\n")
        command_line.main(["page", "--check", "--page", str(copy)])
