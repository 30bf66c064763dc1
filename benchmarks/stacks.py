"""Stacks against plainly written loops: each row a ratio within one run.

    python benchmarks/stacks.py               # on what there is: a GPU if torch sees one

Writes benchmarks/results/stacks-cpu.csv or stacks-gpu.csv, and the same as JSON. The reference is
the plain eager float32 loop with LabNet's representation cached, torch's own dropout and default
precision. NMI needs MNIST in S3C2_DATA on a GPU, and takes scikit-learn's digits on a CPU.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links, fit_many
from s3c2.clunet_training import CluNetReplica, Pools, train_clunets
from s3c2.engine import rows as rows_of_x
from s3c2.engine.callbacks import AfterStep
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.labnet_training import LabNetReplica, LabNetResult, train_replicas
from s3c2.metrics import nmi

from tables import RESULTS, publish

REPLICAS = int(os.environ.get("S3C2_REPLICAS", "30"))  # fewer for a smoke test
AS_IT_IS = {"network": "dense", "scale": None, "verbose": 0}  # as the plain loop takes X


def clock() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def data(n: int, shape: tuple[int, ...], classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=n)
    centres = rng.normal(size=(classes, *shape))
    X = centres[y] + 0.7 * rng.normal(size=(n, *shape))
    return X.astype(np.float32), y


class Timer:
    """Seconds per step between two steps of a run, waiting for the device at both."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.times: list[float] = []

    def __call__(self, step: int) -> None:
        if step == self.first:
            self.began = clock()
        if step == self.last:
            self.times.append((clock() - self.began) / (self.last - self.first))


def seconds_per_step(run, first: int, steps: int, repeats: int) -> float:
    """Median over repeats of the time of one step, after the first ones."""
    timer = Timer(first, first + steps - 1)
    for _ in range(repeats):
        run(first + steps, timer)
    return float(np.median(timer.times))


def timed(timer: Timer):
    """A callback that hands the steps of the last part of a run to the timer."""
    return [AfterStep(lambda step: timer(step.step))]


def plain_network(columns: int, outputs: int, last: nn.Module, device) -> nn.Module:
    return nn.Sequential(
        nn.Linear(columns, 256), nn.ReLU(), nn.Dropout(0.1),
        nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.1),
        nn.Linear(256, outputs), last,
    ).to(device)  # fmt: skip


def plain_clunet(X, h, links, classes: int, n_links: int, n_pairs: int, device):
    """The plainest CluNet loop, as a function of the number of steps."""
    a, b = torch.from_numpy(np.concatenate([links.must, links.cannot]).T.copy()).to(device)
    given = torch.arange(links.n_links, device=device) < links.n_must

    def run(steps: int, timer: Timer) -> None:
        network = plain_network(X.shape[1], classes, nn.Softmax(-1), device)
        optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
        for step in range(steps):
            chosen = torch.randperm(len(a), device=device)[:n_links]
            i, j = torch.randint(len(X), (2, n_pairs), device=device)
            must = torch.cat([given[chosen], ((h[i] - h[j]) ** 2).sum(1) < 0.3])
            p = network(X[torch.cat([a[chosen], i, b[chosen], j])])
            same = (p[: len(must)] * p[len(must) :]).sum(1)
            loss = torch.where(must, 1 - same, same).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            timer(step)

    return run


def plain_conv_labnet(X, links, device):
    """The plainest convolutional LabNet loop."""
    a, b = torch.from_numpy(np.concatenate([links.must, links.cannot]).T.copy()).to(device)
    given = torch.arange(links.n_links, device=device) < links.n_must

    def run(steps: int, timer: Timer) -> None:
        network = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding="same"), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.5),
            nn.Conv2d(32, 32, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.5),
            nn.Flatten(), nn.Linear(32 * 49, 128), nn.ReLU(),
        ).to(device)  # fmt: skip
        optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-3, alpha=0.9, eps=1e-7)
        for step in range(steps):
            chosen = torch.randperm(len(a), device=device)[:256]
            h = network(X[torch.cat([a[chosen], b[chosen]])])
            d2 = ((h[:256] - h[256:]) ** 2).sum(1)
            far = torch.clamp(1 - torch.sqrt(d2 + 1e-12), min=0) ** 2
            loss = torch.where(given[chosen], d2, far).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            timer(step)

    return run


