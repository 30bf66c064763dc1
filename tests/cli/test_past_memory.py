"""Parquet folders in, Parquet parts out: in order, resumable, and clear about what is damaged."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import dataset, parquet

from s3c2.data import streams

from .conftest import fit_command
from .test_bad_input import refused


@pytest.fixture
def parts(fitted, tmp_path):
    """The rows of data.csv as a folder of three Parquet files with two row groups each."""
    table = arrow_csv.read_csv(fitted / "data.csv")
    place = tmp_path / "parts"
    place.mkdir()
    for number in range(3):
        some = table.slice(20 * number, 20)
        parquet.write_table(some, place / f"{number}.parquet", row_group_size=10)
    return place


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of the size of one row group."""
    monkeypatch.setattr("s3c2.data.parquet.PART_ROWS", 10)


def labels(folder):
    return dataset.dataset(folder).to_table().to_pydict()


def in_one_piece(fitted, tmp_path):
    result = fitted.run("predict", "out", "data.csv", "-o", tmp_path / "whole.parquet")
    assert result.exit_code == 0, result.output
    return parquet.read_table(tmp_path / "whole.parquet").to_pydict()


def test_a_folder_becomes_parts_in_order(fitted, parts, small_parts, tmp_path):
    out = tmp_path / "labels"
    result = fitted.run("predict", "out", parts, "-o", out, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"rows": 60, "output": str(out), "ids_twice": 0}
    assert sorted(path.name for path in out.glob("*.parquet")) == [
        f"part-{number:05d}.parquet" for number in range(6)
    ]
    assert labels(out) == in_one_piece(fitted, tmp_path)


@pytest.mark.parametrize("name", ["new.csv", "new.jsonl", None])
def test_a_folder_becomes_one_table(fitted, parts, tmp_path, name):
    given = [] if name is None else ["-o", tmp_path / name]
    of_folder = fitted.run("predict", "out", parts, *given)
    found = of_folder.stdout if name is None else (tmp_path / name).read_bytes()
    of_file = fitted.run("predict", "out", "data.csv", *given)
    assert of_folder.exit_code == of_file.exit_code == 0
    assert found == (of_file.stdout if name is None else (tmp_path / name).read_bytes())


def test_finished_parts_are_kept_and_missing_ones_made(fitted, parts, small_parts, tmp_path):
    out = tmp_path / "labels"
    fitted.run("predict", "out", parts, "-o", out)
    before = labels(out)
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    (out / "part-00002.parquet").unlink()
    (out / "part-00004.parquet").write_bytes(b"")  # no part of ours is ever like this
    (out / ".part-00002.parquet.aa.tmp").write_bytes(b"half")
    result = fitted.run("predict", "out", parts, "-o", out)
    assert "4 of 6 parts are there already" in result.stderr
    assert labels(out) == before
    kept = {p.name for p in out.glob("*.parquet") if p.stat().st_mtime_ns == times[p.name]}
    assert len(kept) == 4
    assert not list(out.glob(".*"))


def test_an_unfinished_folder_is_scored_with_a_warning(fitted, parts, small_parts, tmp_path):
    out = tmp_path / "labels"
    fitted.run("predict", "out", parts, "-o", out)
    given = "evaluate", out, "truth.csv", "--id-column", "name", "--truth-column", "kind"
    whole = fitted.run(*given)
    assert "60 of 60 rows" in whole.stdout
    assert whole.stderr == ""
    (out / "part-00002.parquet").unlink()
    result = fitted.run(*given)
    assert result.exit_code == 0
    assert "50 of 50 rows" in result.stdout
    assert result.stderr.startswith("Warning: 1 of 6 parts are missing in ")


@pytest.mark.slow
def test_a_killed_prediction_goes_on_to_the_same_labels(fitted, tmp_path):
    table = arrow_csv.read_csv(fitted / "data.csv")
    place, out = tmp_path / "many", tmp_path / "labels"
    place.mkdir()
    for number in range(30):
        ids = pa.array([f"{number}-{name}" for name in table["name"].to_pylist()] * 100)
        rows = pa.concat_tables([table] * 100).set_column(0, "name", ids)
        parquet.write_table(rows, place / f"{number:02d}.parquet")
    command = [sys.executable, "-m", "s3c2.cli", "predict", str(fitted / "out"), str(place)]
    process = subprocess.Popen([*command, "-o", str(out), "--quiet"], env={**os.environ})
    while len(list(out.glob("part-*.parquet"))) < 3 and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(list(out.glob("part-*.parquet")))
    for part in out.glob("part-*.parquet"):
        assert parquet.read_metadata(part).num_rows == 6000
    result = fitted.run("predict", "out", place, "-o", out)
    assert result.exit_code == 0, result.output
    assert done < 30
    assert "of 30 parts are there already" in result.stderr
    fitted.run("predict", "out", place, "-o", tmp_path / "again")
    assert labels(out) == labels(tmp_path / "again")


