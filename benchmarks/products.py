"""Matrix products of linear layers in MKL and in oneDNN: how many, and which of them are taken.

    python benchmarks/products.py             # writes benchmarks/results/products.csv

One thread, float32; the forward pass, the gradient of the rows and that of the weights together.
The two take turns.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from unittest import mock

import numpy as np
import torch

from s3c2.engine.kernels import products
from s3c2.engine.kernels.products import gradients_of_weights, has_onednn, in_onednn

from tables import publish

# rows of a batch, inputs, outputs
SHAPES = (
    (64, 64, 64), (32, 256, 256), (128, 64, 256), (200, 256, 10), (200, 256, 256), (1024, 256, 10),
    (1024, 20, 256), (256, 784, 500), (256, 500, 2000), (2200, 256, 256),
)  # fmt: skip


def seconds_of(work: Callable[[], None], least: float) -> float:
    """Seconds of one call, from so many that they take ``least`` seconds."""
    n, began = 0, time.perf_counter()
    while time.perf_counter() - began < least:
        work()
        n += 1
    return (time.perf_counter() - began) / n


def measured(rows: int, inputs: int, outputs: int, args: argparse.Namespace) -> tuple[float, float]:
    """Seconds of the three products in MKL and in oneDNN."""
    x, weight = torch.randn(1, rows, inputs), torch.randn(1, outputs, inputs)
    bias, grad = torch.randn(1, outputs), torch.randn(1, rows, outputs)

    def layer() -> None:
        products.products(x, weight, bias)
        products.products(grad, weight.mT)
        gradients_of_weights(grad, x)

    rounds = []
    for _ in range(args.repeats + 1):
        for onednn in (False, True):
            faster = (lambda: True) if onednn else (lambda: False)
            with mock.patch.multiple(products, is_faster=faster, LEAST=0):
                rounds.append(seconds_of(layer, args.seconds))
    in_mkl, in_dnn = np.median(np.reshape(rounds, (-1, 2))[1:], axis=0)  # the first warms up
    return float(in_mkl), float(in_dnn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.05, help="of one measurement")
    args = parser.parse_args()
    if not has_onednn():
        sys.exit("This torch has no oneDNN.")
    torch.set_num_threads(1)
    table = []
    for rows, inputs, outputs in SHAPES:
        in_mkl, in_dnn = measured(rows, inputs, outputs, args)
        work = 6 * rows * inputs * outputs / 1e9
        taken = in_onednn(torch.empty(rows, inputs), torch.empty(outputs, inputs))
        table.append(
            {
                "rows": rows, "inputs": inputs, "outputs": outputs,
                "mkl_gflops": round(work / in_mkl, 1), "onednn_gflops": round(work / in_dnn, 1),
                "mkl_over_onednn": round(in_mkl / in_dnn, 2),
                "taken": "oneDNN" if taken else "MKL",
            }
        )  # fmt: skip
    publish("products", table)


if __name__ == "__main__":
    main()
