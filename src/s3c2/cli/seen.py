"""What ``s3c2 fit`` learns from: all rows and links, or of data past memory some of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s3c2.cli.data_options import read_links, refuse_contradictions
from s3c2.cli.messages import say
from s3c2.errors import LinksError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from s3c2.data import Data
    from s3c2.links import Links
    from s3c2.sampled import Sampled


@dataclass(frozen=True)
class Seen:
    """The rows and links that training sees.

    Attributes
    ----------
    X : rows
    names : of these rows
    texts : of these rows, if they are texts
    given : the links as the file has them, consistent
    links : by row number of X
    n_left_out : how many contradictory links were left out
    sampled : where X is only a part of the data, how it was taken
    """

    X: Any
    names: list[str]
    texts: list[str] | None
    given: Links
    links: Links
    n_left_out: int
    sampled: Sampled | None = None

    @property
    def numbers(self) -> NDArray[Any] | None:
        """The rows' numbers among all rows, where X is only a part of them."""
        return None if self.sampled is None else self.sampled.numbers

    @property
    def whole_names(self) -> list[str] | None:
        """The names of what ``given`` speaks of; None where it holds the names themselves."""
        return self.names if self.sampled is None else None

    @classmethod
    def of(
        cls,
        rows: Data,
        path: Path | None,
        contradictions: str,
        memory: int,
        verbose: int,
        may_lack: bool = False,
    ) -> Seen:
        """Read the links of a file, and take the rows that training sees.

        ``may_lack``: links may speak of ids that no row has, since files were left out.
        """
        from s3c2.data.streams import Stream
        from s3c2.sampled import sample, tell

        links, n_left_out = _links(rows, path, contradictions, verbose)
        if not isinstance(rows.X, Stream):
            return cls(rows.X, rows.names, rows.texts, links, links, n_left_out)
        sampled = sample(rows.X, [links], memory, verbose)
        if links.by_id and not may_lack:
            _refuse_unknown(links, sampled.names, path)
        tell(sampled, memory, verbose)
        of_some = sampled.resolve(links)
        return cls(sampled.X, sampled.names, None, links, of_some, n_left_out, sampled)


def _refuse_unknown(links: Links, names: list[str], path: Path | None) -> None:
    """Refuse links that speak of ids that no row has."""
    known = set(names)
    ends = [str(end) for pairs in (links.must, links.cannot) for pair in pairs for end in pair]
    unknown = list(dict.fromkeys(end for end in ends if end not in known))
    if unknown:
        more = f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""
        raise LinksError(
            f"{path}: {unknown[0]!r}{more} is not among the ids of the data. Mend the links, or "
            "the ids."
        )


def _links(rows: Data, path: Path | None, contradictions: str, verbose: int) -> tuple[Links, int]:
    """The links of the file, and how many contradictory ones were left out if not refused."""
    from s3c2.links import Links

    if path is None:
        return Links(must=[], cannot=[], n_samples=rows.n_rows), 0
    if getattr(rows.X, "has_ids", False):
        links = Links.read(path)  # the ids of the rows are not known before they are read
    else:
        links = read_links(path, ids=rows.ids, n_rows=rows.n_rows)
    if contradictions == "raise":
        refuse_contradictions(links, path)
        return links, 0
    kept, n_dropped = links.without_contradictions()
    if n_dropped:
        say(
            f"{n_dropped:,} of {links.n_links:,} links were left out, since they exclude each "
            f"other; 's3c2 links check {path}' shows which.",
            quiet=not verbose,
        )
    return kept, n_dropped
