"""A folder of pictures: one size, grey or RGB, mapped to [0, 1]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from s3c2.data.arrays import refuse_id_column
from s3c2.data.data import Data, Preparation
from s3c2.data.scaling import Scaling
from s3c2.errors import DataError, MissingExtraError

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm")
MOST_BYTES = 8 * 2**30
MOST_PIXELS = 50_000_000  # of one picture


@dataclass(frozen=True)
class ImagePreparation(Preparation):
    """Height and width that every picture is resized to, and whether it is made grey."""

    kind: ClassVar[str] = "images"
    height: int
    width: int
    grey: bool

    @property
    def prepared_shape(self) -> tuple[int, ...]:
        return (self.height, self.width) if self.grey else (3, self.height, self.width)

    @classmethod
    def learn(cls, folder: Path) -> tuple[Data, ImagePreparation]:
        """Take the first picture's size; grey only when every picture is."""
        paths = picture_paths(folder)
        width, height = open_picture(paths[0]).size
        grey = all(is_grey(open_picture(path)) for path in paths)
        preparation = cls(height, width, grey)
        return preparation.read(folder, paths), preparation

    def apply(
        self, path: Path, *, id_column: str | None = None, scaling: Scaling | None = None
    ) -> Data:
        """Read a folder of pictures in the size and colours of ``fit``."""
        refuse_id_column(path, id_column)
        return self.read(path, picture_paths(path))

    def read(self, folder: Path, paths: list[Path]) -> Data:
        shape = self.prepared_shape
        needed = len(paths) * int(np.prod(shape)) * 4
        if needed > MOST_BYTES:
            raise DataError(
                f"{folder}: {len(paths)} pictures of {self.width} × {self.height} (the size of "
                f"the first, {paths[0].name}) need {needed / 2**30:.0f} GB of memory; at most "
                f"{MOST_BYTES / 2**30:.0f} GB are used. Make the pictures smaller first."
            )
        X = np.empty((len(paths), *shape), dtype=np.float32)
        for row, path in enumerate(paths):
            X[row] = self._pixels(open_picture(path))
        return Data(X, [path.relative_to(folder).as_posix() for path in paths])

    def _pixels(self, picture: Any) -> NDArray[np.float32]:
        picture = picture.convert("L" if self.grey else "RGB")
        if picture.size != (self.width, self.height):
            picture = picture.resize((self.width, self.height))
        pixels = np.asarray(picture, dtype=np.float32) / np.float32(255)
        return pixels if self.grey else np.moveaxis(pixels, -1, 0)


def picture_paths(folder: Path) -> list[Path]:
    """List the pictures in a folder and the folders below it, sorted by name."""
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder of pictures. Check the path.")
    paths = sorted(
        (
            path
            for path in folder.rglob("*")
            if path.suffix.lower() in ENDINGS and not path.name.startswith(".") and path.is_file()
        ),
        key=lambda path: path.relative_to(folder).as_posix(),
    )
    if not paths:
        raise DataError(
            f"{folder}: no picture in this folder, nor a Parquet file; expected files ending in "
            f"{', '.join(ENDINGS)} or .parquet. Of tables in other formats give one file."
        )
    for path in paths:
        if not _is_utf8(path.as_posix()):  # it becomes the row's id, which files must hold
            raise DataError(
                f"{folder}: the name of the picture {path.name!r} is not UTF-8. Rename the file."
            )
    return paths


def open_picture(path: Path) -> Any:
    """Open one picture upright, with 8 bits a colour; refuse what is not a picture."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise MissingExtraError("Reading pictures", "pillow", "app") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as file:
                _check_pixels(path, *file.size)
                _check_depth(path, file)
                file.load()
                picture = ImageOps.exif_transpose(file)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise _too_large(path, "more") from None
    except UnidentifiedImageError:
        raise _unreadable(path, "not a picture") from None
    except DataError:
        raise
    except Exception as error:  # the decoders raise errors of almost any kind
        raise _unreadable(path, str(error).rstrip(".")) from None
    if picture.mode.startswith("I"):  # 16 bits a pixel
        return Image.fromarray((np.asarray(picture, dtype=np.float64) / 257).astype(np.uint8))
    return picture


def _check_pixels(path: Path, width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise _too_large(path, f"{width} × {height}")


def _check_depth(path: Path, picture: Any) -> None:
    """Refuse 32 bits a pixel: no rule says which number is black and which is white."""
    # Mode "I" is 32 bits, but some versions of Pillow read 16 bits of these formats into it.
    if picture.mode == "F" or (picture.mode == "I" and picture.format not in ("PNG", "PPM")):
        raise DataError(
            f"{path}: this picture has 32 bits a pixel, and how bright its numbers are is not "
            f"known. Save it with 8 or 16 bits a pixel, or give all pictures as one NPY array."
        )


def _too_large(path: Path, pixels: str) -> DataError:
    return DataError(
        f"{path}: this picture is too large ({pixels} pixels, and at most {MOST_PIXELS:,} are "
        f"read). Make it smaller first, for example with 'mogrify -resize 512x512' of ImageMagick."
    )


def _unreadable(path: Path, reason: str) -> DataError:
    return DataError(f"{path}: this picture cannot be read ({reason}). Replace or remove the file.")


def is_grey(picture: Any) -> bool:
    if picture.mode in ("1", "L", "LA"):
        return True
    if picture.mode == "P":  # a palette may hold greys alone
        red, green, blue = (np.asarray(band) for band in picture.convert("RGB").split())
        return bool((red == green).all() and (green == blue).all())
    return False


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
