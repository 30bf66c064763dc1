"""How long a fit will take, from a few steps on some of its rows, and what would be faster."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s3c2 import S3C2
    from s3c2.links import Links

TRIED = 3  # steps of each stage; the first warms up
MOST_ROWS = 2000
WORTH_SAYING = 60.0  # seconds


def forecast(model: S3C2, X: Any, links: Links) -> dict[str, float]:
    """Seconds that each stage will take, by stage; other work is not counted.

    A step takes as long on few rows as on many, so a few steps on some rows will do.
    """
    import numpy as np
    from sklearn.base import clone

    linked = np.concatenate([links.must[:MOST_ROWS], links.cannot[:MOST_ROWS]])
    rows = np.union1d(np.arange(min(X.shape[0], MOST_ROWS)), linked)
    some = links.restrict(rows)
    times: dict[str, list[float]] = {}
    lengths: dict[str, int] = {}

    def note(step: Any) -> None:
        lengths[step.stage] = lengths.get(step.stage, 0) + 1
        times.setdefault(step.stage, []).append(time.perf_counter())

    trial: Any = clone(model).set_params(
        labnet__epochs=None, labnet__steps=TRIED, clunet__steps=TRIED, clunet__start="random",
        random_state=0, verbose=0, callbacks=note, checkpoint=None,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial.fit(X[rows], links=some)
    steps = n_steps(model, links)
    return {
        stage: float(np.median(np.diff(ends))) * steps[stage] * lengths[stage] / TRIED
        for stage, ends in times.items()
    }


def n_steps(model: S3C2, links: Links) -> dict[str, int]:
    """Training steps of each stage with these links."""
    labnet, clunet = model._stages()
    how = labnet._training()
    batches = -(-links.n_links // how.links)
    return {"labnet": how.n_steps(batches), "clunet": clunet._training().n_steps(1)}


def in_words(seconds: dict[str, float], convolutional: bool, on_cpu: bool) -> str | None:
    """What to tell the user beforehand; None for a fit that is short enough to wait for."""
    total = sum(seconds.values())
    if total < WORTH_SAYING:
        return None
    names = {"labnet": "LabNet", "clunet": "CluNet"}
    parts = ", ".join(f"{names[stage]} {_duration(each)}" for stage, each in seconds.items())
    faster = ["--labnet-steps and --clunet-steps with fewer steps"]
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
