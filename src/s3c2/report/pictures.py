"""Rows that are images, as pictures for the page."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s3c2.errors import DataError
from s3c2.report.content import Content
from s3c2.report.figures import Floats, draw_number, draw_plane, new_figure

MOST_HEIGHT = 96  # of a picture on the page, in pixels
GAP = 0.12  # between two pictures of a strip, as a share of their height


def rows_as_images(X: Any, image_shape: tuple[int, int] | None) -> NDArray[Any] | None:
    """View X as images (rows, height, width[, 3]), or None when its rows are no images.

    ``image_shape`` says that each row is a flattened grey image of this height and width.
    """
    if image_shape is not None:
        if X.ndim != 2 or X.shape[1] != image_shape[0] * image_shape[1]:
            raise DataError(
                f"Images of {image_shape[0]} × {image_shape[1]} need rows of "
                f"{image_shape[0] * image_shape[1]} numbers. Got X of shape {X.shape}. Give the "
                "shape that they have, name a column of ids, or leave out other columns."
            )
        return np.asarray(X).reshape(len(X), *image_shape)
    if X.ndim == 3:
        return np.asarray(X)
    if X.ndim == 4 and X.shape[1] in (1, 3):
        images = np.moveaxis(np.asarray(X), 1, -1)
        return images[..., 0] if images.shape[-1] == 1 else images
    return None


def strip_png(images: NDArray[Any]) -> bytes:
    """Set images side by side on a transparent ground, as one PNG; dark stays dark."""
    from PIL import Image

    images = _small_enough(images)
    height, width = images.shape[1:3]
    gap = max(1, round(GAP * height))
    strip = np.zeros((height, len(images) * (width + gap) - gap, 4), dtype=np.uint8)
    for place, image in enumerate(as_bytes(images)):
        left = place * (width + gap)
        strip[:, left : left + width, :3] = image if image.ndim == 3 else image[..., None]
        strip[:, left : left + width, 3] = 255
    buffer = io.BytesIO()
    Image.fromarray(strip).save(buffer, format="png")
    return buffer.getvalue()


def _small_enough(images: NDArray[Any]) -> NDArray[Any]:
    """Average large images down to blocks of pixels, so that the page stays light."""
    step = max(1, images.shape[1] // MOST_HEIGHT)
    height, width = (size // step for size in images.shape[1:3])
    if step == 1 or width == 0:
        return images
    cut = images[:, : height * step, : width * step]
    blocks = cut.reshape(len(images), height, step, width, step, *images.shape[3:])
    return np.asarray(blocks.mean(axis=(2, 4)))


def clusters_figure(content: Content, images: NDArray[Any]) -> Any:
    """Each cluster's most typical images in a row, beside the plane view: for a README."""
    filled = [cluster for cluster, rows in enumerate(content.typical) if len(rows)]
    figure = new_figure(11, 5)
    grid, plane = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
    height, width = images.shape[1:3]
    for line, cluster in enumerate(filled):
        top = line * 1.15
        for place, image in enumerate(as_bytes(images[content.typical[cluster]])):
            at = place * 1.1 * width / height
            grid.imshow(image, cmap="gray_r", extent=(at, at + width / height, top + 1, top))
        draw_number(grid, -0.8, top + 0.5, cluster)
    grid.set_xlim(-1.4, 11 * width / height)
    grid.set_ylim(len(filled) * 1.15, -0.1)
    grid.set_aspect("equal")
    grid.axis("off")
    draw_plane(plane, content.points, content.labels[content.shown_rows])
    return figure


def as_bytes(images: NDArray[Any]) -> NDArray[np.uint8]:
    """Stretch values to 0 … 255 over all the images together."""
    values: Floats = np.asarray(images, dtype=float)
    low, high = (values.min(), values.max()) if values.size else (0.0, 1.0)
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    return ((values - low) / ((high - low) or 1.0) * 255).round().astype(np.uint8)
