"""Changes of methods since some of the committed rows were made.

Such rows stay in the ledgers, and are shown, until their runs are made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from experiments.runs import AS_PUBLISHED


class Change(NamedTuple):
    """A change of a method with some networks, and the commits that made rows before it."""

    what: str
    networks: tuple[str, ...]
    commits: tuple[str, ...]


CHANGES = {
    "DCPR": Change(
        "it now clips posteriors, as its script does",
        ("dense", "convolutional"), ("e2c5c3e", "9501707", "c123761"),
    ),
    "IDEC": Change(
        "it now has its authors' scale of rows and rate of pretraining",
        ("dense",), ("30b02f9", "5b5e6dc"),
    ),
}  # fmt: skip


def is_earlier(row: Mapping[str, str]) -> bool:
    """Whether a row, of published settings, was made before its method was changed."""
    change = CHANGES.get(row["method"])
    return (
        change is not None
        and row["variant"] == AS_PUBLISHED
        and row["network"] in change.networks
        and row["commit"] in change.commits
    )
