"""A grid of models on the same data, trained in as few stacks as possible."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from s3c2.callbacks import as_callbacks
from s3c2.clunet import CluNetReplica, train_clunets
from s3c2.errors import DataError
from s3c2.estimator import S3C2
from s3c2.labnet import LabNet, LabNetReplica, train_labnets
from s3c2.links import Links
from s3c2.randomness import seed_from
from s3c2.threshold import folds_for_threshold
from s3c2.training import Run

MAY_DIFFER = ("random_state", "threshold", "reconstruction_weight")


def fit_many(
    X: Any, configurations: Sequence[tuple[S3C2, Links]], *, sample_id: Any = None
) -> list[S3C2]:
    """Fit every model on X with its links, all of them together.

    Models may differ in their links, ``random_state``, ``threshold`` and
    ``reconstruction_weight``. Each comes out as from its own ``fit``; LabNets that differ in the
    threshold alone are trained once. Stacks that do not fit into memory are split.

    Parameters
    ----------
    X : rows
    configurations : (model, links) of each; the models are cloned, not changed
    sample_id : the rows' ids, if the links speak of ids

    Returns
    -------
    list of S3C2, in the order of the configurations; one whose training diverged is left unfitted,
    with a warning

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
    _check_alike([model for model, _ in configurations])
    # Seeds come from the models as given: a generator that several share goes on from one to the
    # next, as in fits one after another.
    seeds = [seed_from(model.random_state) for model, _ in configurations]
    models = [clone(model) for model, _ in configurations]
    first = models[0]
    rows = first._read(X, reset=True)
    resolved = [first._resolve(links, sample_id, rows) for _, links in configurations]
    for links in {id(links): links for _, links in configurations}.values():
        first._warn_of_too_many_groups(links)
    run = Run(first, as_callbacks(first.callbacks), first.verbose)
    stages = [model._stages() for model in models]
    stages[0][1]._check_n_clusters(rows)

    # LabNets: one for each set of links, seed and λ; folds where T is to be calibrated.
    keys: list[Any] = []
    labnets: dict[Any, Any] = {}
    spans: dict[Any, slice] = {}
    replicas: list[LabNetReplica] = []
    for (labnet, _), links, seed, (_, given) in zip(stages, resolved, seeds, configurations):
        folded = labnet.threshold == "auto"
        key = (id(given), seed, labnet.reconstruction_weight, folded)
        keys.append(key)
        if key in labnets:
            continue
        labnets[key] = (labnet, folds_for_threshold(links, seed) if folded else [])
        mine = labnet._replicas(links, seed, labnets[key][1])
        spans[key] = slice(len(replicas), len(replicas) + len(mine))
        replicas += [
            LabNetReplica(one.links, one.seed, labnet.reconstruction_weight) for one in mine
        ]
    with run:
        trained = train_labnets(stages[0][0], rows, replicas, run)
        failed: dict[int, DataError] = {}
        for key, (labnet, folds) in labnets.items():
            labnet._adopt(first)
            try:
                labnet._finish(rows, trained[spans[key]], folds)
            except DataError as error:
                failed |= {i: error for i, own in enumerate(keys) if own == key}

        # CluNets: one for each configuration and restart.
        groups: dict[int, list[CluNetReplica]] = {}
        for i, ((labnet, clunet), key) in enumerate(zip(stages, keys)):
            if i in failed:
                continue
            owner = labnets[key][0]
            T = owner.threshold_ if labnet.threshold == "auto" else float(labnet.threshold)
            groups[i] = clunet._replicas(resolved[i], owner, seeds[i], T)
        every = [replica for group in groups.values() for replica in group]
        finished = iter(train_clunets(stages[0][1], rows, every, run) if every else [])
        for i, group in groups.items():
            labnet, clunet = stages[i]
            clunet._adopt(first)
            restarts = [next(finished) for _ in group]
            try:
                clunet._finish(rows, group[0], restarts)
            except DataError as error:
                failed[i] = error
                continue
            models[i]._adopt(first)
            models[i]._take(_with_threshold(labnet, labnets[keys[i]][0], group[0]), clunet, rows)
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


def _with_threshold(labnet: LabNet, trained: LabNet, replica: CluNetReplica) -> LabNet:
    """The LabNet of a configuration, with the network that it shares with others."""
    if labnet is not trained:
        for name, value in vars(trained).items():
            if name.endswith("_") or name.startswith("_"):
                setattr(labnet, name, value)
    if replica.threshold is not None:
        labnet.threshold_ = replica.threshold
    return labnet


def _check_alike(models: Sequence[S3C2]) -> None:
    if any(model.checkpoint is not None for model in models):
        raise ValueError("fit_many keeps no checkpoint: leave the 'checkpoint' parameter at None.")
    expected = models[0].get_params(deep=False)
    for number, model in enumerate(models):
        for name, value in model.get_params(deep=False).items():
            if name not in MAY_DIFFER and value != expected[name] and value is not expected[name]:
                raise ValueError(
                    f"fit_many trains models of one kind: '{name}' is {expected[name]!r} in "
                    f"configuration 0 and {value!r} in configuration {number}. They may differ in "
                    f"{', '.join(MAY_DIFFER)} and links; fit others in a call of their own."
                )
