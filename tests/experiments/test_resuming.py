"""A second start does only what is missing; what cannot be run is refused."""

from __future__ import annotations

import itertools
import multiprocessing
from dataclasses import replace
from types import SimpleNamespace

import pytest

from s3c2.engine import checkpoint, running
from s3c2.errors import DatasetError

from experiments import command_line, data, ledger, plots, runs, training
from experiments.experiment import Experiment

forks = "fork" in multiprocessing.get_all_start_methods()
FORKED = multiprocessing.get_context("fork") if forks else None  # nothing is imported anew


def append_one_by_one(path, rows):
    for row in rows:
        ledger.append(path, [row])


class TestResume:
    @pytest.fixture(autouse=True)
    def own_folder(self, tiny, tmp_path, start, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        self.path = tmp_path / "quick" / "dense.csv"
        self.start = start

    def neighbours(self, *flags: str) -> list[dict[str, str]]:
        self.start("neighbours", *flags)
        return ledger.read(self.path)

    def test_only_lost_rows_are_trained_again(self, monkeypatch):
        rows = self.neighbours()
        lines = self.path.read_text().splitlines(keepends=True)
        # A kill can leave a part of a row, and rows of another commit are done as well.
        kept = [line.replace(rows[0]["commit"], "elsewhere") for line in lines[1:6]]
        self.path.write_text("".join([lines[0], *kept, lines[6][:40]]))
        trained = []
        fit_many = training.fit_many
        monkeypatch.setattr(
            training,
            "fit_many",
            lambda X, grid, **how: trained.extend(grid) or fit_many(X, grid, **how),
        )
        again = self.neighbours()
        assert len(trained) == len(rows) - 5
        assert [row["commit"] for row in again].count("elsewhere") == 5
        assert {ledger.key(row) for row in again} == {ledger.key(row) for row in rows}
        assert {ledger.key(r): r["nmi"] for r in again} == {ledger.key(r): r["nmi"] for r in rows}

    def test_a_stop_loses_the_group_in_progress_at_most(self, monkeypatch):
        fit_many, groups = training.fit_many, []

        def stop_in_the_third(X, grid, **how):
            groups.append(grid)
            if len(groups) == 3:
                raise KeyboardInterrupt
            return fit_many(X, grid, **how)

        monkeypatch.setattr(training, "fit_many", stop_in_the_third)
        with pytest.raises(SystemExit) as stopped:
            self.neighbours("--group", "2")
        assert stopped.value.code == 130
        assert [len(group) for group in groups] == [2, 2, 2]
        assert len(ledger.read(self.path)) == 4

    def test_a_group_that_was_stopped_goes_on(self, monkeypatch, capsys):
        monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
        train_step, taken, stop_at = running.train_step, [], []

        def counted(*arguments):
            taken.append(arguments)
            if len(taken) in stop_at:
                raise KeyboardInterrupt
            return train_step(*arguments)

        monkeypatch.setattr(running, "train_step", counted)
        expected = self.neighbours()
        self.path.unlink()
        needed = len(taken)
        stop_at.append(needed + 2)  # the second step of the second start
        capsys.readouterr()
        with pytest.raises(SystemExit):
            self.neighbours()
        said = capsys.readouterr().err
        assert "runs begin\n" in said
        assert said.endswith("stopped; the same command goes on from here\n")
        (state,) = self.path.parent.glob("unfinished-*")
        again = self.neighbours()
        assert "runs go on\n" in capsys.readouterr().err
        assert len(taken) == 2 * needed + 1  # one step was taken twice
        assert not state.exists()
        assert [row["nmi"] for row in again] == [row["nmi"] for row in expected]

    def test_no_group_begins_after_the_budget(self, monkeypatch):
        clock = SimpleNamespace(perf_counter=itertools.count().__next__)  # a second a look
        monkeypatch.setattr(training, "time", clock)
        assert len(self.neighbours("--group", "2", "--budget-seconds", "2")) == 2

    def test_methods_data_sets_and_budgets_can_be_chosen(self):
        self.start("figure_2", "--only", "dcpr", "--dataset", "digits", "--links", "60")
        found = {(row["method"], row["n_links"]) for row in ledger.read(self.path)}
        assert found == {("DCPR", "60")}

    @pytest.mark.parametrize(
        ("flags", "said"),
        [
            (
                ["--dataset", "mnist"],
                "figure_2 has no such runs; it has S3C2, d-graph, DCPR, IDEC on digits",
            ),  # a quick run is of digits
            (["--links", "7"], "with 60, 120 links"),
            (["--dataset", "nonesuch"], "invalid choice: 'nonesuch'"),
            (["--group", "0"], "'0' is not a whole number of at least 1"),
            (["--links", "many"], "'many' is not a whole number of at least 0"),
            (["--only", "spectral"], "invalid choice: 'spectral'"),
        ],
    )
    def test_what_cannot_be_run_is_refused(self, flags, said, capsys):
        with pytest.raises(SystemExit) as refused:
            self.start("figure_2", *flags)
        assert refused.value.code == 2
        assert said in capsys.readouterr().err
        assert not self.path.exists()

    @pytest.mark.skipif(FORKED is None, reason="forks")
    def test_experiments_side_by_side_write_a_run_once(self):
        rows = self.neighbours()
        others = [row | {"commit": "of the other"} for row in rows]
        self.path.unlink()
        ledger.append(self.path, rows[:3])
        third = len(others) // 3  # both write the middle one
        parts = others[: 2 * third], others[: third - 1 : -1]
        both = [FORKED.Process(target=append_one_by_one, args=(self.path, one)) for one in parts]
        for process in both:
            process.start()
        for process in both:
            process.join(timeout=120)
        assert [process.exitcode for process in both] == [0, 0]
        written = ledger.read(self.path)
        assert written[:3] == rows[:3]
        assert sorted(map(ledger.key, written)) == sorted(map(ledger.key, rows))

    def test_data_that_is_missing_is_told_before_anything_is_trained(self, monkeypatch):
        def load(name, network):
            if name == "mnist":
                raise DatasetError("mnist is missing. Put it there.")

        monkeypatch.setattr(data, "load", load)
        wanted = [
            run for name in ("mnist", "letters") for run in runs.grid("DCPR", [name], [100], 1)
        ]
        with pytest.raises(
            DatasetError, match="Put it there. Or run the others alone: --dataset letters"
        ):
            data.check(wanted)
        with pytest.raises(DatasetError, match="Put it there.$"):
            data.check(wanted[:1])

    def test_nothing_is_drawn_from_nothing(self):
        with pytest.raises(SystemExit, match="has no rows of these runs, so nothing was drawn"):
            self.start("neighbours", "--plot-only")
        assert not self.path.parent.exists()

    def test_precisions_are_not_mixed(self, no_training, monkeypatch):
        rows = self.neighbours("--links", "60")
        monkeypatch.setattr(training, "fit_many", no_training)
        with pytest.raises(SystemExit, match=r"holds runs in float32: use --precision float32, or"):
            self.start("neighbours", "--precision", "bf16")
        assert ledger.read(self.path) == rows

    def test_a_device_that_is_not_there_is_one_line(self):
        with pytest.raises(SystemExit, match="'device' parameter .*'tpu'"):
            self.start("figure_2", "--device", "tpu")

    def test_the_first_link_sets_and_one_design_can_be_chosen(self):
        self.start("figure_2", "--only", "dcpr", "--link-sets", "1", "--design", "chained")
        found = {(row["link_seed"], row["design"]) for row in ledger.read(self.path)}
        assert found == {("0", "chained")}

    def test_rows_from_before_links_had_a_design_are_of_uniform_ones(self, tmp_path):
        path = tmp_path / "older.csv"
        columns = [name for name in ledger.COLUMNS if name not in ledger.LATER]
        uniform = runs.Run("letters", "DCPR", 100, 0)
        chained = replace(uniform, design="chained")
        row = ledger.identity(uniform)
        path.write_text(f"{','.join(columns)}\n{','.join(row.get(n, '') for n in columns)}\n")
        assert ledger.missing([uniform, chained], ledger.read(path)) == [chained]
        later = ledger.identity(replace(uniform, link_seed=1))
        ledger.append(path, [later])
        assert [row["design"] for row in ledger.read(path)] == ["uniform"] * 2
        with pytest.raises(ValueError, match="design"):  # it has no column for it
            ledger.append(path, [ledger.identity(chained)])

    def test_a_file_with_other_columns_is_refused(self):
        self.path.parent.mkdir()
        self.path.write_text("dataset,nmi\ndigits,1\n")
        with pytest.raises(SystemExit, match="other columns"):
            self.neighbours()


def test_a_run_that_diverged_has_a_row_and_does_not_count(tmp_path):
    identities = [ledger.identity(run) for run in runs.grid("DCPR", ["letters"], [100], 3)]
    rows = [one | {"nmi": nmi} for one, nmi in zip(identities, (0.4, 0.6, ""))]
    ledger.append(tmp_path / "dense.csv", rows)
    found = plots.summary(
        plots.table(ledger.read(tmp_path / "dense.csv")), ("dataset", "n_links"), ("nmi",)
    )
    assert found[["n", "nmi"]].to_numpy().tolist() == [[2, 0.5]]


def test_a_group_that_diverges_has_rows_and_the_next_one_runs(
    tmp_path, run, no_training, monkeypatch, capsys
):
    monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
    diverging = runs.Run("digits", "DCPR", 60, 0, changes={"entropy_weight": 1e39, "steps": 2})
    healthy = runs.Run("digits", "DCPR", 60, 0, changes={"steps": 2})
    experiment = Experiment("x", "dense", lambda sizes: [diverging, healthy], lambda rows: None)
    monkeypatch.setattr(command_line, "shortened", lambda run, steps: run)
    monkeypatch.setattr(Experiment, "write", lambda self, rows, folder: True)
    run(experiment)
    assert "training diverged" in capsys.readouterr().err
    assert [row["nmi"] != "" for row in ledger.read(tmp_path / "quick/dense.csv")] == [False, True]
    monkeypatch.setattr(training, "train_group", no_training)
    run(experiment)
