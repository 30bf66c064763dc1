"""The loop: what it does when training diverges, and how fast it learns."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from s3c2 import S3C2
from s3c2.engine import loop
from s3c2.engine.run import FitRun
from s3c2.engine.task import Task


def test_a_training_without_hope_ends_before_its_length(blobs, blob_links, small, monkeypatch):
    monkeypatch.setattr(loop, "LOOK_EVERY", 5)
    seen = []
    model = S3C2(3, **small, callbacks=lambda step: seen.append(step.step))
    model.set_params(scale=None, labnet__semi_supervised=True)
    with pytest.raises(ValueError, match="at step [0-9]: training diverged"):
        model.fit(1e20 * blobs[0], links=blob_links)
    assert len(seen) < 20


class Slope(nn.Module):
    """Its loss falls by 1 where the weight falls by 1, so that Adam's step is the rate."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, 16, dtype=torch.float64))

    def losses(self, step):
        return {"loss": self.weight.mean(1), "weight": self.weight[:, 0].clone()}


@pytest.mark.parametrize("decay", [False, True])
def test_the_rate_stays_or_falls_to_0_in_the_second_half(decay):
    slope = Slope()
    task = Task(
        "slope", nn.ModuleDict({"slope": slope}), slope.losses, [8, 8], "adam", 0.5, decay=decay
    )
    histories = loop.train(task, FitRun(None))
    left = [1, 1, 1, 1, 1, 0.75, 0.5, 0.25] if decay else [1] * 8
    for r, history in enumerate(histories):
        at = [*history["weight"], float(slope.weight.detach()[r, 0])]
        taken = [before - after for before, after in pairwise(at)]
        assert taken == pytest.approx([0.5 * share for share in left], rel=1e-4)
