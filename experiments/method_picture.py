"""The drawing of docs/method.md: from rows and links to clusters. Nothing is trained for it.

python -m experiments.method_picture        # writes docs/images/method.png
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

MUST, CANNOT, WEAK, GREY = "#1b7837", "#b2182b", "#9aa5b1", "#8a8a8a"
CLUSTERS = ("#4477aa", "#ee7733", "#aa3377")


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Three bent groups of rows in the plane, and the group of each."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], 26)
    along = rng.uniform(-1, 1, len(y))
    centre = np.array([[-1.1, 0.7], [1.1, 0.6], [0.0, -1.0]])[y]
    bend = np.column_stack([along, 0.5 * along**2 * np.array([1, 1, -1])[y] - 0.2])
    return centre + 0.75 * bend + rng.normal(0, 0.09, (len(y), 2)), y


def mutual_neighbours(X: np.ndarray, k: int) -> list[tuple[int, int]]:
    d = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(d, np.inf)
    near = np.argsort(d, axis=1)[:, :k]
    return [(i, int(j)) for i in range(len(X)) for j in near[i] if i < j and i in near[j]]


def lines(axes: Any, X: np.ndarray, pairs: Any, color: str, width: float, **style: Any) -> None:
    for a, b in pairs:
        axes.plot(*X[[a, b]].T, color=color, lw=width, zorder=1, **style)


def main() -> None:
    X, y = rows()
    rng = np.random.default_rng(1)
    pick = [np.flatnonzero(y == k) for k in range(3)]
    across = [one[np.argsort(X[one, 0])] for one in pick]  # each group from left to right
    must = [(one[2], one[-3]) for one in across]
    cannot = [(across[a][i], across[b][j]) for a, i, b, j in ((0, -6, 1, 6), (1, 13, 2, 18))]
    h = np.array([[-1.1, 0.8], [1.1, 0.8], [0.0, -1.0]])[y] + rng.normal(0, 0.16, X.shape)
    labelled = rng.permutation(len(X))[:14]

    figure = Figure(figsize=(11, 2.6), dpi=150)
    FigureCanvasAgg(figure)
    titles = ["rows and links", "neighbours", "LabNet: h(x)", "labelled pairs", "CluNet: p(x)"]
    for axes, title in zip(figure.subplots(1, 5), titles):
        axes.set_title(title, fontsize=11)
        axes.set(xticks=[], yticks=[], xlim=(-2.1, 2.1), ylim=(-2, 1.8), aspect="equal")
        axes.spines[:].set_color("#dddddd")
    first, near, lab, pairs, clu = figure.axes
    for axes in (first, near):
        lines(axes, X, must, MUST, 1.8)
        lines(axes, X, cannot, CANNOT, 1.8)
        axes.scatter(*X.T, s=9, color=GREY, zorder=2)
    lines(near, X, mutual_neighbours(X, 5), WEAK, 0.7)
    lab.scatter(*h.T, s=9, color=GREY)
    every = [(a, b) for a in labelled for b in labelled if a < b]
    lines(pairs, X, [p for p in every if y[p[0]] != y[p[1]]], CANNOT, 0.4, alpha=0.35)
    lines(pairs, X, [p for p in every if y[p[0]] == y[p[1]]], MUST, 1.0)
    pairs.scatter(*X.T, s=9, color="#cccccc", zorder=2)
    pairs.scatter(*X[labelled].T, s=14, color="#444444", zorder=3)
    clu.scatter(*X.T, s=9, color=[CLUSTERS[k] for k in y])
    captions = [
        "must-links, cannot-links", "weak must-links", "linked rows are near",
        "d² < T: a must-link", "a cluster for every row",
    ]  # fmt: skip
    for axes, caption in zip(figure.axes, captions):
        axes.set_xlabel(caption, fontsize=9, color="#444444")
    figure.subplots_adjust(left=0.01, right=0.99, top=0.9, bottom=0.1, wspace=0.16)
    for before, after in zip(figure.axes, figure.axes[1:]):
        x = (before.get_position().x1 + after.get_position().x0) / 2
        figure.text(x, 0.5, "→", ha="center", va="center", fontsize=15, color="#444444")
    place = Path(__file__).parent.parent / "docs/images/method.png"
    figure.savefig(place)
    print(place)


if __name__ == "__main__":
    main()
