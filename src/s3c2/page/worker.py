"""The process that trains: it reads jobs from its input, one JSON object a line, and tells results.

Before the result of a job it tells how far it is, a line every second. It ends when its input ends,
that is with the process that started it, even in mid-training.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s3c2.engine.callbacks import Step

NEIGHBOURS = ".neighbours"  # folder in the project: they are the same in every training
MOST_KEPT = 2  # files of neighbours: one of the quick training, one of all others
QUICK_STEPS = 200  # of the first training, so that questions soon come from a model
TOLD_EVERY = 1.0  # seconds
STAGES = {
    "autoencoder": "looking for neighbours",
    "labnet": "learning from the answers",
    "clunet start": "learning the clusters",
    "clunet": "learning the clusters",
}


def main() -> None:
    """Work until the input ends."""
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            jobs.put(line)
        os._exit(0)  # nobody is there to hear a result

    threading.Thread(target=listen, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(10)  # the page comes first
    answer = sys.stdout
    sys.stdout = sys.stderr  # what libraries print is no result

    def tell(line: dict[str, Any]) -> None:
        answer.write(json.dumps(line) + "\n")
        answer.flush()

    while True:
        job = json.loads(jobs.get())
        try:
            result = train(job, lambda words: tell({"doing": words}))
        except Exception as error:  # told on the page; the next job may go well
            result = {"error": " ".join(str(error).split()) or type(error).__name__}
        tell(result | {"number": job["number"]})


_rows: dict[str, Any] = {}


def rows_of(path: str) -> Any:
    """The rows, read once."""
    if path not in _rows:
        import numpy as np
        from scipy import sparse

        _rows.clear()
        _rows[path] = (
            sparse.load_npz(path) if path.endswith(".npz") else np.load(path, mmap_mode="r")
        )
    return _rows[path]


def links_of(path: str | None, n_rows: int) -> Any:
    """The links of a file; none without one."""
    from s3c2 import Links

    return Links(n_samples=n_rows) if path is None else Links.read(path, n_samples=n_rows)


def told_by(tell: Callable[[str], None]) -> Callable[[Step], None]:
    """A callback that tells from time to time what is being learned, and how far it is."""
    last = time.monotonic()

    def after(step: Step) -> None:
        nonlocal last
        if time.monotonic() - last >= TOLD_EVERY:
            last = time.monotonic()
            share = (step.step + 1) / step.steps
            tell(f"{STAGES.get(step.stage, step.stage)}, {share:.0%}")

    return after


def train(job: dict[str, Any], tell: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Fit a model on the links of a job, and write what the page shows of it.

    A job has: number, folder, rows (file), links (file or None), n_clusters, scale, device, seed,
    sample (row numbers), names, texts, title, image_shape, preparation, steps (of both stages),
    quick and report; and verbose, whether the training with the report shows its progress. ``tell``
    is called with words on how far it is.
    """
    import numpy as np

    from s3c2 import S3C2
    from s3c2.page.numbering import numbers_as_before, numbers_before, renumber
    from s3c2.page.results import LABELS, Opinions, write_outputs
    from s3c2.questions import View
    from s3c2.report import Answers

    X = rows_of(job["rows"])
    links = links_of(job["links"], int(X.shape[0]))
    model = S3C2(
        job["n_clusters"], scale=job["scale"], device=job["device"], random_state=job["seed"],
        contradictions="drop", verbose=int(job["report"] and job.get("verbose", 0)),
        callbacks=None if tell is None else told_by(tell),
    )  # fmt: skip
    folder = Path(job["folder"])
    model.set_params(labnet__cache=folder / NEIGHBOURS)
    steps = {name: n for name, n in job["steps"].items() if n is not None}
    if job["quick"]:
        fewest = {"labnet__steps": QUICK_STEPS, "clunet__steps": QUICK_STEPS}
        steps = {name: min(n, steps.get(name, n)) for name, n in fewest.items()}
        model.set_params(labnet__code=False)
    model.set_params(**steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, links=links)
    model.preparation_ = job["preparation"]
    before = numbers_before(folder / LABELS, job["names"])
    renumber(model, numbers_as_before(model.labels_, before, model.n_clusters_))
    view = View.of_model(model, X, np.asarray(job["sample"]))
    said = Answers(model, X, links)
    Opinions.of(view, said.posteriors, said.doubted_links or ()).write(folder)
    write_outputs(folder, said, job)
    _forget_older(folder / NEIGHBOURS)
    return {"quick": job["quick"], "n_links": links.n_links}


def _forget_older(folder: Path) -> None:
    """Remove neighbours of rows that the data, or the sample of it, does not hold any more."""
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    for path in files[:-MOST_KEPT]:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
