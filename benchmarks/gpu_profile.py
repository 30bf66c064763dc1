"""Where the microseconds of a step go on a GPU: time in each kernel, from replayed steps.

python benchmarks/gpu_profile.py          # writes benchmarks/results/gpu-profile.csv
"""

from __future__ import annotations

import torch
from torch.profiler import ProfilerActivity, profile

from s3c2 import LabNet, Links
from s3c2.callbacks import AfterStep
from s3c2.clunet import CluNet, CluNetReplica, train_clunets
from s3c2.labnet import LabNetReplica, train_labnets
from s3c2.rows import Rows
from s3c2.training import Run

from stacks import REPLICAS, data, links_of
from tables import publish

FIRST, LAST, SHOWN = 20, 120, 12


def kernels(what: str, train) -> list[dict[str, object]]:
    """Rows of the table for one kind of step; ``train`` takes callbacks."""
    profiler = profile(activities=[ProfilerActivity.CUDA])

    def watch(step) -> None:
        if step.step in (FIRST, LAST):
            torch.cuda.synchronize()
            profiler.start() if step.step == FIRST else profiler.stop()

    train([AfterStep(watch)])
    steps = LAST - FIRST
    found = [event for event in profiler.key_averages() if event.self_device_time_total > 0]
    found.sort(key=lambda event: -event.self_device_time_total)
    total = sum(event.self_device_time_total for event in found) / steps
    count = sum(event.count for event in found) / steps
    rows = [{"step": what, "kernel": "all", "us": round(total, 1), "calls": round(count, 1)}]
    for event in found[:SHOWN]:
        rows.append(
            {
                "step": what,
                "kernel": event.key[:90],
                "us": round(event.self_device_time_total / steps, 1),
                "calls": round(event.count / steps, 1),
            }
        )
    return rows


def main() -> None:
    device = torch.device("cuda")
    X, y = data(60_000, (784,), 10)
    rows = Rows(X, (784,), device=device)
    links = [Links.from_labels(y, 1000, random_state=r) for r in range(REPLICAS)]
    labnet = LabNet(steps=50, verbose=0, random_state=0).fit(X, links=links[0])
    table = []
    for count, precision in ((1, "float32"), (REPLICAS, "bf16")):
        settings = CluNet(10, steps=LAST + 1, precision=precision, verbose=0)
        some = [CluNetReplica(links[r], r, labnet, 0) for r in range(count)]
        table += kernels(
            f"{count} CluNet(s), {precision}",
            lambda watch, settings=settings, some=some: train_clunets(
                settings, rows, some, Run(settings, watch)
            ),
        )
    images, y = data(10_000, (1, 28, 28), 10)
    image_rows = Rows(images, (1, 28, 28), device=device)
    for precision in ("float32", "bf16"):
        settings = LabNet(network="convolutional", steps=LAST + 1, precision=precision, verbose=0)
        some = [LabNetReplica(links_of(y), r) for r in range(REPLICAS)]
        table += kernels(
            f"{REPLICAS} convolutional LabNets, {precision}",
            lambda watch, settings=settings, some=some: train_labnets(
                settings, image_rows, some, Run(settings, watch)
            ),
        )
    publish("gpu-profile", table)


if __name__ == "__main__":
    main()
