"""The clusters so far, as points in the plane: a small SVG."""

from __future__ import annotations

import numpy as np

from s3c2.data.indexing import evenly_spread
from s3c2.page.results import Opinions
from s3c2.report.figures import PALE, colour_of

WIDTH, HEIGHT, EDGE = 480, 320, 16
MOST_POINTS = 800


def clusters_svg(opinions: Opinions) -> str:
    """Points in the colours of their clusters, and the number of each in its middle."""
    labels = opinions.view.labels
    points = opinions.points.astype(float)
    low, high = points.min(axis=0), points.max(axis=0)
    scaled = (points - low) / np.where(high > low, high - low, 1.0)
    x = EDGE + scaled[:, 0] * (WIDTH - 2 * EDGE)
    y = EDGE + (1 - scaled[:, 1]) * (HEIGHT - 2 * EDGE)
    shown = evenly_spread(len(x), MOST_POINTS)
    dots = "".join(
        f'<circle cx="{x[i]:.0f}" cy="{y[i]:.0f}" r="3" fill="{colour_of(int(labels[i]))}" '
        'fill-opacity=".75"/>'
        for i in shown
    )
    numbers = ""
    for cluster in np.unique(labels):
        inside = labels == cluster
        at_x, at_y = np.median(x[inside]), np.median(y[inside])
        colour = colour_of(int(cluster))
        ink = "#111" if colour in PALE else "#fff"
        numbers += (
            f'<circle cx="{at_x:.0f}" cy="{at_y:.0f}" r="11" fill="{colour}" stroke="#fff"/>'
            f'<text x="{at_x:.0f}" y="{at_y + 4:.0f}" fill="{ink}" font-size="12" '
            f'font-family="sans-serif" font-weight="bold" text-anchor="middle">{cluster}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f"{dots}{numbers}</svg>"
    )
