"""Reading NPY and NPZ files: numbers only, never through pickle, and damage ends in one line."""

from __future__ import annotations

import math
import warnings
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from s3c2.data.columns import check_file
from s3c2.errors import DataError

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_array(path: Path) -> NDArray[Any]:
    """Read an array of numbers, at least one row. An NPY file is memory-mapped."""
    check_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged header is parsed with warnings
            X = _read_npy(path) if _is_npy(path) else _read_npz(path)
    except DataError:
        raise
    except Exception:  # a changed byte makes NumPy and zipfile raise errors of almost any kind
        raise DataError(
            f"{path}: cannot be read as a NumPy file (the file is damaged or of another kind). "
            f"Save it again with numpy.save."
        ) from None
    if X.dtype == np.float16:
        return X.astype(np.float32)
    return X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))


def _is_npy(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX


def _read_npy(path: Path) -> NDArray[Any]:
    with path.open("rb") as file:
        _check_header(file, path, path.stat().st_size)
    X: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return X


def _read_npz(path: Path) -> NDArray[Any]:
    with zipfile.ZipFile(path) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if "X" not in members and len(members) != 1:
            raise DataError(
                f"{path}: the file holds {len(members)} arrays ({', '.join(list(members)[:5])}); "
                f"expected one, or one named X."
            )
        member = members["X"] if "X" in members else next(iter(members.values()))
        with archive.open(member) as file:
            _check_header(file, path, member.file_size)
        with archive.open(member) as file:
            X: NDArray[Any] = npy.read_array(file, allow_pickle=False)
            return X


def _check_header(file: Any, path: Path, n_bytes: int) -> None:
    """Refuse, before anything is loaded, what is no array of numbers, or not all there."""
    shape, dtype = _header(file)
    if dtype.hasobject:
        raise DataError(
            f"{path}: the array holds Python objects, which are never loaded. "
            f"Save it as numbers: numpy.save(path, X.astype(float))."
        )
    if dtype.kind not in "fiub":
        raise DataError(f"{path}: the array holds {dtype} values; expected numbers.")
    if len(shape) not in (2, 3, 4):
        raise DataError(
            f"{path}: the array has shape {shape}; expected (rows, columns), images "
            f"(rows, height, width) or (rows, channels, height, width)."
        )
    if 0 in shape:
        raise DataError(f"{path}: the array of shape {shape} is empty; expected rows of data.")
    if min(shape) < 0 or math.prod(shape) * dtype.itemsize > n_bytes - file.tell():
        raise DataError(
            f"{path}: the file is cut off: an array of shape {shape} needs more than its "
            f"{n_bytes:,} bytes. Save it again."
        )


def _header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    shape, _, dtype = _HEADERS[npy.read_magic(file)](file)
    return tuple(map(int, shape)), dtype
