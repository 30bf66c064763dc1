"""What a training leaves in the project: opinions for the page, and the outputs of ``s3c2 fit``."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s3c2.errors import StorageError
from s3c2.files.atomic import write_atomically
from s3c2.files.tables import write_table
from s3c2.questions import View
from s3c2.report.answers import Answers, DoubtedLink
from s3c2.report.content import plane_points

OPINIONS = ".opinions.npz"
MODEL, LABELS, REPORT = "model", "labels.csv", "report.html"  # as `s3c2 fit` names them
LINKS = "links.csv"


@dataclass(frozen=True)
class Opinions:
    """What the last model says.

    Attributes
    ----------
    view : of the rows that may be asked about
    points : (m, 2) these rows in the plane
    labels, probabilities : (n,) cluster of every row, and how sure it is
    doubted : (answers, 3) two rows and whether they were said to be the same, for each answer that
        similar rows contradict; the most doubted first
    """

    view: View
    points: NDArray[np.float32]
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    doubted: NDArray[np.int64]

    @classmethod
    def of(
        cls, view: View, p: NDArray[np.float32], doubted: Iterable[DoubtedLink] = ()
    ) -> Opinions:
        """From the view of a model, the posteriors p of all rows, and what it doubts."""
        points = np.asarray(plane_points(view.codes[0]), dtype=np.float32)
        found = [(one.a, one.b, one.kind == "must") for one in doubted]
        links = np.asarray(found, dtype=np.int64).reshape(-1, 3)
        return cls(view, points, p.argmax(axis=1), p.max(axis=1), links)

    def write(self, folder: Path) -> None:
        buffer = io.BytesIO()
        np.savez(
            buffer, rows=self.view.rows, posteriors=self.view.posteriors,
            codes=np.stack(self.view.codes), thresholds=self.view.thresholds, points=self.points,
            labels=self.labels, probabilities=self.probabilities, doubted=self.doubted,
        )  # fmt: skip
        write_atomically(folder / OPINIONS, buffer.getvalue())

    @classmethod
    def read(cls, folder: Path) -> Opinions | None:
        """None where there are none yet, or the file is damaged: the next training writes it."""
        try:
            with np.load(folder / OPINIONS, allow_pickle=False) as found:
                view = View(
                    found["rows"], found["posteriors"], tuple(found["codes"]),
                    tuple(found["thresholds"].tolist()),
                )  # fmt: skip
                own = ("points", "labels", "probabilities", "doubted")
                return cls(view, *(found[name] for name in own))
        except (OSError, ValueError, KeyError):
            return None

    def members(self, cluster: int) -> list[int]:
        """The rows of a cluster, the surest first."""
        inside = np.flatnonzero(self.labels == cluster)
        order = np.argsort(-self.probabilities[inside], kind="stable")
        return [int(row) for row in inside[order]]


def write_outputs(folder: Path, answers: Answers, job: dict[str, Any]) -> None:
    """Write model, labels and, where asked for, the report."""
    from s3c2.report import write_report

    names, posteriors = job["names"], answers.posteriors
    answers.model.save(folder / MODEL)
    write_table(
        folder / LABELS,
        {
            "id": names,
            "cluster": posteriors.argmax(axis=1).tolist(),
            "probability": [round(p, 6) for p in posteriors.max(axis=1).tolist()],
        },
    )
    if job["report"]:
        shape = job["image_shape"]
        write_report(
            folder / REPORT, answers.model, answers.X, answers.links, ids=names,
            title=job["title"], texts=job["texts"],
            image_shape=None if shape is None else tuple(shape), answers=answers,
        )  # fmt: skip


def model_archive(folder: Path) -> bytes:
    """The model as one ZIP file."""
    import zipfile

    if not (folder / MODEL).is_dir():
        raise StorageError("There is no model yet: the first training is under way.")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((folder / MODEL).iterdir()):
            archive.write(path, f"{MODEL}/{path.name}")
    return buffer.getvalue()
