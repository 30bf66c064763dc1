"""One writer for all tables: what it writes, the readers read back, whatever the values hold."""

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from s3c2.data.columns import column_names, read_text_columns
from s3c2.errors import LinksError, TableError
from s3c2.files.tables import ENDINGS, read_table, table_bytes, write_table
from s3c2.links import Links

VALUES = st.text(st.characters(codec="utf-8"), max_size=5) | st.text('a,"\n\r\t 0', max_size=5)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=5))
@example([("\r", ' x"y,z ')])
@example([("", "\t"), ("null", "NA")])
def test_texts_come_back(ending, rows):
    a, b = (list(column) for column in zip(*rows))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        write_table(path, {"a": a, "b": b})
        table = read_table(path, ["b", "a"])
        assert (table.columns["a"], table.columns["b"]) == (a, b)
        if ending not in (".jsonl", ".ndjson"):
            assert column_names(path) == ["a", "b"]
            assert read_text_columns(path, ["a", "b"]) == {"a": a, "b": b}


@settings(deadline=None, max_examples=60)
@given(st.lists(VALUES, min_size=1, max_size=5))
@example(["", ""])
@example(["\r"])
def test_one_column_comes_back_through_the_csv_of_python(values):
    text = table_bytes({"id, of all": values}).decode()
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert rows == [["id, of all"], *([value] for value in values)]


def test_numbers_and_gaps():
    columns = {"n": [1, -2], "p": [0.5, 1e-7], "c": [None, "x"]}
    assert table_bytes(columns) == b"n,p,c\n1,0.5,\n-2,1e-07,x\n"
    assert table_bytes(columns, ".jsonl").splitlines()[0] == b'{"n": 1, "p": 0.5, "c": null}'


def test_what_cannot_be_written_is_said(tmp_path):
    with pytest.raises(TableError, match="UTF-8 cannot write"):
        write_table(tmp_path / "t.csv", {"a": ["\ud800"]})
    with pytest.raises(TableError, match=r"'\.xlsx'.* end in \.csv, "):
        write_table(tmp_path / "t.xlsx", {"a": ["x"]})
    assert not list(tmp_path.iterdir())


def test_parquet_with_two_columns_of_one_name(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    columns = [pa.array(["x"]), pa.array(["y"]), pa.array(["must"]), pa.array(["z"])]
    pa.parquet.write_table(pa.table(columns, ["a", "b", "link", "a"]), tmp_path / "l.parquet")
    with pytest.raises(LinksError, match="the column 'a' is there more than once"):
        Links.read(tmp_path / "l.parquet")
