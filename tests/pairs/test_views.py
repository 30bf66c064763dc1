"""Images are seen a little moved, each time anew."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from s3c2 import S3C2, CluNet, LabNet, Links
from s3c2.engine.rows import Rows
from s3c2.pairs import views
from s3c2.pairs.views import Views


@pytest.fixture
def blot():
    """A picture with one bright square off its middle, as a batch: (1, 1, 1, 32, 40)."""
    picture = torch.zeros(1, 1, 1, 32, 40)
    picture[..., 10:14, 22:26] = 1
    return picture


def middle(picture):
    """Row and column about which the brightness lies."""
    total = picture.sum()
    down, across = (torch.arange(float(n)) for n in picture.shape[-2:])
    by_row, by_column = picture.reshape(picture.shape[-2:]).sum(1), picture.flatten(0, -2).sum(0)
    return float((by_row * down).sum() / total), float((by_column * across).sum() / total)


def with_limits(monkeypatch, **limits):
    for name in ("SHIFT", "TURN", "SCALE"):
        monkeypatch.setattr(views, name, limits.get(name, 0.0))


def test_a_view_that_is_not_moved_is_the_picture(monkeypatch, blot):
    with_limits(monkeypatch)
    assert torch.allclose(Views((1, 32, 40), [0])(3, blot), blot, atol=1e-5)


def test_shifts_stay_within_their_limit_and_go_everywhere(monkeypatch, blot):
    with_limits(monkeypatch, SHIFT=0.1)
    moved = np.array([middle(Views((1, 32, 40), [0])(step, blot)) for step in range(60)])
    moves = moved - middle(blot)
    assert np.abs(moves[:, 0]).max() <= 3.2 + 0.01
    assert np.abs(moves[:, 1]).max() <= 4 + 0.01
    assert (moves.min(0) < -1).all()
    assert (moves.max(0) > 1).all()


def test_a_turn_keeps_the_distance_from_the_middle(monkeypatch, blot):
    """Also where the picture is wider than it is high: it is turned, and not sheared."""
    with_limits(monkeypatch, TURN=0.5)
    centre = np.array([15.5, 19.5])
    radius = np.linalg.norm(np.array(middle(blot)) - centre)
    places = np.array([middle(Views((1, 32, 40), [0])(step, blot)) for step in range(20)])
    assert np.allclose(np.linalg.norm(places - centre, axis=1), radius, atol=0.2)
    assert places.std(0).min() > 0.3


def test_scales_are_larger_and_smaller(monkeypatch, blot):
    with_limits(monkeypatch, SCALE=0.3)
    bright = [float(Views((1, 32, 40), [0])(step, blot).sum()) for step in range(40)]
    assert min(bright) < 13 < 19 < max(bright)


@pytest.mark.parametrize("shape", [(6, 7), (1, 6, 7), (3, 6, 7)])
def test_every_picture_has_a_view_of_its_own_in_its_shape_and_type(shape):
    x = torch.rand(2, 5, *shape).bfloat16()
    x[1, 3] = x[1, 2]
    seen = Views(shape, [4, 9])(0, x)
    assert (seen.shape, seen.dtype) == (x.shape, x.dtype)
    assert not torch.equal(seen[1, 3], seen[1, 2])


def test_views_depend_on_seed_and_step_alone():
    x = torch.rand(2, 5, 8, 8)
    both, alone = Views((8, 8), [4, 9]), Views((8, 8), [9])
    assert torch.equal(both(7, x)[1], alone(7, x[1:])[0])
    assert not torch.equal(both(7, x), both(8, x))


def test_a_table_has_no_views():
    assert Views.of(Rows(np.zeros((4, 3), np.float32), (3,)), [0]) is None


def test_images_are_trained_in_views_unless_switched_off():
    images = np.random.default_rng(0).random((60, 8, 8), dtype=np.float32)
    links = Links.from_labels(np.arange(60) % 2, 30, random_state=0)

    def fitted(labnet, clunet):
        model = S3C2(
            2, labnet=LabNet(steps=3, views=labnet), clunet=CluNet(steps=3, views=clunet),
            network="dense", layers=(16, 8), random_state=0, verbose=0,
        )  # fmt: skip
        return model.fit(images, links=links)

    with_views, without, in_clunet = fitted(True, True), fitted(False, False), fitted(False, True)
    assert not np.array_equal(with_views.transform(images), without.transform(images))
    assert np.array_equal(in_clunet.transform(images), without.transform(images))
    assert not np.array_equal(in_clunet.predict_proba(images), without.predict_proba(images))
