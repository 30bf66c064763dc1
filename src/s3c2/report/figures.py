"""The report's figures, each a function from arrays to a matplotlib figure.

Figures are made without pyplot, so that the caller's matplotlib state stays as it is. Colours
are Petroff's ten, chosen to be told apart with any kind of colour vision.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from s3c2.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.floating[Any]]

INK = "#1f2430"  # text and axes; in SVG it follows the page's own colour, light or dark
MUST, CANNOT = "#3f90da", "#e76300"
COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
NETWORKS = {"labnet": "LabNet", "clunet": "CluNet"}  # in the order of their panels
MARKERS = "os^DvPX<>p"  # a new one for every further ten clusters
PALE = {"#ffa90e", "#94a4a2", "#b9ac70", "#92dadd"}  # a dark number reads better on these


def training_curves(history: Mapping[str, Mapping[str, Floats]]) -> Figure:
    """Loss against step, one panel a network."""
    stages = {name: history.get(key, {}) for key, name in NETWORKS.items()}
    panels = [(name, curves) for name, curves in stages.items() if "loss" in curves]
    figure = new_figure(9, 3)
    for place, (name, curves) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        # A term of zeros says nothing: that of links, where there are none.
        terms = [what for what, each in curves.items() if what != "loss" and np.any(each)]
        for number, what in enumerate(["loss", *terms]):  # the loss has the same colour everywhere
            _curve(axes, np.asarray(curves[what], dtype=float), what, COLOURS[number])
        _label(axes, title=name, x="step", y="loss")
        if terms:
            _legend(axes)
    return figure


def distance_histogram(must: Floats, cannot: Floats, threshold: float) -> Figure:
    """Squared distances of must-links and of cannot-links, with T marked."""
    figure = new_figure(5, 3.2)
    axes = figure.add_subplot()
    bins = np.linspace(0, _last_distance(must, cannot, threshold), 41).tolist()
    for values, what, colour in ((must, "must-links", MUST), (cannot, "cannot-links", CANNOT)):
        if len(values):
            shown = np.clip(values, 0, bins[-1])
            share = np.full(len(values), 100 / len(values))
            axes.hist(shown, bins, weights=share, color=colour, alpha=0.35, label=what)
            axes.hist(shown, bins, weights=share, color=colour, histtype="step", linewidth=1.5)
    _mark_threshold(axes, threshold)
    _label(axes, x="squared distance d²", y="% of the links")
    _legend(axes)
    return figure


def rates_against_threshold(must: Floats, cannot: Floats, threshold: float) -> Figure:
    """ML rate (must-links with d² < T) and CL rate (cannot-links with d² ≥ T) for every T."""
    figure = new_figure(5, 3.2)
    axes = figure.add_subplot()
    thresholds = np.linspace(0, _last_distance(must, cannot, threshold), 400)
    if len(must):
        ml_rate = 100 * np.searchsorted(np.sort(must), thresholds, "left") / len(must)
        axes.plot(thresholds, ml_rate, color=MUST, linewidth=2, label="ML rate")
    if len(cannot):
        cl_rate = 100 - 100 * np.searchsorted(np.sort(cannot), thresholds, "left") / len(cannot)
        axes.plot(thresholds, cl_rate, color=CANNOT, linewidth=2, linestyle="--", label="CL rate")
    axes.set_ylim(-3, 106)
    _mark_threshold(axes, threshold)
    _label(axes, x="threshold T", y="% right")
    _legend(axes)
    return figure


def plane_view(points: Floats, labels: NDArray[np.integer[Any]]) -> Figure:
    """Draw points of shape (rows, 2) in the colour of their cluster, its number in the middle."""
    figure = new_figure(7, 5)
    draw_plane(figure.add_subplot(), points, labels)
    return figure


def draw_plane(axes: Axes, points: Floats, labels: NDArray[np.integer[Any]]) -> None:
    """Scatter the points; clusters keep their colour and marker from figure to figure."""
    size = float(np.clip(6000 / max(len(points), 1), 6, 30))
    clusters = np.unique(labels)
    for cluster in clusters:
        chosen = points[labels == cluster]
        axes.scatter(
            chosen[:, 0],
            chosen[:, 1],
            s=size,
            color=colour_of(cluster),
            marker=MARKERS[cluster // len(COLOURS) % len(MARKERS)],
            alpha=0.85,
            linewidths=0,
            rasterized=True,
        )
    for cluster in clusters:
        x, y = np.median(points[labels == cluster], axis=0)
        draw_number(axes, x, y, cluster)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def draw_number(axes: Axes, x: float, y: float, cluster: int) -> None:
    """Write a cluster's number on a disc of its colour."""
    colour = colour_of(cluster)
    axes.text(
        x,
        y,
        str(cluster),
        color="#111111" if colour in PALE else "#ffffff",
        fontsize=9,
        fontweight="bold",
        ha="center",
        va="center",
        bbox={"boxstyle": "circle,pad=0.25", "facecolor": colour, "edgecolor": "#ffffff"},
    )


def colour_of(cluster: int) -> str:
    """Return a cluster's colour, the same in every figure."""
    return COLOURS[cluster % len(COLOURS)]


def as_svg(figure: Figure) -> bytes:
    """Write a figure as SVG whose ink follows the reader's light or dark scheme.

    The same figure gives the same bytes: ids are made from what they name, not drawn at random.
    """
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "s3c2"}):
        figure.savefig(buffer, format="svg", transparent=True, dpi=160, metadata={"Date": None})
    svg = buffer.getvalue().replace(INK, "currentColor")
    style = (
        f"<style>svg{{color:{INK}}}"
        "@media (prefers-color-scheme:dark){svg{color:#d8dbe2}}</style>"
    )
    head, mark, tail = svg.partition("<defs>")
    return f"{head}{style}{mark}{tail}".encode()


def as_png(figure: Figure, dpi: int = 150) -> bytes:
    """Write a figure as PNG on white."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, facecolor="#ffffff")
    return buffer.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of this size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("The report", "matplotlib", "app") from None
    return Figure(figsize=(width, height), layout="constrained")


def _curve(axes: Axes, values: Floats, what: str, colour: str) -> None:
    steps = np.arange(1, len(values) + 1)
    window = max(1, len(values) // 50)
    if window == 1:
        axes.plot(steps, values, color=colour, linewidth=1.8, label=what)
        return
    axes.plot(steps, values, color=colour, linewidth=0.6, alpha=0.3, rasterized=True)
    mean = np.convolve(values, np.full(window, 1 / window), mode="valid")
    axes.plot(steps[window - 1 :], mean, color=colour, linewidth=1.8, label=what)


def _last_distance(must: Floats, cannot: Floats, threshold: float) -> float:
    """Where the axis ends: past T and past all but the largest hundredth of the distances."""
    distances = np.concatenate([must, cannot])
    usual = float(np.quantile(distances, 0.99)) if len(distances) else 0.0
    return max(usual, 2 * threshold, 1e-3)


def _mark_threshold(axes: Axes, threshold: float) -> None:
    axes.axvline(threshold, color=INK, linewidth=1.2, linestyle=":")
    axes.annotate(
        f"T = {threshold:.3g}",
        (threshold, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=INK,
        fontsize=9,
    )


def _label(axes: Axes, *, title: str = "", x: str = "", y: str = "") -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_xlabel(x, color=INK, fontsize=10)
    axes.set_ylabel(y, color=INK, fontsize=10)
    axes.tick_params(colors=INK, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_color(INK)
        spine.set_visible(side in ("left", "bottom"))
    axes.margins(x=0.02)


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="best")
