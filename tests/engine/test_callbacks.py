"""Callbacks see every step and may end a stage."""

from __future__ import annotations

from s3c2 import S3C2, Callback


class Counter(Callback):
    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        self.seen.append("setup")

    def on_fit_task_begin(self, estimator, context):
        assert isinstance(estimator, S3C2)
        assert context.terms == {}
        self.seen.append(("begin", context.stage, context.step))

    def on_fit_task_end(self, estimator, context):
        assert 0 <= context.loss < 5
        self.seen.append(("end", context.stage, context.step))

    def teardown(self, estimator, context):
        self.seen.append("teardown")


def test_a_callback_sees_every_step(blobs, blob_links, small):
    counter = Counter()
    model = S3C2(3, **small, callbacks=counter).set_params(labnet__steps=3, clunet__steps=2)
    model.fit(blobs[0], links=blob_links)
    lengths = {"labnet": 3, "clunet start": 2, "clunet": 2}
    steps = [(stage, i) for stage, n in lengths.items() for i in range(n)]
    expected = [(when, *step) for step in steps for when in ("begin", "end")]
    assert counter.seen == ["setup", *expected, "teardown"]


def test_a_callback_may_end_a_stage(blobs, blob_links, small):
    model = S3C2(3, **small, callbacks=lambda step: step.stage == "labnet" and step.step == 9)
    model.fit(blobs[0], links=blob_links)
    assert len(model.history_["labnet"]["loss"]) == 10
    assert len(model.history_["clunet"]["loss"]) == 40
