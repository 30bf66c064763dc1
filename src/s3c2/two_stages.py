"""S3C2 models on the same data, one or a grid: all LabNets together, then all CluNets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from s3c2.clunet import CluNetReplica, train_clunets
from s3c2.engine.loop import Run
from s3c2.engine.rows import Rows
from s3c2.errors import DataError
from s3c2.labnet import LabNet, LabNetReplica, train_labnets
from s3c2.links import Links
from s3c2.threshold import folds_for_threshold

if TYPE_CHECKING:
    from s3c2.estimator import S3C2


def fit_two_stages(
    reader: S3C2,
    models: Sequence[S3C2],
    rows: Rows,
    links: Sequence[Links],
    seeds: Sequence[int],
    run: Run,
) -> dict[int, DataError]:
    """Fit models that differ in links, seed, T and λ; LabNets that differ in T alone are shared.

    Parameters
    ----------
    reader : the model that has read X
    models, links, seeds : one for each model; links by row number, the same object where equal

    Returns
    -------
    the errors of models whose training diverged, by number; they stay unfitted
    """
    stages = [model._stages() for model in models]

    # LabNets: one for each set of links, seed and λ; folds where T is to be calibrated.
    keys: list[Any] = []
    labnets: dict[Any, Any] = {}
    spans: dict[Any, slice] = {}
    replicas: list[LabNetReplica] = []
    for (labnet, _), given, seed in zip(stages, links, seeds):
        folded = labnet.threshold == "auto"
        key = (id(given), seed, labnet.reconstruction_weight, folded)
        keys.append(key)
        if key in labnets:
            continue
        labnets[key] = (labnet, folds_for_threshold(given, seed) if folded else [])
        mine = labnet._replicas(given, seed, labnets[key][1])
        spans[key] = slice(len(replicas), len(replicas) + len(mine))
        replicas += [
            LabNetReplica(one.links, one.seed, labnet.reconstruction_weight) for one in mine
        ]
    trained = train_labnets(stages[0][0], rows, replicas, run)
    failed: dict[int, DataError] = {}
    for key, (labnet, folds) in labnets.items():
        labnet._adopt(reader)
        try:
            labnet._finish(rows, trained[spans[key]], folds)
        except DataError as error:
            failed |= {i: error for i, own in enumerate(keys) if own == key}

    # CluNets: one for each model and restart.
    groups: dict[int, list[CluNetReplica]] = {}
    for i, ((labnet, clunet), key) in enumerate(zip(stages, keys)):
        if i in failed:
            continue
        owner = labnets[key][0]
        T = owner.threshold_ if labnet.threshold == "auto" else float(labnet.threshold)
        groups[i] = clunet._replicas(links[i], owner, seeds[i], T)
    every = [replica for group in groups.values() for replica in group]
    finished = iter(train_clunets(stages[0][1], rows, every, run) if every else [])
    for i, group in groups.items():
        labnet, clunet = stages[i]
        clunet._adopt(reader)
        restarts = [next(finished) for _ in group]
        try:
            clunet._finish(rows, group[0], restarts)
        except DataError as error:
            failed[i] = error
            continue
        models[i]._adopt(reader)
        models[i]._take(_with_threshold(labnet, labnets[keys[i]][0], group[0]), clunet, rows)
    return failed


def _with_threshold(labnet: LabNet, trained: LabNet, replica: CluNetReplica) -> LabNet:
    """The LabNet of a model, with the network that it shares with others."""
    if labnet is not trained:
        for name, value in vars(trained).items():
            if name.endswith("_") or name.startswith("_"):
                setattr(labnet, name, value)
    if replica.threshold is not None:
        labnet.threshold_ = replica.threshold
    return labnet
