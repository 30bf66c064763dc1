"""What is assumed before any link: neighbours, smoothness, and a start from LabNet."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from torch import nn

from s3c2 import S3C2, CluNet, LabNet, Links, fit_many, losses, prior
from s3c2.engine import checkpoint
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack
from s3c2.pairs import NeighbourPairs
from s3c2.prior import find_neighbours, worst_change

QUICK = {
    "labnet": LabNet(neighbors=5, code=False, steps=30, learning_rate=2e-3),
    "clunet": CluNet(steps=30, batch_points=16),
    "layers": (32, 16), "scale": "standard", "random_state": 0, "verbose": 0,
}  # fmt: skip


def edges(found):
    return {
        (int(row), int(found.others[first + i]))
        for row, first, count in zip(found.rows, found.first, found.count)
        for i in range(int(count))
    }


class TestNeighbours:
    def test_they_are_near_in_both_directions(self):
        X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
        found = find_neighbours(Rows(X, (3,)), 4)
        d = np.linalg.norm(X[:, None] - X[None], axis=2)
        np.fill_diagonal(d, np.inf)
        nearest = np.argsort(d, axis=1)[:, :4]
        expected = {(i, int(j)) for i in range(60) for j in nearest[i] if i in nearest[j]}
        assert edges(found) == expected
        assert np.allclose(found.radius, 0.3 * np.sort(d, axis=1)[:, 3], rtol=1e-3)

    def test_blocks_do_not_matter(self, monkeypatch):
        X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
        whole = find_neighbours(Rows(X, (3,)), 4)
        monkeypatch.setitem(prior.BLOCK_NUMBERS, "cpu", 350)  # seven rows at a time
        assert edges(find_neighbours(Rows(X, (3,)), 4)) == edges(whole)

    def test_of_many_rows_a_sample_is_taken(self, monkeypatch):
        monkeypatch.setattr(prior, "MOST_ROWS", 40)
        X = np.random.default_rng(0).normal(size=(90, 3)).astype(np.float32)
        found = find_neighbours(Rows(X, (3,)), 4)
        named = set(found.rows.tolist()) | set(found.others.tolist())
        assert 10 < len(named) <= 40
        assert max(named) > 45  # of all rows, by their own numbers
        assert found.radius.shape == (90,)
        assert (found.radius > 0).all()

    @pytest.mark.parametrize("X", [np.zeros((6, 2)), np.eye(3), np.repeat(np.eye(2), 5, axis=0)])
    def test_few_equal_and_duplicate_rows(self, X):
        found = find_neighbours(Rows(X.astype(np.float32), (X.shape[1],)), 10)
        assert len(found.others) > 0
        assert torch.isfinite(found.radius).all()
        assert all(a != b for a, b in edges(found))

    def test_pairs_are_of_a_row_and_one_of_its_neighbours(self):
        X = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32)
        found = find_neighbours(Rows(X, (2,)), 3)
        source = NeighbourPairs(found, 500, [3, 4])
        alone = NeighbourPairs(found, 500, [4])
        seen = set()
        for step in range(10):
            batch = source.draw(step)
            assert batch.a.shape == batch.b.shape == batch.same.shape == (2, 500)
            assert (batch.same == 1).all()
            assert torch.equal(batch.a[1], alone.draw(step).a[0])
            seen |= set(zip(batch.a.flatten().tolist(), batch.b.flatten().tolist()))
        assert seen == edges(found)


class TestWorstChange:
    def test_it_stays_within_the_radius_and_changes_more_than_chance(self):
        torch.manual_seed(0)
        network = Stack([nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))])
        x, radius = torch.randn(1, 200, 20), torch.rand(1, 200) + 0.1
        h = network(x)
        moved = worst_change(network, x, h, radius, losses.squared_distance)
        assert torch.allclose((moved - x).norm(dim=2), radius, rtol=1e-4)
        noise = torch.randn_like(x)
        by_chance = x + radius[..., None] * noise / noise.norm(dim=2, keepdim=True)
        worst, chance = (
            losses.squared_distance(h, network(one)).mean() for one in (moved, by_chance)
        )
        assert worst > 2 * chance

    def test_a_radius_of_0_moves_nothing(self):
        network = Stack([nn.Linear(3, 2)])
        x = torch.zeros(1, 4, 3)
        moved = worst_change(network, x, network(x), torch.zeros(1, 4), losses.squared_distance)
        assert torch.equal(moved, x)


def test_the_loss_of_the_prior_is_what_it_says(blobs, blob_links):
    kept = {}
    LabNet(
        neighbors=5, code=False, prior_weight=0.7, same_share=0.25, smoothing=0.2, steps=1,
        layers=(16, 8), random_state=0, verbose=0,
        callbacks=lambda step: kept.update({k: float(v) for k, v in step.terms.items()}),
    ).fit(blobs[0], links=blob_links)  # fmt: skip
    weak = 0.7 * (kept["attraction"] + 0.75**4 * kept["repulsion"])
    expected = kept["contrastive"] + weak + 0.2 * kept["smoothness"]
    assert kept["loss"] == pytest.approx(expected, rel=1e-5)


def test_labnet_is_smoothed_for_texts(blobs, blob_links):
    how = {"steps": 2, "layers": (16, 8), "random_state": 0, "verbose": 0}
    numbers = LabNet(**how).fit(blobs[0], links=blob_links).history_
    counts = np.random.default_rng(0).poisson(0.05, (60, 300)).astype(np.float32)
    counts[:, 0] += 1  # no row is empty
    few = Links(must=[(0, 1)], cannot=[(2, 3)], n_samples=60)
    texts = LabNet(**how).fit(counts, links=few).history_
    assert "smoothness" not in numbers
    terms = texts["contrastive"], texts["attraction"], texts["repulsion"], texts["smoothness"]
    weights = 1, 0.5, 0.5 * 0.9**4, 0.5
    expected = sum(weight * term for weight, term in zip(weights, terms))
    assert texts["loss"] == pytest.approx(expected, rel=1e-5)


def test_few_links_go_far():
    """With 20 links on digits: what neighbours add to what the links say."""
    X, y = load_digits(n_class=5, return_X_y=True)
    links = Links.from_labels(y, 20, random_state=0)
    how = {
        "layers": (64, 64, 32), "scale": "together", "random_state": 0, "verbose": 0,
        "labnet__steps": 150, "labnet__code": False, "clunet__steps": 150,
    }  # fmt: skip
    found = [
        adjusted_rand_score(y, model.set_params(**how).fit_predict(X, links=links))
        for model in (S3C2(5), S3C2.as_published(5))
    ]
    assert found[0] > 0.8
    assert found[0] > found[1] + 0.2


def test_all_stages_of_a_grid_are_as_from_their_own_fit(blobs):
    X, y = blobs
    grid = [
        (S3C2(3, **QUICK).set_params(random_state=s), Links.from_labels(y, 60, random_state=s))
        for s in range(2)
    ]
    for (model, links), together in zip(grid, fit_many(X, grid)):
        alone = clone(model).fit(X, links=links)
        assert (together.predict_proba(X) == alone.predict_proba(X)).all()


def test_a_loaded_model_is_the_saved_one(blobs, blob_links, tmp_path):
    model = S3C2(3, **QUICK).fit(blobs[0], links=blob_links)
    model.save(tmp_path)
    loaded = S3C2.load(tmp_path)
    assert (loaded.predict_proba(blobs[0]) == model.predict_proba(blobs[0])).all()
    assert loaded.labnet.neighbors == 5


@pytest.mark.parametrize("after", [10, 40, 70])
def test_an_interrupted_fit_ends_as_an_uninterrupted_one(
    blobs, blob_links, tmp_path, monkeypatch, after
):
    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    X = blobs[0]
    expected = S3C2(3, **QUICK).fit(X, links=blob_links)
    steps = []

    def interrupt(step):
        steps.append(step.stage)
        if len(steps) == after:
            raise KeyboardInterrupt

    model = S3C2(3, **QUICK, checkpoint=tmp_path / "state", callbacks=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, links=blob_links)
    model.fit(X, links=blob_links)
    assert set(steps) == {"labnet", "clunet start", "clunet"}
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("network", "layers"),
    [("dense", (16, 3)), ("convolutional", (16, 8)), (nn.Linear(8, 6), (16, 8))],
)
def test_clunet_begins_with_labnets_layers(network, layers):
    """All but the last layer, also where LabNet's last one has the shape of CluNet's."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 8, 8) if network == "convolutional" else (40, 8)).astype(np.float32)
    links = Links.from_labels(np.arange(40) % 3, 30, random_state=0)
    model = S3C2(
        3, labnet=LabNet(code=False, steps=3),
        clunet=CluNet(steps=1, learning_rate=1e-12),
        network=network, layers=layers, random_state=0, verbose=0,
    ).fit(X, links=links)  # fmt: skip
    first = [next(m for m in net.modules() if isinstance(m, nn.Linear | nn.Conv2d))
             for net in (model.labnet_.encoder_, model.clunet_.network_)]  # fmt: skip
    assert torch.allclose(first[0].weight, first[1].weight, atol=1e-6)


