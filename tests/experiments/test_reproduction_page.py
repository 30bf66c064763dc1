"""The pages are what the committed results give."""

from __future__ import annotations

import re

import pytest

from experiments import (
    claim_tables,
    command_line,
    earlier,
    in_short,
    ledger,
    page,
    provenance,
    results_page,
    runs,
    tables,
)
from experiments.figures import figure_2, idec


def test_the_page_is_not_made_from_other_results(monkeypatch, tmp_path):
    monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
    before = [path.read_text() for path in page.PAGES]
    with pytest.raises(SystemExit, match="S3C2_RESULTS names others"):
        command_line.main(["page"])
    assert [path.read_text() for path in page.PAGES] == before


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


def written(folder, name, wanted, nmi, **more):
    """Rows with made-up NMI in a ledger."""
    rows = [ledger.identity(run) | {"nmi": nmi(run), "clusters_used": 9} | more for run in wanted]
    ledger.append(folder / f"{name}.csv", rows)


class TestBothDesigns:
    @pytest.fixture(autouse=True)
    def own_folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        self.folder = tmp_path

    def rows(self, *designs: str) -> None:
        """Figure 2 with S3C2 at 0.4, with chained links at 0.7; the others at 0.5."""
        wanted = [run for run in figure_2.EXPERIMENT.runs(runs.FULL) if run.design in designs]
        levels = {("S3C2", "uniform"): 0.4, ("S3C2", "chained"): 0.7}
        written(self.folder, "dense", wanted, lambda run: levels.get((run.method, run.design), 0.5))

    def test_a_claim_has_a_verdict_for_each_design(self):
        self.rows("uniform")
        ahead = (
            "S3C2 above d-graph at 2,000 and 5,000 links, four sets | **does not hold** (0 of 8)"
        )
        assert f"{ahead} | not run yet |" in claim_tables.claims()
        self.rows("chained")
        assert f"{ahead} | **holds** (8 of 8) |" in claim_tables.claims()

    def test_what_is_said_in_short_are_the_verdicts_of_the_table(self):
        said = in_short.in_short()
        assert "claims uniform links: not run yet; chained links: not run yet." in said
        assert "**Whether it depends on how links are drawn is not known yet.**" in said
        self.rows("uniform", "chained")
        said = in_short.in_short()
        expected = "uniform links: **does not hold** (0 of 8); chained links: **holds** (8 of 8)."
        assert f"*S3C2 is ahead of d-graph with 2,000 and 5,000 links* – {expected}" in said
        assert "**It depends on how links are drawn.**" in said
        assert "S3C2 as published uniform .400, chained .700; d-graph uniform .500" in said
        verdicts = [line.split(" | ")[-1] for line in claim_tables.claims().splitlines()[2:]]
        holds = sum(verdict.startswith("**holds** ") for verdict in verdicts)
        assert f"with chained links {holds} hold," in said
        assert said.count("\n- ") == 9  # ten lines

    def test_tables_say_what_was_not_run(self):
        self.rows("uniform")
        found = page.TABLES["figure_2"]()
        assert found.startswith("Uniform links:\n\n|  | method | 100 |")
        assert found.endswith("\nChained links: not run yet.\n")
        assert page.TABLES["figure_3_on_d"]() == page.TABLES["claims_on_d"]() == "Not run yet.\n"
        assert page.TABLES["claims_with_settings"]().endswith("Chained links: not run yet.\n")

    def test_the_guide_compares_designs_once_there_are_rows_of_both(self):
        self.rows("uniform")
        assert tables.chained_beside_uniform() == ""
        self.rows("chained")
        said = tables.chained_beside_uniform()
        published = "| S3C2 as published | {} | .{}00 | .{}00 | .{}00 |"
        assert published.format("uniform", 4, 4, 4) in said
        assert published.format("chained", 7, 7, 7) in said
        assert "better with chained links in 24 of 24 cases, and the difference is .300 on" in said

    def test_other_links_of_the_default_stand_in_figure_2(self):
        self.rows("uniform", "chained")
        sizes = runs.FULL
        for name, wanted in figure_2.EXPERIMENT.beside.items():
            written(self.folder, name, wanted(sizes), lambda run: 0.9)
        rows = [*figure_2.EXPERIMENT.rows(), *figure_2.EXPERIMENT.others()]
        data, figure = figure_2.draw(rows)
        assert {"S3C2 default", "IDEC without links", "k-means"} < set(data["name"])
        assert len(figure.axes) == 8
        for axes in figure.axes:  # four methods and the default; two level lines
            widths = [line.get_linewidth() for line in axes.lines if len(line.get_xdata())]
            assert (widths.count(1.6), widths.count(0.8)) == (4, 3)


