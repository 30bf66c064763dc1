"""Writing what a command made: checked before the work, whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s3c2.cli.messages import say
from s3c2.errors import DataError, MissingExtraError, S3C2Error, StorageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from s3c2 import S3C2
    from s3c2.data.streams import Stream


def label_table(posteriors: NDArray[Any], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    """List id, cluster and probability of every row."""
    import numpy as np
    import torch

    from s3c2.labelling import label_columns, top_of

    top = top_of(torch.from_numpy(np.asarray(posteriors))).numpy()
    columns = label_columns(top, np.array(names, dtype=object), 0)
    return {name: values.tolist() for name, values in columns.items()}


class LeftOut:
    """Parts that could not be read, told of as they are met."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.errors: list[DataError] = []

    def note(self, error: DataError) -> None:
        self.errors.append(error)
        say(f"Left out: {error}", quiet=self.quiet)

    def in_words(self) -> str:
        n = len(self.errors)
        return "" if n == 0 else f"; {n:,} {'part was' if n == 1 else 'parts were'} left out"


def write_label_parts(path: Path, model: S3C2, model_folder: Path, data: Stream) -> None:
    """Write the labels of data past memory as Parquet parts, in place of an earlier fit's."""
    from s3c2.files.parts_folder import NOTE
    from s3c2.labelling import Labelling, folder_of_run, id_column_of

    for old in (path / NOTE, *path.glob("part-*.parquet")):
        old.unlink(missing_ok=True)
    folder = folder_of_run(path, model_folder, data, id_column_of(model))
    Labelling(model, data).into_folder(folder, model.verbose)


def check_table_name(path: Path) -> None:
    """Refuse an ending that no table has, and a place that cannot be written."""
    from s3c2.files.tables import ENDINGS

    if path.suffix.lower() not in ENDINGS:
        raise StorageError(
            f"{path}: cannot be written: the ending must be one of {', '.join(ENDINGS)}. "
            f"Give such a name."
        )
    check_writable_file(path)


def is_parts_folder(path: Path) -> bool:
    """Whether this names a folder for parts, and not a table."""
    return path.is_dir() or path.suffix == ""


def check_writable_file(path: Path) -> None:
    """Refuse, before the work begins, a file that could not be written at its end."""
    if path.is_dir():
        raise StorageError(f"{path}: cannot be written: it is a folder. Give the name of a file.")
    if not path.parent.is_dir():
        raise StorageError(
            f"{path}: cannot be written: there is no folder {path.parent}. Make it first."
        )
    _try_writing(path, path.parent)


def check_is_no_input(out: Path, *given: Path | None) -> None:
    """Refuse to write over a file or folder that is read."""
    for path in given:
        if path is not None and path.exists() and out.resolve() == path.resolve():
            raise StorageError(
                f"{out}: cannot be written: it is what is read, and would be replaced. Give "
                "another name with -o."
            )


def check_is_ours(folder: Path, made_with: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a folder whose files would be replaced, and were not made by the same command.

    Parameters
    ----------
    made_with : one of these is there as well if the command made them
    names : the files and folders that it will write
    """
    if any((folder / name).exists() for name in made_with):
        return
    for name in names:
        if (folder / name).exists():
            raise StorageError(
                f"{folder} holds {name}, which this command did not make there. It would be "
                "replaced: choose another folder with -o."
            )


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