def test_a_memory_mapped_array(fitted, folder, tmp_path):
    X = arrow_csv.read_csv(fitted / "data.csv").drop(["name"]).to_pandas().to_numpy()
    np.save(folder / "X.npy", X)
    folder.write("numbers.csv", "a,b,link\n0,1,must\n0,30,cannot\n20,21,must\n20,50,cannot\n")
    assert folder.run(*fit_command("X.npy", "numbers.csv", id_column=None)).exit_code == 0
    assert folder.run("predict", "out", "X.npy", "-o", "parts").exit_code == 0
    ids = [row["id"] for row in folder.read("out/labels.csv")]
    clusters = [int(row["cluster"]) for row in folder.read("out/labels.csv")]
    found = labels(folder / "parts")
    assert (found["id"], found["cluster"]) == (ids, clusters)


class TestFit:
    def test_on_a_folder_with_a_sample(self, folder, parts):
        # One MiB takes all rows, so that the folder gives what the one file gives.
        command = [*fit_command(parts), "--memory", "1"]
        result = folder.run(*command, "--json")
        assert result.exit_code == 0, result.output
        summary = json.loads(result.stdout)
        assert summary["rows"] == 60
        assert summary["outputs"]["labels"] == "out/labels"
        folder.run(*fit_command(out="whole"))
        whole = {row["id"]: int(row["cluster"]) for row in folder.read("whole/labels.csv")}
        found = labels(folder / "out/labels")
        assert dict(zip(found["id"], found["cluster"])) == whole
        assert "60 rows in 3 clusters" in (folder / "out/report.html").read_text()
        again = folder.run(*command)
        assert again.exit_code == 0, again.output

    def test_says_what_the_training_sees(self, folder, tmp_path):
        n = 40_000  # of four float64 columns: more than one MiB
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 4)) + 5 * (np.arange(n) % 3)[:, None]
        table = {"name": np.arange(n) + 10**6, **dict(zip("abcd", X.T))}
        parquet.write_table(pa.table(table), folder / "large.parquet")
        links = "".join(
            f"{10**6 + a},{10**6 + b},{'must' if a % 3 == b % 3 else 'cannot'}\n"
            for a, b in rng.integers(0, n, (20, 2))
        )
        folder.write("some.csv", "a,b,link\n" + links)
        command = [*fit_command("large.parquet", "some.csv"), "--as-published"]
        result = folder.run(*command, "--memory", "1")
        assert result.exit_code == 0, result.output
        assert (
            "40,000 rows of 32 bytes: the training sees 40 rows with links and 32," in result.stderr
        )
        assert "(--memory is 1 MiB)" in result.stderr
        assert len(labels(folder / "out/labels")["id"]) == n
        assert " rows, a sample of 40,000, in " in (folder / "out/report.html").read_text()

    def test_ids_twice_across_parts(self, folder, parts):
        table = parquet.read_table(parts / "0.parquet")
        parquet.write_table(table.slice(3, 4), parts / "3.parquet")
        name = table["name"][3].as_py()
        refused(folder.run(*fit_command(parts)), repr(name), "row 3 of", "0.parquet", "3.parquet")
        assert "out" not in folder.names()

    def test_a_damaged_part(self, folder, parts):
        (parts / "1.parquet").write_bytes(b"PAR1 and no more")
        refused(folder.run(*fit_command(parts)), "1.parquet", "cannot be read as Parquet")
        assert "out" not in folder.names()


class TestIdsTwice:
    @pytest.fixture
    def doubled(self, parts):
        table = parquet.read_table(parts / "0.parquet")
        parquet.write_table(table.slice(3, 4), parts / "3.parquet")
        return table["name"][3].as_py()

    @pytest.mark.parametrize("name", ["labels", "labels.csv"])
    def test_across_parts_are_counted_and_told_beforehand(
        self, fitted, parts, doubled, tmp_path, name
    ):
        result = fitted.run("predict", "out", parts, "-o", tmp_path / name)
        assert result.exit_code == 0, result.output
        (line,) = (line for line in result.stderr.splitlines() if line.startswith("Warning"))
        assert line.startswith(f"Warning: 4 ids stand on more than one row, such as {doubled!r} on")
        assert f"row 3 of {parts / '0.parquet'} and on row 0 of {parts / '3.parquet'}" in line
        assert "The labels of 64 rows are in" in result.stderr

    def test_are_in_the_summary(self, fitted, parts, doubled, tmp_path):
        result = fitted.run("predict", "out", parts, "-o", tmp_path / "x", "--json", "--quiet")
        assert result.stderr == ""
        assert json.loads(result.stdout)["ids_twice"] == 4

    def test_of_a_part_that_is_left_out_do_not_count(self, fitted, parts, doubled, tmp_path):
        path = parts / "3.parquet"
        content = bytearray(path.read_bytes())
        content[4:60] = bytes(56)
        path.write_bytes(bytes(content))
        result = fitted.run("predict", "out", parts, "-o", tmp_path / "x", "--skip-damaged")
        assert result.exit_code == 0, result.output
        assert "1 part was left out" in result.stderr
        assert "more than one row" not in result.stderr

    def test_are_not_looked_for_among_too_many(self, fitted, parts, doubled, tmp_path, monkeypatch):
        monkeypatch.setattr("s3c2.cli.predict.MOST_IDS", 63)
        result = fitted.run("predict", "out", parts, "-o", tmp_path / "x")
        assert result.exit_code == 0, result.output
        assert "64 ids are too many to look for those that come twice" in result.stderr
        assert "more than one row" not in result.stderr


