"""Writing what a command made: checked before the work, whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s3c2.errors import MissingExtraError, S3C2Error, StorageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def label_table(posteriors: NDArray[Any], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    """List id, cluster and probability of every row."""
    return {
        "id": names,
        "cluster": posteriors.argmax(axis=1).tolist(),
        "probability": [round(p, 6) for p in posteriors.max(axis=1).tolist()],
    }


def check_table_name(path: Path) -> None:
    """Refuse an ending that no table has, and a place that cannot be written."""
    from s3c2.files.tables import ENDINGS

    if path.suffix.lower() not in ENDINGS:
        raise StorageError(
            f"{path}: cannot be written: the ending must be one of {', '.join(ENDINGS)}. "
            f"Give such a name."
        )
    check_writable_file(path)


def check_writable_file(path: Path) -> None:
    """Refuse, before the work begins, a file that could not be written at its end."""
    if path.is_dir():
        raise StorageError(f"{path}: cannot be written: it is a folder. Give the name of a file.")
    if not path.parent.is_dir():
        raise StorageError(
            f"{path}: cannot be written: there is no folder {path.parent}. Make it first."
        )
    _try_writing(path, path.parent)


def check_model_folder(path: Path) -> None:
    """Refuse, before the work begins, a place where no model could be saved."""
    from s3c2.files.model_files import MODEL_FILE

    if path.is_dir():
        check_writable_file(path / MODEL_FILE)
    elif path.exists():
        raise StorageError(
            f"{path}: cannot be written: it is a file, and the model needs a folder there. "
            f"Remove it, or give another folder."
        )


def check_matplotlib(otherwise: str = "") -> None:
    """Find out before the training, not after it; ``otherwise`` ends the message."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        missing = MissingExtraError("The report", "matplotlib", "app")
        raise S3C2Error(f"{missing}{otherwise}") from None


@contextmanager
def output_folder(path: Path) -> Iterator[Path]:
    """Make the folder, and remove it again when the work fails and leaves nothing in it."""
    made = [place for place in (path, *path.parents) if not place.exists()]
    there = next(place for place in (path, *path.parents) if place.exists())
    if not there.is_dir():
        raise StorageError(
            f"{path}: cannot be written: {there} is a file, and a folder is needed there. "
            f"Give another name."
        )
    _try_writing(path, there)
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    finally:
        for place in made:
            if not any(place.iterdir()):
                place.rmdir()


def _try_writing(path: Path, folder: Path) -> None:
    try:
        with tempfile.NamedTemporaryFile(prefix=".s3c2-", dir=folder):
            pass
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written ({error.strerror}). Give a place where you may write."
        ) from None
