"""evaluate joins two tables and scores."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet


def test_by_id(folder):
    folder.write("l.csv", "id,cluster,probability\nx,0,1\ny,0,1\nz,1,1\nw,1,1\n")
    folder.write("t.csv", "name,size,species\nz,3,cat\ny,3,dog\nx,3,dog\nq,3,dog\nw,3,\n")
    result = folder.run(
        "evaluate", "l.csv", "t.csv", "--truth-column", "species", "--id-column", "name"
    )
    assert result.stdout == ("NMI 1.0000\nARI 1.0000\nACC 1.0000\n3 of 4 rows matched by id.\n")


def test_by_row_order(folder):
    folder.write("l.csv", "id,cluster\n0,0\n1,0\n2,1\n3,1\n")
    folder.write("t.csv", "kind\na\na\nb\na\n")
    scores = json.loads(folder.run("evaluate", "l.csv", "t.csv", "--json").stdout)
    assert scores["acc"] == 0.75
    assert (scores["matched"], scores["joined_by"]) == (4, "row order")


@pytest.mark.parametrize(
    ("labels", "truth", "words"),
    [
        ("id,cluster\n0,0\n", "kind\na\nb\n", ["l.csv has 1 rows", "t.csv has 2", "id"]),
        ("id,cluster\n0,0\n", "nr,class\n0,a\n", ["l.csv has ids", "--id-column: one of 'nr'"]),
        ("id,cluster\n0,0\n", "id,kind\n7,a\n", ["No row of l.csv", "joined by id"]),
        ("id,cluster\n0,0\n", "id,a,b\n0,1,2\n", ["which column", "--truth-column"]),
        ("id,x,y\n0,0,0\n", "id,a\n0,1\n", ["which column", "--label-column"]),
        ("id,cluster\n0,0\n0,1\n", "id,kind\n0,a\n", ["'0'", "rows 0 and 1"]),
        ("id,cluster\n", "id,kind\n0,a\n", ["no rows"]),
        ("", "id,kind\n0,a\n", ["empty"]),
    ],
)
def test_bad_input(folder, labels, truth, words):
    folder.write("l.csv", labels)
    folder.write("t.csv", truth)
    result = folder.run("evaluate", "l.csv", "t.csv")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert all(word in result.stderr for word in words), result.stderr


def test_folders_of_parts_are_tables(folder):
    for number, (ids, clusters) in enumerate([(["a", "b"], [0, 0]), (["c", "d"], [1, 1])]):
        table = pa.table({"id": ids, "cluster": clusters})
        (folder.path / "parts").mkdir(exist_ok=True)
        parquet.write_table(table, folder.path / "parts" / f"part-{number:05d}.parquet")
    folder.write("t.csv", "id,kind\nd,y\nc,y\nb,x\na,x\n")
    result = folder.run("evaluate", "parts", "t.csv")
    assert result.stdout == "NMI 1.0000\nARI 1.0000\nACC 1.0000\n4 of 4 rows matched by id.\n"

    parquet.write_table(
        pa.table({"id": ["a"], "cluster": [0]}), folder.path / "parts" / "part-00002.parquet"
    )
    result = folder.run("evaluate", "parts", "t.csv")
    assert result.exit_code == 2
    assert "parts: the id 'a'" in result.stderr
    parquet.write_table(pa.table({"id": ["e"]}), folder.path / "parts" / "part-00002.parquet")
    result = folder.run("evaluate", "parts", "t.csv")
    assert result.exit_code == 2
    assert all(word in result.stderr for word in ["part-00002.parquet", "'cluster' not found"])
