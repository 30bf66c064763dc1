"""What can go wrong with what a user gave, as one small tree.

::

    ValueError
    └── S3C2Error               everything below; the message says what, where and the remedy
        ├── ClusterError        several machines or processes: one is missing, lost, or different
        ├── DataError           X: not finite, not numeric, wrong shape or columns
        ├── DatasetError        a public data set: missing, damaged, cannot be downloaded
        ├── LinksError          links: unknown rows, unreadable files, none of a kind
        │   ├── ContradictoryLinksError   must-links and cannot-links that exclude each other
        │   └── RowNumberError  a link of a row that there is not; perhaps it is an id
        ├── OutOfMemoryError    a network and its batch: too large for the GPU
        └── StorageError        a model, a checkpoint or an output that cannot be read or written
            ├── OtherFitError   a checkpoint of a fit with other settings, data or links
            └── TableError      a table; what it is for makes it a DataError or LinksError

    ImportError
    └── MissingExtraError       a part needs packages that an extra installs

    UserWarning
    ├── LinksWarning            links that were left out, or cannot all hold
    │   ├── NoLinksWarning      a fit without links
    │   └── TooFewClustersWarning   links that ask for more clusters than there will be
    └── EmptyClustersWarning    a fit that put no row into some clusters
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class S3C2Error(ValueError):
    """Something the user gave cannot be used."""


class ClusterError(S3C2Error):
    """Machines or processes that should work together cannot."""


class DataError(S3C2Error):
    """X cannot be used."""


class DatasetError(S3C2Error):
    """A public data set is missing, damaged, or cannot be downloaded."""


class LinksError(S3C2Error):
    """The links cannot be used."""


class ContradictoryLinksError(LinksError):
    """Some must-links and cannot-links exclude each other."""


class RowNumberError(LinksError):
    """A link names something that is no row number; it may be an id.

    Parameters
    ----------
    problem : str
        What is wrong, and where.
    remedy : str
        How to mend it in Python. The command line has its own.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}"


class OutOfMemoryError(S3C2Error):
    """A network and its batch do not fit into the GPU's memory."""


class StorageError(S3C2Error):
    """A file or folder cannot be read or written."""


class OtherFitError(StorageError):
    """A checkpoint belongs to a fit with other settings, data or links."""


class TableError(StorageError):
    """A table cannot be read or written. Raised again as LinksError or DataError."""


class MissingExtraError(ImportError):
    """A part of s3c2 needs packages that an extra installs."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package '{package}'. Install it with: pip install 's3c2[{extra}]'"
        )


class DataWarning(UserWarning):
    """Data that is taken as it is, and is probably meant otherwise."""


class LinksWarning(UserWarning):
    """Links that were left out, or that cannot all hold."""


class NoLinksWarning(LinksWarning):
    """There are no links, and the clusters follow from the rows alone."""


class TooFewClustersWarning(LinksWarning):
    """The links ask for more clusters than there will be."""


class EmptyClustersWarning(UserWarning):
    """A fit put no row into some of the clusters that were asked for."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn the caller: the line that is shown is the first one outside of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def kept_warnings() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Collect what the library warns of, for ``warn`` in another process; others are dropped."""
    said: list[tuple[str, type[Warning]]] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    ours = [one for one in caught if one.category.__module__ == __name__]
    said += [(str(one.message), one.category) for one in ours]


def _is_ours(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__", "")).split(".")[0]
    return package in ("s3c2", "sklearn")  # which calls fit in searches and pipelines