def test_smoothing_makes_posteriors_smooth():
    """KL(p(x) ‖ p(x + r)) for the worst r within the radius, in overlapping groups."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = (np.eye(3, 5)[y] * 1.5 + rng.normal(size=(300, 5))).astype(np.float32)
    links = Links.from_labels(y, 60, random_state=0)

    def roughness(weight):
        model = S3C2(3, **QUICK).set_params(clunet__smoothing=weight, clunet__steps=500)
        model.set_params(clunet__kept_share=0)  # it also moves borders
        model.fit(X, links=links)
        rows = model.clunet_._read(X)
        x = rows.block(0, 300)[None]
        network = Stack([model.clunet_.network_])
        p, radius = network(x), find_neighbours(rows, 5).radius[None]
        moved = worst_change(network, x, p, radius, losses.divergence_of)
        return float(losses.divergence_of(p, network(moved)).mean().detach())

    assert roughness(3.0) < 0.7 * roughness(0.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"labnet__neighbors": 500},  # more than there are rows
        {"labnet__dropout": 0.2, "clunet__dropout": 0.2},
        {"clunet__batch_points": None, "clunet__batch_pairs": 50},
        {"clunet__cache_memory": 40 * 16 * 4},  # a sample of the rows
        {"clunet__n_restarts": 2},
        {"labnet__semi_supervised": True},
        {"labnet__n_committee": 2},
        {"labnet__neighbors": 0, "labnet__smoothing": 0},  # CluNet's smoothing finds its own
        {"clunet__start": "random"},
        {"n_clusters": 1},
    ],
)
@pytest.mark.filterwarnings("ignore:n_clusters=1 puts")
def test_it_goes_with_other_settings(blobs, blob_links, settings):
    model = S3C2(3, **QUICK).set_params(labnet__steps=3, clunet__steps=3, **settings)
    assert np.isfinite(model.fit(blobs[0], links=blob_links).predict_proba(blobs[0])).all()


@pytest.mark.parametrize("X", [np.zeros((12, 3)), np.repeat(np.eye(3), 4, axis=0)])
def test_constant_and_duplicate_rows(X):
    links = Links(must=[(0, 1), (4, 5)], cannot=[(0, 4), (5, 9)], n_samples=12)
    model = S3C2(5, **QUICK).set_params(labnet__steps=3, clunet__steps=3)
    assert model.fit_predict(X, links=links).shape == (12,)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"neighbors": 0, "smoothing": 0.1}, "'smoothing' .* needs the distances of 'neighbors'"),
        ({"neighbors": -1}, "'neighbors' .* must be an int"),
    ],
)
def test_settings_that_do_not_go_together(blobs, blob_links, given, words):
    with pytest.raises(ValueError, match=words):
        LabNet(**given).fit(blobs[0], links=blob_links)


def test_reconstruction_and_neighbours_go_together(blobs, blob_links):
    labnet = LabNet(semi_supervised=True, steps=2, layers=(16, 8), random_state=0, verbose=0)
    terms = labnet.fit(blobs[0], links=blob_links).history_
    assert set(terms) == {"loss", "contrastive", "attraction", "repulsion", "reconstruction"}
    weak = 0.5 * (terms["attraction"] + 0.9**4 * terms["repulsion"])
    expected = terms["contrastive"] + weak + 0.05 * terms["reconstruction"]
    assert terms["loss"] == pytest.approx(expected, rel=1e-5)


def test_neighbours_are_those_of_the_code_where_there_is_one():
    X, Z = (np.random.default_rng(s).normal(size=(40, 3)).astype(np.float32) for s in range(2))
    rows, code = Rows(X, (3,)), Rows(Z, (3,))
    found = find_neighbours(rows, 4, code_of=lambda given: code)
    assert edges(found) == edges(find_neighbours(code, 4))
    # How far a row may be moved is a matter of the row itself.
    assert torch.equal(found.radius, find_neighbours(rows, 4).radius)
