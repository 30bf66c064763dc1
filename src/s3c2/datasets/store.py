"""Where files of data sets are looked for: ``S3C2_DATA``, the cache folder, the public source."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from s3c2.datasets.registry import FILES, DataFile, Registry
from s3c2.errors import DatasetError

VARIABLE = "S3C2_DATA"


@dataclass(frozen=True)
class Store:
    """Finds files, checks them, and downloads what is missing.

    Attributes
    ----------
    given : the folder that the user names; looked into first, never written to
    cache : looked into next; downloads go there
    files : the files of each data set
    verbose : 0 shows no progress of downloads
    """

    given: Path | None
    cache: Path
    files: Registry = field(default_factory=lambda: FILES)
    verbose: int = 1

    @classmethod
    def of_user(cls, verbose: int = 1) -> Store:
        """The folder in ``S3C2_DATA``, if that is set, and the user's cache folder."""
        given = os.environ.get(VARIABLE)
        return cls(Path(given).expanduser() if given else None, cache_folder(), verbose=verbose)

    def places(self, file: DataFile) -> list[Path]:
        """Where the file is looked for, in this order."""
        return [folder / file.name for folder in (self.given, self.cache) if folder is not None]

    def find(self, file: DataFile) -> Path | None:
        """The first place where the file lies, checked or not."""
        return next((place for place in self.places(file) if place.exists()), None)

    def read(self, file: DataFile) -> bytes:
        """The content of a file that is there; a damaged one is refused."""
        path = self.find(file)
        if path is None:
            raise DatasetError(f"{file.name} is missing. {self.where_to_put(file)}")
        content = _content(path)
        if damage := file.damage(content):
            raise DatasetError(f"{path} is damaged: {damage}. {self.remedy(file, path)}")
        return content

    def contents(self, name: str) -> list[bytes]:
        """The contents of a data set's files; those that are missing are downloaded."""
        self.check_given()
        return [self._bring(file) for file in self.files[name]]

    def fetch(self, name: str) -> list[Path]:
        """Download what is missing of a data set, or damaged in the cache folder.

        Returns
        -------
        paths : where its files are
        """
        self.check_given()
        for file in self.files[name]:
            self._bring(file, replace_damaged=True)
        return [path for file in self.files[name] if (path := self.find(file))]

    def check_given(self) -> None:
        """Refuse a ``S3C2_DATA`` that is no folder: it is most likely mistyped."""
        if self.given is not None and not self.given.is_dir():
            raise DatasetError(
                f"{VARIABLE} is set to {self.given}, which is not a folder. "
                f"Set it to the folder with the data, or unset it."
            )

    def where_to_put(self, *files: DataFile) -> str:
        """Tell the user in one sentence where files of one data set have to be."""
        *others, last = [file.base for file in files]
        names = f"{', '.join(others)} and {last}" if others else last
        of = files[0].of
        if self.given:
            return f"Put {names} into {self.given / of} or {self.cache / of}."
        other = f"{of}/ of a folder that {VARIABLE} names"
        return f"Put {names} into {self.cache / of}, or into {other}."

    def _bring(self, file: DataFile, *, replace_damaged: bool = False) -> bytes:
        path = self.find(file)
        cached = self.cache / file.name
        broken = replace_damaged and path == cached and file.damage(_content(cached))
        if file.urls and (path is None or broken):
            from s3c2.datasets.download import download

            missing = [f for f in self.files[file.of] if f is file or self.find(f) is None]
            download(file, cached, otherwise=self.where_to_put(*missing), verbose=self.verbose)
        return self.read(file)

    def remedy(self, file: DataFile, path: Path) -> str:
        """Tell the user in one sentence what to do about a damaged file."""
        if not file.urls:
            return "Delete it, or put a sound copy in its place."
        if path == self.cache / file.name:
            return f"'s3c2 data fetch {file.of}' downloads it anew."
        return (
            f"Put a sound copy in its place; or delete it, or unset {VARIABLE}, and run "
            f"'s3c2 data fetch {file.of}'."
        )


def cache_folder() -> Path:
    """The user's cache folder for s3c2, where the platform wants it.

    It is the folder of ``pooch.os_cache("s3c2")``, found without importing pooch.
    """
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / "s3c2" / "s3c2" / "Cache"
    named = os.environ.get("XDG_CACHE_HOME", "").strip()
    if os.path.isabs(named):  # the standard wants any other to be ignored
        return Path(named) / "s3c2"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "s3c2"
    return Path.home() / ".cache" / "s3c2"


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(
            f"{path} cannot be read: {error.strerror or error}. Put a readable file there."
        ) from error
