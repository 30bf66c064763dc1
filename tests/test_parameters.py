"""Every parameter with values of every kind: it fits, or it is refused by its name.

Refused before anything is allocated: sizes are compared with a memory of 4 GiB, whatever this
machine has.
"""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
import torch

from s3c2 import S3C2, Callback, CluNet, LabNet, Links, parameters
from s3c2.baselines import DCPR, IDEC, DGraph, NNClustering
from s3c2.engine.rows import Rows
from s3c2.errors import ClusterError
from s3c2.surface import SHARED as SHARED_NAMES

SHARED = set(SHARED_NAMES)
STAGES = {"labnet", "clunet"}
VALUES = [
    None, -1, 0, 1, 1.5, math.nan, math.inf, -math.inf, "x", "", "a\0b", b"x", True, np.bool_(True),
    [], {}, (), (0,), (True,), (2.5,), (10**6,) * 3, (1,) * 10**4, np.int8(100), np.float32(0.1),
    np.array([3, 2]), 2**63, 2**64, 10**9, 10**12, 10**400, object(), Callback,
]  # fmt: skip
TINY = {"layers": (4, 2), "verbose": 0, "random_state": 0}
MODELS = {
    "S3C2": S3C2(2, labnet=LabNet(code=False, steps=1), clunet=CluNet(steps=1), **TINY),
    "LabNet": LabNet(code=False, steps=1, **TINY),
    "CluNet": CluNet(2, steps=1, **TINY),
    "DGraph": DGraph(2, steps=1, n_neighbors=1, **TINY),
    "DCPR": DCPR(2, steps=1, **TINY),
    "NNClustering": NNClustering(2, steps=1, **TINY),
    "IDEC": IDEC(2, epochs=1, layer_epochs=1, whole_epochs=1, n_init=1, **TINY),
}
LONG = {
    "steps", "epochs", "layer_epochs", "whole_epochs", "n_restarts", "n_committee", "n_init",
}  # fmt: skip
CASES = [
    (kind, field.name)
    for kind, model in MODELS.items()
    for field in fields(model)
    # What all share is fitted once, and so are the settings of training.
    if kind in ("S3C2", "LabNet", "CluNet") or field.name not in SHARED
]


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32)
    links = Links(must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)], n_samples=120)
    return X, links, LabNet(code=False, steps=1, **TINY).fit(X, links=links)


@pytest.fixture(autouse=True)
def memory_of_a_small_machine(monkeypatch):
    monkeypatch.setattr(parameters, "host_memory", lambda: 2**32)


def fit(model, X, links, labnet):
    given = {"labnet": labnet} if isinstance(model, CluNet) else {}
    model.fit(X, links=links, **given)


@pytest.mark.filterwarnings("ignore:n_clusters=1", "ignore:The pretrained autoencoder")
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_every_value_fits_or_is_refused_by_name(kind, name, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "x" is a path, too
    X, links, labnet = data
    rows = Rows(X, (3,))
    for value in VALUES:
        model = type(MODELS[kind])(**{**MODELS[kind].get_params(deep=False), name: value})
        refused = refusal(lambda model=model: check(model, rows))
        if refused is not None:
            assert f"'{name}'" in refused, value
            assert len(refused) < 1000
            continue
        fitted = name not in SHARED | STAGES or kind == "LabNet"
        if fitted and (name not in LONG or (value is not None and value < 100)):
            refused = refusal(lambda model=model: fit(model, X, links, labnet))
            assert refused is None or "training diverged" in refused, value


def check(model, rows):
    model._check_parameters()
    model._check_sizes(rows)


def refusal(call):
    try:
        call()
    except (ValueError, TypeError) as error:
        return str(error)


SIZES = [
    ("LabNet", "n_committee", 10**9),
    ("LabNet", "batch_links", 10**9),
    ("LabNet", "batch_pairs", 10**9),
    ("LabNet", "layers", (10**5, 10**5)),
    ("LabNet", "steps", 2**31 - 1),
    ("LabNet", "epochs", 2**31 - 1),
    ("CluNet", "n_restarts", 10**9),
    ("CluNet", "batch_links", 10**9),
    ("CluNet", "batch_pairs", 10**9),
    ("CluNet", "batch_points", 10**6),
    ("CluNet", "steps", 2**31 - 1),
    ("DGraph", "batch_pairs", 10**9),
    ("DCPR", "batch_links", 10**9),
    ("NNClustering", "batch_links", 10**9),
    ("NNClustering", "steps", 2**31 - 1),
    ("IDEC", "batch_size", 10**9),
    ("IDEC", "layers", (10**6, 10**6, 2)),
    ("IDEC", "epochs", 2**31 - 1),
]


@pytest.mark.parametrize(("kind", "name", "value"), SIZES)
def test_what_the_memory_cannot_hold_is_refused(kind, name, value, data):
    X, links, labnet = data
    model = type(MODELS[kind])(**{**MODELS[kind].get_params(deep=False), name: value})
    if (kind, name) == ("LabNet", "epochs"):
        model.set_params(steps=None)  # it would win
    if (kind, name) == ("LabNet", "batch_pairs"):
        model.set_params(semi_supervised=True)  # there are no such pairs otherwise
    with pytest.raises(ValueError, match=f"'{name}' parameter of {kind} .*memory") as refused:
        fit(model, X, links, labnet)
    assert "this machine has 4" in str(refused.value)


def test_a_committee_counts_the_weights_of_all_its_members(data):
    """Each takes four numbers a weight: itself, its gradient and two of the optimiser's."""
    rows = Rows(data[0], (3,))
    weights = 3 * 1000 + 1000 * 1000
    model = LabNet(layers=(1000, 1000), n_committee=2**32 // (16 * weights) + 1)
    with pytest.raises(ValueError, match="'n_committee' parameter of LabNet"):
        model._check_sizes(rows)
    model.set_params(n_committee=int(0.95 * 2**32) // (16 * weights))._check_sizes(rows)


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_more_ranks_than_gpus(device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    ranks = {"TORCHELASTIC_RUN_ID": "1", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    for name, value in ranks.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ClusterError, match=r"2 processes .* has 1 GPU, .*--nproc-per-node 1"):
        parameters.torch_device(device)


@pytest.mark.parametrize("device", ["meta", "cuda:99", "gpu", "cpu:0:0", "", 3, None, True])
def test_a_device_that_is_not_there(device, data):
    with pytest.raises((ValueError, TypeError), match="'device' parameter"):
        LabNet(device=device).fit(data[0], links=data[1])


def test_the_cpu_by_another_name(data):
    X, links, labnet = data
    same = LabNet(code=False, steps=1, device=torch.device("cpu"), **TINY).fit(X, links=links)
    assert (same.transform(X) == labnet.transform(X)).all()


@pytest.mark.parametrize("name", ["labnet", "clunet"])
@pytest.mark.parametrize("value", ["x", 3, LabNet, S3C2(2)])
def test_stages_of_a_wrong_kind(name, value, data):
    with pytest.raises(TypeError, match=f"'{name}' parameter of S3C2 must be a (Lab|Clu)Net"):
        S3C2(2, **{name: value}).fit(data[0], links=data[1])
