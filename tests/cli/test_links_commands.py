"""links check and links sample."""

import json

import pytest

from s3c2.links import Links

CONTRADICTORY = "a,b,link\nx,y,must\ny,z,must\nx,z,cannot\ny,x,must\n"


def test_check_counts_and_closure(folder):
    folder.write("l.csv", "a,b,link\nx,y,must\ny,z,must\nz,w,cannot\nz,y,same\n")
    result = folder.run("links", "check", "l.csv")
    assert result.exit_code == 0
    assert "2 must-links, 1 cannot-link." in result.stdout
    assert "1 link was given more than once" in result.stdout
    assert "3 must-links, 3 cannot-links." in result.stdout
    assert "No contradictions." in result.stdout


def test_check_says_that_ids_were_not_compared_with_data(folder):
    said = "Whether the data has rows with these ids was not checked"
    assert said in folder.run("links", "check", "links.csv").stderr
    with_data = ("--data", "data.csv", "--id-column", "name")
    assert said not in folder.run("links", "check", "links.csv", *with_data).stderr


def test_check_shows_contradictions_and_exits_1(folder):
    folder.write("l.csv", CONTRADICTORY)
    result = folder.run("links", "check", "l.csv")
    assert result.exit_code == 1
    assert "1 contradiction:\n- 'x' and 'z' are a cannot-link" in result.stdout
    as_json = folder.run("links", "check", "l.csv", "--json")
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout)["n_contradictions"] == 1


def test_check_shows_as_many_as_asked(folder):
    folder.write("l.csv", CONTRADICTORY)
    result = folder.run("links", "check", "l.csv", "--most", 0)
    assert "1 contradiction:\n… and 1 more (--most 1 shows all)." in result.stdout
    result = folder.run("links", "check", "l.csv", "--most", -1)
    assert result.exit_code == 2
    assert "-1 is not in the range x>=0" in result.stderr


def test_check_against_data(folder):
    result = folder.run(
        "links", "check", "links.csv", "--data", "data.csv", "--id-column", "name", "--json"
    )
    assert result.exit_code == 0
    assert json.loads(result.stdout)["n_contradictions"] == 0
    folder.write("l.csv", "a,b,link\nrow-1,row-2,must\nrow-1,row-x,cannot\n")
    result = folder.run("links", "check", "l.csv", "--data", "data.csv", "--id-column", "name")
    assert result.exit_code == 2
    assert "line 3" in result.stderr


@pytest.mark.parametrize("name", ["l.csv", "l.jsonl", "l.parquet"])
def test_sample_agrees_with_the_labels(folder, name):
    command = ["links", "sample", "truth.csv", "-n", 40, "-o", name, "--id-column", "name"]
    result = folder.run(*command, "--must-share", "0.25", "--json")
    assert json.loads(result.stdout) == {"must_links": 10, "cannot_links": 30, "output": name}
    kind = {row["name"]: row["kind"] for row in folder.read("truth.csv")}
    links = Links.read(folder / name)
    assert all(kind[a] == kind[b] for a, b in links.must)
    assert all(kind[a] != kind[b] for a, b in links.cannot)
    first = (folder / name).read_bytes()
    folder.run(*command, "--must-share", "0.25")
    assert (folder / name).read_bytes() == first


def test_sample_in_chains(folder):
    command = ["links", "sample", "truth.csv", "-n", 20, "-o", "l.csv", "--id-column", "name"]
    result = folder.run(*command, "--design", "chained", "--json")
    assert json.loads(result.stdout) == {"must_links": 10, "cannot_links": 10, "output": "l.csv"}
    links = Links.read(folder / "l.csv")
    assert set(links.cannot.ravel()) <= set(links.must.ravel())
    result = folder.run(*command, "--design", "chained", "--must-share", "0.2")
    assert result.exit_code == 2
    assert "leave must_share at 0.5" in result.stderr


def test_sample_leaves_out_rows_without_a_label(folder):
    folder.write("t.csv", 'label\na\n""\na\nb\n')
    result = folder.run("links", "sample", "t.csv", "-n", 3, "-o", "l.csv", "--uniform")
    assert result.exit_code == 0, result.output
    pairs = {frozenset(map(int, (row["a"], row["b"]))) for row in folder.read("l.csv")}
    assert pairs == {frozenset(p) for p in [(0, 2), (0, 3), (2, 3)]}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-n", "9999", "-o", "l.csv"], ["570", "fewer links"]),
        (["-n", "5", "-o", "no/l.csv"], ["no/l.csv", "cannot be written"]),
        (["-n", "5", "-o", "l.xls"], [".xls"]),
        (["-n", "5", "-o", "l.csv", "--label-column", "q"], ["'q' not found"]),
    ],
)
def test_sample_bad_input(folder, args, words):
    result = folder.run("links", "sample", "truth.csv", "--id-column", "name", *args)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert all(word in result.stderr for word in words), result.stderr
    assert "l.csv" not in folder.names()
