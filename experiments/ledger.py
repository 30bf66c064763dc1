"""Results as CSV: a row for each finished run, with what is needed to repeat it.

The files are in experiments/results, or in the folder that S3C2_RESULTS names.

Some columns:

- Scores are those of the test part. ``accuracy``, ``ml_rate`` and ``cl_rate`` are LabNet's on
  uniformly drawn test pairs. ``balanced_accuracy`` is the mean of the two rates: the accuracy on
  pairs of which half are must-links.
- ``seconds_per_run`` is the time of a group of runs that were trained together, divided by
  ``group_size``. It counts neither scoring nor the training before an interruption.
- ``steps`` counts the steps of all stages, ``labnet_steps`` those of LabNet.
- ``flipped`` is the share of links whose kind was exchanged; ``found_10`` and ``found_20`` are the
  shares of the wrong links that are among the first 10 % and 20 % of the suspicious ones.
- ``design`` says how the links were drawn: see ``Links.from_labels``.
- ``ece`` is the expected calibration error, of S3C2 with its defaults alone.
- ``changes`` holds the parameters that differ from the published ones, in the experiments' own
  names; ``settings`` those that differ from the class's defaults, in the names of the class.
"""

from __future__ import annotations

import csv
import inspect
import io
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import torch

import s3c2
from s3c2.engine.devices import device_name
from s3c2.files.atomic import write_atomically

from experiments.method_changes import is_earlier
from experiments.runs import Run, as_json

try:
    import fcntl
except ImportError:  # Windows: run one experiment at a time there
    fcntl = None  # type: ignore[assignment]

Rows = Sequence[dict[str, str]]  # as the file holds them
HERE = Path(__file__).parent
KEY = (
    "dataset", "method", "network", "semi_supervised", "variant", "threshold", "n_links",
    "must_share", "link_seed", "changes", "flipped", "design",
)  # fmt: skip
SCORES = (
    "nmi", "nmi_geometric", "ari", "acc", "clusters_used",
    "accuracy", "balanced_accuracy", "ml_rate", "cl_rate", "ece", "found_10", "found_20",
)  # fmt: skip
COLUMNS = (
    *KEY, *SCORES, "labnet_steps", "steps", "seconds_per_run", "group_size",
    "device", "precision", "s3c2", "torch", "commit", "source", "settings",
)  # fmt: skip
# Ledgers from before these columns were there have none of them, which counts as:
LATER = {"flipped": "", "design": "uniform", "ece": "", "found_10": "", "found_20": ""}
NOT_SETTINGS = (
    "n_clusters", "random_state", "verbose", "callbacks", "checkpoint", "device", "precision",
    "cache",
)  # fmt: skip


def elsewhere() -> str:
    """The folder that S3C2_RESULTS names, empty if it names none."""
    return os.environ.get("S3C2_RESULTS", "")


def results_folder(quick: bool = False) -> Path:
    """Where results are kept. Quick runs have a folder of their own."""
    if elsewhere():
        return Path(elsewhere(), "quick" if quick else "")
    return HERE / ("quick" if quick else "results")


def identity(run: Run) -> dict[str, str]:
    """The columns that identify a run, as the file holds them."""
    values = {name: getattr(run, name) for name in KEY}
    values["changes"] = as_json(run.changes)
    values["must_share"] = "uniform" if run.must_share is None else run.must_share
    return {name: "" if value is None else str(value) for name, value in values.items()}


def key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row.get(name) or LATER[name] if name in LATER else row[name] for name in KEY)


def read(path: Path) -> list[dict[str, str]]:
    """All complete rows of a ledger; none if the file does not exist."""
    return [dict(row) for _, row in keyed(path)]


def keyed(path: Path) -> Sequence[tuple[tuple[str, ...], dict[str, str]]]:
    """The rows, each with its key. A file that has not changed is read once."""
    if not path.exists():
        return ()
    state = path.stat()
    return _keyed(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _keyed(path: Path, changed: int, size: int) -> Sequence[tuple[tuple[str, ...], dict[str, str]]]:
    with open(path, newline="") as file:
        rows = list(csv.DictReader(_whole_lines(file.read())))
    if rows and not set(COLUMNS) - set(LATER) <= set(rows[0]) <= set(COLUMNS):
        raise SystemExit(
            f"{path} has other columns than the experiments write. Move it away, or give it "
            f"these columns: {','.join(COLUMNS)}"
        )
    whole = (dict.fromkeys(COLUMNS, "") | LATER | row for row in rows)
    return [(key(row), row) for row in whole]


def _whole_lines(text: str) -> list[str]:
    """The complete lines. A process that is killed while writing can leave half a line."""
    return text[: text.rfind("\n") + 1].splitlines(keepends=True)


def append(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows and wait until they are on the disk.

    Experiments that share a ledger may run at the same time: the folder is locked while one of them
    writes, and a run that has a row already is not written again. A row from before a change of
    its method gives way.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        whole = _whole_lines(path.read_text() if path.exists() else "")
        there = csv.DictReader(whole)
        columns = there.fieldnames or COLUMNS
        given = {key(row): row for row in rows}
        stays = [row for row in there if not (is_earlier(row) and key(row) in given)]
        done = {key(row) for row in stays}
        new = [
            {n: v for n, v in row.items() if n in columns or v != LATER.get(n, "")}
            for own, row in given.items()
            if own not in done
        ]
        # A row with a value that an older file has no column for is an error here.
        write(path, columns, [*stays, *new])


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a whole table; a kill leaves the old one or the new one."""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, lines.getvalue().encode())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other experiment writes into the folder."""
    handle = os.open(folder, os.O_RDONLY) if fcntl is not None else None
    try:
        if handle is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)  # until it is closed
        yield
    finally:
        if handle is not None:
            os.close(handle)


def to_train(runs: Iterable[Run], rows: Iterable[Mapping[str, str]]) -> list[Run]:
    """The runs that have no row yet, or one from before a change of their method."""
    return missing(runs, [row for row in rows if not is_earlier(row)])


def missing(runs: Iterable[Run], rows: Iterable[Mapping[str, str]]) -> list[Run]:
    """The runs that have no row yet."""
    done = {key(row) for row in rows}
    return [run for run in runs if key(identity(run)) not in done]


def provenance(model: Any, source: str) -> dict[str, Any]:
    """Device, versions, commit and settings of a row.

    A cluster's workers say what they trained on; their versions are those of this process.
    """
    return {
        "device": getattr(model, "_trained_on", None) or device_name(model.device),
        "precision": model.precision,
        "s3c2": s3c2.__version__,
        "torch": torch.__version__,
        "commit": commit(),
        "source": source,
        "settings": as_json(changed_settings(model)),
    }


def changed_settings(model: Any) -> dict[str, Any]:
    """The parameters that decide the result and are not their class's default.

    Those of an estimator within the model are named as in ``labnet__steps``.
    """
    defaults = inspect.signature(type(model)).parameters
    changed: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if hasattr(value, "get_params"):
            changed |= {f"{name}__{own}": v for own, v in changed_settings(value).items()}
        elif name not in NOT_SETTINGS and value != defaults[name].default:
            changed[name] = value
    return changed


@cache
def commit() -> str:
    """S3C2_COMMIT if it is set, else the commit of git; a + means uncommitted changes."""
    if "S3C2_COMMIT" in os.environ:
        return os.environ["S3C2_COMMIT"]
    try:
        head = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--", "../src", "*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}+" if changed else head


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(HERE), *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
