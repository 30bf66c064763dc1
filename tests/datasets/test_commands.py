"""``s3c2 data``: what it prints, and its exit codes."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from s3c2.cli.commands import s3c2
from s3c2.datasets import NAMES

from .conftest import registry, write_files

LETTERS = "letters/letter-recognition.data"


@pytest.fixture
def run(store, monkeypatch, tmp_path):
    """Run ``s3c2 data`` with the store of the test."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))

    def run(*args, store=store):
        return CliRunner().invoke(s3c2, ["data", *args], obj=store, prog_name="s3c2")

    return run


def lines(result):
    """What `where` says of each set, by name."""
    assert result.exit_code == int(" damaged  " in result.stdout), result.output
    told = [line.split(maxsplit=2) for line in result.stdout.splitlines()[2:]]
    return {name: (state, rest) for name, state, rest in told}


def test_fetch_downloads_and_says_where(run, store, server, contents):
    result = run("fetch", "letters")
    assert result.exit_code == 0
    assert result.stdout == f"letters: {store.cache / 'letters'}\n"
    assert (store.cache / LETTERS).read_bytes() == contents[LETTERS]
    assert run("fetch", "letters").stdout == result.stdout
    assert len(server.requests) == 1


def test_fetch_as_json_and_quiet(run, store):
    assert json.loads(run("fetch", "mnist", "--json").stdout) == {
        "mnist": str(store.cache / "mnist")
    }
    assert run("fetch", "mnist", "--quiet").output == ""
    assert "scikit-learn" in run("fetch", "digits").stdout


def test_fetch_all_brings_what_is_to_be_had_and_names_the_rest(run, store, tmp_path):
    (tmp_path / "sklearn").write_text("a file, where scikit-learn wants a folder")
    write_files(tmp_path / "given", {LETTERS: b"damaged"})
    result = run("fetch", "all", store=replace(store, given=tmp_path / "given"))
    assert result.exit_code == 2
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == [
        "mnist", "fashion-mnist", "digits",
    ]  # fmt: skip
    letters, *_, reuters, last = result.stderr.splitlines()
    assert letters.startswith(f"letters: {tmp_path / 'given' / LETTERS} is damaged")
    assert "or unset S3C2_DATA, and run 's3c2 data fetch letters'" in letters
    assert reuters.startswith("reuters: reuters/rcv1-four-roots.npz is missing")
    assert last == "Error: letters and reuters could not be had, for the reasons above."


def test_fetch_without_a_network_is_one_line(run, store, closed_port, contents):
    offline = replace(store, files=registry(contents, closed_port))
    result = run("fetch", "letters", store=offline)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {LETTERS} could not be downloaded")
    assert result.stderr.count("\n") == 1
    assert str(store.cache / "letters") in result.stderr


def test_fetch_replaces_a_damaged_file(run, store, contents):
    write_files(store.cache, {LETTERS: b"damaged"})
    assert lines(run("where"))["letters"][0] == "damaged"
    assert run("fetch", "letters").exit_code == 0
    assert lines(run("where"))["letters"] == ("there", str(store.cache / "letters"))


def test_an_unknown_set_is_refused_and_help_lists_them(run):
    for command in ("fetch", "where"):
        assert all(name in run(command, "--help").stdout for name in NAMES)
        result = run(command, "cifar")
        assert result.exit_code == 2
        assert "'cifar' is not one of 'mnist'" in result.stderr


def test_where_tells_what_is_there(run, store, tmp_path, contents):
    mnist = {name: content for name, content in contents.items() if "mnist" in name}
    write_files(tmp_path / "given", mnist)
    given = replace(store, given=tmp_path / "given")
    told = lines(run("where", store=given))
    assert told["mnist"] == ("there", str(tmp_path / "given/mnist"))
    assert told["letters"][0] == "missing"
    assert "'s3c2 data fetch letters' downloads 0.6 MB into" in told["letters"][1]
    assert told["reuters"][0] == "missing"
    assert told["digits"] == ("there", "comes with scikit-learn")
    first = run("where", store=given).stdout.splitlines()[0]
    assert first == f"S3C2_DATA is {tmp_path / 'given'}; the cache folder is {store.cache}."


def test_where_lists_the_files_of_one_set(run, store, tmp_path, contents):
    write_files(store.cache, {LETTERS: b"x"})
    result = run("where", "letters")
    assert result.exit_code == 1
    assert run("where", "mnist").exit_code == 0  # missing is no damage
    assert run("where", "--json").exit_code == 1
    damage, remedy = result.stdout.splitlines()[2:]
    assert damage.startswith(f"damaged  {store.cache / LETTERS}: it has 1 bytes instead of")
    assert remedy == "'s3c2 data fetch letters' downloads it anew."
    write_files(store.cache, {"mnist/train-images-idx3-ubyte.gz": b"x"})
    *_, remedy, hint = run("where", "mnist").stdout.splitlines()
    assert remedy == "'s3c2 data fetch mnist' downloads it anew."
    assert hint.startswith("missing  's3c2 data fetch mnist' downloads")
    (store.cache / "mnist/train-images-idx3-ubyte.gz").unlink()
    given = replace(store, given=tmp_path / "nowhere")
    shown = run("where", "mnist", store=given).stdout
    assert "(no such folder)" in shown
    for folder in (tmp_path / "nowhere", store.cache):  # both places where it is looked for
        assert f"missing  {folder / 'mnist/train-images-idx3-ubyte.gz'}\n" in shown


def test_where_as_json(run, store, contents):
    write_files(store.cache, {LETTERS: contents[LETTERS]})
    told = json.loads(run("where", "--json").stdout)
    assert told["S3C2_DATA"] is None
    assert told["cache"] == str(store.cache)
    (letters,) = told["sets"]["letters"]
    assert letters == {
        "file": LETTERS, "state": "there", "path": str(store.cache / LETTERS), "damage": None,
    }  # fmt: skip
    assert {file["state"] for file in told["sets"]["mnist"]} == {"missing"}


def test_where_knows_what_scikit_learn_has(run, tmp_path):
    folder = tmp_path / "sklearn" / "RCV1"
    folder.mkdir(parents=True)
    assert lines(run("where"))["reuters"][0] == "missing"
    (folder / "topics_names_py3.pkl").write_bytes(b"")
    state, rest = lines(run("where"))["reuters"]
    assert state == "there"
    assert rest.startswith(str(folder))
    assert run("fetch", "reuters").stdout == f"reuters: {folder}\n"


def test_in_a_real_process_with_an_empty_cache(tmp_path):
    """The user's variables count, and nothing is imported or written to look."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("S3C2_DATA", None)
    code = (
        "import sys\nfrom s3c2.cli import main\nsys.argv = ['s3c2', 'data', 'where', 'mnist']\n"
        "try:\n    main()\nfinally:\n    slow = {'torch', 'sklearn', 'pooch', 'requests'}\n"
        "    print(sorted(slow & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == "[]\n"
    assert done.stdout.startswith("S3C2_DATA is not set; the cache folder is ")
    assert not (tmp_path / "cache").exists()
