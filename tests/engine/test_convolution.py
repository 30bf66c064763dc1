"""Which modules run as one convolution of a stack, and the tables of its kernels."""

from __future__ import annotations

import pytest
import torch

from s3c2.engine.convolution import PLAIN, POOL, UP, Layer, _backwards, _forwards
from s3c2.engine.dropout import Dropout
from s3c2.networks import Architecture


def test_a_layer_that_stands_for_several():
    modules = list(
        Architecture("convolutional", (), 0.3).build_decoder((1, 8, 8), 0).named_children()
    )
    dropouts = [module for _, module in modules if isinstance(module, Dropout)]
    for dropout in dropouts:
        dropout.keys = (torch.zeros(1), torch.zeros(1))
    first = Layer.first_of(modules[4:], (2, 2))
    assert (first.kind, first.transposed, first.relu, first.length) == (UP, True, True, 4)
    assert first.dropout is dropouts[1]
    last = Layer.first_of(modules[8:], (4, 4))
    assert (last.kind, last.relu, last.dropout, last.length) == (UP, False, None, 2)
    assert Layer.first_of(modules[8:], (3, 4)) is None  # more than twice as many pixels


@pytest.mark.parametrize("table", [_forwards, _backwards])
@pytest.mark.parametrize("kind", [PLAIN, POOL, UP])
def test_tables_first_wanted_by_a_prediction_serve_gradients_too(table, kind):
    table.cache_clear()
    with torch.inference_mode():
        kept = table(3, kind, torch.device("cpu"))
    weight = torch.ones(kept.shape, requires_grad=True)
    (weight * kept).sum().backward()
    assert torch.equal(weight.grad, kept)
