"""DATA becomes X, new data is prepared alike, and bad data is refused with its place."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse
from PIL import Image
from sklearn.feature_extraction.text import TfidfVectorizer

from s3c2.data import preparation_from_json, prepare
from s3c2.data.scaling import learn_scaling
from s3c2.errors import DataError, DataWarning, StorageError


def through_json(preparation):
    return preparation_from_json(json.loads(json.dumps(preparation.to_json())))


def table(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def plants(tmp_path):
    return table(
        tmp_path / "plants.csv",
        "name,height,colour,width,flowers\n007,1,red,5,true\n8,2.5,blue,5,false\nc,4,red,5,true\n",
    )


def test_table_stays_as_it_is_and_keeps_ids_as_they_are_written(plants):
    data, preparation = prepare(plants, id_column="name", drop=["colour"])
    assert data.ids == ["007", "8", "c"]
    assert preparation.columns == ("height", "width", "flowers")
    np.testing.assert_array_equal(data.X, [[1, 5, 1], [2.5, 5, 0], [4, 5, 1]])
    assert preparation.usual_scale == "auto"


def test_texts_have_topics_and_pictures_are_scaled_already(plants, tmp_path):
    assert prepare(plants, text_column="colour")[1].usual_scale == "topics"
    picture(tmp_path / "pictures" / "a.png", (255, 0, 0))
    assert prepare(tmp_path / "pictures")[1].usual_scale is None
    np.save(tmp_path / "images.npy", np.zeros((3, 6, 5)))
    assert prepare(tmp_path / "images.npy")[1].usual_scale is None


@pytest.mark.parametrize("name", ["height", "height; in cm", '"height,weight"'])
def test_a_table_of_one_column(tmp_path, name):
    (tmp_path / "one.csv").write_text(f"{name}\n1\n2\n", encoding="utf-8")
    data, preparation = prepare(tmp_path / "one.csv")
    assert data.X.tolist() == [[1.0], [2.0]]
    assert preparation.columns == (name.strip('"'),)


def test_table_without_id_column_goes_by_row_number(plants):
    data, _ = prepare(plants, drop=["name", "colour"])
    assert data.ids is None
    assert prepare(plants, id_column="name", drop="colour")[1].columns[0] == "height"
    assert data.names == ["0", "1", "2"]


def test_new_table_may_order_its_columns_freely_and_hold_more(plants, tmp_path):
    data, preparation = prepare(plants, id_column="name", drop=["colour"])
    new = table(
        tmp_path / "new.csv", "more,flowers,width,height,name\nx,true,5,1,q\ny,false,5,2.5,r\n"
    )
    again = through_json(preparation).apply(new)
    np.testing.assert_array_equal(again.X, data.X[:2])
    assert again.ids == ["q", "r"]


def test_new_table_without_the_id_column_goes_by_row_number(plants, tmp_path):
    _, preparation = prepare(plants, id_column="name", drop=["colour"])
    new = table(tmp_path / "new.csv", "flowers,width,height,other\ntrue,5,1,z\n")
    with pytest.warns(DataWarning, match="no column 'name', which held the ids in fit"):
        assert preparation.apply(new).ids is None
    assert preparation.apply(new, id_column="other").ids == ["z"]


@pytest.mark.parametrize(
    ("name", "first", "step", "said"),
    [("row", 0, 1, True), ("row", 1, 1, True), ("row", 7, 1, False), ("", 7, 3, True),
     ("ID", 7, 3, True), ("row", 0, 2, False), ("row", 0.5, 1, False)],
)  # fmt: skip
def test_a_column_that_looks_like_ids_is_told(tmp_path, name, first, step, said):
    values = [first + step * number for number in range(20)][::-1]
    lines = [f"{value},{value**0.5}" for value in values]
    path = table(tmp_path / "t.csv", "\n".join([f"{name},width", *lines]) + "\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prepare(path)
    found = [str(one.message) for one in caught]
    assert len(found) == said
    assert all(f"the column {name!r} looks like ids" in one for one in found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare(path, id_column=name)
        prepare(path, drop=name)


def test_parquet_gives_what_csv_gives(plants, tmp_path):
    from_csv, _ = prepare(plants, id_column="name", drop=["colour"])
    path = tmp_path / "plants.parquet"
    columns = {
        "name": ["007", "8", "c"],
        "height": [1, 2.5, 4],
        "width": [5, 5, 5],
        "flowers": [True, False, True],
    }
    pa.parquet.write_table(pa.table(columns), path)
    from_parquet, _ = prepare(path, id_column="name")
    np.testing.assert_array_equal(from_parquet.X, from_csv.X)
    assert from_parquet.ids == from_csv.ids


def test_csv_whose_whole_numbers_turn_into_fractions_after_a_megabyte(tmp_path):
    path = table(tmp_path / "long.csv", "a,b\n" + "1,2\n" * 400_000 + "1.5,2\n")
    data, _ = prepare(path)
    assert data.X[-1].tolist() == [1.5, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n3,red\n", ["'b'", "row 1", "'red'", "drop='b'", "id_column='b'"]),
        ("a,b\n1,2020-01-01\n", ["'b'", "row 0", "2020-01-01"]),
        ("a,b\n1,2\n3,\n", ["row 1", "NaN", "'b'"]),
        ("a,b\n1,2\nnan,3\n", ["row 1", "NaN", "'a'"]),
        ("a,b\n1,2\n3,inf\n", ["row 1", "inf", "'b'"]),
        ("a,b\n1,2\n-3.41e38,2\n", ["row 1", "-3.41e+38", "'a'", "rescale"]),
        ("a,b\n1,2\n3\n", ["cannot be read as CSV", "2 columns"]),
        ("a,b\n", ["no rows"]),
        ("a,a\n1,2\n", ["two columns are named 'a'"]),
        ("", ["is empty"]),
    ],
)
def test_bad_tables(tmp_path, text, said):
    with pytest.raises(DataError) as error:
        prepare(table(tmp_path / "bad.csv", text))
    assert all(word in str(error.value) for word in [*said, "bad.csv"]), error.value


def test_bad_tables_with_ids(tmp_path):
    path = table(tmp_path / "t.csv", "id,a\nx,1\ny,2\nx,3\n")
    with pytest.raises(DataError, match="'x' in column 'id' stands on rows 0 and 2"):
        prepare(path, id_column="id")
    with pytest.raises(DataError, match="the id_column 'nmae' not found; the file has 'id', 'a'"):
        prepare(path, id_column="nmae")
    with pytest.raises(DataError, match="to drop 'z' not found"):
        prepare(path, drop=["z"])
    with pytest.raises(DataError, match=r"row 1 .* has no id"):
        prepare(table(tmp_path / "u.csv", "id,a\nx,1\n,2\n"), id_column="id")


def test_largest_values_that_float32_holds_are_taken(tmp_path):
    data, _ = prepare(table(tmp_path / "t.csv", "a\n-3.4028234e38\n3.4028234e38\n"))
    np.testing.assert_allclose(data.X.ravel(), [-3.4028234e38, 3.4028234e38])


def test_new_values_far_beyond_those_of_fit_are_refused(tmp_path):
    data, preparation = prepare(table(tmp_path / "t.csv", "a,b\n1,0\n1,0.001\n"))
    new = table(tmp_path / "new.csv", "a,b\n1,0\n1,3e38\n")
    scaling = learn_scaling("standard", data.X)
    with pytest.raises(DataError, match=r"new\.csv holds 3e\+38 at row 1, column 'b'"):
        preparation.apply(new, scaling=scaling)
    np.testing.assert_array_equal(preparation.apply(new).X, [[1, 0], [1, 3e38]])


def test_new_images_far_beyond_those_of_fit_are_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.linspace(0, 0.001, 24).reshape(2, 3, 4))
    _, preparation = prepare(tmp_path / "X.npy")
    np.save(tmp_path / "new.npy", np.full((1, 3, 4), 3e38))
    with pytest.raises(DataError, match=r"new\.npy holds 3e\+38 at row 0, pixel \(0, 0\)"):
        preparation.apply(tmp_path / "new.npy")


@pytest.mark.parametrize("options", [{}, {"text_column": "a"}, {"id_column": "b"}])
def test_new_table_without_rows(tmp_path, options):
    _, preparation = prepare(table(tmp_path / "t.csv", "a,b\n12,0\n34,1\n"), **options)
    with pytest.raises(DataError, match=r"new\.csv: the table has a header and no rows"):
        preparation.apply(table(tmp_path / "new.csv", "a,b\n"))


def test_new_table_with_missing_columns_names_them(plants, tmp_path):
    _, preparation = prepare(plants, id_column="name", drop=["colour"])
    with pytest.raises(DataError, match="column 'height', 'flowers' not found"):
        preparation.apply(table(tmp_path / "new.csv", "name,width\na,5\n"))


@pytest.mark.parametrize("name", ["t.parquet", "t.npy", "t.npz"])
def test_damaged_files(tmp_path, name):
    (tmp_path / name).write_bytes(b"PAR1 this is something else")
    with pytest.raises(DataError, match=f"{name}: cannot be read as"):
        prepare(tmp_path / name)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.npy", "folder"])
def test_missing_files(tmp_path, name):
    with pytest.raises(DataError, match="no such file"):
        prepare(tmp_path / name)


@pytest.mark.parametrize("path", [None, 7, b"x.csv", ["x.csv"], "x\0.csv"])
def test_what_is_no_path(path):
    with pytest.raises(
        DataError, match=r"path.*x\\x00\.csv.*NUL|Got (None|7|b'x\.csv'|\['x\.csv'\])"
    ):
        prepare(path)


def test_unknown_endings(tmp_path):
    with pytest.raises(DataError, match=r"'\.xlsx' are not read; expected \.csv"):
        prepare(table(tmp_path / "t.xlsx", "x"))


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.float32, float, bool])
def test_tables_in_arrays_stay_as_they_are(tmp_path, dtype):
    X = np.array([[1, 0, 7], [0, 200, 7], [0, 9, 7]]).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    data, preparation = prepare(tmp_path / "X.npy")
    np.testing.assert_array_equal(data.X, X)
    assert preparation.usual_scale == "auto"
    again = through_json(preparation).apply(tmp_path / "X.npy")
    np.testing.assert_array_equal(again.X, data.X)


@pytest.mark.parametrize(
    ("X", "shape", "smallest", "largest"),
    [
        (np.full((3, 6, 5), 51, np.uint8), (3, 6, 5), 0.2, 0.2),
        (np.linspace(0, 16, 90).reshape(3, 6, 5), (3, 6, 5), 0.0, 1.0),
        (np.linspace(-1, 1, 90).reshape(3, 6, 5), (3, 6, 5), 0.0, 1.0),
        (np.linspace(100, 200, 90).astype(int).reshape(3, 6, 5), (3, 6, 5), 0.0, 1.0),
        (np.linspace(0, 16, 270).reshape(3, 3, 6, 5), (3, 3, 6, 5), 0.0, 1.0),
        (np.linspace(0, 16, 270).reshape(3, 6, 5, 3), (3, 3, 6, 5), 0.0, 1.0),
        (np.zeros((3, 6, 5)), (3, 6, 5), 0.0, 0.0),
    ],
)
def test_images_in_arrays_are_mapped_to_zero_one(tmp_path, X, shape, smallest, largest):
    np.savez(tmp_path / "X.npz", y=[1, 2, 3], X=X)
    data, preparation = prepare(tmp_path / "X.npz")
    assert data.X.shape == shape
    assert data.X.min() == pytest.approx(smallest)
    assert data.X.max() == pytest.approx(largest)
    again = through_json(preparation).apply(tmp_path / "X.npz")
    np.testing.assert_array_equal(again.X, data.X)


def test_bad_arrays(tmp_path):
    def saved(X):
        np.save(tmp_path / "X.npy", X)
        return tmp_path / "X.npy"

    for bad, said in ((np.nan, "NaN"), (-np.inf, "infinity"), (1e39, r"1e\+39")):
        with pytest.raises(DataError, match=rf"X\.npy holds {said} at row 1, column 0"):
            prepare(saved(np.array([[1.0, 2], [bad, 3]])))
    with pytest.raises(DataError, match=r"holds infinity at row 1, pixel \(0, 1\)"):
        prepare(saved(np.array([[[0, 0]], [[0, np.inf]]], dtype=np.float16)))
    with pytest.raises(DataError, match=r"NaN at row 1, column 0\..* Rows count from 0"):
        prepare(saved(np.array([[1.0, 2], [np.nan, 3]])))
    with pytest.raises(DataError, match="Python objects"):
        prepare(saved(np.array([[1, "a"]], dtype=object)))
    np.savez(tmp_path / "objects.npz", np.array([[1, "a"]], dtype=object))
    with pytest.raises(DataError, match="Python objects"):
        prepare(tmp_path / "objects.npz")
    with pytest.raises(DataError, match="expected numbers"):
        prepare(saved(np.array([["a", "b"]])))
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        prepare(saved(np.zeros(3)))
    with pytest.raises(DataError, match="is empty"):
        prepare(saved(np.zeros((0, 3))))
    np.savez(tmp_path / "two.npz", a=np.zeros((2, 2)), b=np.zeros((2, 2)))
    with pytest.raises(DataError, match=r"2 arrays \(a, b\)"):
        prepare(tmp_path / "two.npz")
    _, preparation = prepare(saved(np.eye(3)))
    with pytest.raises(DataError, match=r"X\.npy: the array of shape \(0, 3\) is empty"):
        preparation.apply(saved(np.zeros((0, 3))))
    with pytest.raises(DataError, match=r"shape \(4,\).*shape \(3,\)"):
        preparation.apply(saved(np.eye(4)))


def picture(path, colour, size=(6, 4), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)


def test_folder_of_pictures(tmp_path):
    folder = tmp_path / "cats"
    picture(folder / "b.png", (255, 0, 0))
    picture(folder / "a" / "z.jpg", 51, mode="L", size=(12, 8))
    picture(folder / "c.gif", (0, 0, 255), size=(3, 3))
    (folder / "notes.txt").write_text("no picture")
    data, preparation = prepare(folder)
    assert data.ids == ["a/z.jpg", "b.png", "c.gif"]
    assert data.X.shape == (3, 3, 8, 12)  # the first picture's size, in colour
    np.testing.assert_allclose(data.X[0], 0.2, atol=0.01)
    np.testing.assert_allclose(data.X[1, :, 0, 0], [1, 0, 0])
    np.testing.assert_array_equal(through_json(preparation).apply(folder).X, data.X)


def test_grey_pictures_stay_grey(tmp_path):
    picture(tmp_path / "a.png", 255, mode="L")
    picture(tmp_path / "b.gif", 0, mode="L")
    Image.fromarray(np.full((4, 6), 65535 // 2, np.uint16)).save(tmp_path / "c.png")
    data, preparation = prepare(tmp_path)
    assert data.X.shape == (3, 4, 6)
    np.testing.assert_allclose(data.X[:, 0, 0], [1, 0, 0.5], atol=0.01)
    new = tmp_path / "new"
    picture(new / "red.png", (255, 0, 0))
    assert preparation.apply(new).X.shape == (1, 4, 6)


def test_bad_pictures(tmp_path):
    with pytest.raises(DataError, match="no picture in this folder"):
        prepare(tmp_path)
    picture(tmp_path / "a.png", (255, 0, 0))
    (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes()[:40])
    with pytest.raises(DataError, match=r"b\.png: this picture cannot be read"):
        prepare(tmp_path)
    (tmp_path / "b.png").write_text("hello")
    with pytest.raises(DataError, match=r"b\.png: .* \(not a picture\)"):
        prepare(tmp_path)


TEXTS = ["the cat sat, the cat ran", "the dog ran", "a bird, a bird", "", "NA"]


@pytest.fixture
def stories(tmp_path):
    rows = "".join(f'{n},"{text}"\n' for n, text in enumerate(TEXTS))
    return table(tmp_path / "stories.csv", "key,story\n" + rows)


def test_texts_become_tfidf(stories, tmp_path):
    data, preparation = prepare(stories, text_column="story", id_column="key")
    assert scipy.sparse.issparse(data.X)
    assert data.texts == TEXTS
    expected = TfidfVectorizer().fit_transform(TEXTS).toarray()
    np.testing.assert_allclose(
        data.X.toarray(), expected * np.sqrt(len(preparation.words)), rtol=1e-6
    )
    new = table(tmp_path / "new.csv", "key,story\nx,the dog ran\ny,unheard\n")
    again = through_json(preparation).apply(new)
    np.testing.assert_array_equal(again.X.toarray()[0], data.X.toarray()[1])
    assert again.X[1].nnz == 0


def test_texts_keep_the_words_that_most_texts_hold(stories, monkeypatch):
    monkeypatch.setattr("s3c2.data.texts.MOST_WORDS", 2)
    _, preparation = prepare(stories, text_column="story")
    assert preparation.words == ("ran", "the")  # "bird" comes twice, in one text


def test_bad_texts(stories, tmp_path):
    with pytest.raises(DataError, match="the text_column 'text' not found"):
        prepare(stories, text_column="text")
    with pytest.raises(DataError, match="to drop 'z' not found"):
        prepare(stories, text_column="story", drop=["key", "z"])
    with pytest.raises(DataError, match="no word"):
        prepare(table(tmp_path / "t.csv", "text\n!\n?\n"), text_column="text")


@pytest.mark.parametrize("option", [{"id_column": "a"}, {"text_column": "a"}, {"drop": ["a"]}])
def test_options_for_tables_are_refused_elsewhere(tmp_path, option):
    np.save(tmp_path / "X.npy", np.eye(3))
    with pytest.raises(DataError, match="for CSV and Parquet tables") as error:
        prepare(tmp_path / "X.npy", **option)
    assert next(iter(option)) in str(error.value)
    assert "--" not in str(error.value)


@pytest.mark.parametrize("fields", [{"kind": "sound"}, {}, {"kind": "table", "wrong": 1}])
def test_unknown_preparations_are_refused(fields):
    with pytest.raises(StorageError, match="data preparation"):
        preparation_from_json(fields)
