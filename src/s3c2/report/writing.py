"""From a fitted model to the page: what is said, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from s3c2.data.indexing import indexable
from s3c2.data.tables import TablePreparation
from s3c2.errors import DataError
from s3c2.files.atomic import write_atomically
from s3c2.labelling import preparation_of
from s3c2.links import Links
from s3c2.naming import many
from s3c2.report import page
from s3c2.report.answers import Answers
from s3c2.report.content import Calibration, Content, gather
from s3c2.report.figures import (
    as_png,
    as_svg,
    colour_of,
    distance_histogram,
    plane_view,
    rates_against_threshold,
    training_curves,
)
from s3c2.report.pictures import clusters_figure, rows_as_images, strip_png
from s3c2.report.telling import Telling, in_words, telling_columns

CALIBRATION: dict[Calibration, str] = {
    "none": "",
    "neighbors": "T = {threshold:.3g} follows from the neighbours of linked rows. ",
    "done": "T = {threshold:.3g} was calibrated on links that a LabNet had not seen. ",
    "failed": "T could not be calibrated on these links and is the published {threshold:.3g}. ",
}

MOST_DOUBTED = 20  # links on the page


def write_report(
    path: str | Path,
    model: Any,
    X: Any,
    links: Any,
    *,
    ids: Sequence[Any] | None = None,
    title: str = "Clusters",
    scores: Mapping[str, Mapping[str, str]] | None = None,
    scores_note: str = "",
    texts: Sequence[str] | None = None,
    image_shape: tuple[int, int] | None = None,
    answers: Answers | None = None,
    sample_of: int | None = None,
) -> None:
    """Write the report of a fitted model.

    Parameters
    ----------
    path : where the page goes; it appears whole or not at all
    model : a fitted S3C2
    X : the rows, as given to ``fit``
    links : the Links given to ``fit``, by row numbers of X; None where there were none
    ids : the rows' ids; row numbers when None
    title : the page's heading
    scores : scores to show, as {method: {score: value}}, with ``scores_note`` below them
    texts : each row's text, shown for typical rows
    image_shape : (height, width) when each row of X is a flattened grey image
    answers : what the model was asked already about these rows and links
    sample_of : number of rows of the whole data, where X may be a sample of it
    """
    X = indexable(X)
    for name, values in (("ids", ids), ("texts", texts)):
        if values is not None and len(values) != X.shape[0]:
            raise DataError(
                f"The '{name}' of write_report must be one for each of the {X.shape[0]:,} rows. "
                f"Got {len(values):,}."
            )
    if links is None:
        links = Links(n_samples=X.shape[0])
    if hasattr(X, "iloc") and model.reading_.feature_names_in is None:
        X = X.to_numpy()  # such a model was not told the names of columns
    images = rows_as_images(X, image_shape)
    content = gather(model, X, links, ids, answers)
    parts = [
        *_summary(content, title, sample_of),
        *_scores(scores, scores_note),
        *_learning(content, model),
        *_doubted(content, images, texts),
        *_clusters(content, images, texts, _telling(model, X, content, images)),
        _settings(model),
        "<footer>Made by s3c2. Everything on this page is in this one file.</footer>",
    ]
    write_atomically(path, page.page(title, parts).encode())


def write_clusters_picture(
    path: str | Path,
    model: Any,
    X: Any,
    links: Any,
    *,
    image_shape: tuple[int, int] | None = None,
    answers: Answers | None = None,
) -> None:
    """Write a PNG: each cluster's most typical images in a row, beside the plane view."""
    images = rows_as_images(X, image_shape)
    if images is None:
        raise ValueError("The rows are no images. Give image_shape=(height, width).")
    figure = clusters_figure(gather(model, X, links, answers=answers), images)
    write_atomically(path, as_png(figure))


