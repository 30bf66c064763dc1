"""What the demo does: digits from 500 links, by S3C2, by S3C2 as published, and by k-means."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from s3c2 import S3C2
from s3c2.cli.outputs import label_table
from s3c2.data.tables import TablePreparation
from s3c2.datasets.digits import BRIGHTEST, split_rows
from s3c2.errors import EmptyClustersWarning
from s3c2.files.tables import write_table
from s3c2.links import Links
from s3c2.metrics import Scores, evaluate
from s3c2.report import Answers, write_clusters_picture, write_report

N_CLUSTERS = 10
N_LINKS = 500  # link sets have the seeds 0, 1, 2, …


@dataclass(frozen=True)
class Digits:
    """The pixels 0 … 16, the digits, and which rows train; ids are row numbers of the set."""

    pixels: NDArray[np.float64]
    digit: NDArray[np.int64]
    train: NDArray[np.int64]
    held_out: NDArray[np.int64]

    @classmethod
    def load(cls) -> Digits:
        pixels, digit = load_digits(return_X_y=True)
        return cls(pixels, digit, *split_rows(len(digit)))


@dataclass(frozen=True)
class Outcome:
    """One link set: the fitted default model, and each method's scores on the held-out rows."""

    model: S3C2
    links: Links
    s3c2: Scores
    as_published: Scores
    kmeans: Scores


def cluster_digits(
    digits: Digits, seed: int, *, verbose: int, tell: Callable[[str], None]
) -> Outcome:
    """Draw links with this seed, train each method, and score it on rows that it has not seen."""
    X, X_new = digits.pixels[digits.train], digits.pixels[digits.held_out]
    truth = digits.digit[digits.held_out]
    links = Links.from_labels(digits.digit[digits.train], N_LINKS, random_state=seed)
    how: dict[str, Any] = {"random_state": seed, "verbose": verbose, "scale": "together"}
    tell("S3C2 …")
    model = S3C2(N_CLUSTERS, **how).fit(X, links=links)
    tell("S3C2 as published …")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClustersWarning)  # the table shows what it leads to
        published = S3C2.as_published(N_CLUSTERS, **how).fit(X, links=links)
    kmeans = KMeans(N_CLUSTERS, n_init=10, random_state=seed).fit(_in_unit_range(X))
    return Outcome(
        model,
        links,
        s3c2=evaluate(truth, model.predict(X_new)),
        as_published=evaluate(truth, published.predict(X_new)),
        kmeans=evaluate(truth, kmeans.predict(_in_unit_range(X_new))),
    )


def write_demo(folder: Path, digits: Digits, outcome: Outcome, scores: Any, note: str) -> None:
    """Write report, picture, labels and model, and the data to try the other commands on."""
    model, links = outcome.model, outcome.links
    X = digits.pixels[digits.train]
    ids = [str(row) for row in digits.train]
    answers = Answers(model, X, links)
    write_report(
        folder / "report.html",
        model,
        X,
        links,
        ids=ids,
        title="Handwritten digits, clustered from 500 links",
        scores=scores,
        scores_note=note,
        image_shape=(8, 8),
        answers=answers,
    )
    write_clusters_picture(
        folder / "clusters.png", model, X, links, image_shape=(8, 8), answers=answers
    )
    write_table(folder / "labels.csv", label_table(answers.posteriors, ids))
    links.write(folder / "links.csv", ids=digits.train)
    for name, rows in (("train.csv", digits.train), ("held_out.csv", digits.held_out)):
        write_table(folder / name, _pixel_table(digits, rows))
    truth = {"id": range(len(digits.digit)), "digit": digits.digit.tolist()}
    write_table(folder / "truth.csv", truth)
    model.preparation_ = TablePreparation(tuple(_pixel_names()), id_column="id").to_json()
    model.save(folder / "model")


def _in_unit_range(pixels: NDArray[np.float64]) -> NDArray[np.float32]:
    return (pixels / BRIGHTEST).astype(np.float32)


def _pixel_names() -> list[str]:
    return [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]


def _pixel_table(digits: Digits, rows: NDArray[np.int64]) -> dict[str, Any]:
    pixels = digits.pixels[rows].astype(int).T.tolist()
    return {"id": rows.tolist(), **dict(zip(_pixel_names(), pixels))}
