"""The data sets of runs, loaded once, and the links drawn from their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from s3c2 import Links, datasets
from s3c2.errors import DatasetError

from experiments import scoring
from experiments.other_data import OTHERS, load_other
from experiments.runs import Run


@dataclass(frozen=True)
class Prepared:
    """A data set in the shape that a network takes, with its test pairs."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    n_clusters: int
    source: str
    pairs: Links


@cache
def load(name: str, network: str, factor: float = 1.0) -> Prepared:
    """Vectors for dense networks, images for convolutional ones, all numbers times ``factor``.

    The name is one of ``s3c2.datasets`` or of OTHERS.
    """
    data = load_other(name) if name in OTHERS else datasets.load(name)
    X_train, X_test = (
        X.reshape(len(X), -1) if network == "dense" else X for X in (data.X_train, data.X_test)
    )
    if factor != 1:
        X_train, X_test = (X * np.float32(factor) for X in (X_train, X_test))
    return Prepared(
        X_train, data.y_train, X_test, data.y_test, data.n_clusters, data.source,
        scoring.test_pairs(data.y_test),
    )  # fmt: skip


def check(runs: Sequence[Run]) -> None:
    """Load all data sets of the runs, and name every one that is missing."""
    failed: dict[str, str] = {}
    wanted = dict.fromkeys((run.dataset, run.network) for run in runs)
    for name, network in wanted:
        try:
            load(name, network)
        except DatasetError as error:
            failed[name] = str(error)
    if failed:
        others = list(dict.fromkeys(name for name, _ in wanted if name not in failed))
        hint = f" Or run the others alone: --dataset {' '.join(others)}" if others else ""
        raise DatasetError("\n".join(failed.values()) + hint)


def links_of(runs: Sequence[Run], y: Any) -> list[Links]:
    """The given links of each run. Runs with the same links share one object."""

    @cache
    def drawn(n: int, must_share: float | None, seed: int, share: float, design: Any) -> Links:
        links = Links.from_labels(y, n, must_share=must_share, design=design, random_state=seed)
        return exchanged(links, share, seed)

    return [
        drawn(run.n_links, run.must_share, run.link_seed, run.flipped or 0.0, run.design)
        for run in runs
    ]


def exchanged(links: Links, share: float, seed: int) -> Links:
    """The links with the kind of some exchanged: a share of all, drawn at random."""
    if not share:
        return links
    pairs = np.concatenate([links.must, links.cannot])
    must = np.arange(len(pairs)) < links.n_must
    wrong = np.random.default_rng(seed).choice(len(pairs), round(share * len(pairs)), replace=False)
    must[wrong] ^= True
    return Links(must=pairs[must], cannot=pairs[~must], n_samples=links.n_samples)