def _summary(content: Content, title: str, sample_of: int | None) -> list[str]:
    n_must, n_cannot = len(content.must_distances), len(content.cannot_distances)
    n_clusters = len(content.sizes)
    n_rows = f"{len(content.labels):,}"
    is_sample = sample_of is not None and sample_of > len(content.labels)
    facts = {
        "rows": f"{n_rows} of {sample_of:,}" if is_sample else n_rows,
        "clusters": f"{n_clusters}",
        "must-links": f"{n_must:,}",
        "cannot-links": f"{n_cannot:,}",
        "threshold T": f"{content.threshold:.3g}",
        "ML rate": _percent(content.ml_rate),
        "CL rate": _percent(content.cl_rate),
    }
    filled = content.sizes[content.sizes > 0]
    n_empty = n_clusters - len(filled)
    empty = f"; {n_empty} of the {n_clusters} asked for stayed empty" if n_empty else ""
    if n_must + n_cannot:
        source = f"learned from {n_must + n_cannot:,} pairs judged the same or different"
    else:
        source = "found without links, from the neighbours of the rows alone"
    sample = f", a sample of {sample_of:,}," if is_sample else ""
    return [
        f"<h1>{page.text(title)}</h1>",
        f'<p class="lead">{many(len(content.labels), "row")}{sample} in '
        f"{many(len(filled), 'cluster')} (from {filled.min():,} to {filled.max():,} rows "
        f"each{empty}), {source}.</p>",
        page.tiles(facts),
    ]


def _scores(scores: Mapping[str, Mapping[str, str]] | None, note: str) -> list[str]:
    if not scores:
        return []
    names = list(dict.fromkeys(name for values in scores.values() for name in values))
    rows = [
        [method, *(values.get(name, "–") for name in names)] for method, values in scores.items()
    ]
    return [
        "<h2>Scores</h2>",
        page.table(["method", *names], rows),
        f'<p class="soft">{page.text(note)}</p>',
    ]


def _learning(content: Content, model: Any) -> list[str]:
    n_shown, n_rows = len(content.shown_rows), len(content.labels)
    shown = "all rows" if n_shown == n_rows else f"{n_shown:,} of {n_rows:,} rows"
    return [
        "<h2>Training</h2>",
        page.svg_figure(
            as_svg(training_curves(model.history_)),
            "Training loss of LabNet and of CluNet, step by step.",
            "The values of each step are pale, their running mean is bold. The loss is what is "
            "made small; the other curves are its parts, before they are weighed, and repulsion "
            "may be below 0. The loss of both networks should fall and level off; one that still "
            "falls at its end asks for more steps.",
        ),
        "<h2>Same or different</h2>",
        *_distances(content),
        "<h2>The rows in the plane</h2>",
        page.svg_figure(
            as_svg(plane_view(content.points, content.labels[content.shown_rows])),
            f"LabNet's representation of {shown} in two dimensions, coloured by cluster.",
            f"LabNet's representation of {shown}, its first two principal components. A number "
            "marks the middle of each cluster.",
        ),
    ]


def _distances(content: Content) -> list[str]:
    must, cannot, threshold = content.must_distances, content.cannot_distances, content.threshold
    if len(must) + len(cannot) == 0:
        return [
            '<p class="soft">There are no links, so it cannot be said how many pairs come out '
            "right. A few links would tell it, and help to find the clusters you mean.</p>"
        ]
    return [
        '<p class="soft">LabNet calls a pair the same when its squared distance is below T. '
        f"{CALIBRATION[content.calibration].format(threshold=threshold)}"
        "These are the links it was trained on, so other pairs will do somewhat worse.</p>",
        '<div class="pair">',
        page.svg_figure(
            as_svg(distance_histogram(must, cannot, threshold)),
            f"Histogram of squared distances of must-links and cannot-links, T = {threshold:.3g}.",
            "Must-links belong left of T, cannot-links right of it. The less they overlap, the "
            "better.",
        ),
        page.svg_figure(
            as_svg(rates_against_threshold(must, cannot, threshold)),
            f"ML rate and CL rate against T. At T = {threshold:.3g} they are "
            f"{_percent(content.ml_rate)} and {_percent(content.cl_rate)}.",
            "Share of the must-links and of the cannot-links that come out right for every T. A "
            "high CL rate matters most: wrong must-links harm the clusters.",
        ),
        "</div>",
    ]


