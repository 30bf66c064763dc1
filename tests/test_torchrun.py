"""Training in ranks: two processes end where one does, and a lost one ends all.

The processes have the environment that torchrun gives them. They meet by a file: torchrun's own
meeting place listens on all interfaces of the machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from torch import nn

from s3c2 import S3C2

pytestmark = pytest.mark.slow

SCRIPT = """
import os, sys
import numpy as np, torch
from s3c2 import S3C2, Links

torch.set_num_threads(1)
if "RANK" in os.environ:
    rank = int(os.environ["RANK"])
    meeting = "file://" + os.environ["MEETING"]
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
out, extra = sys.argv[1], float(sys.argv[2])
rng = np.random.default_rng(0)
y = np.arange(600) % 3
X = (rng.normal(size=(600, 8)) * 0.5 + 3 * np.eye(3, 8)[y]).astype(np.float32)
X += extra * int(os.environ.get("RANK", "0"))
model = S3C2.as_published(3, scale="standard", layers=(64, 32), verbose=0, random_state=0)
model.set_params(labnet__epochs=100, clunet__steps=int(sys.argv[3]), checkpoint=out + ".state")
how = sys.argv[4] if len(sys.argv) > 4 else ""
if how in ("own", "only one"):  # each rank draws other weights
    torch.manual_seed(int(os.environ.get("RANK", "0")))
    encoder = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    begun = encoder[0].weight.detach().clone()
    if how == "own" or os.environ["RANK"] == "0":
        model.set_params(network=encoder)
if how == "slowly":  # says how far it is, and takes its time
    import time
    from s3c2.engine import checkpoint
    checkpoint.SECONDS = 0.3
    checkpoint.PATIENCE = 0
    def note(step):
        if step.stage == "clunet" and os.environ.get("RANK", "0") == "0":
            open(out + ".step", "w").write(str(step.step))
        time.sleep(0.02 if step.stage == "clunet" else 0)  # so that it is met in the middle
    model.set_params(callbacks=note)
model.fit(X, links=Links.from_labels(y, 101, random_state=0))
if how == "own":
    assert torch.equal(begun, encoder[0].weight)  # what was given is as it was
if os.environ.get("RANK", "0") == "0":
    model.set_params(checkpoint=None, callbacks=None).save(out)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("ranks")
    (place / "train.py").write_text(SCRIPT)
    return place


def start(place: Path, n: int, *arguments: object) -> list[subprocess.Popen[str]]:
    env = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    if n > 1:
        env |= {"TORCHELASTIC_RUN_ID": "test", "WORLD_SIZE": str(n)}
        env["MEETING"] = str(place / f"meeting-{len(list(place.iterdir()))}")
    return [
        subprocess.Popen(
            [sys.executable, *map(str, [place / "train.py", *arguments])],
            stderr=subprocess.PIPE, text=True, env=env if n == 1 else {**env, "RANK": str(rank)},
        )
        for rank in range(n)
    ]  # fmt: skip


def run(place: Path, n: int, *arguments: object) -> None:
    for process in start(place, n, *arguments):
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said


def weights(folder: Path, network: nn.Module | None = None) -> dict[str, np.ndarray]:
    model = S3C2.load(folder, network=network, device="cpu")
    networks = {"labnet": model.labnet_.encoder_, "clunet": model.network_}
    return {
        f"{stage} {name}": value.numpy()
        for stage, network in networks.items()
        for name, value in network.state_dict().items()
    }


@pytest.fixture(scope="module")
def alone(place):
    run(place, 1, place / "one", 0, 200)
    return weights(place / "one")


def differ(one: dict[str, np.ndarray], two: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(one[name] - two[name]).max()) for name in one)


def test_two_processes_end_with_the_weights_of_one(place, alone):
    run(place, 2, place / "two", 0, 200)
    assert differ(alone, weights(place / "two")) < 1e-5


def test_a_killed_rank_ends_all_and_one_process_goes_on(place, alone):
    first, second = start(place, 2, place / "three", 0, 200, "slowly")
    step = place / "three.step"
    while not (step.exists() and step.read_text() and int(step.read_text()) > 10):
        assert first.poll() is None
        time.sleep(0.05)
    second.send_signal(signal.SIGKILL)
    second.communicate()
    _, said = first.communicate(timeout=60)
    assert first.returncode == 1
    assert "ClusterError: Another rank cannot be reached or was lost" in said
    assert not (place / "three").exists()
    assert (place / "three.state").exists()
    run(place, 1, place / "three", 0, 200)
    # From where it goes on, sums are made in another order, and RMSprop makes more of it.
    assert differ(alone, weights(place / "three")) < 5e-3
    kept, resumed = (S3C2.load(place / name, device="cpu").labels_ for name in ("one", "three"))
    assert np.array_equal(kept, resumed)


@pytest.mark.parametrize(
    ("extra", "how", "what"), [(1, "", "other data"), (0, "only one", "other settings")]
)
def test_ranks_with_different_data_or_settings_are_refused(place, extra, how, what):
    for process in start(place, 2, place / "four", extra, 200, how):
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
        assert f"Rank 1 has {what} than rank 0. Give all ranks the same data" in said
    assert not (place / "four").exists()


def test_an_own_encoder_begins_with_the_weights_of_the_first_rank(place):
    run(place, 1, place / "own-one", 0, 50, "own")
    run(place, 2, place / "own-two", 0, 50, "own")
    encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    one, two = (weights(place / name, encoder) for name in ("own-one", "own-two"))
    assert differ(one, two) < 1e-5
