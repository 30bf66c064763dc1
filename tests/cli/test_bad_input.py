"""Each bad input: exit code 2, one clear line, no traceback, and nothing written."""

import sys

import numpy as np
import pytest

from .conftest import fit_command

GOOD_LINKS = "a,b,link\nrow-1,row-2,must\nrow-1,row-3,cannot\n"


def refused(result, *words):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,a\nx,1\ny,nan\n", ["data.csv", "row 1", "NaN", "'a'"]),
        ("name,a\nx,1\ny,-inf\n", ["data.csv", "row 1", "infinity", "'a'"]),
        ("name,a\nx,1\ny,1e39\n", ["data.csv", "row 1", "1e+39", "'a'", "rescale"]),
        (
            "name,a\nx,1\ny,red\n",
            [
                "data.csv",
                "'a' is not numeric",
                "row 1",
                "'red'",
                "--drop a,",
                "--id-column a ",
                "--text-column a ",
            ],
        ),
        ("name;a\nx;1,5\n", ["data.csv", "separated by semicolons, and commas are expected"]),
        ("name\ta\nx\t1\n", ["data.csv", "separated by tabs, and commas are expected"]),
        ("name,a\nx,1\nx,2\n", ["data.csv", "id 'x'", "rows 0 and 1", "unique"]),
        ("name,a\n", ["data.csv", "no rows"]),
        ("", ["data.csv", "empty"]),
        ("other,a\nx,1\n", ["data.csv", "--id-column 'name' not found", "'other', 'a'"]),
    ],
)
def test_data(folder, text, words):
    folder.write("data.csv", text)
    refused(folder.run(*fit_command()), *words)
    assert "out" not in folder.names()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,link\nrow-1,row-2,must\nrow-1,row-99,cannot\n", ["l.csv", "line 3", "'row-99'"]),
        ("a,b,link\nrow-1,row-2,must\nrow-1,row-3,maybe\n", ["l.csv", "line 3", "'maybe'"]),
        (
            "a,b,link\nrow-1,row-2,must\nrow-1,row-1,cannot\n",
            ["l.csv", "line 3", "a cannot-link of id 'row-1' to itself"],
        ),
        ("a,c,link\nrow-1,row-2,must\n", ["l.csv", "no column b"]),
        ("", ["l.csv", "empty"]),
        ("a,b,link\n", ["l.csv", "no links"]),
        (
            GOOD_LINKS + "row-2,row-3,must\n",
            ["l.csv", "'row-1' and 'row-3' are a cannot-link", "'row-1'–'row-2'", "drop"],
        ),
    ],
)
def test_links(folder, text, words):
    folder.write("l.csv", text)
    refused(folder.run(*fit_command(links="l.csv")), *words)
    assert "out" not in folder.names()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,link\nrow-1,row-2,must\n", ["no cannot-link"]),
        ("a,b,link\nrow-1,row-2,cannot\n", ["no must-link"]),
        (None, ["--as-published learns from links alone", "with --links"]),
    ],
)
def test_the_published_method_needs_links_of_both_kinds(folder, text, words):
    links = None if text is None else folder.write("l.csv", text)
    refused(folder.run(*fit_command(links=links), "--as-published"), *words)
    assert "out" not in folder.names()


def test_row_numbers_beyond_the_data(folder):
    np.save(folder / "X.npy", np.eye(4))
    folder.write("l.csv", "a,b,link\n0,1,must\n0,4,cannot\n")
    command = fit_command("X.npy", "l.csv", id_column=None)
    result = folder.run(*command)
    refused(result, "l.csv", "line 3", "4", "row number", "0 to 3", "--id-column")
    assert "n_samples" not in result.stderr


@pytest.mark.parametrize(("k", "words"), [(1, ["-k 1", "at least 2"]), (61, ["-k 61", "60 rows"])])
def test_number_of_clusters(folder, k, words):
    refused(folder.run(*fit_command(k=k)), *words)
    assert "out" not in folder.names()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--device", "nowhere"], ["device", "nowhere"]),
        (["--network", "convolutional"], ["images"]),
        (["--drop", "z"], ["to --drop 'z' not found"]),
        (["--text-column", "z"], ["the --text-column 'z' not found"]),
        (["--text-column", "a", "--drop", "z"], ["--drop 'z' not found"]),
    ],
)
def test_options(folder, option, words):
    refused(folder.run(*fit_command(), *option), *words)
    assert "out" not in folder.names()


@pytest.mark.parametrize("out", ["data.csv", "data.csv/below", "/proc/nowhere"])
def test_unwritable_output_is_found_before_training(folder, out, monkeypatch):
    monkeypatch.setattr("s3c2.cli.fit._train", lambda *_: pytest.fail("trained"))
    refused(folder.run(*fit_command(out=out)), out, "cannot be written")


@pytest.mark.parametrize(
    "place", ["report.html", "labels.csv", "checkpoint.safetensors", "model/model.safetensors"]
)
def test_folder_in_the_place_of_an_output(folder, place, monkeypatch):
    monkeypatch.setattr("s3c2.cli.fit._train", lambda *_: pytest.fail("trained"))
    (folder / "out" / place).mkdir(parents=True)
    refused(folder.run(*fit_command()), f"out/{place}: cannot be written: it is a folder")


def test_file_in_the_place_of_the_model(folder, monkeypatch):
    monkeypatch.setattr("s3c2.cli.fit._train", lambda *_: pytest.fail("trained"))
    (folder / "out").mkdir()
    folder.write("out/model", "")
    refused(folder.run(*fit_command()), "out/model: cannot be written: it is a file")


