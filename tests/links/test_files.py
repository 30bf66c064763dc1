"""Links in files: what is written is read back, and every fault of a file is named."""

from __future__ import annotations

import re
import stat
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from s3c2.errors import LinksError, MissingExtraError, StorageError
from s3c2.links import Links

FORMATS = ["csv", "tsv", "jsonl", "ndjson", "parquet"]
WEIGHTS = st.one_of(
    st.just(1.0), st.floats(0, 1, exclude_min=True), st.floats(0, 1, exclude_min=True, width=32)
)
IDS = st.one_of(
    st.text(min_size=1), st.text('a,"\n\r\t 0', min_size=1), st.sampled_from(["é", "007", "−1"])
)


@st.composite
def links_of(draw, end):
    pairs = st.lists(st.tuples(end, end, WEIGHTS).filter(lambda p: p[0] != p[1]), max_size=6)
    must, cannot = draw(pairs), draw(pairs)
    assume(must or cannot)
    columns = [[(a, b) for a, b, _ in must], [(a, b) for a, b, _ in cannot]]
    return columns, {
        "must_weight": [w for *_, w in must],
        "cannot_weight": [w for *_, w in cannot],
    }


def through_file(links, ending, read=None, write=None):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"links.{ending}"
        links.write(path, **(write or {}))
        assert [p.name for p in Path(folder).iterdir()] == [path.name]
        return Links.read(path, **(read or {}))


@pytest.mark.parametrize("ending", FORMATS)
@settings(deadline=None, max_examples=40)
@given(links_of(st.integers(0, 30)))
def test_row_numbers_come_back(ending, made):
    pairs, weights = made
    links = Links(*pairs, n_samples=31, **weights)
    assert through_file(links, ending, read={"n_samples": 31}) == links
    ids = [f"row, {i}" for i in range(31)]
    assert through_file(links, ending, read={"ids": ids}, write={"ids": ids}) == links
    numbers = list(range(-100, -69))
    assert through_file(links, ending, read={"ids": numbers}, write={"ids": numbers}) == links


@pytest.mark.parametrize("ending", FORMATS)
@settings(deadline=None, max_examples=40)
@given(links_of(st.integers(-(2**63), 2**63 - 1)))
def test_integer_ids_come_back(ending, made):
    pairs, weights = made
    links = Links(*pairs, **weights)
    assert through_file(links, ending) == links


def reads_as_integer(text):
    try:
        return str(int(text)) == text.strip()
    except ValueError:
        return False


@pytest.mark.parametrize("ending", FORMATS)
@settings(deadline=None, max_examples=100)
@given(links_of(IDS))
@example(([[('a,"b', "c\nd"), ("\r", " x ")], [("\u2028", "\x00")]], {}))
@example(([[("\ufeffa", "b\x85")], []], {}))
def test_string_ids_come_back(ending, made):
    pairs, weights = made
    links = Links(*pairs, **weights)
    if ending in ("csv", "tsv"):  # text alone cannot tell the string "7" from the number 7
        ends = [*links.must.ravel(), *links.cannot.ravel()]
        assume(not all(map(reads_as_integer, ends)))
    assert through_file(links, ending) == links


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_strings_that_look_like_numbers_stay_strings(ending):
    links = Links([("1", "2")])
    assert through_file(links, ending) == links
    assert through_file(Links([(1, 2)]), ending) == Links([(1, 2)])


def test_weight_is_written_only_when_needed(tmp_path):
    path = tmp_path / "links.csv"
    Links([(0, 1)], [(2, 1)], n_samples=3).write(path)
    assert path.read_bytes() == b"a,b,link\n0,1,must\n2,1,cannot\n"
    Links([(0, 1)], n_samples=3, must_weight=0.5).write(path)
    assert path.read_text() == "a,b,link,weight\n0,1,must,0.5\n"


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "links.csv"
    old, new = Links([(0, 1)]), Links([(2, 3)])
    old.write(path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", fail)
        with pytest.raises(StorageError, match=r"cannot be written: No space left on device"):
            new.write(path)
    assert Links.read(path) == old
    assert [p.name for p in tmp_path.iterdir()] == ["links.csv"]
    new.write(path)
    assert Links.read(path) == new


def test_written_file_is_readable_by_others(tmp_path):
    (tmp_path / "plain").touch()
    Links([(0, 1)]).write(tmp_path / "links.csv")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "links.csv")}
    assert len(modes) == 1


