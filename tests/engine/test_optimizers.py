"""The optimisers against their update rules, and replicas against themselves alone."""

from __future__ import annotations

import pytest
import torch

from s3c2.engine.optimizers import new_optimizer


def rmsprop_by_hand(w, gradients, rate):
    """The rule of the script's library: decay 0.9, and 1e-7 beside the root."""
    square = torch.zeros_like(w)
    for g in gradients:
        square = 0.9 * square + 0.1 * g**2
        w = w - rate * g / (square.sqrt() + 1e-7)
    return w


def adam_by_hand(w, gradients, rate):
    mean, square = torch.zeros_like(w), torch.zeros_like(w)
    for t, g in enumerate(gradients, start=1):
        mean = 0.9 * mean + 0.1 * g
        square = 0.999 * square + 0.001 * g**2
        w = w - rate * mean / (1 - 0.9**t) / ((square / (1 - 0.999**t)).sqrt() + 1e-8)
    return w


@pytest.mark.parametrize(
    ("name", "by_hand"), [("rmsprop", rmsprop_by_hand), ("adam", adam_by_hand)]
)
@pytest.mark.parametrize("size", [32, 5])  # Adam has a form for each
def test_an_optimizer_takes_the_steps_of_its_rule(name, by_hand, size):
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(1, size, generator=generator)
    gradients = [torch.randn(1, size, generator=generator) * 1e-4 for _ in range(10)]
    parameter = torch.nn.Parameter(start.clone())
    optimizer = new_optimizer(name, [parameter], 0.01, torch.device("cpu"), 1)
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimizer.step()
    expected = by_hand(start.double(), [g.double() for g in gradients], 0.01)
    assert torch.allclose(parameter.double(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_adam_gives_replicas_the_bits_they_have_alone(threads):
    torch.manual_seed(0)
    start = [torch.randn(7, 640, 100), torch.randn(7, 26), torch.randn(7, 17, 16)]
    gradients = [[torch.randn_like(p) for p in start] for _ in range(20)]

    def end(of):
        parameters = [torch.nn.Parameter(p[of].clone()) for p in start]
        optimizer = new_optimizer("adam", parameters, 1e-2, torch.device("cpu"), len(parameters[0]))
        for step in gradients:
            for p, gradient in zip(parameters, step):
                p.grad = gradient[of].clone()
            optimizer.step()
        return parameters

    torch.set_num_threads(threads)
    try:
        together = end(slice(None))
        for r in range(7):
            alone = end(slice(r, r + 1))
            assert all(torch.equal(a[r], b[0]) for a, b in zip(together, alone))
    finally:
        torch.set_num_threads(1)
