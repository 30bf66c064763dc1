"""Where files are looked for, and that damaged ones are refused."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from s3c2.datasets import Store, load_mnist
from s3c2.datasets.store import cache_folder
from s3c2.errors import DatasetError

from .conftest import registry, write_files

LETTERS = "letters/letter-recognition.data"


@pytest.fixture
def given(tmp_path, contents):
    """A folder as S3C2_DATA names it, with all files."""
    write_files(tmp_path / "given", contents)
    return tmp_path / "given"


def test_the_named_folder_comes_before_the_cache_folder(store, server, given, contents):
    write_files(store.cache, contents)
    (file,) = store.files["letters"]
    assert store.find(file) == store.cache / LETTERS
    both = replace(store, given=given)
    assert both.find(file) == given / LETTERS
    (given / LETTERS).unlink()
    assert both.find(file) == store.cache / LETTERS
    both.fetch("letters")
    assert server.requests == []


def test_what_the_named_folder_lacks_goes_into_the_cache_folder(store, server, given):
    (given / LETTERS).unlink()
    store = replace(store, given=given)
    assert store.fetch("letters") == [store.cache / LETTERS]
    assert not (given / LETTERS).exists()  # it may be read-only, and is the user's


def test_the_variable_is_read(monkeypatch, tmp_path):
    monkeypatch.setenv("S3C2_DATA", str(tmp_path))
    assert Store.of_user().given == tmp_path
    monkeypatch.setenv("S3C2_DATA", "~/data")
    assert Store.of_user().given == Path.home() / "data"
    monkeypatch.setenv("S3C2_DATA", "")
    assert Store.of_user().given is None
    monkeypatch.delenv("S3C2_DATA")
    assert Store.of_user().given is None


def test_a_mistyped_folder_is_refused_rather_than_passed_over(store, server, tmp_path):
    store = replace(store, given=tmp_path / "mistyped")
    for use in (load_mnist, lambda store: store.fetch("mnist")):
        with pytest.raises(DatasetError, match="S3C2_DATA is set to .*mistyped, which is not a"):
            use(store=store)
    assert server.requests == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda content: content[: len(content) // 2], "bytes instead of"),
        (lambda content: b"", "0 bytes instead of"),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "SHA-256"),
    ],
    ids=["truncated", "empty", "altered"],
)
def test_a_damaged_file_is_refused_and_named(store, server, given, contents, change, reason):
    name = "mnist/t10k-images-idx3-ubyte.gz"
    write_files(given, {name: change(contents[name])})
    with pytest.raises(DatasetError, match=reason) as raised:
        load_mnist(store=replace(store, given=given))
    assert str(raised.value).startswith(f"{given / name} is damaged: ")
    assert "unset S3C2_DATA, and run 's3c2 data fetch mnist'" in str(raised.value)
    assert server.requests == []  # not downloaded behind the user's back


def test_a_damaged_file_in_the_cache_folder_is_replaced_by_fetch_alone(store, server, contents):
    write_files(store.cache, {**contents, LETTERS: b"damaged"})
    (file,) = store.files["letters"]
    with pytest.raises(DatasetError, match="'s3c2 data fetch letters' downloads it anew"):
        store.contents("letters")
    store.fetch("letters")
    assert store.read(file) == contents[LETTERS]


def test_a_damaged_file_stays_until_its_successor_is_there(store, closed_port, contents):
    write_files(store.cache, {LETTERS: b"damaged"})
    with pytest.raises(DatasetError, match="could not be downloaded"):
        replace(store, files=registry(contents, closed_port)).fetch("letters")
    assert (store.cache / LETTERS).read_bytes() == b"damaged"


def test_fetch_does_not_touch_a_damaged_file_of_the_user(store, given):
    write_files(given, {LETTERS: b"damaged"})
    with pytest.raises(DatasetError, match="is damaged"):
        replace(store, given=given).fetch("letters")
    assert (given / LETTERS).read_bytes() == b"damaged"


def test_a_folder_in_the_place_of_a_file(store, given):
    (given / LETTERS).unlink()
    (given / LETTERS).mkdir()
    with pytest.raises(DatasetError, match=r"letter-recognition.data cannot be read"):
        replace(store, given=given).contents("letters")


@pytest.mark.parametrize("named", [None, "", "/somewhere/else", "not/absolute"])
def test_the_cache_folder_is_that_of_pooch(monkeypatch, named):
    pooch = pytest.importorskip("pooch", reason="compares with pooch")
    if named is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert cache_folder() == pooch.os_cache("s3c2")


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", ".cache/s3c2"),
        ("darwin", "Library/Caches/s3c2"),
        ("win32", "AppData/Local/s3c2/s3c2/Cache"),
    ],
)
def test_each_platform_has_its_cache_folder(monkeypatch, platform, folder):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == Path.home() / folder
