"""Where the microseconds of a step go on a GPU: time in each kernel, from replayed steps.

python benchmarks/gpu_profile.py          # writes benchmarks/results/gpu-profile.csv
"""

from __future__ import annotations

import torch
from sklearn.base import clone
from torch.profiler import ProfilerActivity, profile

from s3c2 import CluNet, LabNet, Links, fit_many
from s3c2.baselines import IDEC, NNClustering
from s3c2.clunet_training import Pools, train_clunets
from s3c2.engine.callbacks import AfterStep
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.labnet_training import train_replicas

from stacks import AS_IT_IS, REPLICAS, clunet_replicas, data, labnet_replicas, links_of
from tables import publish

FIRST, LAST, SHOWN = 20, 120, 12


def kernels(what: str, train, stage: str | None = None) -> list[dict[str, object]]:
    """Rows of the table for one kind of step; ``train`` takes callbacks, ``stage`` is which."""
    profiler = profile(activities=[ProfilerActivity.CUDA])

    def watch(step) -> None:
        if step.step in (FIRST, LAST) and stage in (None, step.stage):
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
    labnet = (
        LabNet.as_published()
        .set_params(steps=50, random_state=0, **AS_IT_IS)
        .fit(X, links=links[0])
    )
    table = []
    for count, precision in ((1, "float32"), (REPLICAS, "bf16")):
        settings = CluNet.as_published()
        settings.set_params(n_clusters=10, steps=LAST + 1, precision=precision, verbose=0)
        some = clunet_replicas(links[:count], labnet)
        table += kernels(
            f"{count} CluNet(s), {precision}",
            lambda watch, settings=settings, some=some: train_clunets(
                settings, some, Pools(settings, rows), rows, FitRun(settings, watch)
            ),
        )
    images, of_images = data(40_000, (1, 28, 28), 10)
    image_rows = Rows(images, (1, 28, 28), device=device)
    for precision in ("float32", "bf16"):
        settings = LabNet.as_published("convolutional")
        settings.set_params(steps=LAST + 1, precision=precision, verbose=0)
        some = labnet_replicas(links_of(of_images), REPLICAS)
        table += kernels(
            f"{REPLICAS} convolutional LabNets, {precision}",
            lambda watch, settings=settings, some=some: train_replicas(
                settings, some, image_rows, FitRun(settings, watch)
            ),
        )
    # An epoch of IDEC begins with the batches of all rows, more of them than are watched here.
    short = {"precision": "bf16", "layer_epochs": 0, "whole_epochs": 0, "epochs": 1}
    for network, x, labels, count in (("dense", X, y, 15), ("convolutional", images, of_images, 5)):
        given = links_of(labels)

        def grid(model, count, x=x, given=given):
            """Train so many models of this kind together."""
            return lambda watch: fit_many(
                x,
                [(clone(model).set_params(random_state=r, verbose=0, callbacks=watch), given)
                 for r in range(count)],
            )  # fmt: skip

        whole = IDEC(10, network=network, **{**short, "whole_epochs": 1})
        what = f"pretraining of 1 {network} IDEC, bf16"
        table += kernels(what, grid(whole, 1), "idec pretraining")
        idec = IDEC(10, network=network, **short)
        table += kernels(f"{count} {network} IDECs, bf16", grid(idec, count), "idec")
        nets = NNClustering(10, network=network, scale=None, precision="bf16", steps=LAST + 1)
        table += kernels(f"{REPLICAS} {network} NNclusterings, bf16", grid(nets, REPLICAS))
    publish("gpu-profile", table)


if __name__ == "__main__":
    main()
