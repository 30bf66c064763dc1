"""Whether the library still gives the bits that were recorded: weights, labels, posteriors, losses.

    python benchmarks/bits.py                 # compares with benchmarks/results/bits.json
    python benchmarks/bits.py --record        # writes that file anew: only where a change is right

Each case is a short fit on the CPU, hashed. Bits depend on the processor and on torch, so a record
is compared only on the kind of machine that it was made on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits

from s3c2 import S3C2, CluNet, LabNet, Links, fit_many
from s3c2.baselines import DCPR, IDEC, DGraph, NNClustering
from s3c2.engine.kernels.products import is_faster

from tables import RESULTS

RECORD = Path(__file__).parent / "results" / "bits.json"
DENSE = {"network": "dense", "scale": None, "random_state": 3, "verbose": 0}
IMAGE = DENSE | {"network": "convolutional"}
FEW = {"labnet__epochs": None, "labnet__steps": 12, "clunet__steps": 12}


def data() -> tuple[np.ndarray, np.ndarray, Links]:
    digits = load_digits()
    images, y = (digits.images[:600] / 16).astype(np.float32), digits.target[:600]
    return images, y, Links.from_labels(y, 300, random_state=0)


IMAGES, Y, LINKS = data()
X = IMAGES.reshape(len(IMAGES), -1)


def digest(model) -> str:
    """Weights, labels, posteriors, losses and T of a fitted model."""
    found = hashlib.sha256()
    networks = [model.labnet_.encoder_, model.clunet_.network_] if hasattr(model, "labnet_") else [
        model.encoder_ if isinstance(model, LabNet) else model.network_
    ]  # fmt: skip
    for network in networks:
        for tensor in network.state_dict().values():
            found.update(tensor.cpu().numpy().tobytes())
    history = model.history_
    for terms in history.values() if "labnet" in history else [history]:
        for name in sorted(terms):
            found.update(name.encode() + terms[name].tobytes())
    if not isinstance(model, LabNet):
        images = model.reading_.input_shape == IMAGES.shape[1:]
        found.update(model.labels_.tobytes())
        found.update(model.predict_proba(IMAGES if images else X).tobytes())
    if hasattr(model, "clunet_") and model.clunet_.pair_losses_ is not None:
        found.update(model.clunet_.pair_losses_.tobytes())
    if hasattr(model, "threshold_"):
        found.update(np.float64(model.threshold_).tobytes())
    return found.hexdigest()


def published(**how):
    return S3C2.as_published(10, **how, random_state=3, verbose=0, **FEW)


def fitted(model, rows=X):
    return [model.fit(rows, links=LINKS)]


def grid() -> list:
    kinds = [(T, seed) for T in (0.1, 0.3) for seed in (0, 1)]
    return fit_many(
        X,
        [
            (published().set_params(labnet__threshold=T, random_state=seed),
             Links.from_labels(Y, 200 + 100 * seed, random_state=seed))
            for T, seed in kinds
        ],
    )  # fmt: skip


def saved_and_loaded() -> list:
    with tempfile.TemporaryDirectory() as folder:
        fitted(published())[0].save(folder)
        return [S3C2.load(folder)]


def stages_alone() -> list:
    few = {"steps": 12, "random_state": 3, "verbose": 0}
    labnet = LabNet.as_published().set_params(**few).fit(X, links=LINKS)
    clunet = CluNet.as_published().set_params(n_clusters=10, **few)
    return [labnet, clunet.fit(X, links=LINKS, labnet=labnet)]


IDEC_FEW = {
    "layers": (64, 10), "layer_epochs": 1, "whole_epochs": 2, "epochs": 3, "n_init": 2,
}  # fmt: skip
CASES: dict[str, Callable[[], list]] = {
    "published": lambda: fitted(published()),
    "published, convolutional": lambda: fitted(published(network="convolutional"), IMAGES),
    "published, semi-supervised": lambda: fitted(published(semi_supervised=True)),
    "published, semi-supervised, convolutional": lambda: fitted(
        published(network="convolutional", semi_supervised=True), IMAGES
    ),
    "committee": lambda: fitted(published().set_params(labnet__n_committee=3)),
    "restarts": lambda: fitted(published().set_params(clunet__n_restarts=3)),
    "threshold='auto'": lambda: fitted(published().set_params(labnet__threshold="auto")),
    "scale='standard'": lambda: fitted(published().set_params(scale="standard")),
    "a grid": grid,
    "saved and loaded": saved_and_loaded,
    "stages alone": stages_alone,
    "DGraph": lambda: fitted(DGraph(10, steps=12, **DENSE)),
    "DGraph, convolutional": lambda: fitted(DGraph(10, steps=3, **IMAGE), IMAGES),
    "DCPR": lambda: fitted(DCPR(10, steps=12, **DENSE)),
    "NNClustering": lambda: fitted(NNClustering(10, steps=12, **DENSE)),
    "NNClustering, convolutional": lambda: fitted(NNClustering(10, steps=6, **IMAGE), IMAGES),
    "IDEC": lambda: fitted(IDEC(10, **IDEC_FEW, **DENSE | {"scale": "rms"})),
    "IDEC, convolutional": lambda: fitted(IDEC(10, **IDEC_FEW, **IMAGE | {"scale": "rms"}), IMAGES),
}


def kind_of_machine() -> str:
    """What bits depend on."""
    products = ", products by oneDNN" if is_faster() else ""
    return f"{torch.backends.cpu.get_cpu_capability()}, torch {torch.__version__}{products}"


def differing(record: dict, cases: dict[str, Callable[[], list]]) -> list[str]:
    """The cases whose bits are not those of the record."""
    return [
        name for name, fit in cases.items() if [digest(m) for m in fit()] != record["cases"][name]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the record anew")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.record:
        found = {name: [digest(model) for model in fit()] for name, fit in CASES.items()}
        content = {"machine": kind_of_machine(), "cases": found}
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / RECORD.name).write_text(json.dumps(content, indent=1) + "\n")
        return
    record = json.loads(RECORD.read_text())
    if record["machine"] != kind_of_machine():
        sys.exit(f"The record is of {record['machine']}, and this is {kind_of_machine()}.")
    changed = differing(record, CASES)
    for name in CASES:
        print(f"{'CHANGED' if name in changed else 'same   '}  {name}")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