@pytest.mark.parametrize(
    ("links", "name", "ids", "error", "message"),
    [
        (
            Links([(0, 1)]),
            "links.xlsx",
            None,
            LinksError,
            "end in .csv, .tsv, .jsonl, .ndjson, .pa",
        ),
        (Links([(0, 1)]), "no folder/links.csv", None, StorageError, "cannot be written: No such"),
        (Links([(0, 1)]), "links.csv", [7, 8], LinksError, "These links hold ids already"),
        (Links([(0, 1)], n_samples=2), "links.csv", [7], LinksError, "each of the 2 rows. Got 1"),
        (Links([(0, 1)], n_samples=2), "links.csv", [7, 7], LinksError, "ids must be different"),
        (Links(), "links.csv", None, LinksError, "/links.csv."),
        (Links([("a", "\ud800")]), "links.csv", None, LinksError, "UTF-8 cannot write"),
        (Links([("a", "\ud800")]), "links.parquet", None, LinksError, "UTF-8 cannot write"),
    ],
)
def test_writing_refuses(tmp_path, links, name, ids, error, message):
    with pytest.raises(error, match=re.escape(message)):
        links.write(tmp_path / name, ids=ids)
    assert not list(tmp_path.iterdir())


# Reading what others wrote


def file_with(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("word", ["must", "MUST", "must-link", "ml", "Same", "1", " must "])
def test_words_for_must(tmp_path, word):
    links = Links.read(file_with(tmp_path, "l.csv", f"a,b,link\n0,1,{word}\n"), n_samples=2)
    assert links == Links([(0, 1)], n_samples=2)


@pytest.mark.parametrize("word", ["cannot", "Cannot-Link", "cl", "different", "0"])
def test_words_for_cannot(tmp_path, word):
    links = Links.read(file_with(tmp_path, "l.csv", f"a,b,link\n0,1,{word}\n"), n_samples=2)
    assert links == Links(cannot=[(0, 1)], n_samples=2)


@pytest.mark.parametrize(
    "content",
    [
        "a,b,link\n0,1,must\n2,3,cannot\n",
        "a,b,link\r\n0,1,must\r\n2,3,cannot\r\n",
        "a,b,link\r0,1,must\r2,3,cannot",
        "\ufeffa,b,link\n0,1,must\n2,3,cannot",
        "a, b, link\n0, 1, must\n2, 3, cannot\n",
        '"a","b","link"\n"0","1","must"\n"2","3","cannot"\n',
        "link,note,b,a,weight\nmust,x,1,0,\ncannot,y,3,2,1.0\n",
        "\n\na,b,link\n\n0,1,must\n\n2,3,cannot\n\n",
    ],
)
def test_csv_in_many_spellings(tmp_path, content):
    path = file_with(tmp_path, "l.csv", content)
    assert Links.read(path, n_samples=4) == Links([(0, 1)], [(2, 3)], n_samples=4)
    assert Links.read(path) == Links([(0, 1)], [(2, 3)])
    assert Links.read(path, ids=[3, 2, 1, 0]) == Links([(3, 2)], [(1, 0)], n_samples=4)


@pytest.mark.parametrize("quoted", ["", '"'])
def test_csv_ids_are_integers_only_when_all_are(tmp_path, quoted):
    header = f"a,b,{quoted}link{quoted}"
    path = file_with(tmp_path, "l.csv", f"{header}\n7,x,must\n007,8,must\n")
    assert Links.read(path) == Links([("7", "x"), ("007", "8")])
    path = file_with(tmp_path, "l.csv", f"{header}\n7,99999999999999999999,must\n")
    assert Links.read(path) == Links([("7", "99999999999999999999")])


def test_reads_pandas_parquet_with_integer_words(tmp_path):
    path = tmp_path / "l.parquet"
    pd.DataFrame({"a": [0, 2], "b": [1, 3], "link": [1, 0], "weight": [0.5, None]}).to_parquet(path)
    expected = Links([(0, 1)], [(2, 3)], n_samples=4, must_weight=0.5)
    assert Links.read(path, n_samples=4) == expected
    pd.DataFrame({"a": ["x"], "b": ["y"], "link": pd.Categorical(["must"])}).to_parquet(path)
    assert Links.read(path) == Links([("x", "y")])


def test_duplicates_in_a_file_are_counted(tmp_path):
    path = file_with(tmp_path, "l.csv", "a,b,link\n0,1,must\n1,0,must\n1,1,must\n")
    links = Links.read(path, n_samples=2)
    assert (links.n_must, links.n_duplicates) == (1, 1)


CSV = "l.csv"
JSONL = "l.jsonl"


@pytest.mark.parametrize(
    ("name", "content", "arguments", "message"),
    [
        ("l.txt", "a,b,link\n", {}, "l.txt has an ending that is not known: '.txt'."),
        (CSV, "", {}, "l.csv is empty. Expected the columns a, b, link"),
        (CSV, " \n\n", {}, "l.csv is empty."),
        (CSV, "\ufeff", {}, "l.csv is empty."),
        (JSONL, "", {}, "l.jsonl is empty."),
        ("l.parquet", "", {}, "l.parquet is empty."),
        (CSV, "a,b,link\n", {}, "l.csv holds no links."),
        (CSV, "a,b,link\n1,1,must\n2,2,same\n", {}, "l.csv holds only must-links of rows to them"),
        (CSV, "0,1,must\n", {}, "l.csv, line 1: no column a and no column b and no column link. "
         "The columns must be a, b, link and, optionally, weight. Found: 0, 1, must."),
        (CSV, "a,b,kind\n0,1,must\n", {}, "no column link."),
        (CSV, "a;b;link\n0;1;must\n", {}, "columns are separated by semicolons"),
        (CSV, "a,b,link,a\n0,1,must,2\n", {}, "the column 'a' is there more than once"),
        (CSV, "a,b,link\n0,1,must\n0,2,maybe\n", {}, "l.csv, line 3: link is 'maybe'. Allowed are "
         "must, must-link, ml, same, 1 for must-links and cannot,"),
        (CSV, "a,b,link\n\n0,1,\n", {}, "l.csv, line 3: link is ''."),
        (CSV, 'a,b,link\n"x\ny",z,must\nx,z,maybe\n', {}, "l.csv, line 4: link is 'maybe'."),
        (CSV, "a,b,link\n0,1,must\n0,2\n", {}, "l.csv, line 3: 2 fields, but the header has 3"),
        (CSV, "a,b,link\n0,1,2,must\n", {}, "l.csv, line 2: 4 fields, but the header has 3 (a, b,"),
        (CSV, 'a,b,link\n"x,y,must\n', {}, "not proper CSV, unexpected end of data."),
        (CSV, 'a,b,link\n"x"z,y,must\n', {}, "l.csv, line 2: not proper CSV"),
        (CSV, "a,b,link,weight\n0,1,must,x\n", {}, "line 2: weight is 'x', which is not a number."),
        (CSV, "a,b,link,weight\n0,1,must,2\n", {}, "line 2: weight is 2. A weight is a number"),
        (CSV, "a,b,link,weight\n0,1,must,nan\n", {}, "line 2: weight is nan. A weight is a number"),
        (CSV, b"a,b,link\n0,1,must\n\xff,1,must\n", {}, "l.csv, line 3: this is not UTF-8 text."),
        (CSV, "a,b,link\n0,1,must\n,1,must\n", {}, "l.csv, line 3: a is empty."),
        (CSV, "a,b,link\n0,1,must\n0,9,must\n", {"n_samples": 9}, "l.csv, line 3: (0, 9): 9 is "
         "not a row number. With 9 rows row numbers are the integers 0 to 8."),
        (CSV, "a,b,link\n0,x,must\n", {"n_samples": 9}, "l.csv, line 2: b is 'x', which is not a "
         "row number. If the file holds ids, pass ids"),
        (CSV, "a,b,link\n0,1.0,must\n", {"n_samples": 9}, "b is '1.0', which is not a row number"),
        (CSV, "a,b,link\n0,1,ml\n3,3,cl\n", {"n_samples": 9}, "l.csv, line 3: (3, 3): a "
         "cannot-link of row 3 to itself"),
        (CSV, "a,b,link\nann,bob,must\nann,bobb,must\n", {"ids": ["ann", "bob"]}, "l.csv, line 3: "
         "b is 'bobb', which is not among the 2 ids. Did you mean 'bob'?"),
        (CSV, "a,b,link\nann,xyz,must\nxyz,qrs,must\nann,bob,cannot\n", {"ids": ["ann", "bob"]},
         "b is 'xyz', which is not among the 2 ids. Correct the line or remove it. "
         "Lines with an id that is not there: 2."),
        (CSV, "a,b,link\n1,2,must\n1,7,must\n", {"ids": [1, 2]}, "l.csv, line 3: b is '7', which"),
        (CSV, "a,b,link\n50,1001,must\n", {"ids": [50, 1002]}, "Did you mean 1002?"),
        (CSV, "a,b,link\nx,y,must\n", {"ids": ["x", "y", "x"]}, "ids must be different for every "
         "row. 'x' stands at positions 0 and 2."),
        (CSV, "a,b,link\n0,1,must\n", {"ids": [0, 1], "n_samples": 2}, "Give ids or n_samples"),
        (JSONL, '{"a": 0, "b": 1, "link": "must"}\n{"a": 0\n', {}, "l.jsonl, line 2: not a JSON"),
        (JSONL, "[1, 2]\n", {}, "l.jsonl, line 1: not a JSON object. Expected a line such as"),
        (JSONL, "[" * 100_000, {}, "l.jsonl, line 1: not a JSON object."),
        (JSONL, '{"a": 0, "link": "must"}\n', {}, "l.jsonl, line 1: no column b."),
        (JSONL, '{"a": 0, "b": 1, "link": ["must"]}\n', {}, "line 1: link is ['must']."),
        (JSONL, '{"a": 0, "b": "x", "link": "must"}\n', {},
         "l.jsonl, line 1 is 0: ids are all integers or all strings."),
        (JSONL, '{"a": 0, "b": 1.5, "link": "must"}\n', {}, "b is 1.5, which is neither"),
        (JSONL, '{"a": 0, "b": null, "link": "must"}\n', {}, "b is empty"),
        (JSONL, '{"a": 0, "b": true, "link": "must"}\n', {"n_samples": 2}, "b is True, which is n"),
        (JSONL, '{"a": 0, "b": 1, "link": "must", "weight": "x"}\n', {}, "weight is 'x'"),
        (JSONL, '{"a": 0, "b": 1, "link": "must", "weight": [1]}\n', {}, "weight is [1], which is"),
        (JSONL, '{"a": 0, "b": 1, "link": "must", "weight": 0}\n', {}, "line 1: weight is 0. A we"),
        (JSONL, '{"a": 0, "b": 1, "link": "must"}\n', {"ids": ["0", "1"]}, "a is 0, which is not "
         "among the 2 ids. The file holds integers, but ids are strings."),
        (JSONL, b"\n\xff\n", {}, "l.jsonl, line 2: this is not UTF-8 text."),
        ("l.parquet", "PAR1 but not really PAR1", {}, "l.parquet is not a Parquet file that can"),
    ],
)  # fmt: skip
def test_reading_refuses(tmp_path, name, content, arguments, message):
    path = file_with(tmp_path, name, content)
    with pytest.raises(LinksError, match=re.escape(message)):
        Links.read(path, **arguments)


def test_parquet_names_rows_and_columns(tmp_path):
    path = tmp_path / "l.parquet"
    pd.DataFrame({"a": [0, 0], "b": [1, 9], "link": ["must", "must"]}).to_parquet(path)
    with pytest.raises(LinksError, match=r"l\.parquet, row 2: \(0, 9\): 9 is not a row number"):
        Links.read(path, n_samples=2)
    pd.DataFrame({"a": [0], "c": [1]}).to_parquet(path)
    with pytest.raises(LinksError, match=r"l\.parquet: no column b and no column link.*: a, c\."):
        Links.read(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(LinksError, match=r"links\.csv is not there\. Check the path"):
        Links.read(tmp_path / "links.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(LinksError, match=r"folder\.csv cannot be read: Is a directory"):
        Links.read(tmp_path / "folder.csv")


@pytest.mark.parametrize("path", [None, 7, b"l.csv", ["l.csv"], "l\0.csv", Path("l\0/l.csv")])
def test_what_is_no_path(path):
    shown = repr(str(path)) if isinstance(path, Path) else repr(path)
    for use in (Links.read, Links([(0, 1)]).write):
        with pytest.raises(LinksError, match=re.escape(shown)) as error:
            use(path)
        assert re.match("A path must be a text|The path .* holds a NUL", str(error.value))


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    path = file_with(tmp_path, "l.parquet", "PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Reading Parquet needs .*'pyarrow'.*s3c2\[app\]"):
        Links.read(path)
    with pytest.raises(MissingExtraError, match="Writing Parquet"):
        Links([(0, 1)]).write(path)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_mutated_files_are_read_or_refused(data):
    ending = data.draw(st.sampled_from(["csv", "jsonl", "parquet"]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"l.{ending}"
        Links([("x", "y,"), ("z", "y,")], [("x", "ü")], must_weight=0.5).write(path)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
        try:
            problem = None
            n_links = Links.read(path).n_links
        except LinksError as error:
            problem = str(error)
        assert n_links <= 4 if problem is None else f"l.{ending}" in problem
