"""Every experiment runs, with tiny settings; a second start does only what is missing."""

from __future__ import annotations

import csv
import os
import subprocess
import sys

import pytest

from experiments import catalogue, command_line, figures, ledger, runs, training

ALL = catalogue.experiments()


@pytest.mark.slow  # a minute for all of them, which share rows where one process runs them
@pytest.mark.xdist_group("experiments")
@pytest.mark.parametrize("name", ALL)
def test_it_trains_writes_rows_and_draws_and_a_second_start_trains_nothing(
    name, folder, sizes, start, no_training, monkeypatch
):
    start(name)
    path = ALL[name].path(folder)
    wanted = [runs.shortened(run, 2) for run in ALL[name].runs(sizes)]
    keys = {ledger.key(ledger.identity(run)) for run in wanted}
    rows = [row for row in ledger.read(path) if ledger.key(row) in keys]
    assert len(rows) == len(keys)
    for row in rows:
        assert all(0 <= float(row[score]) <= 1 for score in ("nmi", "nmi_geometric", "acc"))
        assert int(row["steps"]) > 0
        assert row["commit"]
        assert row["source"]
        if row["method"] == "S3C2":
            rates = [float(row[name]) for name in ("ml_rate", "cl_rate")]
            assert float(row["balanced_accuracy"]) == pytest.approx(sum(rates) / 2, abs=2e-5)
    before = path.read_bytes() if path.exists() else b""
    pictures = {kind: folder / f"{name}.{kind}" for kind in ("png", "csv")}
    drawn = {kind: picture.read_bytes() for kind, picture in pictures.items()}
    assert drawn["png"].startswith(b"\x89PNG")
    assert drawn["csv"].count(b"\n") > 1

    monkeypatch.setattr(training, "fit_many", no_training)
    start(name)
    assert (path.read_bytes() if path.exists() else b"") == before
    assert {kind: picture.read_bytes() for kind, picture in pictures.items()} == drawn


def test_plot_only_draws_the_rows_that_exist(folder, start, no_training, monkeypatch):
    start("neighbours")
    path = ALL["neighbours"].path(folder)
    before = [one.read_bytes() for one in (path, folder / "neighbours.png")]
    (folder / "neighbours.png").unlink()
    monkeypatch.setattr(training, "fit_many", no_training)
    start("neighbours", "--plot-only")
    assert [one.read_bytes() for one in (path, folder / "neighbours.png")] == before


def test_the_list_has_every_experiment_with_its_first_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # no line breaks
    command_line.main([])
    said = " ".join(capsys.readouterr().out.split())
    for name, experiment in ALL.items():
        first = experiment.text.splitlines()[0]
        assert f"{name} {first}" in said
    with pytest.raises(SystemExit) as asked:
        command_line.main(["--help"])
    assert asked.value.code == 0
    assert " ".join(capsys.readouterr().out.split()) == said


def test_a_new_file_is_found_and_sorted_by_its_number(tmp_path, monkeypatch):
    for n in (10, 9):
        (tmp_path / f"figure_{n}.py").write_text(
            f'"""Figure {n}."""\n'
            "from experiments.experiment import Experiment\n"
            'EXPERIMENT = Experiment(__name__, "dense", lambda sizes: [], None)\n'
        )
    monkeypatch.setattr(figures, "__path__", [*figures.__path__, str(tmp_path)])
    found = list(catalogue.experiments())
    assert [name for name in found if name not in ALL] == ["figure_9", "figure_10"]
    assert found.index("figure_6") < found.index("figure_9") < found.index("neighbours")
    new = catalogue.experiments()["figure_10"]
    assert (new.name, new.title, new.text) == ("figure_10", "Figure 10", "Figure 10.")


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit) as refused:
        command_line.main(["figure_0"])
    assert refused.value.code == 2
    assert "invalid choice: 'figure_0'" in capsys.readouterr().err


class TestAll:
    """``all`` runs every experiment and then the page."""

    @pytest.fixture(autouse=True)
    def noted(self, monkeypatch):
        self.done = []
        monkeypatch.setattr(command_line, "run", lambda one, args: self.done.append(one.name))
        monkeypatch.setattr(command_line.page, "write", lambda: self.done.append("page"))

    def test_the_page_comes_last(self, monkeypatch):
        monkeypatch.delenv("S3C2_RESULTS")
        command_line.main(["all"])
        assert self.done == [*ALL, "page"]

    def test_the_page_is_left_alone_if_the_results_are_others(self):
        command_line.main(["all"])
        assert self.done == list(ALL)

    def test_experiments_without_such_runs_are_skipped(self, capsys):
        command_line.main(["all", "--only", "NNclustering"])
        assert self.done == ["figure_1", "figure_5", "uniform_links"]
        assert "figure_2: skipped" in capsys.readouterr().err

    def test_runs_that_no_experiment_has_are_refused(self, capsys):
        with pytest.raises(SystemExit) as refused:
            command_line.main(["all", "--links", "7"])
        assert refused.value.code == 2
        assert "no experiment has such runs" in capsys.readouterr().err
        assert self.done == []


def test_it_is_a_command(tmp_path, root):
    environment = os.environ | {"S3C2_RESULTS": str(tmp_path)}
    command = [sys.executable, "-m", "experiments", "figure_1", "--quick"]
    subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True, timeout=120)
    with open(tmp_path / "quick" / "figure_1.csv") as file:
        losses = {float(row["d2"]): row for row in csv.DictReader(file)}
    at_quarter, at_half = losses[0.25], losses[0.5]
    assert float(at_quarter["must_link_loss"]) == float(at_quarter["cannot_link_loss"]) == 0.25
    assert float(at_half["cannot_link_loss"]) == pytest.approx(0.086, abs=5e-4)


def test_quick_results_never_land_among_those_of_full_runs(monkeypatch, tmp_path, root, capsys):
    monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
    assert ledger.results_folder(quick=False) == tmp_path
    assert ledger.results_folder(quick=True) == tmp_path / "quick"
    monkeypatch.delenv("S3C2_RESULTS")
    assert ledger.results_folder(quick=False) == root / "experiments" / "results"
    assert ledger.results_folder(quick=True) == root / "experiments" / "quick"
    with pytest.raises(SystemExit):
        command_line.main(["figure_2", "--steps", "2"])
    assert "--steps needs --quick" in capsys.readouterr().err
