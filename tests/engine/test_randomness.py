"""Draws depend on seed, purpose and step alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from s3c2.engine.dropout import Dropout
from s3c2.engine.randomness import Draws, Purpose, dropout_masks, generator, seed_from
from s3c2.engine.stack import Stack


def test_a_step_draws_the_same_whatever_came_before():
    late = generator(7, Purpose.PAIRS, 5).integers(100, size=10)
    for step in range(5):
        generator(7, Purpose.PAIRS, step).integers(100, size=1000)
    assert (generator(7, Purpose.PAIRS, 5).integers(100, size=10) == late).all()


def test_seeds_purposes_steps_and_parts_have_streams_of_their_own():
    streams = {
        tuple(generator(seed, purpose, step, part).integers(2**62, size=3))
        for seed in (0, 1)
        for purpose in Purpose
        for step in range(5)
        for part in range(3)
    }
    assert len(streams) == 2 * len(Purpose) * 5 * 3


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_mask_drops_at_its_rate_and_keeps_the_mean(rate):
    first, drawn = dropout_masks([333, 200_000], [0.5, rate], seed=1, step=2)
    assert first.shape == (333,)
    drawn = torch.from_numpy(drawn).view(400, 500)
    share = float((drawn == 0).float().mean())
    assert share == pytest.approx(rate, abs=5 * np.sqrt(rate * (1 - rate) / 200_000))
    assert float(drawn.max()) == pytest.approx(1 / (1 - rate), rel=1e-3)
    # Columns and rows are not tied to each other.
    kept = (drawn > 0).float()
    assert abs(float(torch.corrcoef(kept[:, :2].T)[0, 1])) < 0.2
    assert abs(float(torch.corrcoef(kept[:2])[0, 1])) < 0.2


def test_masks_are_laid_in_and_removed():
    network = torch.nn.Sequential(Dropout(0.5, (6,)), Dropout(0.0, (6,)), Dropout(0.5, (6,)))
    network.append(torch.nn.Linear(6, 1))
    stack = Stack([network])
    stack.lay_dropout(4, [0], step=0)
    first, last = stack.layers_that_drop
    assert first.mask.shape[-2:] == (4, 6)
    assert not torch.equal(first.mask, last.mask)
    assert torch.equal(first(torch.ones(4, 6)), first.mask)
    stack.clear_dropout()
    assert first.mask is None
    stack.lay_dropout(4, [0], step=0)
    assert all(layer.mask is None for layer in stack.network(0)[:3])
    assert "mask" not in "".join(network.state_dict())


@pytest.mark.parametrize("high", [2, 7, 1000, 60_000])
def test_integers_are_uniform_and_steps_independent(high):
    draws = Draws([0, 1], Purpose.PAIRS, "cpu")
    drawn = torch.cat([draws.integers(step, 5000, high) for step in range(20)], dim=1).double()
    assert drawn.min() >= 0
    assert drawn.max() < high
    spread = high / np.sqrt(12 * drawn.shape[1])
    assert (drawn.mean(1) - (high - 1) / 2).abs().max() < 5 * spread
    assert abs(float(torch.corrcoef(drawn)[0, 1])) < 0.02  # two seeds
    one, two = draws.integers(3, 5000, high)[0], draws.integers(4, 5000, high)[0]
    assert abs(float(torch.corrcoef(torch.stack([one, two]).double())[0, 1])) < 0.07


def test_random_states():
    assert seed_from(3) == seed_from(np.int64(3)) == 3
    assert seed_from(None) != seed_from(None)
    assert seed_from(np.random.default_rng(0)) == seed_from(np.random.default_rng(0))
    assert seed_from(np.random.RandomState(0)) == seed_from(np.random.RandomState(0))
    with pytest.raises(ValueError, match="'random_state' parameter"):
        seed_from(-1)
