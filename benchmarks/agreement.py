"""The library against the plainest PyTorch loop: the same weights, and the same time per step.

    python benchmarks/agreement.py            # writes benchmarks/results/agreement.csv

The plain loops below share with the library the network's layers, the drawn batches and the
dropout masks; losses, gradients, optimiser and loop are written out. Weights are compared after 200
steps of the products of MKL, which the plain loop has (the library may take oneDNN's: see
products.py); time is the median of interleaved repeats. A last row per network times the same plain
loop with torch's own dropout, which is what one would write without the library.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from s3c2 import CluNet, LabNet, Links
from s3c2.clunet_losses import AsOne, clustering_losses
from s3c2.clunet_training import CluNetReplica, Pools, random_pairs
from s3c2.engine.dropout import Dropout
from s3c2.engine.loop import train
from s3c2.engine.randomness import dropout_masks
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses, Task
from s3c2.labnet_losses import FromLinks, loss_of_parts
from s3c2.labnet_training import LabNetResult
from s3c2.pairs import GivenLinks, Twins

from tables import publish

SEED = 0


def lay_masks(network, rows, seed, step):
    """The masks that the library draws for this step."""
    layers = [layer for layer in network if isinstance(layer, Dropout)]
    sizes, rates = [rows * layer.size[0] for layer in layers], [layer.rate for layer in layers]
    for layer, mask in zip(layers, dropout_masks(sizes, rates, seed, step)):
        layer.mask = torch.from_numpy(mask).view(rows, -1)


def plain_labnet(network, X, given, n_steps, *, masks=True):
    optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-3, alpha=0.9, eps=1e-7)
    network.train()
    for step in range(n_steps):
        batch = given.draw(step)
        a, b, must, weight = batch.a[0], batch.b[0], batch.same[0] == 1, batch.weight[0]
        if masks:
            lay_masks(network, 2 * len(a), SEED, step)
        h = network(X[torch.cat([a, b])])
        d2 = ((h[: len(a)] - h[len(a) :]) ** 2).sum(1)
        terms = torch.where(must, d2, torch.clamp(1 - torch.sqrt(d2), min=0) ** 2)
        loss = (terms * weight).sum() / weight.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def plain_clunet(network, X, given, pairs, seed, n_steps, *, masks=True):
    groups = {True: [], False: []}  # fused where the numbers fill whole vectors, as the library
    for parameter in network.parameters():
        groups[parameter.numel() % 16 == 0].append(parameter)
    optimizer = torch.optim.Adam(
        [{"params": group, "fused": fused} for fused, group in groups.items()], lr=1e-3
    )
    network.train()
    for step in range(n_steps):
        batch = given.draw(step)
        labelled = pairs.draw(step)
        a = torch.cat([batch.a[0], labelled.a[0]])
        b = torch.cat([batch.b[0], labelled.b[0]])
        must = torch.cat([batch.same[0], labelled.same[0]]) == 1
        if masks:
            lay_masks(network, 2 * len(a), seed, step)
        p = network(X[torch.cat([a, b])])
        same = (p[: len(a)] * p[len(a) :]).sum(1)
        loss = torch.where(must, 1 - same, same).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train_alone(stage: str, stack: Stack, losses: Losses, n_steps: int, optimizer: str) -> None:
    """The library's loop."""
    parts = nn.ModuleDict({stage: stack})
    train(Task(stage, parts, losses, [n_steps], optimizer, 1e-3), FitRun(None))


def with_torch_dropout(network: nn.Module) -> nn.Module:
    """The same network with torch's own dropout layers."""
    network = copy.deepcopy(network)
    for i, layer in enumerate(network):
        if isinstance(layer, Dropout):
            network[i] = nn.Dropout(layer.rate)
    return network


def difference(one: nn.Module, two: nn.Module) -> float:
    pairs = zip(one.parameters(), two.parameters())
    return max(float((a.detach() - b.detach()).abs().max()) for a, b in pairs)


