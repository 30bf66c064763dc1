"""On a CUDA device: training, prediction, and files that load anywhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from s3c2 import S3C2

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.fixture
def fitted(blobs, blob_links, small):
    return S3C2(3, **small, device="cuda").fit(blobs[0], links=blob_links)


def test_auto_takes_the_gpu(blobs, blob_links, small):
    model = S3C2(3, **small).fit(blobs[0], links=blob_links)
    assert next(model.clunet_.network_.parameters()).device.type == "cuda"


def test_it_learns_and_repeats_itself(fitted, blobs, blob_links, small):
    X, y = blobs
    assert adjusted_rand_score(y, fitted.labels_) > 0.9
    again = S3C2(3, **small, device="cuda").fit(X, links=blob_links)
    assert (again.labels_ == fitted.labels_).all()


def test_the_callers_generators_are_untouched(blobs, blob_links, small):
    torch.cuda.manual_seed(3)
    before = torch.cuda.get_rng_state()
    own = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Dropout(0.5))
    S3C2(3, **small, encoder=own, device="cuda").fit(blobs[0], links=blob_links)
    assert torch.equal(torch.cuda.get_rng_state(), before)


def test_a_model_trained_on_a_gpu_loads_on_a_cpu(fitted, blobs, tmp_path):
    fitted.save(tmp_path)
    loaded = S3C2.load(tmp_path, device="cpu")
    assert next(loaded.clunet_.network_.parameters()).device.type == "cpu"
    assert np.allclose(loaded.predict_proba(blobs[0]), fitted.predict_proba(blobs[0]), atol=1e-3)
    assert (loaded.predict(blobs[0]) == fitted.predict(blobs[0])).all()


def test_a_row_has_the_same_bits_in_any_batch(fitted):
    X = np.random.default_rng(0).normal(size=(3000, 5)).astype(np.float32)
    together = fitted.predict_proba(X)
    order = np.random.default_rng(1).permutation(len(X))
    assert (fitted.predict_proba(X[order]) == together[order]).all()
    assert (fitted.predict_proba(X[:1]) == together[:1]).all()


def test_resuming_on_a_gpu(blobs, blob_links, small, tmp_path, monkeypatch):
    from s3c2 import checkpoint

    class InterruptError(Exception):
        pass

    def interrupt(step):
        if (step.stage, step.step) == ("clunet", 40):
            raise InterruptError

    monkeypatch.setattr(checkpoint.Checkpoint, "due", lambda self: True)
    expected = S3C2(3, **small, device="cuda").fit(blobs[0], links=blob_links)
    model = S3C2(3, **small, device="cuda", checkpoint=tmp_path / "state")
    with pytest.raises(InterruptError):
        model.set_params(callbacks=interrupt).fit(blobs[0], links=blob_links)
    model.set_params(callbacks=None).fit(blobs[0], links=blob_links)
    assert (model.labels_ == expected.labels_).all()
