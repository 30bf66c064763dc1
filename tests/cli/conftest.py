"""Small data that every command can be tried on, and a model fitted on it."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner

from s3c2.cli.commands import s3c2

QUICK = ["--labnet-steps", "5", "--clunet-steps", "5", "--no-autoencoder"]


class Folder:
    """Runs commands on files in one folder; paths are given by name."""

    def __init__(self, path):
        self.path = path

    def __truediv__(self, name):
        return self.path / name

    def write(self, name, text):
        (self.path / name).write_text(text, encoding="utf-8")
        return name

    def run(self, *args):
        """Run in this folder: names of files are relative to it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.path)
            result = CliRunner().invoke(s3c2, [str(a) for a in args], prog_name="s3c2")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def read(self, name):
        with (self.path / name).open(newline="") as file:
            return list(csv.DictReader(file))

    def names(self):
        return sorted(path.name for path in self.path.iterdir())


def make_folder(path):
    """60 rows in 3 groups with names, their groups, and links between them."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 4)) + 5 * group[:, None]
    names = [f"row-{n}" for n in rng.permutation(60)]
    folder = Folder(path)
    rows = [[name, *map(repr, map(float, x))] for name, x in zip(names, X)]
    folder.write("data.csv", "\n".join(map(",".join, [["name", *"abcd"], *rows])) + "\n")
    truth = "".join(f"{name},kind {g}\n" for name, g in zip(names, group))
    folder.write("truth.csv", "name,kind\n" + truth)
    links = "".join(
        f"{names[a]},{names[b]},{'must' if group[a] == group[b] else 'cannot'}\n"
        for a, b in rng.integers(0, 60, (80, 2))
        if a != b
    )
    folder.write("links.csv", "a,b,link\n" + links)
    return folder


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with ``out`` from ``s3c2 fit``; not to be changed."""
    folder = make_folder(tmp_path_factory.mktemp("fitted"))
    result = folder.run(*fit_command(), "--json")
    assert result.exit_code == 0, result.output
    folder.result = result
    return folder


def fit_command(data="data.csv", links="links.csv", k=3, out="out", id_column="name"):
    ids = ["--id-column", id_column] if id_column else []
    given = ["--links", links] if links else []
    return ["fit", data, *given, "-k", k, "-o", out, *ids, *QUICK]
