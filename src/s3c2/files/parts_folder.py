"""A folder of Parquet parts of one run, which a later start of the same run completes.

A part is there whole or not at all. A note in the folder says which run the parts belong to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s3c2.errors import StorageError
from s3c2.files.arrow import parquet_bytes, parquet_size
from s3c2.files.atomic import UNFINISHED, write_atomically
from s3c2.files.model_files import make_folder

NOTE = "_s3c2.json"  # programs that read folders of Parquet leave out what begins so


@dataclass(frozen=True)
class PartsFolder:
    """Where the parts of a run go.

    Attributes
    ----------
    path : the folder
    sizes : rows of each part
    """

    path: Path
    sizes: Sequence[int]

    @classmethod
    def of_run(cls, path: Path, run: Mapping[str, Any], sizes: Sequence[int]) -> PartsFolder:
        """The folder of this run, new or as an earlier start left it; that of another is refused.

        Parameters
        ----------
        run : all that decides what the parts hold, as JSON
        """
        make_folder(path)
        note, content = path / NOTE, json.dumps({**run, "rows": list(sizes)}, indent=1)
        there = [one for one in path.iterdir() if not one.name.startswith(".")]
        if note.exists():
            if _text(note) != content:
                raise StorageError(
                    f"{path} holds parts of another run: another model, other ids, other data or "
                    "an older version of it. Give an empty folder with -o, or remove this one."
                )
        elif there:
            raise StorageError(
                f"{path} cannot be written: it holds {there[0].name}, which is no part of this "
                "run. Give an empty folder with -o."
            )
        else:
            write_atomically(note, content.encode())
        for left in path.glob(f".part-*{UNFINISHED}"):  # by a kill in the middle of a part
            left.unlink(missing_ok=True)
        return cls(path, sizes)

    @classmethod
    def left_by_a_run(cls, path: Path) -> PartsFolder | None:
        """The folder as a run left it, or None if it is none of ours."""
        try:
            return cls(path, json.loads(_text(path / NOTE))["rows"])
        except (ValueError, KeyError, TypeError):
            return None

    def file(self, number: int) -> Path:
        """Where a part goes."""
        return self.path / f"part-{number:05d}.parquet"

    def missing(self) -> list[int]:
        """The numbers of the parts that are not there yet."""
        return [n for n, size in enumerate(self.sizes) if not self._is_there(n, size)]

    def write(self, number: int, columns: Mapping[str, Any]) -> None:
        """Write a part in one piece; written again it is the same."""
        write_atomically(self.file(number), parquet_bytes(columns))

    def _is_there(self, number: int, size: int) -> bool:
        file = self.file(number)
        return file.is_file() and parquet_size(file)[0] == size


def _text(note: Path) -> str:
    try:
        return note.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
