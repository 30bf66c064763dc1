"""Figures show the numbers they are given, and leave the caller's matplotlib alone."""

import subprocess
import sys

import numpy as np
import pytest

from s3c2.errors import MissingExtraError
from s3c2.report import figures


def test_rates_are_those_of_the_paper_below_at_and_above_the_threshold():
    must, cannot = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.4])
    figure = figures.rates_against_threshold(must, cannot, 0.3)
    ml_rate, cl_rate = figure.axes[0].lines[:2]
    at = np.searchsorted(ml_rate.get_xdata(), 0.3)  # the first T of at least 0.3
    assert ml_rate.get_ydata()[at - 1] == pytest.approx(200 / 3)  # 0.3 < T does not hold yet
    assert ml_rate.get_ydata()[at + 1] == 100
    assert cl_rate.get_ydata()[at - 1] == 100
    assert cl_rate.get_ydata()[at + 1] == 50


def test_threshold_is_marked():
    figure = figures.distance_histogram(np.array([0.1]), np.array([0.9]), 0.25)
    (line,) = figure.axes[0].lines
    assert list(line.get_xdata()) == [0.25, 0.25]
    assert figure.axes[0].texts[0].get_text() == "T = 0.25"


@pytest.mark.parametrize("n", [0, 1])
def test_figures_of_few_links(n):
    few = np.full(n, 0.5)
    for draw in (figures.distance_histogram, figures.rates_against_threshold):
        assert figures.as_svg(draw(few, few[:0], 0.3)).startswith(b"<?xml")


def test_more_than_ten_clusters_differ_by_marker():
    points = np.random.default_rng(0).normal(size=(60, 2))
    figure = figures.plane_view(points, np.arange(60) % 12)
    shapes = [s.get_paths()[0].vertices.shape for s in figure.axes[0].collections]
    assert len(shapes) == 12
    assert shapes[0] != shapes[10]


def test_svg_ink_follows_the_scheme():
    svg = figures.as_svg(figures.training_curves({"clunet": {"loss": np.ones(500)}})).decode()
    assert "currentColor" in svg
    assert "prefers-color-scheme:dark" in svg
    assert svg.count(figures.INK) == 1  # the light scheme's own colour


def test_no_pyplot():
    code = (
        "import sys, numpy as np; from s3c2.report import figures;"
        "figures.as_png(figures.training_curves({'labnet': {'loss': np.ones(5)}}));"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"report needs .*matplotlib.*s3c2\[app\]"):
        figures.plane_view(np.zeros((1, 2)), np.zeros(1, int))
