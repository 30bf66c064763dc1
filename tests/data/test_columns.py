"""Tables: whatever a byte was changed to, rows or one clear line come of it."""

import numpy as np
import pytest

from s3c2.data import prepare
from s3c2.errors import DataError
from s3c2.files.tables import write_table

COLUMNS = {
    "id": ["a", "b, c", "d"],
    "x": [1.0, 2.5, 3.0],
    "y": [1, 2, 3],
    "t": ["red apple", "blue", "green"],
}
SIGNS = np.frombuffer(b'",\n\r\t\0 -e.\xff', dtype=np.uint8)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet"])
@pytest.mark.parametrize("options", [{"drop": ["t"]}, {"text_column": "t"}])
def test_changed_bytes(tmp_path, name, options):
    rng = np.random.default_rng(0)
    path = tmp_path / name
    write_table(path, COLUMNS)
    good = path.read_bytes()
    outcomes = set()
    for _ in range(300):
        content = bytearray(good)
        for place in rng.integers(0, len(good), rng.integers(1, 4)):
            content[place] = rng.choice(SIGNS) if rng.random() < 0.5 else rng.integers(0, 256)
        path.write_bytes(content[: rng.integers(1, len(good))] if rng.random() < 0.2 else content)
        try:
            n_rows = prepare(path, id_column="id", **options)[0].n_rows
        except DataError as error:
            n_rows, said = 0, str(error)
            outcomes.add("refused")
        else:
            said = name
            outcomes.add("read")
        assert name in said
        assert n_rows <= 6
    assert outcomes == {"read", "refused"}


def test_parquet_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(path, {"id": ["xyzzy", "b"], "v": [1, 2]})
    path.write_bytes(path.read_bytes().replace(b"xyzzy", b"\xff\xff\xff\xff\xff"))
    with pytest.raises(DataError, match=r"t\.parquet: column 'id' holds values that cannot be"):
        prepare(path, id_column="id")


def test_csv_that_begins_with_a_blank_line(tmp_path):
    (tmp_path / "t.csv").write_text("\n\na,b\n1,2\n\n3,4\n")
    np.testing.assert_array_equal(prepare(tmp_path / "t.csv")[0].X, [[1, 2], [3, 4]])
