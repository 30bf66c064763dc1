"""What the loaders give: on small files of the same form, and on the real ones."""

import gzip
import os
import subprocess
import sys
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, random_array

import s3c2.datasets as datasets
from s3c2.cli.digits import Digits
from s3c2.datasets import Store, load, load_digits, load_letters, load_mnist, load_reuters
from s3c2.datasets.registry import FILES
from s3c2.errors import DatasetError

from .conftest import write_files


def real(name):
    """Skip where S3C2_DATA has no files of this set."""
    folder = os.environ.get("S3C2_DATA")
    there = folder and all(os.path.exists(os.path.join(folder, f.name)) for f in FILES[name])
    return pytest.mark.skipif(not there, reason=f"S3C2_DATA names no folder with {name}")


def counts(y):
    return np.bincount(y).tolist()


def test_all_names_are_there():
    for name in datasets.__all__:
        assert getattr(datasets, name) is not None
    assert set(datasets.__all__) == set(dir(datasets))
    assert not hasattr(datasets, "load_nothing")


def test_an_unknown_name_is_refused():
    with pytest.raises(DatasetError, match="'Cifar'. Choose one of mnist, fashion-mnist, letters"):
        load("Cifar")


def test_names_may_be_written_as_titles_or_functions(store, monkeypatch):
    assert [load(name, store=store).name for name in ("MNIST", "Letters")] == ["mnist", "letters"]
    monkeypatch.setattr("s3c2.datasets.images.load_fashion_mnist", lambda store: "found")
    assert load("Fashion-MNIST") == load("fashion_mnist") == "found"
    assert repr(load("mnist", store=store)).startswith(
        "Dataset(mnist: 40 + 20 rows of (28, 28), 10 classes, from "
    )


def test_images(store, contents):
    mnist = load_mnist(store=store)
    assert (mnist.X_train.shape, mnist.X_test.shape) == ((40, 28, 28), (20, 28, 28))
    raw = gzip.decompress(contents["mnist/t10k-images-idx3-ubyte.gz"])[16:]
    pixels = np.frombuffer(raw, np.uint8).reshape(20, 28, 28)
    assert_allclose(mnist.X_test, pixels / 255, rtol=1e-6)
    assert mnist.X_train.dtype == mnist.X_test.dtype == np.float32
    assert (mnist.X_train.min(), mnist.X_train.max()) == (0, 1)
    assert mnist.y_train.tolist() == [n % 10 for n in range(40)]
    assert mnist.y_test.tolist() == [n % 10 for n in range(20)][::-1]
    assert mnist.y_train.dtype == np.int64
    assert (mnist.name, mnist.n_clusters) == ("mnist", 10)


def test_letters_are_standardised_on_the_training_part(store, contents):
    letters = load_letters(store=store)
    lines = contents["letters/letter-recognition.data"].decode().split()
    raw = np.array([line.split(",")[1:] for line in lines], dtype=float)
    assert letters.X_train.shape == (15_000, 16)
    assert letters.X_test.shape == (100, 16)
    assert letters.X_train.mean(axis=0, dtype=float) == pytest.approx(0, abs=1e-6)
    assert letters.X_train.std(axis=0, dtype=float) == pytest.approx(1, abs=1e-6)
    expected = (raw[15_000:] - raw[:15_000].mean(axis=0)) / raw[:15_000].std(axis=0)
    assert_allclose(letters.X_test, expected, atol=1e-6)
    assert letters.X_test.dtype == np.float32
    assert letters.y_train[:27].tolist() == [*range(26), 0]


def test_digits_are_split_as_in_the_demo():
    digits = load_digits()
    demo = Digits.load()
    assert (digits.X_train.reshape(1297, 64) == demo.pixels[demo.train] / 16).all()
    assert (digits.X_test.reshape(500, 64) == demo.pixels[demo.held_out] / 16).all()
    assert (digits.y_test == demo.digit[demo.held_out]).all()
    assert not set(demo.train) & set(demo.held_out)
    assert digits.X_train.dtype == np.float32
    assert digits.X_train.max() == 1


@pytest.fixture(scope="module")
def rcv1():
    """As fetch_rcv1 gives it, small: 13,000 stories of one root, then 1,000 of two or none."""
    rng = np.random.default_rng(0)
    words = random_array((14_000, 2_500), density=0.01, format="csr", rng=rng)
    common = np.zeros((14_000, 2_500))
    common[:, 7] = 0.5  # a word that every story has
    topics = np.zeros((14_000, 6), dtype=np.uint8)
    root = rng.integers(0, 4, 13_000)
    names = ["C11", "CCAT", "ECAT", "GCAT", "GPOL", "MCAT"]
    column = np.array([1, 2, 3, 5])
    topics[np.arange(13_000), column[root]] = 1
    topics[13_000:13_500, [1, 3]] = 1
    topics[::2, 0] = 1  # topics below the roots do not matter
    data = csr_array(words + csr_array(common))
    return SimpleNamespace(data=data, target=csr_array(topics), target_names=np.array(names)), root


