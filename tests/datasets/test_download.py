"""Downloads from a server on this machine: whole and checked, or not there at all."""

import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from s3c2.datasets import load_letters
from s3c2.errors import DatasetError, MissingExtraError

from .conftest import registry

LETTERS = "letters/letter-recognition.data"


CHUNK = 8192  # what comes is kept in pieces of this size


def tree(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_all_files_of_a_set_come_into_the_cache_folder(store, server, contents):
    paths = store.fetch("mnist")
    names = [name for name in contents if name.startswith("mnist/")]
    assert paths == [store.cache / name for name in names]
    assert [path.read_bytes() for path in paths] == [contents[name] for name in names]
    assert tree(store.cache) == sorted(names)  # and nothing else
    assert server.requests == [(f"/{name}", None) for name in names]


def test_what_is_there_is_not_downloaded_again(store, server):
    store.fetch("letters")
    store.fetch("letters")
    load_letters(store=store)
    assert len(server.requests) == 1


def test_wrong_content_is_refused_and_not_kept(store, server, contents):
    wrong = bytearray(contents[LETTERS])
    wrong[100] ^= 1
    server.files[f"/{LETTERS}"] = bytes(wrong)
    with pytest.raises(DatasetError, match=r"letter-recognition.data could not .*SHA-256"):
        store.fetch("letters")
    assert tree(store.cache) == []
    assert len(server.requests) == 1  # the same again would be wrong again


def test_wrong_size_is_refused_before_the_content_comes(store, server, contents):
    size = len(contents[LETTERS])
    server.files[f"/{LETTERS}"] = contents[LETTERS][:-1]
    with pytest.raises(DatasetError, match=f"has {size - 1:,} bytes, not {size:,}"):
        store.fetch("letters")
    assert tree(store.cache) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda content: content[:-10], "bytes instead of"),
        (lambda content: content + b"more", "more than .* bytes came"),  # it might never end
        (lambda content: b"", "0 bytes instead of"),
    ],
    ids=["less", "more", "nothing"],
)
def test_wrong_size_that_the_server_does_not_tell(store, server, contents, change, reason):
    server.sends_size = False
    server.files[f"/{LETTERS}"] = change(contents[LETTERS])
    with pytest.raises(DatasetError, match=reason):
        store.fetch("letters")
    assert not (store.cache / LETTERS).exists()
    server.files[f"/{LETTERS}"] = contents[LETTERS]
    store.fetch("letters")  # what is left of the failure does no harm


def test_a_broken_connection_is_resumed_where_it_broke(store, server, contents):
    server.cuts = [10 * CHUNK, 5 * CHUNK + 100]
    store.fetch("letters")
    asked = [asked for _, asked in server.requests]
    assert asked == [None, f"bytes={10 * CHUNK}-", f"bytes={15 * CHUNK}-"]
    assert (store.cache / LETTERS).read_bytes() == contents[LETTERS]
    assert tree(store.cache) == [LETTERS]


def test_a_server_without_ranges_begins_anew(store, server, contents):
    server.ranges = False
    server.cuts = [10 * CHUNK]
    store.fetch("letters")
    assert [asked for _, asked in server.requests] == [None, f"bytes={10 * CHUNK}-"]
    assert (store.cache / LETTERS).read_bytes() == contents[LETTERS]


def test_a_connection_that_breaks_again_and_again_is_given_up_and_resumed_later(store, server):
    server.cuts = [CHUNK, CHUNK, 100]
    with pytest.raises(DatasetError, match="the connection broke"):
        store.fetch("letters")
    assert not (store.cache / LETTERS).exists()
    store.fetch("letters")
    assert server.requests[-1] == (f"/{LETTERS}", f"bytes={2 * CHUNK}-")


def test_a_part_that_does_not_fit_is_thrown_away(store, server, contents):
    part = store.cache / "letters/.letter-recognition.data.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"of another file")
    store.fetch("letters")
    assert [asked for _, asked in server.requests] == ["bytes=15-", None]
    assert (store.cache / LETTERS).read_bytes() == contents[LETTERS]
    assert not part.exists()


