"""The page of a model without links, and the links that the page doubts."""

import copy
import re

import numpy as np
import pytest

from s3c2 import S3C2, Links
from s3c2.report import Answers, write_report
from s3c2.report.content import gather


@pytest.fixture
def judged(digits):
    """The model of the digits as if its links had been found so: (X, links, function)."""
    X, links, fitted = digits

    def model(pairs, doubts):
        made = copy.copy(fitted)
        made.labnet_ = copy.copy(fitted.labnet_)
        made.labnet_.suspicious_links_ = None if pairs is None else np.asarray(pairs)
        made.labnet_.link_doubts_ = None if doubts is None else np.asarray(doubts)
        return made

    return X, links, model


def written(folder, *args, **options):
    write_report(folder / "r.html", *args, **options)
    return (folder / "r.html").read_text(encoding="utf-8")


def table(html):
    """(rows, link, doubt) of each doubted link on the page."""
    part = html.split("Links that may be wrong")[1].split("</table>")[0]
    cells = r'<tr><th scope="row">(.*?)</th><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td></tr>'
    return re.findall(cells, part)


def test_doubted_links_are_listed_by_id_with_their_kind(tmp_path, judged):
    X, links, model = judged
    must, cannot = links.must[3], links.cannot[5]
    pairs = [cannot[::-1], must, links.must[0], links.cannot[0]]
    ids = [f"<{row}>" for row in range(len(X))]
    html = written(tmp_path, model(pairs, [0.91, 0.51, 0.5, 0.0]), X, links, ids=ids)
    assert table(html) == [
        (f"&lt;{cannot[1]}&gt; – &lt;{cannot[0]}&gt;", "cannot", "0.91"),
        (f"&lt;{must[0]}&gt; – &lt;{must[1]}&gt;", "must", "0.51"),
    ]
    assert "The neighbours of the two rows say otherwise" in html
    assert "Check them" in html
    assert "These are the first" not in html


def test_at_most_twenty_are_listed(tmp_path, judged):
    X, links, model = judged
    html = written(tmp_path, model(links.must, np.linspace(1, 0.6, links.n_must)), X, links)
    assert len(table(html)) == 20
    assert f"These are the first 20 of {links.n_must}." in html


@pytest.mark.parametrize("doubts", [None, 0.5])
def test_no_table_where_none_is_doubted_or_links_were_not_judged(tmp_path, judged, doubts):
    X, links, model = judged
    found = (None, None) if doubts is None else (links.must, np.full(links.n_must, doubts))
    answers = Answers(model(*found), X, links)
    assert answers.doubted_links == (None if doubts is None else [])
    assert "may be wrong" not in written(tmp_path, answers.model, X, links, answers=answers)


def test_images_and_texts_of_both_rows_are_shown(tmp_path, judged):
    X, links, model = judged
    a, b = links.must[0]
    one = model([links.must[0]], [0.9])
    plain = written(tmp_path, one, X, links)
    assert table(plain) == [(f"{a} – {b}", "must", "0.90")]
    with_images = written(tmp_path, one, X, links, image_shape=(8, 8))
    ((shown, _, _),) = table(with_images)
    assert shown.startswith(f"{a} – {b}<div")
    assert shown.count("data:image/png") == 1
    texts = [f"story {row} & more" for row in range(len(X))]
    ((shown, _, _),) = table(written(tmp_path, one, X, links, texts=texts))
    assert f"story {a} &amp; more" in shown
    assert f"story {b} &amp; more" in shown


def test_links_that_the_page_is_not_about_are_left_out(judged):
    X, links, model = judged
    some = Links(must=links.must, n_samples=len(X))
    fitted = model([links.must[0], links.cannot[0]], [0.9, 0.8])
    (only,) = Answers(fitted, X, some).doubted_links
    assert (only.a, only.b, only.kind) == (*links.must[0], "must")


@pytest.mark.filterwarnings("ignore::s3c2.errors.NoLinksWarning")
def test_page_without_links(tmp_path, blobs, small):
    X, _ = blobs
    links = Links(must=[], cannot=[], n_samples=len(X))
    model = S3C2(3, **small).fit(X)
    content = gather(model, X, links)
    assert (content.ml_rate, content.cl_rate, content.doubted) == (None, None, [])
    html = written(tmp_path, model, X, links)
    assert "found without links, from the neighbours of the rows alone" in html
    assert "There are no links" in html
    assert html.count("data:image/svg+xml") == 2  # the training and the plane
    assert "Histogram" not in html
    assert "<dt>ML rate</dt><dd>–</dd>" in html
    assert "may be wrong" not in html
    assert "nan" not in re.sub(r"data:image/[^\"]*", "", html)


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_page_with_links_of_one_kind(tmp_path, digits, kind):
    X, links, model = digits
    html = written(tmp_path, model, X, Links(**{kind: getattr(links, kind)}, n_samples=len(X)))
    none = {"must": "CL rate", "cannot": "ML rate"}[kind]
    assert f"<dt>{none}</dt><dd>–</dd>" in html
    assert "Histogram" in html
