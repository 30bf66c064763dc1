"""Training with torchrun: the time of a step with two processes over that with one.

    python benchmarks/ranks.py              # writes benchmarks/results/ranks.csv

A CluNet step as published, 2,200 rows, with the paper's dense network and with an encoder that is
much larger. Both runs are on this machine, one thread a process, one after the other and in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import torch

from s3c2 import S3C2, Links

from tables import publish

ENCODERS = {"256-256, as published": 256, "own, 2048-2048": 2048}


def measure(width: int, steps: int) -> float:
    """Median seconds of a step."""
    torch.set_num_threads(1)
    if "MEETING" in os.environ:
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{os.environ['MEETING']}", rank=int(os.environ["RANK"]),
            world_size=int(os.environ["WORLD_SIZE"]),
        )  # fmt: skip
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 64), dtype=np.float32)
    links = Links.from_labels(np.arange(5000) % 10, 500, random_state=0)
    times: list[float] = []

    def note(step):
        if step.stage == "clunet":
            times.append(time.perf_counter())

    torch.manual_seed(0)  # all ranks begin with the same weights
    encoder = torch.nn.Sequential(
        torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()
    )
    model = S3C2.as_published(
        10, scale="standard", labnet__epochs=1, clunet__steps=steps + 3, random_state=0, verbose=0
    ).set_params(network=encoder, callbacks=note)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few steps leave clusters empty
        model.fit(X, links=links)
    return float(np.median(np.diff(times)[3:]))


def in_ranks(n: int, width: int, steps: int) -> float:
    """The same in so many processes, in the environment of torchrun; they meet by a file."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with tempfile.TemporaryDirectory() as folder:
        if n > 1:
            env |= {"TORCHELASTIC_RUN_ID": "benchmark", "WORLD_SIZE": str(n)}
            env["MEETING"] = f"{folder}/meeting"
        ranks = [
            subprocess.Popen(
                [sys.executable, __file__, "--width", str(width), "--steps", str(steps)],
                stdout=subprocess.PIPE, text=True,
                env=env if n == 1 else {**env, "RANK": str(rank)},
            )
            for rank in range(n)
        ]  # fmt: skip
        found = [process.communicate()[0] for process in ranks]
    return float(json.loads(found[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--width", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.width:
        seconds = measure(args.width, args.steps)
        if os.environ.get("RANK", "0") == "0":
            print(json.dumps(seconds))
        return
    table = []
    for name, width in ENCODERS.items():
        times = np.array(
            [[in_ranks(n, width, args.steps) for n in (1, 2)] for _ in range(args.rounds)]
        )
        one, two = np.median(times, axis=0)
        row = {"encoder": name, "step_ms_one": round(1e3 * one, 1)}
        table.append({**row, "step_ms_two": round(1e3 * two, 1), "faster": round(one / two, 2)})
    publish("ranks", table)


if __name__ == "__main__":
    main()