class TestBadInput:
    def damage(self, parts, how):
        path = parts / "1.parquet"
        if how == "no Parquet":
            path.write_bytes(b"PAR1 and no more")
        elif how == "lacks a column":
            parquet.write_table(parquet.read_table(path).drop(["c"]), path)
        else:  # a page in the middle is not what it was
            content = bytearray(path.read_bytes())
            content[4:400] = bytes(396)
            path.write_bytes(bytes(content))

    @pytest.mark.parametrize(
        ("how", "words"),
        [
            ("no Parquet", ["cannot be read as Parquet"]),
            ("lacks a column", ["column 'c' not found"]),
            ("damaged inside", ["cannot be read as Parquet"]),
        ],
    )
    def test_a_part_that_cannot_be_used(self, fitted, parts, tmp_path, how, words):
        self.damage(parts, how)
        refused(
            fitted.run("predict", "out", parts, "-o", tmp_path / "one", "--quiet"),
            "1.parquet",
            *words,
        )
        refused(fitted.run("predict", "out", parts, "-o", tmp_path / "one.csv", "--quiet"), *words)
        assert not (tmp_path / "one.csv").exists()
        skipped = tmp_path / "two"
        result = fitted.run("predict", "out", parts, "-o", skipped, "--skip-damaged")
        assert result.exit_code == 0, result.output
        assert "The labels of 40 rows are in" in result.stderr
        assert "1 part was left out" in result.stderr
        whole = in_one_piece(fitted, tmp_path)
        assert labels(skipped)["id"] == whole["id"][:20] + whole["id"][40:]

    def test_an_output_folder_of_another_run(self, fitted, parts, tmp_path):
        out = tmp_path / "labels"
        fitted.run("predict", "out", parts, "-o", out)
        before = labels(out)
        (parts / "2.parquet").unlink()
        refused(fitted.run("predict", "out", parts, "-o", out), "parts of another run", "-o")
        assert labels(out) == before

    def test_ids_of_another_column_are_another_run(self, fitted, parts, tmp_path):
        out, other = tmp_path / "labels", tmp_path / "other"
        fitted.run("predict", "out", parts, "-o", out)
        before = labels(out)
        column = parquet.read_table(parts / "0.parquet").column_names[-1]  # of numbers, too
        again = fitted.run("predict", "out", parts, "--id-column", column, "-o", out)
        refused(again, "parts of another run", "other ids", "-o")
        assert labels(out) == before
        result = fitted.run("predict", "out", parts, "--id-column", column, "-o", other)
        assert result.exit_code == 0, result.output
        assert labels(other)["cluster"] == before["cluster"]
        assert labels(other)["id"] != before["id"]
        same = fitted.run("predict", "out", parts, "--id-column", "name", "-o", out)
        assert "3 of 3 parts are there already" in same.stderr

    def test_an_output_folder_with_something_else(self, fitted, parts, tmp_path):
        (tmp_path / "labels").mkdir()
        (tmp_path / "labels" / "mine.txt").write_text("keep")
        result = fitted.run("predict", "out", parts, "-o", tmp_path / "labels")
        refused(result, "mine.txt", "no part of this run")

    def test_an_id_column_that_is_not_there(self, fitted, parts, tmp_path):
        result = fitted.run("predict", "out", parts, "--id-column", "key", "-o", tmp_path / "x")
        refused(result, "--id-column 'key' not found")
        assert not (tmp_path / "x").exists()


def test_parts_of_an_array_end_where_they_should(monkeypatch):
    monkeypatch.setattr(streams, "PART_ROWS", 7)
    stream = streams.array_stream(np.arange(40.0).reshape(20, 2))
    assert [part.n_rows for part in stream.parts] == [7, 7, 6]
    assert np.concatenate([b.X for b in stream.blocks()]).tolist() == [
        [2.0 * n, 2.0 * n + 1] for n in range(20)
    ]


def test_links_to_ids_that_no_row_has_are_refused(folder, parts):
    (folder / "unknown.csv").write_text("a,b,link\nrow-1,zzz,must\nrow-2,yyy,cannot\n")
    result = folder.run(*fit_command(parts, "unknown.csv", out="none"))
    refused(result, "unknown.csv", "'zzz' (and 1 more) is not among the ids of the data")
    assert not (folder / "none").exists()
