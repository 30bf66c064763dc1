"""Writing in one piece: the old content or the new one, and paths that can be."""

import os

import pytest

from s3c2.errors import StorageError
from s3c2.files.atomic import write_atomically


@pytest.mark.parametrize("path", [None, 7, b"x", ["x"], "x\0y"])
def test_what_is_no_path_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="path"):
        write_atomically(path, b"new")
    assert not os.listdir(tmp_path)


def test_a_failing_write_leaves_the_old_content(tmp_path, monkeypatch):
    path = tmp_path / "x"
    write_atomically(path, b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.replace", fail)
        with pytest.raises(StorageError, match="cannot be written: No space left on device"):
            write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_a_link_keeps_pointing_to_its_file(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
