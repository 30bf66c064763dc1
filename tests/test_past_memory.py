"""Data that does not lie in memory: the same models, labels of all rows, and clear refusals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from s3c2 import S3C2, Batches, CluNet, LabNet, Links
from s3c2.baselines import DGraph
from s3c2.errors import DataError, LinksError

QUICK = {
    "labnet": LabNet(code=False, steps=20),
    "clunet": CluNet(steps=20, batch_points=40),
    "layers": (32, 16),
    "random_state": 0,
    "verbose": 0,
}
COLUMNS = ("one", "two", "three", "four", "five")


def names_of(n):
    return [f"row {number}" for number in range(n)]


def write(folder, X, ids=None, files=3):
    """X as Parquet files, of which each has two row groups."""
    folder.mkdir(exist_ok=True)
    ids = names_of(len(X)) if ids is None else ids
    for number, rows in enumerate(np.array_split(np.arange(len(X)), files)):
        columns = dict(zip(COLUMNS, X[rows].T))
        table = pa.table({"name": [ids[row] for row in rows], **columns})
        parquet.write_table(
            table, folder / f"part-{number}.parquet", row_group_size=-(-len(rows) // 2)
        )
    return folder


def by_name(links):
    names = np.array(names_of(links.n_samples), dtype=object)
    return Links(names[links.must], names[links.cannot])


@pytest.fixture(scope="module")
def rows(many_blobs, tmp_path_factory):
    """The rows as an array, a memory-mapped one, a dataset and batches: (X, y, links, kinds)."""
    X, y = many_blobs
    place = tmp_path_factory.mktemp("rows")
    np.save(place / "X.npy", X)
    kinds = {
        "memory-mapped": np.load(place / "X.npy", mmap_mode="r"),
        "dataset": dataset.dataset(write(place / "parquet", X)),
        "batches": Batches(lambda: (X[start : start + 128] for start in range(0, 900, 128)), 900),
    }
    return X, y, Links.from_labels(y, 60, random_state=0), kinds


@pytest.fixture(scope="module")
def in_memory(rows):
    X, _, links, _ = rows
    return fitted(X, links)


def fitted(X, links, memory=2**29, sample_id=None):
    return S3C2(3, **QUICK).set_params(memory=memory).fit(X, links=links, sample_id=sample_id)


@pytest.mark.parametrize("kind", ["memory-mapped", "dataset", "batches"])
def test_what_fits_into_memory_gives_the_model_of_the_array(in_memory, rows, kind):
    X, _, links, kinds = rows
    sample_id = "name" if kind == "dataset" else None
    model = fitted(kinds[kind], links, sample_id=sample_id)
    assert (model.labels_ == in_memory.labels_).all()
    assert (model.predict_proba(kinds[kind]) == in_memory.predict_proba(X)).all()
    assert (model.transform(kinds[kind]) == in_memory.transform(X)).all()
    assert (model.suspicious_links_ == in_memory.suspicious_links_).all()


@pytest.mark.parametrize("kind", ["memory-mapped", "dataset", "batches"])
def test_a_sample_is_learned_from_and_all_rows_are_labelled(small, rows, kind, capsys):
    X, y, links, kinds = rows
    few = 300 * X[0].nbytes
    sample_id = "name" if kind == "dataset" else None
    given = by_name(links) if kind == "dataset" else links
    model = S3C2(3, **small).set_params(memory=few, verbose=1)
    model.fit(kinds[kind], links=given, sample_id=sample_id)
    said = capsys.readouterr().err
    n_linked = len(np.unique(np.concatenate([links.must, links.cannot])))
    # Rows that are both linked and drawn count once.
    assert f"900 rows of 20 bytes: the training sees {n_linked} rows with links and " in said
    assert model.labels_.shape == (900,)
    assert model.clunet_.labels_ is model.labels_
    assert model.score(kinds[kind], links=Links.from_labels(y, 500, random_state=1)) > 0.95
    assert (model.labels_ == model.predict(kinds[kind])).all()
    pairs = {tuple(sorted(pair)) for pair in np.concatenate([links.must, links.cannot]).tolist()}
    assert {tuple(sorted(pair)) for pair in model.suspicious_links_.tolist()} == pairs


def test_links_by_row_number_by_id_and_by_sample_id_give_one_model(rows):
    X, _, links, kinds = rows
    few = 300 * X[0].nbytes
    by_id = by_name(links)
    of_dataset = fitted(kinds["dataset"], by_id, few, "name")
    of_map = fitted(kinds["memory-mapped"], by_id, few, names_of(900))
    assert (of_dataset.labels_ == of_map.labels_).all()


def test_a_baseline_and_a_labnet_take_them_too(rows):
    X, _, links, kinds = rows
    few = 300 * X[0].nbytes
    model = DGraph(3, steps=5, random_state=0, verbose=0, memory=few)
    assert model.fit(kinds["batches"], links=links).labels_.shape == (900,)
    labnet = LabNet(code=False, steps=5, layers=(8, 4), verbose=0, memory=few, random_state=0)
    assert labnet.fit(kinds["batches"], links=links).transform(kinds["batches"]).shape == (900, 4)


def test_integer_ids_of_rows_go_with_links_of_numbers(in_memory, many_blobs):
    X, y = many_blobs
    ids = np.arange(900) * 7 + 10**12
    links = Links.from_labels(y, 60, random_state=0)
    by_id = Links(ids[links.must], ids[links.cannot])

    def with_ids(of):
        starts = range(0, 900, 100)
        return Batches(lambda: ((X[s : s + 100], of(ids[s : s + 100])) for s in starts), 900)

    models = [fitted(with_ids(of), by_id) for of in (np.asarray, lambda i: i.astype(str))]
    assert (models[0].labels_ == models[1].labels_).all()
    assert (models[0].labels_ == in_memory.labels_).all()


def test_columns_of_new_datasets_go_by_name(rows):
    X, _, links, kinds = rows
    model = fitted(kinds["dataset"], links, sample_id="name")
    turned = dataset.dataset(pa.table({"more": ["x"] * 900, **dict(zip(COLUMNS[::-1], X.T[::-1]))}))
    assert (model.predict(turned) == model.labels_).all()


class TestBadInput:
    def test_too_little_memory_for_the_linked_rows(self, rows):
        _, _, links, kinds = rows
        with pytest.raises(DataError, match="rows that links speak of take .* and memory allows"):
            fitted(kinds["batches"], links, 200)

    def test_ids_twice_across_parts(self, many_blobs, tmp_path):
        X, y = many_blobs
        ids = names_of(900)
        ids[700] = ids[5]
        data = dataset.dataset(write(tmp_path / "twice", X, ids))
        links = by_name(Links.from_labels(y, 60, random_state=0))
        words = "'row 5' stands on row 5 of .*part-0.parquet and on row 100 of .*part-2.parquet"
        with pytest.raises(DataError, match=words):
            fitted(data, links, sample_id="name")

    def test_ids_that_are_numbers_are_named_as_such(self, many_blobs, tmp_path):
        X, _ = many_blobs
        ids = list(range(900))
        ids[700] = ids[5]
        data = dataset.dataset(write(tmp_path / "twice", X, ids))
        with pytest.raises(DataError, match="The id 5 stands on row 5 of"):
            fitted(data, Links([(0, 3)], [(0, 1)]), sample_id="name")

    def test_ids_without_a_column(self, rows):
        _, _, links, kinds = rows
        with pytest.raises(LinksError, match="rows have only numbers. Name the column"):
            fitted(kinds["batches"], by_name(links))

    def test_ids_that_are_not_there(self, rows):
        _, _, _, kinds = rows
        with pytest.raises(LinksError, match="None of the 1 links has both rows"):
            fitted(kinds["dataset"], Links([("a", "b")]), sample_id="name")

    def test_a_column_that_is_no_number(self, rows):
        _, _, links, kinds = rows
        with pytest.raises(DataError, match="column 'name' is not numeric"):
            fitted(kinds["dataset"], links)

    def test_a_value_that_is_not_finite_is_named(self, many_blobs, tmp_path):
        X, y = many_blobs
        X = X.copy()
        X[401, 1] = np.nan
        data = dataset.dataset(write(tmp_path / "nan", X))
        links = Links.from_labels(y, 60, random_state=0)
        with pytest.raises(DataError, match="part-1.parquet holds NaN at row 101, column 'two'"):
            fitted(data, links, sample_id="name")

    def test_a_walk_that_can_be_made_once(self):
        with pytest.raises(DataError, match="only once"):
            Batches(iter([np.zeros((2, 2))]), 2)

    def test_another_number_of_rows_than_announced(self, many_blobs):
        X, y = many_blobs
        links = Links.from_labels(np.append(y, [0]), 60, random_state=0)
        with pytest.raises(DataError, match="gave 900 rows, and 901 were announced"):
            fitted(Batches([X[:450], X[450:]], 901), links)

    def test_batches_that_differ(self, many_blobs):
        X, y = many_blobs
        links = Links.from_labels(y, 60, random_state=0)
        with pytest.raises(DataError, match="Batch 1 of X has rows of shape"):
            fitted(Batches([X[:450], X[450:, :3]], 900), links)

    def test_rows_out_of_order_need_memory(self, in_memory, rows):
        _, _, links, kinds = rows
        with pytest.raises(DataError, match="must lie in memory"):
            in_memory.labnet_.rates(links, kinds["batches"])

    def test_memory_must_be_a_number(self, rows):
        with pytest.raises(ValueError, match="'memory'"):
            fitted(rows[0], rows[2], "1 GB")