class TestEarlier:
    @pytest.fixture(autouse=True)
    def own_folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        self.folder = tmp_path

    def idec(self, **settings):
        return runs.grid("IDEC", ["mnist", "fashion-mnist"], [5000], 2, **settings)

    def test_rows_from_before_a_change_are_named_until_they_are_made_anew(self):
        assert earlier.earlier_rows() == ""
        written(self.folder, "dense", self.idec(), lambda run: 0.5, commit="30b02f9")
        said = earlier.earlier_rows()
        assert "IDEC (it now has its authors' scale" in said
        assert "4 in `dense.csv` (made by 30b02f9)" in said
        assert said.count("\n") == 1
        assert "Some rows of IDEC are of a version before a change" in in_short.in_short()
        (self.folder / "dense.csv").unlink()
        written(self.folder, "dense", self.idec(), lambda run: 0.5, commit="later")
        assert earlier.earlier_rows() == ""

    def test_rows_from_before_a_change_are_trained_again_and_give_way(self):
        path, made = self.folder / "dense.csv", list(self.idec())
        written(self.folder, "dense", made, lambda run: 0.5, commit="30b02f9")
        assert ledger.to_train(made, ledger.read(path)) == made
        assert ledger.missing(made, ledger.read(path)) == []  # they are shown meanwhile
        written(self.folder, "dense", made[:1], lambda run: 0.7, commit="later")
        assert ledger.to_train(made, ledger.read(path)) == made[1:]
        rows = {ledger.key(row): row for row in ledger.read(path)}
        assert len(ledger.read(path)) == len(rows) == len(made)
        assert rows[ledger.key(ledger.identity(made[0]))]["commit"] == "later"
        written(self.folder, "dense", made[:1], lambda run: 0.9, commit="latest")
        assert "latest" not in path.read_text()

    def test_a_correction_is_said_to_make_some_worse(self):
        old = {"variant": idec.EARLIER, "changes": {"scale": "rms", "pretrain_learning_rate": 0.1}}
        written(self.folder, "dense", self.idec(**old), lambda run: 0.5)
        said = earlier.idec_versions()
        assert "From the second version to that of now: not run yet." in said
        better = {"mnist": 0.4, "fashion-mnist": 0.6}
        written(self.folder, "dense", self.idec(), lambda run: better[run.dataset])
        said = earlier.idec_versions()
        assert (
            "From the second version to that of now NMI gets better in 1 of 2 cases, most on "
            "Fashion-MNIST with 5,000 links (.500 → .600); worse in 1 of 2 cases, most on MNIST "
            "with 5,000 links (.500 → .400)." in said
        )
        assert "first version not run, second version 0 of 2, now 0 of 2." in said

    def test_what_was_judged_otherwise_is_said(self):
        (self.folder / "earlier_verdicts.csv").write_text(
            "figure,says,verdict,held,of\n"
            "2,… and ahead of d-graph,holds,8,8\n"
            "2,With 100 and 200 links S3C2 is behind d-graph,holds,8,8\n"
        )
        written(
            self.folder, "dense", figure_2.runs(runs.FULL),
            lambda run: 0.4 if run.method == "S3C2" else 0.5,
        )  # fmt: skip
        said = earlier.judged_otherwise()
        ahead = "| … and ahead of d-graph | holds (8 of 8) | does not hold (0 of 8) |"
        assert f"{ahead} the rows |" in said
        assert "S3C2 is behind d-graph" not in said
        assert "| T = 1/2 suits only many links | – | not run yet | T = 1/2 also had to be" in said


def test_links_between_the_pages_lead_somewhere(root):
    def anchors(path):
        heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}

    for path in (root / "README.md", *page.PAGES, results_page.PAGE):
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", path.read_text()):
            there = (path.parent / target).resolve() if target else path
            assert there.exists(), f"{path.name}: {target}"
            assert not anchor or anchor in anchors(there), f"{path.name}: {target}#{anchor}"
