"""The page holds everything, asks nothing from outside, and reads what it is told."""

import copy
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import clone

from s3c2 import S3C2, Links
from s3c2.data.indexing import evenly_spread
from s3c2.errors import DataError
from s3c2.report import Answers, write_clusters_picture, write_report
from s3c2.report.content import MOST_POINTS, gather, plane_points, typical_rows
from s3c2.report.writing import MOST_DOUBTED


class Page(HTMLParser):
    """Tags with their attributes, and whether all that was opened was closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def written(path, *args, **options):
    write_report(path, *args, **options)
    return path.read_text(encoding="utf-8")


def test_page_is_whole_and_self_contained(tmp_path, digits):
    X, links, model = digits
    html = written(tmp_path / "report.html", model, X, links, title="Digits", image_shape=(8, 8))
    page = Page(html)
    assert page.open == []
    assert not [tag for tag, _ in page.tags if tag in ("script", "link", "iframe")]
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    n_doubted = len(Answers(model, X, links).doubted_links)
    # Figures, a strip for each cluster, and a picture of each doubted link.
    assert len(images) == 4 + 10 + min(n_doubted, MOST_DOUBTED)
    assert all(i["src"].startswith("data:image/") and i["alt"] for i in images)
    assert "300 rows in 10 clusters" in html
    assert list(tmp_path.iterdir()) == [tmp_path / "report.html"]


def test_rows_without_pictures_are_listed_by_id_and_escaped(tmp_path, digits):
    X, links, model = digits
    ids = [f"<b>{row}" for row in range(len(X))]
    html = written(tmp_path / "r.html", model, X, links, ids=ids, title="a < b & c")
    assert "<title>a &lt; b &amp; c</title>" in html
    assert "<b>&lt;b&gt;" in html
    assert "<b><b>" not in html


def test_texts_are_shortened(tmp_path, digits):
    X, links, model = digits
    html = written(tmp_path / "r.html", model, X, links, texts=["word " * 100] * len(X))
    assert "word …" in html
    assert "word " * 50 not in html


def test_scores_are_shown(tmp_path, digits):
    X, links, model = digits
    scores = {"S3C2": {"NMI": "0.912"}, "k-means": {"NMI": "0.734"}}
    html = written(tmp_path / "r.html", model, X, links, scores=scores, scores_note="held out")
    assert re.search(r"k-means</th><td[^>]*>0\.734", html)
    assert "held out" in html


def test_images_need_no_shape(tmp_path, digits):
    X, links, model = digits
    for images in (X.reshape(-1, 8, 8), X.reshape(-1, 1, 8, 8)):
        of_images = clone(model).set_params(labnet__steps=2, clunet__steps=2)
        of_images.fit(images, links=links)
        html = written(tmp_path / "r.html", of_images, images, links)
        n_doubted = len(Answers(of_images, images, links).doubted_links)
        pictures = len(np.unique(of_images.labels_)) + min(n_doubted, MOST_DOUBTED)
        assert html.count("data:image/png") == pictures


def test_wrong_image_shape_is_refused(tmp_path, digits):
    X, links, model = digits
    with pytest.raises(DataError, match="Images of 7 × 7 need rows of 49 numbers"):
        write_report(tmp_path / "r.html", model, X, links, image_shape=(7, 7))
    assert not list(tmp_path.iterdir())


def test_clusters_picture(tmp_path, digits):
    X, links, model = digits
    write_clusters_picture(tmp_path / "c.png", model, X, links, image_shape=(8, 8))
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_no_cannot_links(digits):
    X, links, model = digits
    content = gather(model, X, Links(must=links.must, n_samples=len(X)))
    assert content.cl_rate is None
    assert content.ml_rate == (content.must_distances < model.threshold_).mean()


def test_rates_are_those_of_the_distances(tmp_path, digits):
    X, links, model = digits
    answers = Answers(model, X, links)
    T = model.threshold_
    answers.distances = np.float32([T / 2, T]), np.float32([0.9 * T, T, 1.1 * T, 9])
    content = gather(model, X, links, answers=answers)
    assert (content.ml_rate, content.cl_rate) == (0.5, 0.75)
    html = written(tmp_path / "r.html", model, X, links, answers=answers)
    assert "they are 50.0 % and 75.0 %" in html


def test_what_was_asked_already_is_not_asked_again(tmp_path, digits):
    X, links, model = digits
    answers = Answers(model, X, links)
    expected = answers.posteriors.argmax(axis=1), answers.distances[0]
    silent = copy.copy(model)
    silent.predict_proba = None
    silent.labnet_ = copy.copy(model.labnet_)
    silent.labnet_.link_distances = None
    content = gather(silent, X, links, answers=answers)
    np.testing.assert_array_equal(content.labels, expected[0])
    np.testing.assert_array_equal(content.must_distances, expected[1])


@pytest.mark.parametrize(
    ("threshold", "in_use", "said"),
    [
        (0.4, 0.4, ""),
        ("auto", 0.4, "T = 0.4 was calibrated"),
        ("auto", 0.3, "T could not be calibrated on these links and is the published 0.3"),
    ],
)
def test_page_says_when_the_threshold_was_calibrated(tmp_path, digits, threshold, in_use, said):
    X, links, fixed = digits
    model = copy.copy(fixed)
    model.labnet_ = copy.copy(fixed.labnet_).set_params(threshold=threshold)
    model.labnet_.threshold_ = in_use
    html = written(tmp_path / "r.html", model, X, links)
    assert said in html
    assert ("calibrated" in html) == bool(said)
    assert f"<dt>threshold T</dt><dd>{in_use}</dd>" in html


def test_typical_rows_are_the_most_probable_of_their_cluster():
    labels, probabilities = np.array([0, 1, 0, 0]), np.array([0.6, 0.9, 0.8, 0.8])
    typical = typical_rows(labels, probabilities, 3)
    assert [rows.tolist() for rows in typical] == [[2, 3, 0], [1], []]


def test_plane_holds_at_most_five_thousand_rows():
    rows = evenly_spread(12_345, MOST_POINTS)
    assert len(np.unique(rows)) == 5_000
    assert (rows[0], rows[-1]) == (0, 12_344)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (4, 4)])
def test_plane_of_few_rows_or_columns(shape):
    assert plane_points(np.ones(shape)).shape == (shape[0], 2)
    assert plane_points(np.random.default_rng(0).normal(size=shape)).shape == (shape[0], 2)


def test_real_model_and_links(tmp_path, blobs, blob_links, small):
    X, _ = blobs
    model = S3C2(3, **small).fit(X, links=blob_links)
    content = gather(model, X, blob_links)
    rates = model.labnet_.rates(blob_links, X)
    assert (content.ml_rate, content.cl_rate) == pytest.approx((rates.ml_rate, rates.cl_rate))
    np.testing.assert_array_equal(content.labels, model.labels_)
    assert "120 rows in 3 clusters" in written(tmp_path / "r.html", model, X, blob_links)


def test_one_cluster_has_a_report_too(tmp_path, digits):
    X, links, _ = digits
    model = S3C2(1, random_state=0, verbose=0).set_params(labnet__steps=5)
    must = Links(must=links.must, n_samples=len(X))
    with pytest.warns(UserWarning, match="puts every row into one cluster"):
        model.fit(X, links=must)
    html = written(tmp_path / "report.html", model, X, must)
    assert "300 rows in 1 cluster (from 300 to 300 rows each)" in html


def test_what_was_set_or_chosen_is_told(tmp_path, digits):
    X, links, model = digits
    html = written(tmp_path / "report.html", model, X, links)
    told = dict(
        re.findall(r'row">(\w+)</th><td class="number">([^<]*)', html.partition("Settings")[2])
    )
    assert told["scale"] == model.scale_
    assert (told["network"], told["layers"]) == ("dense", "[64, 64, 32]")
    assert told["labnet__threshold"] == "0.1"
    usual = S3C2(10, random_state=0, verbose=0).set_params(labnet__steps=2, clunet__steps=2)
    html = written(tmp_path / "usual.html", usual.fit(X, links=links), X, links)
    assert "layers" not in html.partition("Settings")[2]


def test_rows_and_links_as_fit_takes_them(tmp_path, digits):
    X, links, model = digits
    expected = written(tmp_path / "one.html", model, X, links, title="t")
    assert written(tmp_path / "two.html", model, X.tolist(), links, title="t") == expected
    page = written(tmp_path / "three.html", model, X, None)
    assert "found without links" in page


@pytest.mark.parametrize("name", ["ids", "texts"])
def test_names_or_texts_of_other_rows_are_refused(tmp_path, digits, name):
    X, links, model = digits
    words = f"'{name}' of write_report must be one for each of the 300"
    with pytest.raises(DataError, match=words):
        write_report(tmp_path / "page.html", model, X, links, **{name: ["a"]})


def test_scores_that_one_method_lacks(tmp_path, digits):
    scores = {"S3C2": {"NMI": ".9", "ARI": ".8"}, "k-means": {"NMI": ".1"}}
    page = written(tmp_path / "page.html", digits[2], digits[0], digits[1], scores=scores)
    assert '<td class="number">.1</td><td class="number">–</td>' in page
