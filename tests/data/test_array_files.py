"""NPY and NPZ files: whatever a byte was changed to, an array or one clear line comes of it."""

import io
import zipfile

import numpy as np
import pytest

from s3c2.data import prepare
from s3c2.errors import DataError

X = np.arange(15.0).reshape(5, 3)


def saved(save, *args, **kwargs):
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


FILES = {
    "X.npy": saved(np.save, X),
    "X.npz": saved(np.savez, X=X),
    "packed.npz": saved(np.savez_compressed, X=X),
}


def refusal(path, content):
    """What is said of a file, or None when it is read."""
    path.write_bytes(content)
    try:
        data, _ = prepare(path)
    except DataError as error:
        said = str(error)
    else:
        assert data.X.ndim >= 2
        return None
    assert path.name in said
    assert "\n" not in said
    return said


@pytest.mark.parametrize("name", FILES)
def test_changed_bytes(tmp_path, name):
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(300):
        content = bytearray(FILES[name])
        for place in rng.integers(0, len(content), rng.integers(1, 5)):
            content[place] = rng.integers(0, 256)
        n_refused += refusal(tmp_path / name, bytes(content)) is not None
    assert n_refused > 100


@pytest.mark.parametrize("name", FILES)
def test_cut_files(tmp_path, name):
    for length in range(1, len(FILES[name]), 7):
        assert refusal(tmp_path / name, FILES[name][:length]) is not None


HEADER = b"{'descr': '<f8', 'fortran_order': False, 'shape': (5, 3), }"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (5, 3)", "damaged"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': ('''", "damaged"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (9**9, 3)}", "damaged"),
        (b"{'descr': '<q8', 'fortran_order': False, 'shape': (5, 3)}", "damaged"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 3)}", "cut off"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (6, 3)}", "cut off"),
        (b"{'descr': '<f8','fortran_order':False,'shape':(2**62, 9)}", "damaged"),
        (b"{'descr': '<f8','fortran_order':0,'shape':(10**30,10**30)}", "damaged"),
        (b"{'descr':'<f8','fortran_order':False,'shape':(%s,9),}" % (b"9" * 17), "cut off"),
        (b"{'descr': '|O', 'fortran_order': False, 'shape': (5, 3)}", "Python objects"),
        (b"{'descr': '<U2', 'fortran_order': False, 'shape': (5, 3)}", "expected numbers"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (15,)}", "shape (15,)"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}", "is empty"),
    ],
)
@pytest.mark.parametrize("name", ["X.npy", "X.npz"])
def test_headers(tmp_path, header, said, name):
    content = FILES["X.npy"].replace(HEADER, header.ljust(len(HEADER)))
    assert content != FILES["X.npy"]
    if name == "X.npz":
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("X.npy", content)
        content = file.getvalue()
    assert said in refusal(tmp_path / name, content)


def test_member_that_is_no_array(tmp_path):
    with zipfile.ZipFile(tmp_path / "X.npz", "w") as archive:
        archive.writestr("X", b"words")
    with pytest.raises(DataError, match=r"X\.npz: cannot be read as a NumPy file"):
        prepare(tmp_path / "X.npz")


def test_archive_without_members(tmp_path):
    with zipfile.ZipFile(tmp_path / "X.npz", "w"):
        pass
    with pytest.raises(DataError, match="holds 0 arrays"):
        prepare(tmp_path / "X.npz")


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i2"])
def test_other_byte_orders_give_the_same_numbers(tmp_path, dtype):
    np.save(tmp_path / "X.npy", X.astype(dtype))
    found = prepare(tmp_path / "X.npy")[0].X
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, X)