def _doubted(content: Content, images: Any, texts: Sequence[str] | None) -> list[str]:
    """The links that may be wrong; nothing where there are none."""
    links = content.doubted[:MOST_DOUBTED]
    if not links:
        return []
    rows = []
    for a, b, kind, doubt in links:
        names = f"{content.names[a]} – {content.names[b]}"
        pair = f"{page.text(names)}{_shown(names, a, b, images, texts)}"
        rows.append([page.Markup(pair), kind, f"{doubt:.2f}"])
    n_all = len(content.doubted)
    more = f" These are the first {len(links)} of {n_all:,}." if n_all > len(links) else ""
    return [
        "<h2>Links that may be wrong</h2>",
        '<p class="soft">The neighbours of the two rows say otherwise; doubt is how much, from 0 '
        "to 1. Such links count less in the training. Check them, and fit again where you mend "
        f"some; a link may also be right, and its rows unusual.{more}</p>",
        page.table(["rows", "link", "doubt"], rows),
    ]


def _shown(names: str, a: int, b: int, images: Any, texts: Sequence[str] | None) -> str:
    """Both rows of a link, where they can be looked at."""
    if images is not None:
        return page.strip(strip_png(images[[a, b]]), f"{names}.", images.shape[1])
    if texts is None:
        return ""
    snippets = (page.text(_snippet(texts[row])) for row in (a, b))
    return "".join(f'<p class="soft">{snippet}</p>' for snippet in snippets)


def _telling(model: Any, X: Any, content: Content, images: Any) -> list[list[Telling]]:
    """What tells each cluster from the rest, where X is a table whose columns have names."""
    preparation, n_clusters = preparation_of(model), len(content.sizes)
    if images is not None or issparse(X) or not isinstance(preparation, TablePreparation):
        return [[] for _ in range(n_clusters)]
    return telling_columns(np.asarray(X), content.labels, n_clusters, preparation.columns)


def _clusters(
    content: Content,
    images: Any,
    texts: Sequence[str] | None,
    telling: Sequence[Sequence[Telling]],
) -> list[str]:
    cards = []
    for cluster, rows in enumerate(content.typical):
        if len(rows) == 0:
            inside = '<p class="soft">No row is in this cluster.</p>'
        elif images is not None:
            names = ", ".join(content.names[row] for row in rows)
            alt = f"The most typical rows of cluster {cluster}: {names}."
            inside = page.strip(strip_png(images[rows]), alt, images.shape[1])
        else:
            inside = _columns(telling[cluster]) + _row_list(content, rows, texts)
        cards.append(
            page.cluster_card(cluster, int(content.sizes[cluster]), colour_of(cluster), inside)
        )
    columns = (
        " Above them the columns that tell it from the other rows: the median, and the range of "
        "the middle half of the rows."
        if any(telling)
        else ""
    )
    return [
        "<h2>The clusters</h2>",
        '<p class="soft">Each cluster with its most typical rows, those of the highest '
        f"probability first.{columns}</p>",
        f'<div class="clusters">{"".join(cards)}</div>',
    ]


def _columns(telling: Sequence[Telling]) -> str:
    """The columns that tell a cluster from the other rows; nothing where there are none."""
    if not telling:
        return ""
    rows = [[one.column, in_words(one.here), in_words(one.elsewhere)] for one in telling]
    return page.table(["column", "in this cluster", "other rows"], rows)


def _row_list(content: Content, rows: Any, texts: Sequence[str] | None) -> str:
    items = []
    for row in rows:
        name, probability = page.text(content.names[row]), content.probabilities[row]
        snippet = f"<br>{page.text(_snippet(texts[row]))}" if texts is not None else ""
        items.append(f"<li><b>{name}</b> <span>{probability:.3f}</span>{snippet}</li>")
    kind = "rows texts" if texts is not None else "rows"
    return f'<ul class="{kind}">{"".join(items)}</ul>'


def _snippet(words: str, most: int = 200) -> str:
    words = " ".join(words.split())
    return words if len(words) <= most else words[:most].rsplit(" ", 1)[0] + " …"


def _settings(model: Any) -> str:
    """What was set or chosen; the rest has its default."""
    usual = type(model)()._settings()
    given = {k: v for k, v in model._settings().items() if k == "n_clusters" or v != usual.get(k)}
    given |= {"scale": model.scale_, "network": model.network_kind_}  # also where they were chosen
    rows = [[name, str(value)] for name, value in sorted(given.items())]
    return f"<details><summary>Settings</summary>{page.table(['setting', 'value'], rows)}</details>"


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{100 * rate:.1f} %"
