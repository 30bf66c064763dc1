"""The loop: what it does when training diverges."""

from __future__ import annotations

import pytest

from s3c2 import S3C2
from s3c2.engine import loop


def test_a_training_without_hope_ends_before_its_length(blobs, blob_links, small, monkeypatch):
    monkeypatch.setattr(loop, "LOOK_EVERY", 5)
    seen = []
    model = S3C2(3, **small, callbacks=lambda step: seen.append(step.step))
    model.set_params(scale=None, labnet__semi_supervised=True)
    with pytest.raises(ValueError, match="at step [0-9]: training diverged"):
        model.fit(1e20 * blobs[0], links=blob_links)
    assert len(seen) < 20
