"""Shared by the tests: small data with clear clusters, and few threads for small networks."""

from __future__ import annotations

import gc
import os
import signal

# Also for OpenMP outside of torch, and for processes that tests start. A thread that has nothing to
# do sleeps: the other worker needs the core.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Ray listens on this machine alone. Its workers are as important as the tests beside them: in the
# background they hardly get to start.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112, that is its name

# What a shell starts in the background ignores Ctrl-C, and so would commands that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np
import pytest
import torch

from s3c2 import CluNet, LabNet, Links, clunet_start, labnet_losses

torch.set_num_threads(1)  # two threads only get into each other's way at these sizes
# Fewer rows beside the links of a batch: the same code on small data, in a fraction of the time.
labnet_losses.WEAK_PAIRS = clunet_start.BATCH = 64


def pytest_collection_finish():
    """What is imported by now stays: the garbage collector need not look at it again and again."""
    gc.freeze()


@pytest.fixture(scope="session")
def blobs():
    """Three well separated groups of 40 rows in 5 columns: (X, y)."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    X = rng.normal(size=(120, 5)) * 0.3 + np.eye(3, 5)[y] * 3
    order = rng.permutation(120)
    return X[order].astype(np.float32), y[order]


@pytest.fixture(scope="session")
def many_blobs():
    """The same groups with 300 rows each, enough for links that seldom share a row."""
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(900) % 3)
    X = rng.normal(size=(900, 5)) * 0.3 + np.eye(3, 5)[y] * 3
    return X.astype(np.float32), y


@pytest.fixture(scope="session")
def blob_links(blobs):
    """80 links of the blobs."""
    return Links.from_labels(blobs[1], 80, random_state=0)


@pytest.fixture
def small():
    """Settings of S3C2 for a fit that takes a fraction of a second."""
    return {
        "labnet": LabNet(code=False, steps=30, learning_rate=5e-3),
        "clunet": CluNet(steps=40, batch_pairs=60, batch_points=40, learning_rate=5e-3),
        "layers": (128, 16),
        "scale": "standard",
        "random_state": 0,
        "verbose": 0,
    }