@pytest.mark.parametrize(
    "option",
    [
        ["--threshold", "high"],
        ["--threshold", -1],
        ["--threshold", "nan"],
        ["--restarts", 0],
        ["--committee", 0],
        ["--dropout", 1],
        ["--labnet-steps", 0],
        ["--clunet-steps", 0],
        ["--points", 1],
    ],
)
def test_options_refused_with_the_usage(folder, option):
    result = folder.run(*fit_command(), *option)
    assert result.exit_code == 2
    assert f"Invalid value for '{option[0]}'" in result.stderr


@pytest.mark.parametrize("place", ["data", "links", "out"])
def test_nul_in_a_path(folder, place):
    result = folder.run(*fit_command(**{place: "a\0b.csv"}))
    assert result.exit_code == 2
    assert "'a\\x00b.csv' holds a NUL character" in result.stderr
    assert "out" not in folder.names()


@pytest.mark.parametrize("missing", ["data.csv", "links.csv"])
def test_missing_files(folder, missing):
    (folder / missing).unlink()
    refused(folder.run(*fit_command()), missing)


@pytest.mark.parametrize(
    ("model", "what"),
    [("data.csv", "not a model"), ("nothing", "'nothing' is not there"), (".", "not a model")],
)
def test_model_that_is_none(folder, model, what):
    refused(folder.run("predict", model, "data.csv", "-o", "new.csv"), what)
    assert "new.csv" not in folder.names()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,a,c\nx,1,2\n", ["'b', 'd' not found", "'name', 'a', 'c'"]),
        ("name,a,b,c,d\nx,1,2,3,blue\n", ["'d' is not numeric", "'blue'"]),
        ("name,a,b,c,d\nx,1,2,3,\n", ["new.csv", "row 0", "'d'"]),
        ("name,a,b,c,d\nx,1,2,3,-1e39\n", ["new.csv", "row 0", "-1e+39", "'d'"]),
        ("name,a,b,c,d\n", ["new.csv", "no rows"]),
    ],
)
def test_new_data(fitted, tmp_path, text, words):
    (tmp_path / "new.csv").write_text(text)
    result = fitted.run("predict", "out", tmp_path / "new.csv", "-o", tmp_path / "labels.csv")
    refused(result, *words)
    assert not (tmp_path / "labels.csv").exists()


def test_what_is_read_is_not_replaced(fitted, folder):
    before = (fitted / "data.csv").read_text()
    refused(
        fitted.run("predict", "out", "data.csv", "-o", "data.csv"), "data.csv", "is what is read"
    )
    assert (fitted / "data.csv").read_text() == before
    (folder / "out").mkdir()
    folder.write("out/labels.csv", (folder / "data.csv").read_text())
    refused(folder.run(*fit_command("out/labels.csv")), "out/labels.csv", "is what is read")
    refused(folder.run(*fit_command()), "out holds labels.csv", "did not make there")
    assert (folder / "out/labels.csv").read_text() == (folder / "data.csv").read_text()
    sampled = folder.run("links", "sample", "truth.csv", "-n", 5, "-o", "truth.csv")
    refused(sampled, "truth.csv", "is what is read")


@pytest.mark.parametrize("name", ["new.npy", "new.txt", "new"])
def test_new_data_that_is_no_table(fitted, tmp_path, name):
    (tmp_path / name).write_bytes(b"1,2,3")
    refused(fitted.run("predict", "out", tmp_path / name), name, "table with named columns", ".csv")
    refused(
        fitted.run("evaluate", "out/labels.csv", tmp_path / name), name, "table with named columns"
    )


def test_new_data_without_the_ids_of_fit_is_told(fitted, tmp_path):
    text = (fitted / "data.csv").read_text().replace("name,", "Name,", 1)
    (tmp_path / "new.csv").write_text(text)
    found = fitted.run("predict", "out", tmp_path / "new.csv")
    assert found.exit_code == 0
    assert "no column 'name', which held the ids in fit" in found.stderr
    assert found.stdout.splitlines()[1].startswith("0,")


@pytest.mark.parametrize("out", ["labels.xlsx", "no/folder/labels.csv", "out", "/proc/labels.csv"])
def test_predictions_that_cannot_be_written(fitted, out):
    refused(fitted.run("predict", "out", "data.csv", "-o", out), out, "cannot be written")


def test_altered_model(fitted, tmp_path):
    content = bytearray((fitted / "out/model/model.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(content)
    refused(fitted.run("predict", tmp_path, "data.csv"), "checksum")


@pytest.mark.parametrize(
    ("module", "data", "words"),
    [
        ("pyarrow", "data.csv", ["pyarrow", "s3c2[app]"]),
        ("PIL", "pictures", ["pillow", "s3c2[app]"]),
    ],
)
def test_missing_extras(folder, monkeypatch, module, data, words):
    (folder / "pictures").mkdir()
    folder.write("pictures/a.png", "x")
    monkeypatch.setitem(sys.modules, module, None)
    command = fit_command(data, id_column=None if data == "pictures" else "name")
    refused(folder.run(*command), *words)
    assert "out" not in folder.names()


def test_report_without_matplotlib_is_refused_before_training(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("s3c2.cli.fit._train", lambda *_: pytest.fail("trained"))
    refused(folder.run(*fit_command()), "matplotlib", "s3c2[app]", "--no-report")
    assert "out" not in folder.names()