def clunet_replicas(links: list[Links], labnet: LabNet) -> list[CluNetReplica]:
    """One CluNet for each of these link sets, all with the pairs that this LabNet labels."""
    learned = LabNetResult(labnet.encoder_, labnet.threshold_, labnet.history_)
    return [CluNetReplica(one, r, learned, 0) for r, one in enumerate(links)]


def labnet_replicas(links: Links, count: int) -> list[LabNetReplica]:
    """LabNets that differ in their seed; they reconstruct nothing."""
    return [LabNetReplica(links, r, reconstruction_weight=0.0) for r in range(count)]


def clunets(rows, links, labnet, classes, count, n_links, n_pairs, precision="float32"):
    """The library's CluNets, as a function of the number of steps."""
    replicas = clunet_replicas(links[:count], labnet)

    def run(steps: int, timer: Timer) -> None:
        settings = CluNet.as_published().set_params(
            n_clusters=classes, steps=steps, batch_links=n_links, batch_pairs=n_pairs,
            precision=precision, **AS_IT_IS,
        )  # fmt: skip
        watched = FitRun(settings, timed(timer))
        train_clunets(settings, replicas, Pools(settings, rows), rows, watched)

    return run


def row(what: str, reference: float, ours: float, replicas: int, reach: str, note: str = ""):
    return {
        "measure": what,
        "reference_ms_per_model_step": round(float(1e3 * reference), 4),
        "ours_ms_per_model_step": round(float(1e3 * ours / replicas), 4),
        "ours_ms_per_step": round(float(1e3 * ours), 4),
        "times_faster": round(float(reference * replicas / ours), 2),
        "reach": reach,
        "note": note,
    }


def on_gpu(args) -> list[dict]:
    device = torch.device("cuda")
    table = []
    X, y = data(60_000, (784,), 10)
    rows, resident = Rows(X, (784,), device=device), torch.from_numpy(X).to(device)
    links = [Links.from_labels(y, 1000, random_state=r) for r in range(REPLICAS)]
    labnet = (
        LabNet.as_published()
        .set_params(steps=50, random_state=0, **AS_IT_IS)
        .fit(X, links=links[0])
    )
    h = torch.from_numpy(labnet.transform(X)).to(device)
    eager = seconds_per_step(
        plain_clunet(resident, h, links[0], 10, 100, 1000, device),
        20,
        20 + args.steps,
        args.repeats,
    )
    for count, precision, reach in (
        (1, "float32", "≥ 8"), (1, "bf16", "≥ 8"),
        (REPLICAS, "float32", "≥ 70 with bf16"), (REPLICAS, "bf16", "≥ 70"),
    ):  # fmt: skip
        ours = seconds_per_step(
            clunets(rows, links, labnet, 10, count, 100, 1000, precision),
            20, 5 * args.steps, args.repeats,
        )  # fmt: skip
        what = f"{count} dense CluNet(s), MNIST shapes"
        table.append(row(what, eager, ours, count, reach, f"graph capture, {precision}"))
        print(table[-1], flush=True)
    share, rows_of_x.RESIDENT_SHARE = rows_of_x.RESIDENT_SHARE, 0.0
    pinned = Rows(X, (784,), device=device)
    ours = seconds_per_step(
        clunets(pinned, links, labnet, 10, 1, 100, 1000), 20, 5 * args.steps, args.repeats
    )
    rows_of_x.RESIDENT_SHARE = share
    what = "1 dense CluNet, MNIST shapes, X in pinned memory of the host"
    table.append(row(what, eager, ours, 1, "", "graph capture, float32"))
    print(table[-1], flush=True)
    images, y = data(10_000, (1, 28, 28), 10)
    image_rows = Rows(images, (1, 28, 28), device=device)
    resident = torch.from_numpy(images).to(device)
    eager = seconds_per_step(
        plain_conv_labnet(resident, links_of(y), device), 20, args.steps, args.repeats
    )
    for count, precision in (
        (1, "float32"), (1, "bf16"), (REPLICAS, "float32"), (REPLICAS, "bf16"),
    ):  # fmt: skip
        settings = LabNet.as_published("convolutional")
        settings.set_params(steps=20 + args.steps, precision=precision, verbose=0)
        some = labnet_replicas(links_of(y), count)
        timer = Timer(20, 19 + args.steps)
        train_replicas(settings, some, image_rows, FitRun(settings, timed(timer)))
        # Where they do not fit into one stack, a step of all is the sum of the stacks' steps.
        table.append(
            row(f"{count} convolutional LabNet(s), 28×28", eager, sum(timer.times), count,
                "" if count == 1 else "≥ 8",
                f"graph capture, {'tf32' if precision == 'float32' else precision}")
        )  # fmt: skip
        print(table[-1], flush=True)
    return table