@pytest.fixture
def from_rcv1(rcv1, tmp_path, monkeypatch):
    """Let scikit-learn have RCV1, which it would download."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", lambda: rcv1[0])
    return Store(None, tmp_path / "cache")


def test_reuters_from_scikit_learn(rcv1, from_rcv1):
    reuters = load_reuters(store=from_rcv1)
    assert reuters.source == "fetch_rcv1"
    assert (reuters.X_train.shape, reuters.X_test.shape) == ((10_000, 2_000), (2_000, 2_000))
    assert reuters.X_train.dtype == np.float32
    for X in (reuters.X_train, reuters.X_test):
        assert_allclose(np.linalg.norm(X, axis=1), np.sqrt(2_000), rtol=1e-5)
    assert set(reuters.y_train) == set(reuters.y_test) == {0, 1, 2, 3}
    assert reuters.n_clusters == 4


def test_reuters_rows_are_stories_with_one_root_and_their_own_label(rcv1, from_rcv1):
    bunch, root = rcv1
    reuters = load_reuters(store=from_rcv1)
    drawn = np.random.RandomState(0).permutation(13_000)[:12_000]
    assert (np.concatenate([reuters.y_train, reuters.y_test]) == root[drawn]).all()
    words = bunch.data[drawn].toarray()
    found_in = (words[:10_000] > 0).sum(axis=0)
    kept = sorted(range(2_500), key=lambda word: (-found_in[word], word))[:2_000]
    assert 7 in kept
    expected = words[10_000:, sorted(kept)]
    expected *= np.sqrt(2_000) / np.linalg.norm(expected, axis=1, keepdims=True)
    assert_allclose(reuters.X_test, expected, rtol=1e-5)


def test_reuters_is_the_same_every_time(from_rcv1):
    first, second = load("reuters", store=from_rcv1), load("reuters", store=from_rcv1)
    assert (first.X_train == second.X_train).all()
    assert (first.y_test == second.y_test).all()


def test_reuters_without_a_network(from_rcv1, monkeypatch):
    def offline():
        raise URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", offline)
    with pytest.raises(DatasetError) as raised:
        load_reuters(store=from_rcv1)
    message = str(raised.value)
    assert "\n" not in message
    assert "no route to host" in message
    assert f"Put rcv1-four-roots.npz into {from_rcv1.cache / 'reuters'}" in message


def test_what_scikit_learn_stored_in_part_is_named(from_rcv1, monkeypatch, tmp_path):
    def truncated():
        raise EOFError("Ran out of input")

    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", truncated)
    with pytest.raises(DatasetError, match="is damaged .*Delete it") as raised:
        load_reuters(store=from_rcv1)
    assert str(raised.value).startswith(str(tmp_path / "sklearn" / "RCV1"))


def test_a_damaged_reuters_file_is_not_passed_over(from_rcv1):
    write_files(from_rcv1.cache, {"reuters/rcv1-four-roots.npz": b"damaged"})
    with pytest.raises(DatasetError, match=r"rcv1-four-roots.npz is damaged"):
        load_reuters(store=from_rcv1)


def test_files_that_are_there_need_no_pooch(store, contents):
    write_files(store.cache, contents)
    files = store.files["mnist"]
    code = (
        "import sys; sys.modules['pooch'] = sys.modules['requests'] = None\n"
        "from pathlib import Path\n"
        "from s3c2.datasets import Store, load_mnist\n"
        "from s3c2.datasets.registry import DataFile\n"
        f"store = Store(None, Path(sys.argv[1]), {{'mnist': {files!r}}})\n"
        "assert load_mnist(store=store).X_train.shape == (40, 28, 28)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code, store.cache], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@real("mnist")
def test_real_mnist():
    mnist = load("mnist")
    assert mnist.X_train.shape == (60_000, 28, 28)
    assert counts(mnist.y_test) == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert mnist.X_train.mean() == pytest.approx(0.1307, abs=1e-4)
    assert mnist.source == "train-images-idx3-ubyte.gz"


@real("fashion-mnist")
def test_real_fashion_mnist():
    fashion = load("fashion-mnist")
    assert counts(fashion.y_train) == [6000] * 10
    assert counts(fashion.y_test) == [1000] * 10
    assert fashion.X_train.mean() == pytest.approx(0.2860, abs=1e-4)


@real("letters")
def test_real_letters():
    letters = load("letters")
    assert (letters.X_train.shape, letters.X_test.shape) == ((15_000, 16), (5_000, 16))
    assert letters.y_train[:5].tolist() == [ord(c) - ord("A") for c in "TIDNG"]
    assert letters.X_train.std(axis=0, dtype=float) == pytest.approx(1, abs=1e-6)
    assert letters.source == "letter-recognition.data"


@real("reuters")
def test_real_reuters():
    reuters = load("reuters")
    assert (reuters.X_train.shape, reuters.X_test.shape) == ((10_000, 2_000), (2_000, 2_000))
    assert counts(reuters.y_train) == [4092, 826, 2301, 2781]  # the sample of the results
    assert counts(reuters.y_test) == [815, 165, 420, 600]
    assert (reuters.X_train**2).mean() == pytest.approx(1, abs=1e-5)
    assert reuters.source == "rcv1-four-roots.npz"
