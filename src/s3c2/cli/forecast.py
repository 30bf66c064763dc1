"""How long a fit will take, from a few steps on some of its rows, and what would be faster."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s3c2 import S3C2
    from s3c2.links import Links

TRIED = 8  # steps of each stage; the first warm up
MOST_ROWS = 5000  # enough for all stages
WORTH_SAYING = 60.0  # seconds
NAMES = {
    "autoencoder": "autoencoder",
    "labnet": "LabNet",
    "clunet start": "CluNet's start",
    "clunet": "CluNet",
}


def forecast(model: S3C2, X: Any, links: Links) -> tuple[dict[str, float], str]:
    """Seconds that each stage will take, by stage, and the kind of network.

    A step takes as long on few rows as on many, so a few steps on some rows will do. Work outside
    of steps, such as looking for neighbours, is not counted. Where the neighbours of X are kept,
    no autoencoder is trained.
    """
    import numpy as np
    from sklearn.base import clone

    linked = np.concatenate([links.must[:MOST_ROWS], links.cannot[:MOST_ROWS]])
    tried = min(X.shape[0], max(MOST_ROWS, int(model.n_clusters)))
    rows = np.union1d(np.arange(tried), linked)
    some = links.restrict(rows)
    times: dict[str, list[float]] = {}
    lengths: dict[str, int] = {}

    def note(step: Any) -> bool:
        lengths[step.stage] = lengths.get(step.stage, 0) + 1
        times.setdefault(step.stage, []).append(time.perf_counter())
        return bool(step.step + 1 >= TRIED)  # it ends the autoencoder, whose length is not set

    trial: Any = clone(model).set_params(
        labnet__epochs=None, labnet__steps=TRIED, labnet__cache=None, clunet__steps=TRIED,
        random_state=0, verbose=0, callbacks=note, checkpoint=None,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial.fit(X[rows], links=some)
    chosen = clone(model).set_params(network=_chosen_network(model, trial))
    steps = n_steps(chosen, links, X.shape[0])
    if _neighbours_are_kept(model, X):
        times.pop("autoencoder", None)
    seconds = {
        stage: float(np.median(np.diff(ends))) * steps[stage] * lengths[stage] / TRIED
        for stage, ends in times.items()
    }
    return seconds, trial.network_kind_


def _chosen_network(model: S3C2, trial: S3C2) -> Any:
    """The network that the fit will have, where "auto" chooses it."""
    return trial.network_kind_ if model.network == "auto" else model.network


def _neighbours_are_kept(model: S3C2, X: Any) -> bool:
    """Whether an earlier fit of these rows left what the autoencoder is for."""
    from s3c2.kept_neighbours import read_neighbours
    from s3c2.labnet_training import neighbours_file
    from s3c2.reading import read_for_fit

    labnet = model._stages()[0]
    if labnet.cache is None or not labnet.neighbors:
        return False
    rows = read_for_fit(model, X)[1]
    path = neighbours_file(labnet, rows)
    return path is not None and read_neighbours(path, rows.n) is not None


def n_steps(model: S3C2, links: Links, n_rows: int) -> dict[str, int]:
    """Training steps of each stage with these links and so many rows; 0 of one that is left out."""
    from s3c2 import clunet_start

    labnet, clunet = model._stages()
    how, of_clunet = labnet._training(n_rows), clunet._training(n_rows).n_steps(1)
    batches = -(-links.n_links // how.links)
    started = clunet.start == "labnet" and clunet.n_clusters > 1
    return {
        "autoencoder": _code_steps(n_rows) if labnet.neighbors and labnet.code else 0,
        "labnet": how.n_steps(batches),
        "clunet start": min(clunet_start.STEPS, of_clunet) if started else 0,
        "clunet": of_clunet,
    }


def _code_steps(n_rows: int) -> int:
    """Steps of the autoencoder."""
    from s3c2 import labnet_training, prior

    if n_rows < labnet_training.CODE_ROWS:
        return 0
    n = min(n_rows, prior.MOST_ROWS)
    return labnet_training.code_epochs(n) * -(-n // labnet_training.CODE_BATCH)


def in_words(seconds: dict[str, float], convolutional: bool, on_cpu: bool) -> str | None:
    """What to tell the user beforehand; None for a fit that is short enough to wait for."""
    total = sum(seconds.values())
    if total < WORTH_SAYING:
        return None
    parts = ", ".join(f"{NAMES[stage]} {_duration(each)}" for stage, each in seconds.items())
    faster = ["--labnet-steps and --clunet-steps with fewer steps"]
    if "autoencoder" in seconds:
        faster.append("--no-autoencoder")
    if convolutional:
        faster = ["--points 50", *faster, "--network dense"]
    if on_cpu:
        faster.append("a GPU")
    return f"This will take about {_duration(total)} ({parts}). Faster: {', '.join(faster)}."


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 100 else f"{minutes / 60:.1f} hours"
