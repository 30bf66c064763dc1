"""Where the seconds of one fit of S3C2 with its defaults go.

    python benchmarks/cost.py                     # digits
    python benchmarks/cost.py --mnist             # also MNIST as a table
    python benchmarks/cost.py --mnist --images    # and as images, which is long without a GPU

With 1,000 links. Writes benchmarks/results/cost.csv, on a GPU cost-gpu.csv.

The seconds of each stage are those from its first step to its last, as callbacks are told. What is
between two stages is named after what happens there.
"""

from __future__ import annotations

import argparse
import time

import torch

from s3c2 import S3C2, Links
from s3c2.datasets import load
from s3c2.engine.callbacks import Callback

from tables import publish

LINKS = 1000
STAGES = {
    "autoencoder": "autoencoder", "labnet": "LabNet", "clunet start": "start", "clunet": "CluNet",
}  # fmt: skip
# What is done before the first step of a stage
BEFORE = {
    "autoencoder": "neighbours", "labnet": "neighbours", "clunet start": "start",
    "clunet": "start",
}  # fmt: skip
ORDER = ("reading and scaling", "neighbours", "autoencoder", "LabNet", "start", "CluNet", "labels")


class Clock(Callback):
    """Adds the seconds between two moments to what happened there."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(ORDER, 0.0)
        self.stage: str | None = None
        self.last = time.perf_counter()

    def add(self, name: str) -> None:
        """All seconds since the last call belong to this."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        now = time.perf_counter()
        self.seconds[name] += now - self.last
        self.last = now

    def setup(self, estimator, context) -> None:
        self.add("reading and scaling")

    def on_fit_task_begin(self, estimator, context) -> None:
        if context.stage != self.stage:
            self.stage = context.stage
            self.add(BEFORE[context.stage])

    def on_fit_task_end(self, estimator, context) -> None:
        if context.step == context.steps - 1:
            self.add(STAGES[context.stage])


def costs(name: str, X, y, n_clusters: int, steps: int | None) -> list[dict[str, object]]:
    """A row for each part of one fit; ``steps`` shortens both stages."""
    short = {} if steps is None else {"labnet__steps": steps, "clunet__steps": steps}
    clock = Clock()
    model = S3C2(n_clusters, random_state=0, verbose=0, callbacks=clock).set_params(**short)
    links = Links.from_labels(y, LINKS, random_state=0)
    clock.last = began = time.perf_counter()
    model.fit(X, links=links)
    clock.add("labels")
    whole = time.perf_counter() - began
    return [
        {
            "data": name, "rows": len(X), "network": model.network_kind_, "part": part,
            "seconds": round(seconds, 3), "share": round(seconds / whole, 3),
        }
        for part, seconds in clock.seconds.items()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mnist", action="store_true", help="also MNIST as a table")
    parser.add_argument("--images", action="store_true", help="also MNIST as images")
    parser.add_argument("--steps", type=int, help="of each stage, instead of the default")
    args = parser.parse_args()
    cases = [("digits", "dense")]
    cases += [("mnist", "dense")] if args.mnist else []
    cases += [("mnist", "convolutional")] if args.images else []
    table = []
    for name, network in cases:
        data = load(name)
        X = data.X_train.reshape(len(data.X_train), -1) if network == "dense" else data.X_train
        table += costs(name, X, data.y_train, data.n_clusters, args.steps)
    publish("cost-gpu" if torch.cuda.is_available() else "cost", table)


if __name__ == "__main__":
    main()
