"""Changes of methods since some of the committed rows were made.

Such rows stay in the ledgers, and are shown, until their runs are made anew: an experiment whose
runs have such rows trains them again, and the new rows take the place of the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from experiments.runs import AS_PUBLISHED, DEFAULT


class Change(NamedTuple):
    """A change of a method with some networks, and the commits that made rows before it.

    It concerns rows of published settings, or where ``all_variants`` is set, of all settings but
    the variants ``untouched``.
    """

    what: str
    networks: tuple[str, ...]
    commits: tuple[str, ...]
    all_variants: bool = False
    untouched: tuple[str, ...] = ()


CHANGES = {
    "DCPR": Change(
        "it now clips posteriors, as its script does",
        ("dense", "convolutional"), ("e2c5c3e", "9501707", "c123761"),
    ),
    "IDEC": Change(
        "it now has its authors' scale of rows and rate of pretraining",
        ("dense",), ("30b02f9", "5b5e6dc"),
    ),
    DEFAULT: Change(
        "CluNet now begins with the best of 20 clusterings by k-means, instead of 5, and given "
        "links judge them",
        ("dense", "convolutional"), ("8f599e0", "14b83f9", "05d7881"), all_variants=True,
        untouched=("CluNet from random weights",),
    ),
}  # fmt: skip


def is_earlier(row: Mapping[str, str]) -> bool:
    """Whether a row was made before its method was changed."""
    change = CHANGES.get(row["method"])
    return (
        change is not None
        and (change.all_variants or row["variant"] == AS_PUBLISHED)
        and row.get("variant") not in change.untouched  # questions have no variants
        and row["network"] in change.networks
        and row["commit"] in change.commits
    )
