"""Help pages end with an example and come fast; real processes behave as the commands do."""

import signal
import subprocess
import sys
import time

import click
import pytest

from s3c2.cli.commands import s3c2

from .conftest import fit_command

SLOW = ("torch", "sklearn", "scipy", "numpy", "pyarrow", "matplotlib", "rich")


def commands(group, path=()):
    yield path
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.parametrize("path", list(commands(s3c2)), ids=" ".join)
def test_help_ends_with_an_example(folder, path):
    result = folder.run(*path, "--help")
    assert result.exit_code == 0
    text, _, examples = result.stdout.rpartition("Example:\n")
    assert text
    lines = examples.strip().split("\n")
    assert all(line.strip().startswith("s3c2 " + " ".join(path)) for line in lines), examples


def python(*args, **options):
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, check=False, **options
    )


def test_help_imports_nothing_slow():
    code = (
        "import sys\nfrom s3c2.cli import main\nsys.argv = ['s3c2', 'fit', '--help']\n"
        f"try:\n    main()\nfinally:\n    slow = set({SLOW!r}) & set(sys.modules)\n"
        "    print('slow:', sorted(slow), file=sys.stderr)"
    )
    result = python("-c", code)
    assert result.stderr.strip() == "slow: []"
    assert result.stdout.startswith("Usage: s3c2 fit")


def test_without_click_the_extra_is_named():
    code = "import sys; sys.modules['click'] = None; from s3c2.cli import main; main()"
    result = python("-c", code)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "pip install 's3c2[app]'" in result.stderr


def test_version_and_unknown_commands(folder):
    assert folder.run("--version").stdout.startswith("s3c2, version ")
    assert folder.run("cluster").exit_code == 2


def test_bad_input_in_a_real_process(folder):
    command = map(str, fit_command(k=1))
    result = python("-m", "s3c2.cli", *command, cwd=folder.path)
    assert result.returncode == 2
    assert result.stderr.startswith("Error: -k 1")
    assert result.stdout == ""


WRITES_OFTEN = """
from s3c2.engine import checkpoint
checkpoint.SECONDS = 0.2  # between two states, instead of ten
from s3c2.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_in_a_real_process(folder):
    command = [*map(str, fit_command()), "--clunet-steps", "1000000", "--no-report"]
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES_OFTEN, *command],
        cwd=folder.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(folder / "out/checkpoint.safetensors")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "The same command goes on" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert out == ""


def wait_for(path, seconds=60):
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} did not appear"
        time.sleep(0.05)