@contextmanager
def products_of_mkl() -> Iterator[None]:
    """Without oneDNN."""
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = False
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before


def interleaved(runs: dict[str, Callable[[], None]], repeats: int, steps: int) -> dict[str, float]:
    """Median seconds per step of each run, the runs taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for repeat in range(repeats + 1):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            if repeat:  # the first round warms up
                seconds[name].append((time.perf_counter() - began) / steps)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def compare(name, build, library, plain, args):
    """Rows of the table for one network."""
    by_library, by_plain = build(), build()
    with products_of_mkl():
        library(by_library, args.steps)
        plain(by_plain, args.steps, masks=True)
    apart = difference(by_library, by_plain)
    torch_dropout = with_torch_dropout(build())
    few = args.timed_steps

    def with_mkl() -> None:
        with products_of_mkl():
            library(by_library, few)

    medians = interleaved(
        {
            "library": lambda: library(by_library, few),
            "library, products of MKL": with_mkl,
            "plain loop": lambda: plain(by_plain, few, masks=True),
            "plain loop, torch's dropout": lambda: plain(torch_dropout, few, masks=False),
        },
        args.repeats,
        few,
    )
    return [
        {
            "network": name,
            "loop": loop,
            "ms_per_step": round(1e3 * seconds, 3),
            "library_over_this": round(medians["library"] / seconds, 3),
            "largest_weight_difference": f"{apart:.1e}" if loop == "plain loop" else "",
            "steps_compared": args.steps,
            "repeats": args.repeats,
        }
        for loop, seconds in medians.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="steps before weights are compared")
    parser.add_argument("--timed-steps", type=int, default=30, help="steps in a timed repeat")
    parser.add_argument("--repeats", type=int, default=11)
    args = parser.parse_args()

    data, y = load_digits(return_X_y=True)
    data = (data / 16).astype(np.float32)
    links = Links.from_labels(y, 500, random_state=SEED)
    rows, X = Rows(data, (64,)), torch.from_numpy(data)

    how = {"device": "cpu", "random_state": SEED, "verbose": 0}
    labnet = LabNet.as_published().set_params(**how)
    lab_given = GivenLinks([links], 256, [SEED])

    def labnet_by_library(network, n_steps):
        stack = Stack([network])
        losses = loss_of_parts(Twins(stack, rows, [SEED]), [FromLinks(lab_given)])
        train_alone("labnet", stack, losses, n_steps, "rmsprop")
        network.load_state_dict(stack.network(0).state_dict())

    rows_of_table = compare(
        "LabNet 64-256-256-256, 256 links",
        lambda: labnet._architecture(labnet.dropout).build_encoder((64,), SEED),
        labnet_by_library,
        lambda network, n, masks: plain_labnet(network, X, lab_given, n, masks=masks),
        args,
    )

    labnet.set_params(steps=args.steps).fit(data, links=links)
    clunet = CluNet.as_published().set_params(n_clusters=10, **how)
    given = GivenLinks([links], 100, [SEED], fresh=True)
    learned = LabNetResult(labnet.encoder_, labnet.threshold_, labnet.history_)
    replica = CluNetReplica(links, SEED, learned, SEED)
    pairs = Pools(clunet, rows).labelled([replica], random_pairs(clunet, 1000))

    def clunet_by_library(network, n_steps):
        stack = Stack([network])
        losses = clustering_losses(Twins(stack, rows, [SEED]), AsOne(given, pairs))
        train_alone("clunet", stack, losses, n_steps, "adam")
        network.load_state_dict(stack.network(0).state_dict())

    rows_of_table += compare(
        "CluNet 64-256-256-10, 100 links + 1,000 pairs",
        lambda: clunet._build_network((64,), SEED),
        clunet_by_library,
        lambda network, n, masks: plain_clunet(network, X, given, pairs, SEED, n, masks=masks),
        args,
    )
    publish("agreement", rows_of_table)


if __name__ == "__main__":
    main()