def test_a_part_that_is_whole_needs_no_server(store, server, contents):
    part = store.cache / "letters/.letter-recognition.data.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(contents[LETTERS])
    store.fetch("letters")
    assert server.requests == []
    assert tree(store.cache) == [LETTERS]


def test_a_killed_download_is_resumed(store, server, contents):
    server.cuts = [10 * CHUNK]
    server.pause = threading.Event()
    (file,) = store.files["letters"]
    code = (
        "import sys; from pathlib import Path\n"
        "from s3c2.datasets.download import download\n"
        "from s3c2.datasets.registry import DataFile\n"
        f"download({file!r}, Path(sys.argv[1]), otherwise='')"
    )
    process = subprocess.Popen([sys.executable, "-c", code, store.cache / LETTERS])
    try:
        part = store.cache / "letters/.letter-recognition.data.part"
        deadline = time.monotonic() + 60
        while not (part.exists() and part.stat().st_size > 60_000):
            assert time.monotonic() < deadline, "nothing came"
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
        server.pause.set()
    assert not (store.cache / LETTERS).exists()
    kept = part.stat().st_size
    store.fetch("letters")
    assert server.requests[-1] == (f"/{LETTERS}", f"bytes={kept}-")
    assert (store.cache / LETTERS).read_bytes() == contents[LETTERS]


def test_two_at_once_download_once(store, server):
    threads = [threading.Thread(target=store.fetch, args=["letters"]) for _ in range(2)]
    server.cuts = [10 * CHUNK]
    server.pause = threading.Event()
    for thread in threads:
        thread.start()
    time.sleep(0.2)  # the second one has begun, and waits
    server.pause.set()
    for thread in threads:
        thread.join(30)
    assert [asked for _, asked in server.requests] == [None, f"bytes={10 * CHUNK}-"]
    assert tree(store.cache) == [LETTERS]


def test_the_next_mirror_is_tried(store, server, closed_port, contents):
    mirrors = (closed_port, f"{server.url}/not/here", server.url)
    store = replace(store, files=registry(contents, *mirrors))
    store.fetch("letters")
    assert [path for path, _ in server.requests] == [f"/not/here/{LETTERS}", f"/{LETTERS}"]


def test_without_a_network_one_line_says_which_files_to_put_where(store, closed_port, contents):
    store = replace(store, files=registry(contents, closed_port))
    with pytest.raises(DatasetError) as raised:
        store.fetch("mnist")
    message = str(raised.value)
    assert "\n" not in message
    assert "no connection" in message
    assert f"into {store.cache / 'mnist'}," in message
    assert "S3C2_DATA" in message
    for name in ("train-images", "train-labels", "t10k-images", "t10k-labels"):
        assert f"{name}-idx" in message
    assert tree(store.cache) == []


def test_only_what_is_missing_is_asked_for(store, closed_port, contents):
    store.fetch("mnist")
    (store.cache / "mnist/t10k-labels-idx1-ubyte.gz").unlink()
    store = replace(store, files=registry(contents, closed_port))
    with pytest.raises(DatasetError, match="Put t10k-labels-idx1-ubyte.gz into"):
        store.fetch("mnist")


def test_a_missing_page_is_told(store, server):
    server.files = {}
    with pytest.raises(DatasetError, match="the server answered 404 Not Found"):
        store.fetch("letters")


def test_a_cache_folder_that_cannot_be_written(store, tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(
        DatasetError, match=r"letter-recognition.data cannot be written: (Not a dir|File ex).* Put "
    ):
        store.fetch("letters")


def test_without_pooch_the_extra_is_named(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"'pooch'.*pip install 's3c2\[app\]'") as raised:
        store.fetch("letters")
    assert str(store.cache / LETTERS) in str(raised.value)


def test_progress_is_shown_on_stderr(store, monkeypatch, capsys):
    monkeypatch.setattr("s3c2.engine.progress.PATIENCE", 0.0)
    replace(store, verbose=0).fetch("letters")
    assert capsys.readouterr().err == ""
    store.fetch("mnist")
    shown = capsys.readouterr()
    assert "downloading mnist/train-images-idx3-ubyte.gz" in shown.err
    assert shown.out == ""
