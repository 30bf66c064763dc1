"""A grid of models on the same data, trained in as few stacks as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from s3c2.callbacks import as_callbacks
from s3c2.clunet import CluNetReplica, train_clunets
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
    list of fitted S3C2, in the order of the configurations

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
    models = [clone(model) for model, _ in configurations]
    if not models:
        return []
    _check_alike(models)
    first = models[0]
    rows = first._read(X, reset=True)
    resolved = [first._resolve(links, sample_id, rows) for _, links in configurations]
    seeds = [seed_from(model.random_state) for model in models]
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
        for key, (labnet, folds) in labnets.items():
            labnet._adopt(first)
            labnet._finish(rows, trained[spans[key]], folds)

        # CluNets: one for each configuration and restart.
        groups: list[list[CluNetReplica]] = []
        for (labnet, clunet), key, links, seed in zip(stages, keys, resolved, seeds):
            owner = labnets[key][0]
            T = owner.threshold_ if labnet.threshold == "auto" else float(labnet.threshold)
            groups.append(clunet._replicas(links, owner, seed, T))
        every = [replica for group in groups for replica in group]
        finished = iter(train_clunets(stages[0][1], rows, every, run))
        for model, (labnet, clunet), key, group in zip(models, stages, keys, groups):
            model._adopt(first)
            clunet._adopt(first)
            clunet._finish(rows, group[0], [next(finished) for _ in group])
            model._take(_with_threshold(labnet, labnets[key][0], group[0]), clunet, rows)
    return models


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
    expected = models[0].get_params(deep=False)
    for number, model in enumerate(models):
        for name, value in model.get_params(deep=False).items():
            if name not in MAY_DIFFER and value != expected[name] and value is not expected[name]:
                raise ValueError(
                    f"fit_many trains models of one kind: '{name}' is {expected[name]!r} in "
                    f"configuration 0 and {value!r} in configuration {number}. They may differ in "
                    f"{', '.join(MAY_DIFFER)} and links; fit others in a call of their own."
                )
