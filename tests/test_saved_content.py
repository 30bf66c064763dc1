"""Model files that hold what no model wrote, under a right checksum: refused, saying what is wrong.

Such a file is read entry by entry, so every entry and every tensor is removed, replaced and added
to in turn.
"""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest
import torch

from s3c2 import S3C2, CluNet, LabNet
from s3c2.baselines import IDEC, DGraph
from s3c2.data.arrays import ArrayPreparation
from s3c2.data.images import ImagePreparation
from s3c2.data.tables import TablePreparation
from s3c2.data.texts import TextPreparation
from s3c2.errors import StorageError
from s3c2.files import atomic
from s3c2.files import model_files as storage

TINY = {"layers": (8, 4), "random_state": 0, "verbose": 0}
KINDS = {
    "S3C2": S3C2, "LabNet": LabNet, "CluNet": CluNet, "IDEC": IDEC, "robust": DGraph,
    "topics": DGraph,
}  # fmt: skip
TABLE = TablePreparation(tuple("abcde"), "id")


@pytest.fixture(scope="module")
def files(blobs, blob_links, tmp_path_factory):
    """(content, tensors) of a file of each kind."""
    X, links = blobs[0], blob_links
    frame = pd.DataFrame(X, columns=list("abcde"))
    labnet = LabNet(code=False, steps=2, scale="standard", **TINY).fit(frame, links=links)
    s3c2 = S3C2(
        3, labnet=LabNet(code=False, steps=2, n_committee=2, semi_supervised=True),
        clunet=CluNet(steps=2), scale="unit", **TINY,
    )  # fmt: skip
    idec = IDEC(3, epochs=1, layer_epochs=1, whole_epochs=1, n_init=1, **TINY)
    models = {
        "S3C2": s3c2.fit(X, links=links),
        "LabNet": labnet,
        "CluNet": CluNet(3, steps=2, **TINY).fit(frame, links=links, labnet=labnet),
        "IDEC": idec.fit(X, links=links),
        "robust": DGraph(3, steps=2, **TINY).fit(X, links=links),
        "topics": DGraph(3, steps=2, scale="topics", **TINY).fit(abs(X).round(), links=links),
    }
    models["S3C2"].preparation_ = TABLE.to_json()
    found = {}
    assert [models[kind].scale_ for kind in ("robust", "topics")] == ["robust", "topics"]
    for kind, model in models.items():
        folder = tmp_path_factory.mktemp(kind)
        model.save(folder)
        found[kind] = storage.read(folder / storage.MODEL_FILE, "model")
    return found


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Write such a file with a right checksum, and load it."""
    monkeypatch.setattr(atomic.os, "fsync", lambda handle: None)  # for hundreds of files

    def load(kind, content, tensors):
        storage.write(tmp_path / storage.MODEL_FILE, "model", content, tensors)
        return KINDS[kind].load(tmp_path)

    return load


# No entry may be one of these, but for the exceptions below.
WRONG = {
    "an object": {"wrong": 1}, "a module": {"own": True}, "a word": "x", "a flag": True,
    "negative": -1, "no number": float("nan"), "infinite": float("inf"), "huge": 10**400,
    "empty": [], "nested": [[1]],
}  # fmt: skip
RIGHT = {
    "a module": {"labnet__decoder", "decoder"},
    "a flag": {
        "semi_supervised", "labnet__semi_supervised", "code", "labnet__code", "views",
        "labnet__views", "clunet__views", "decay", "labnet__decay", "clunet__decay",
    },
    "a word": {"columns.0", "id_column", "feature_names_in.0"},
    "negative": {"shift", "shift.0", "factor", "factor.0"},
}  # fmt: skip
MAY_BE_MISSING = {"random_state", "id_column"}


def places(content, above=()):
    """The place of every entry, also inside of objects and (their first one) of lists."""
    several = content.items() if isinstance(content, dict) else enumerate(content[:1])
    for key, value in several:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


def changed(content, place, change):
    """A copy of the content after ``change(container, key)`` at a place."""
    content = copy.deepcopy(content)
    container = content
    for key in place[:-1]:
        container = container[key]
    change(container, place[-1])
    return content


def name_of(place):
    if len(place) > 1 and place[0] == "preparation":
        return place[0]  # one list may be told by the length of another
    keys = [str(key) for key in place if isinstance(key, str)]
    return keys[-1].split("__")[-1].removesuffix("s")  # "the setting 'x' is missing" will do


def edits_of_entries(content):
    for place in places(content):
        last = ".".join(map(str, place[-2:])) if isinstance(place[-1], int) else place[-1]
        if isinstance(place[-1], str) and last not in MAY_BE_MISSING:
            yield place, "removed", changed(content, place, lambda holder, key: holder.pop(key))
        for how, value in WRONG.items():
            if last not in RIGHT.get(how, ()):
                edited = changed(content, place, lambda h, k, v=value: h.__setitem__(k, v))
                yield place, how, edited
    for above in ((), ("settings",), ("preparation",)):
        if not above or isinstance(content.get(above[0]), dict):
            place = (*above, "added")
            yield place, "added", changed(content, place, lambda h, k: h.update({k: 1}))


def edits_of_tensors(tensors):
    for name, tensor in tensors.items():
        other = torch.float64 if tensor.dtype == torch.float32 else torch.float32
        longer = torch.cat([tensor.reshape(-1), tensor.reshape(-1)[:1]])
        edits = {
            "another type": tensor.to(other),
            "whole numbers": tensor.to(torch.int64),
            "longer": longer,
            "empty": tensor.reshape(-1)[:0],
            "deeper": tensor[None],
        }
        history = ".history." in name
        if history and not name.endswith(".loss"):
            del edits["empty"]  # told as another length than the loss
        else:
            yield name, "removed", {k: v for k, v in tensors.items() if k != name}
        if name == "labels":
            del edits["longer"]  # of more rows
            edits |= {"too high": tensor * 0 + 3, "too low": tensor * 0 - 1}
        elif history:
            edits = {k: v for k, v in edits.items() if k not in ("longer", "empty")}
        elif tensor.is_floating_point():
            edits["no number"] = torch.full_like(tensor, torch.nan)
            edits["infinite"] = torch.full_like(tensor, torch.inf)
        for how, value in edits.items():
            yield name, how, tensors | {name: value}
    stage = next(name.split(".")[0] for name in tensors if ".network." in name)
    for name in ("added", f"{stage}.network.9.weight", "scaling.other", "other.history.loss"):
        yield name, "added", tensors | {name: torch.zeros(3)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_edit_of_an_entry_is_refused(kind, files, load):
    content, tensors = files[kind]
    assert load(kind, content, tensors).labels_ is not None if kind != "LabNet" else True
    slipped, seen = [], 0
    for place, how, edited in edits_of_entries(content):
        seen += 1
        try:
            load(kind, edited, tensors)
        except StorageError as error:
            if name_of(place) not in str(error) and place != ("class",):
                slipped.append((place, how, str(error)))
        except Exception as error:
            slipped.append((place, how, repr(error)))
        else:
            slipped.append((place, how, "loaded"))
    assert slipped == []
    assert seen > 150


@pytest.mark.parametrize("kind", KINDS)
def test_every_edit_of_a_tensor_is_refused(kind, files, load):
    content, tensors = files[kind]
    slipped, seen = [], 0
    for name, how, edited in edits_of_tensors(tensors):
        seen += 1
        try:
            load(kind, content, edited)
        except StorageError as error:
            if name.split(".")[0] not in str(error):
                slipped.append((name, how, str(error)))
        except Exception as error:
            slipped.append((name, how, repr(error)))
        else:
            slipped.append((name, how, "loaded"))
    assert slipped == []
    assert seen > 30


MOST = 2**31 - 1
SIZES = [
    ("layers", [10**6, 10**6]),
    ("layers", [MOST, MOST]),
    ("layers", [MOST] * 4),
    ("layers", [8] * 900),
    ("layers", [8] * 10**5),
    ("input_shape", [MOST]),
    ("input_shape", [MOST] * 3),
    ("n_clusters", MOST),
    ("n_clusters", 2),
    ("committee", 10**9),
]


@pytest.mark.parametrize(("name", "value"), SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_that_no_tensor_has_are_refused_and_nothing_is_allocated(
    kind, name, value, files, load
):
    content, tensors = copy.deepcopy(files[kind])
    holder = content["settings"] if name in content["settings"] else content
    if name not in holder:
        pytest.skip(f"a {kind} has no {name}")
    holder[name] = value
    for key in ("n_committee", "labnet__n_committee"):
        if name == "committee" and key in content["settings"]:
            content["settings"][key] = value
    with pytest.raises(StorageError, match="is not a model of .* that can be loaded"):
        load(kind, content, tensors)


@pytest.mark.parametrize(
    "preparation",
    [
        TABLE,
        ArrayPreparation((5,)),
        TextPreparation("text", tuple("abcde"), (1.0, 2.0, 3.0, 4.0, 5.0), "id"),
    ],
)
def test_a_preparation_comes_back_or_is_refused(preparation, files, load):
    content, tensors = files["S3C2"]
    right = json.loads(json.dumps(preparation.to_json()))
    loaded = load("S3C2", content | {"preparation": right}, tensors)
    assert loaded.preparation_ == right
    wrong = [right | {"kind": "other"}, right | {"added": 1}, {}, right | {"kind": []}]
    wrong += [right | {name: {}} for name in right]
    wrong += [right | {k: v[:-1]} for k, v in right.items() if isinstance(v, list) and len(v) > 1]
    for one in wrong:
        with pytest.raises(StorageError, match="preparation"):
            load("S3C2", content | {"preparation": one}, tensors)


@pytest.mark.parametrize(
    "other",
    [ImagePreparation(4, 4, True), ArrayPreparation((5, 5), 0.0, 1.0), TablePreparation(("a",))],
)
def test_a_preparation_of_other_rows_is_refused(other, files, load):
    content, tensors = files["S3C2"]
    with pytest.raises(StorageError, match="preparation gives rows of shape"):
        load("S3C2", content | {"preparation": other.to_json()}, tensors)


def test_a_committee_that_lost_members_comes_back(files, load, blobs):
    content, tensors = copy.deepcopy(files["S3C2"])
    content["settings"]["labnet__n_committee"] = 5
    assert np.isfinite(load("S3C2", content, tensors).transform(blobs[0])).all()
