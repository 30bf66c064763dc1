"""A grid of models on the same data, trained in as few stacks as possible."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

from sklearn.base import clone

from s3c2.base import begin
from s3c2.clusterer import LinkClusterer
from s3c2.engine.checkpoint import digest_of_links
from s3c2.engine.randomness import seed_from
from s3c2.errors import DataError
from s3c2.links import Links

M = TypeVar("M", bound=LinkClusterer)


def fit_many(
    X: Any, configurations: Sequence[tuple[M, Links]], *, sample_id: Any = None
) -> list[M]:
    """Fit every model on X with its links, all of them together.

    The models are all S3C2, or all of one baseline. They may differ in their links and
    ``random_state``; S3C2 also in ``threshold`` and ``reconstruction_weight``, a baseline in the
    parameters that its class names. Each comes out as from its own ``fit``; LabNets that differ in
    the threshold alone are trained once. Stacks that do not fit into memory are split. A
    ``checkpoint``, the same file for all models, keeps the state of the whole grid.

    Parameters
    ----------
    X : rows
    configurations : (model, links) of each; the models are cloned, and stay unfitted themselves
    sample_id : the rows' ids, if the links speak of ids

    Returns
    -------
    list of models, in the order of the configurations; one whose training diverged is left
    unfitted, with a warning

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import S3C2, Links, fit_many
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> base = {"scale": "unit", "clunet_steps": 20, "labnet_steps": 20, "layers": (32, 16)}
    >>> grid = [
    ...     (S3C2(3, threshold=T, random_state=s, **base), Links.from_labels(y, n, random_state=s))
    ...     for n in (100, 200) for T in (0.1, 0.3) for s in range(2)
    ... ]
    >>> [model.threshold_ for model in fit_many(X, grid)]
    [0.1, 0.1, 0.3, 0.3, 0.1, 0.1, 0.3, 0.3]
    """
    if not configurations:
        return []
    for number, one in enumerate(configurations):
        if not isinstance(one, tuple | list) or len(one) != 2 or not isinstance(one[1], Links):
            raise TypeError(
                f"fit_many takes pairs (model, links). Configuration {number} is {one!r}."
            )
    _check_alike([model for model, _ in configurations])
    # Seeds come from the models as given: a generator that several share goes on from one to the
    # next, as in fits one after another.
    seeds = [seed_from(model.random_state) for model, _ in configurations]
    models = [clone(model) for model, _ in configurations]
    for model in models:
        model._check_parameters()
    reader = clone(models[0])  # a model of its own, for one that diverges stays unfitted
    rows = reader._read(X, reset=True)
    reader._check_n_clusters(rows)
    resolved: dict[int, Links] = {}  # links that several share are resolved once
    equal: dict[str, Links] = {}  # equal ones become one object, by which LabNets are shared
    for _, links in configurations:
        if id(links) not in resolved:
            found = reader._resolve(links, sample_id, rows)
            resolved[id(links)] = equal.setdefault(digest_of_links(found), found)
            reader._warn_of_too_many_groups(links)
    given = [resolved[id(links)] for _, links in configurations]
    run, begun_with = begin(models, rows, given, seeds)
    with run:
        failed = reader._fit_replicas(models, rows, given, begun_with, run)
    _report(failed, len(models))
    return models


def _report(failed: dict[int, DataError], total: int) -> None:
    """Say which configurations diverged; an error if all did."""
    if len(failed) == total:
        raise next(iter(failed.values()))
    if failed:
        numbers = ", ".join(map(str, sorted(failed)))
        warnings.warn(
            f"{len(failed)} of {total} configurations diverged and are returned unfitted: "
            f"{numbers}. {next(iter(failed.values()))}",
            UserWarning,
            stacklevel=3,
        )


def _check_alike(models: Sequence[LinkClusterer]) -> None:
    kind = type(models[0])
    for model in models:
        if not isinstance(model, LinkClusterer):
            raise TypeError(f"fit_many trains S3C2 and the baselines. Got {type(model).__name__}.")
    expected = models[0].get_params(deep=False)
    for number, model in enumerate(models):
        if type(model) is not kind:
            raise ValueError(
                f"fit_many trains models of one kind: configuration 0 is {kind.__name__} and "
                f"configuration {number} is {type(model).__name__}. Fit each kind in a call of its "
                "own."
            )
        for name, value in model.get_params(deep=False).items():
            if name not in kind._may_differ and not _equal(value, expected[name]):
                raise ValueError(
                    f"fit_many trains models of one kind: '{name}' is {expected[name]!r} in "
                    f"configuration 0 and {value!r} in configuration {number}. They may differ in "
                    f"{', '.join(kind._may_differ)} and links; fit others in a call of their own."
                )


def _equal(one: Any, two: Any) -> bool:
    """Whether two parameters are the same; a list of sizes is the same as a tuple of them."""
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return tuple(one) == tuple(two)
    return one is two or bool(one == two)
