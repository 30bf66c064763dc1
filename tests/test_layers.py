"""The architecture: packages and modules import in one direction, and files stay readable."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import s3c2

ROOT = Path(s3c2.__file__).parent
# From the bottom up, as CONTRIBUTING draws it. A name is a package or a module.
LAYERS = (
    {"errors", "naming", "published", "parameters", "links", "data", "files", "metrics"},
    {"engine"},
    {"losses", "networks", "pairs", "prior", "kept_neighbours", "reading", "representation",
     "distances", "datasets", "sampled", "stream_ids"},
    {
        "fitting", "saving", "surface", "suspicion", "threshold", "calibration", "pretraining",
        "cluster_training", "labnet", "labnet_losses", "labnet_training", "clunet", "clunet_losses",
        "clunet_start", "clunet_training",
    },
    {"estimator", "baselines", "grids", "tuning", "labelling", "onnx_export", "questions"},
    {"ray"},
    {"cli", "report", "page"},
    {"__main__"},
)  # fmt: skip
LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}


def group(path: Path) -> str:
    """The package or module of the first level that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """What a file imports at run time, wherever in it, by package or module of the first level."""
    tree = ast.parse(path.read_text())
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in for_types or not isinstance(node, ast.ImportFrom | ast.Import):
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.module == "s3c2":
            names = [f"s3c2.{alias.name}" for alias in node.names]
        else:
            names = [node.module or ""]
        found |= {name.split(".")[1] for name in names if name.startswith("s3c2.")}
    return found


FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
PUBLIC = {"S3C2": "estimator", "LabNet": "labnet", "CluNet": "clunet", "fit_many": "grids"}
PUBLIC |= {"Links": "links", "Rates": "metrics"}


@pytest.fixture(scope="module")
def doors() -> dict[str, set[str]]:
    """Which packages and modules each one imports."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        names = {PUBLIC.get(name, name) for name in imported(path)} & LAYER_OF.keys()
        found.setdefault(group(path), set()).update(names - {group(path)})
    return found


def test_every_file_has_a_layer():
    assert {group(path) for path in FILES} == LAYER_OF.keys()


def test_nothing_is_imported_from_above(doors):
    upwards = [
        f"{one} imports {two}"
        for one, others in doors.items()
        for two in others
        if LAYER_OF[two] > LAYER_OF[one]
    ]
    assert upwards == []


def test_there_are_no_two_way_doors(doors):
    """No package or module can be reached from itself."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        left = set(doors[start])
        while left:
            one = left.pop()
            seen.add(one)
            left |= doors.get(one, set()) - seen
        return seen

    assert [name for name in doors if name in reached(name)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_short_enough_to_read(path):
    assert len(path.read_text().splitlines()) <= 450
