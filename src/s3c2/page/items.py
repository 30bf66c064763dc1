"""The items of a data set: what a person looks at, and what tells one from another."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from s3c2.data import Data, Preparation, prepare
from s3c2.data.images import ImagePreparation, is_grey, open_picture, picture_paths
from s3c2.errors import DataError
from s3c2.report.pictures import as_bytes, rows_as_images

LARGEST_SIDE = 640  # pixels of a picture on the page
SMALL = 128  # pixels: a smaller picture is shown at more than twice its size, as squares
QUIET = {".ds_store", "thumbs.db", "desktop.ini"}  # files that folders have by themselves

Kind = Literal["image", "text", "table"]


@dataclass(frozen=True)
class Items:
    """All items of a data set.

    Attributes
    ----------
    data : rows and ids
    preparation : how raw data becomes rows, kept with the model
    kind : what an item is for the eye
    columns : names of a table's columns
    paths : of the pictures of a folder
    images : pictures that an array holds, (n, h, w) or (n, h, w, 3)
    left_out : files that are no items, each with the reason
    """

    data: Data
    preparation: Preparation
    kind: Kind
    columns: Sequence[str] = ()
    paths: Sequence[Path] | None = None
    images: NDArray[Any] | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.data.n_rows

    @cached_property
    def names(self) -> list[str]:
        """The ids, or row numbers, as text."""
        return self.data.names

    def content(self, row: int) -> str:
        """A mark of an item's content."""
        X = self.data.X
        if self.data.texts is not None:
            raw = self.data.texts[row].encode()
        else:
            one = X[row]
            raw = np.ascontiguousarray(one.toarray() if hasattr(one, "toarray") else one).tobytes()
        return hashlib.sha256(raw).hexdigest()[:32]

    def picture(self, row: int) -> tuple[bytes, str]:
        """A picture as a file, and its media type."""
        from PIL import Image

        if self.paths is not None:
            picture = open_picture(self.paths[row])
            picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
            picture = picture.convert("RGB" if picture.mode not in ("L", "RGB") else picture.mode)
        else:
            assert self.images is not None
            picture = Image.fromarray(as_bytes(self.images[row : row + 1])[0])
        if max(picture.size) < SMALL:  # a browser would blur it
            factor = -(-2 * SMALL // max(picture.size))
            size = picture.width * factor, picture.height * factor
            picture = picture.resize(size, Image.Resampling.NEAREST)
        buffer = io.BytesIO()
        picture.save(buffer, format="png")
        return buffer.getvalue(), "image/png"

    def values(self, row: int) -> list[str]:
        """The columns of a table's row, as text."""
        return [f"{value:.6g}" for value in np.asarray(self.data.X[row], dtype=float).tolist()]


def read_items(
    path: Path,
    *,
    id_column: str | None = None,
    text_column: str | None = None,
    drop: Sequence[str] = (),
    image_shape: tuple[int, int] | None = None,
) -> Items:
    """Read a data set; pictures that cannot be read are left out and named."""
    if path.is_dir():
        if id_column or text_column or drop or image_shape:
            raise DataError(
                f"{path}: --id-column, --text-column, --drop and --image-shape are not for a "
                f"folder of pictures; leave them out."
            )
        return _folder(path)
    data, preparation = prepare(path, id_column=id_column, text_column=text_column, drop=drop)
    if data.texts is not None:
        return Items(data, preparation, "text")
    images = rows_as_images(data.X, image_shape)
    if images is not None:
        low, high = (0.0, 1.0) if image_shape is None else (images.min(), images.max())
        images = (images - low) / ((high - low) or 1.0)  # one scale for all of them
        return Items(data, preparation, "image", images=images)
    if data.X.ndim > 2:
        raise DataError(f"{path}: images of shape {data.X.shape[1:]} cannot be shown.")
    columns = getattr(preparation, "columns", None) or [
        f"column {i}" for i in range(data.X.shape[1])
    ]
    return Items(data, preparation, "table", columns=columns)


def _folder(folder: Path) -> Items:
    """The pictures of a folder. A link that leads out of the folder is not followed."""
    inside = folder.resolve()
    good: list[Path] = []
    left_out = _others(folder)
    grey, size = True, None
    for path in picture_paths(folder):
        name = path.relative_to(folder).as_posix()
        try:
            if not path.resolve().is_relative_to(inside):
                raise DataError("it is a link that leads out of the folder")
            picture = open_picture(path)
        except DataError as error:
            left_out[name] = str(error).removeprefix(f"{path}: ")
            continue
        size = size or picture.size
        grey = grey and is_grey(picture)
        good.append(path)
    if size is None:
        raise DataError(
            f"{folder}: none of the {len(left_out)} files can be read as a picture. The first: "
            f"{next(iter(left_out.items()))}."
        )
    preparation = ImagePreparation(size[1], size[0], grey)
    data = preparation.read(folder, good)
    return Items(data, preparation, "image", paths=good, left_out=left_out)


def _others(folder: Path) -> dict[str, str]:
    """Files of a folder that are no pictures; what is hidden is not spoken of."""
    from s3c2.data.images import ENDINGS

    inside = {path.relative_to(folder): path for path in sorted(folder.rglob("*"))}
    return {
        name.as_posix(): "it is no picture"
        for name, path in inside.items()
        if path.is_file()
        and path.suffix.lower() not in ENDINGS
        and not any(part.startswith(".") for part in name.parts)
        and path.name.lower() not in QUIET
    }