def links_of(y: np.ndarray) -> Links:
    return Links.from_labels(y, 1000, random_state=0)


def on_cpu(args) -> list[dict]:
    device = torch.device("cpu")
    X, y = data(15_000, (16,), 26)
    rows, resident = Rows(X, (16,)), torch.from_numpy(X)
    links = [Links.from_labels(y, 1000, random_state=r) for r in range(REPLICAS)]
    labnet = (
        LabNet.as_published()
        .set_params(steps=50, random_state=0, **AS_IT_IS)
        .fit(X, links=links[0])
    )
    h = torch.from_numpy(labnet.transform(X))
    table = []
    for name, count, n_links, n_pairs, reach in (
        ("1 dense CluNet, Letters shapes, published batch", 1, 100, 1000, "≥ 0.95"),
        ("30 dense CluNets, Letters shapes, published batch", REPLICAS, 100, 1000, "≥ 1.0"),
        ("30 dense CluNets, Letters shapes, 16 pairs a step", REPLICAS, 8, 8, "≥ 3"),
    ):
        steps = args.steps if n_pairs == 8 else max(10, args.steps // 10)
        plain = plain_clunet(resident, h, links[0], 26, n_links, n_pairs, device)
        ours = clunets(rows, links, labnet, 26, count, n_links, n_pairs)
        references, times = [], []
        for _ in range(args.repeats):
            references.append(seconds_per_step(plain, 5, steps, 1))
            timer = Timer(5, 4 + steps)
            ours(5 + steps, timer)  # one stack, or one replica after another
            times.append(sum(timer.times))
        table.append(row(name, np.median(references), np.median(times), count, reach, "float32"))
        print(table[-1], flush=True)
    return table


def read_mnist(folder: Path) -> tuple[np.ndarray, ...]:
    def idx(name: str, offset: int) -> np.ndarray:
        with gzip.open(folder / "mnist" / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    return tuple(
        part
        for kind in ("train", "t10k")
        for part in (
            idx(f"{kind}-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32) / 255,
            idx(f"{kind}-labels-idx1-ubyte.gz", 8).astype(np.int64),
        )
    )


def same_nmi(args, gpu: bool) -> list[dict]:
    """NMI of models trained in a stack and one by one, on the same link sets."""
    if gpu:
        if "S3C2_DATA" not in os.environ:
            return []
        X, y, X_test, y_test = read_mnist(Path(os.environ["S3C2_DATA"]))
        budget, steps = 5000, 3000
    else:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X = (X / 16).astype(np.float32)
        X, y, X_test, y_test = X[:1297], y[:1297], X[1297:], y[1297:]
        budget, steps = 500, 400
    links = [Links.from_labels(y, budget, random_state=r) for r in range(5)]
    base = {"clunet__steps": steps, **AS_IT_IS}
    table = []
    for precision in ("float32", "bf16") if gpu else ("float32",):
        grid = [
            (S3C2.as_published(10, random_state=r, precision=precision, **base), links[r])
            for r in range(5)
        ]
        together = [nmi(y_test, m.predict(X_test)) for m in fit_many(X, grid)]
        alone = [nmi(y_test, m.fit(X, links=one).predict(X_test)) for m, one in grid]
        table.append(
            {
                "measure": f"NMI, {'MNIST' if gpu else 'digits'}, {budget} links, 5 link sets",
                "stacked": f"{np.mean(together):.4f} ± {np.std(together, ddof=1):.4f}",
                "one_by_one": f"{np.mean(alone):.4f} ± {np.std(alone, ddof=1):.4f}",
                "largest_difference": round(float(np.max(np.abs(np.subtract(together, alone)))), 4),
                "note": precision,
            }
        )
        print(table[-1], flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-nmi", action="store_true")
    args = parser.parse_args()
    gpu = torch.cuda.is_available()
    name = "stacks-gpu" if gpu else "stacks-cpu"
    speed = on_gpu(args) if gpu else on_cpu(args)
    publish(name, speed)
    quality = [] if args.no_nmi else same_nmi(args, gpu)
    if quality:
        publish(f"{name}-nmi", quality)
    (RESULTS / f"{name}.json").write_text(json.dumps({"speed": speed, "nmi": quality}, indent=1))


if __name__ == "__main__":
    main()
