"""Links: pairs of rows judged the same (must-links) or different (cannot-links)."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from s3c2.errors import ContradictoryLinksError, LinksError, LinksWarning, warn
from s3c2.links.checked import CheckedPairs, check_n_samples, check_pairs
from s3c2.links.closure import Closure, LinkGraph, cannot_clique, link_graph
from s3c2.links.contradictions import Contradictions, consistent_part, find_contradictions
from s3c2.links.files import read_links, write_links
from s3c2.links.folds import fold_of_links
from s3c2.links.ids import (
    IdIndex,
    Ids,
    as_ids,
    check_rows,
    check_same_rows,
    check_sample_id,
    kind,
    report_left_out,
)
from s3c2.links.sampling import draw_chains, draw_pairs
from s3c2.naming import many

_CONTRADICTIONS_SHOWN = 3


class Links:
    """Must-links and cannot-links between rows, checked and read-only.

    A `Links` has no length, shape or items, on purpose: scikit-learn slices every fit parameter
    that is as long as X, and sliced links would meet the wrong rows without an error.

    Parameters
    ----------
    must, cannot : sequences of pairs or arrays of shape (m, 2)
        Rows judged the same, and rows judged different. Row numbers when `n_samples` is given,
        otherwise ids: all integers or all strings. A pair given twice, in either order, counts
        once with its largest weight; a must-link of a row to itself is left out.
    n_samples : int, optional
        Number of rows that row numbers speak of.
    must_weight, cannot_weight : float or array of shape (m,), optional
        How sure each judgement is, above 0 and at most 1. 1 by default.

    Examples
    --------
    >>> links = Links(must=[(0, 5), (3, 9)], cannot=[(1, 7)], n_samples=10)
    >>> links
    Links(2 must-links, 1 cannot-link, 10 rows)
    >>> links.closure().relation(5, 0)
    'must'
    >>> Links(must=[("anna", "anne")], cannot=[("anna", "bob")])
    Links(1 must-link, 1 cannot-link, by id)
    """

    __slots__ = ("_cannot", "_known_graph", "_must", "_n_samples")
    _must: CheckedPairs
    _cannot: CheckedPairs
    _n_samples: int | None
    _known_graph: LinkGraph | None

    def __init__(
        self,
        must: Any = (),
        cannot: Any = (),
        *,
        n_samples: int | None = None,
        must_weight: Any = None,
        cannot_weight: Any = None,
    ) -> None:
        n = None if n_samples is None else check_n_samples(n_samples)
        self._must = check_pairs(must, must_weight, "must", n)
        self._cannot = check_pairs(cannot, cannot_weight, "cannot", n)
        self._n_samples, self._known_graph = n, None
        if self.n_must and self.n_cannot and kind(self.must) != kind(self.cannot):
            raise LinksError(
                f"must holds {kind(self.must)} and cannot holds {kind(self.cannot)}: "
                "ids are all integers or all strings."
            )

    @classmethod
    def _of(cls, must: CheckedPairs, cannot: CheckedPairs, n_samples: int | None) -> Links:
        """Links from pairs that are checked already."""
        links = cls.__new__(cls)
        links._must, links._cannot, links._n_samples = must, cannot, n_samples
        links._known_graph = None
        return links

    def _select(self, must: npt.NDArray[Any], cannot: npt.NDArray[Any]) -> Links:
        return Links._of(self._must.select(must), self._cannot.select(cannot), self._n_samples)

    def _graph(self) -> LinkGraph:
        if self._known_graph is None:  # numbering a million ids takes a second
            self._known_graph = link_graph(self._must, self._cannot, self._n_samples)
        return self._known_graph

    def _example_ids(self) -> Ids:
        """The ends of one kind of links: enough to tell what ids they hold."""
        return self.must if self.n_must else self.cannot

    @property
    def must(self) -> Ids:
        """Must-linked pairs, shape (n_must, 2): row numbers or ids."""
        return self._must.ends

    @property
    def cannot(self) -> Ids:
        """Cannot-linked pairs, shape (n_cannot, 2): row numbers or ids."""
        return self._cannot.ends

    @property
    def must_weight(self) -> npt.NDArray[np.float64]:
        """Weight of each must-link, shape (n_must,)."""
        return self._must.weight

    @property
    def cannot_weight(self) -> npt.NDArray[np.float64]:
        """Weight of each cannot-link, shape (n_cannot,)."""
        return self._cannot.weight

    @property
    def n_must(self) -> int:
        """Number of must-links."""
        return len(self._must)

    @property
    def n_cannot(self) -> int:
        """Number of cannot-links."""
        return len(self._cannot)

    @property
    def n_links(self) -> int:
        """Number of links of both kinds."""
        return self.n_must + self.n_cannot

    @property
    def n_samples(self) -> int | None:
        """Number of rows that the row numbers speak of; None for ids."""
        return self._n_samples

    @property
    def by_id(self) -> bool:
        """Whether the links hold ids rather than row numbers."""
        return self._n_samples is None

    @property
    def n_duplicates(self) -> int:
        """How many pairs were left out because they had been given before."""
        return self._must.n_duplicates + self._cannot.n_duplicates

    def __repr__(self) -> str:
        rows = "by id" if self.by_id else f"{self.n_samples} rows"
        return (
            f"Links({many(self.n_must, 'must-link')}, {many(self.n_cannot, 'cannot-link')}, {rows})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Links):
            return NotImplemented
        return (
            self.n_samples == other.n_samples
            and self._must.same_as(other._must)
            and self._cannot.same_as(other._cannot)
        )

    def __hash__(self) -> int:
        return hash((self.n_must, self.n_cannot, self.n_samples))

    def __copy__(self) -> Links:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Links:
        return self  # it never changes, and a copied array would come out writeable

    def __reduce__(self) -> tuple[Any, ...]:
        return Links._of, (self._must, self._cannot, self._n_samples)

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, ids: Any = None, n_samples: int | None = None
    ) -> Links:
        """Read links from a file.

        Parameters
        ----------
        path : path
            A file that ends in .csv, .tsv, .jsonl (or .ndjson) or .parquet (or .pq), with the
            columns a, b, link ("must" or "cannot") and, optionally, weight (blank is 1). Other
            columns are ignored.
        ids : sequence, optional
            The ids of all rows in order. The file's a and b are looked up there, and the links
            hold row numbers.
        n_samples : int, optional
            Number of rows, when the file holds row numbers.

        Without `ids` and `n_samples` the links hold the ids that the file holds: integers when
        every value is one, strings otherwise.
        """
        return cls._of(*read_links(path, ids, n_samples))

    def write(self, path: str | os.PathLike[str], *, ids: Any = None) -> None:
        """Write the links to a file, in the format of its ending, all of it or nothing.

        Parameters
        ----------
        path : path
            A file that ends as those of `read` do; an existing one is replaced.
        ids : sequence of length n_samples, optional
            The ids of all rows in order, to write instead of row numbers.
        """
        names = None
        if ids is not None:
            if self.by_id:
                raise LinksError("These links hold ids already: leave out ids.")
            names = IdIndex(as_ids(ids, "ids"), "ids").ids
            if len(names) != self.n_samples:
                raise LinksError(
                    f"ids must have one id for each of the {self.n_samples} rows. "
                    f"Got {len(names)} instead."
                )
        write_links(path, self._must, self._cannot, names)

    @classmethod
    def from_labels(
        cls,
        y: Any,
        n: int,
        *,
        must_share: float | None = 0.5,
        design: Literal["uniform", "chained"] = "uniform",
        random_state: Any = None,
    ) -> Links:
        """Draw links from known labels, as a perfect judge would give them.

        Parameters
        ----------
        y : sequence of int or str, length n_samples
            Labels; −1 is unknown, and such rows are never drawn.
        n : int
            Number of links: distinct pairs of two different rows.
        must_share : float or None
            ``round(n * must_share)`` of the links are must-links, each kind drawn uniformly among
            its pairs. None draws uniformly among all pairs of labelled rows.
        design : {"uniform", "chained"}
            "chained" draws links as the authors' script does: must-links in chains inside a class,
            and cannot-links between rows of these chains, so that rows have links of both kinds;
            half of the links are must-links.
        random_state : int, Generator, RandomState or None
            The same seed draws the same links.

        Examples
        --------
        >>> Links.from_labels([0, 0, 0, 1, 1, 1, -1], 6, random_state=0)
        Links(3 must-links, 3 cannot-links, 7 rows)
        """
        if design not in ("uniform", "chained"):
            raise LinksError(f"design must be 'uniform' or 'chained'. Got {design!r} instead.")
        if design == "uniform":
            must, cannot = draw_pairs(y, n, must_share, random_state)
        elif must_share == 0.5:
            must, cannot = draw_chains(y, n, random_state)
        else:
            raise LinksError(
                "design='chained' has as many links of either kind: leave must_share at 0.5. "
                f"Got {must_share!r} instead."
            )
        return cls(must, cannot, n_samples=len(y))

    def closure(self) -> Closure:
        """What the links imply about any two rows."""
        return Closure(self._graph())

    def implied(self, limit: int = 1_000_000) -> Links:
        """All pairs that the links imply, as links of weight 1, the given pairs included.

        Parameters
        ----------
        limit : int
            More pairs than this are refused: a million random links can imply 10¹¹ pairs.

        Examples
        --------
        >>> Links(must=[(0, 1), (1, 2)], cannot=[(2, 3)], n_samples=5).implied()
        Links(3 must-links, 3 cannot-links, 5 rows)
        """
        must, cannot = self.closure().implied_pairs(limit)
        return Links(must, cannot, n_samples=self.n_samples)

    def contradictions(self) -> Contradictions:
        """Cannot-links whose rows are joined by must-links, each with the chain that proves it."""
        return find_contradictions(self._graph(), self._must, self._cannot)

    def without_contradictions(self) -> tuple[Links, int]:
        """The links without those that exclude each other, and how many links were left out.

        A pair judged both ways loses both judgements. Then every cannot-link whose rows are
        joined by must-links is left out.
        """
        links = self._select(*consistent_part(self._graph()))
        return links, self.n_links - links.n_links

    def check_consistent(self, contradictions: Literal["raise", "drop"] = "raise") -> Links:
        """The links, if they can all hold.

        Parameters
        ----------
        contradictions : {"raise", "drop"}
            Whether links that exclude each other are an error, or are left out with a warning.
        """
        if contradictions not in ("raise", "drop"):
            raise LinksError(
                f"contradictions must be 'raise' or 'drop'. Got {contradictions!r} instead."
            )
        found = self.contradictions()
        if not found:
            return self
        if contradictions == "raise":
            shown = "\n".join(f"  {one}" for one in found[:_CONTRADICTIONS_SHOWN])
            n_more = len(found) - _CONTRADICTIONS_SHOWN
            more = f"\n  … and {n_more} more" if n_more > 0 else ""
            raise ContradictoryLinksError(
                f"{len(found)} of {self.n_cannot} cannot-links contradict the must-links:\n"
                f"{shown}{more}\nCorrect the links, or leave these out by contradictions='drop'."
            )
        links, n_dropped = self.without_contradictions()
        warn(
            f"{n_dropped} of {self.n_links} links were left out because they contradict others. "
            "contradictions() shows them.",
            LinksWarning,
        )
        return links

    def restrict(self, rows: Any) -> Links:
        """The links with both ends among some rows.

        Parameters
        ----------
        rows : array of row numbers or boolean mask of shape (n_samples,); ids for links by id
            Without duplicates. Row numbers become positions in `rows`; ids stay ids.

        Examples
        --------
        >>> links = Links(must=[(0, 2), (1, 2)], n_samples=3).restrict([2, 0])
        >>> links.must.tolist(), links.n_samples
        ([[1, 0]], 2)
        """
        if self.n_samples is not None:
            index = IdIndex(check_rows(rows, self.n_samples), "rows")
            must, cannot = (p.positions_in(index)[0] for p in (self._must, self._cannot))
            return Links._of(must, cannot, len(index.ids))
        index = IdIndex(as_ids(rows, "rows"), "rows")
        if len(index.ids) and self.n_links and kind(index.ids) != kind(self._example_ids()):
            raise LinksError(
                f"rows holds {kind(index.ids)}, but the links' ids are "
                f"{kind(self._example_ids())}. Convert one of them."
            )
        return self._select(index.hold_both(self.must), index.hold_both(self.cannot))

    def resolve(self, n_samples: int, sample_id: Any = None) -> Links:
        """The links as row numbers of an X.

        Parameters
        ----------
        n_samples : int
            Number of rows of X.
        sample_id : sequence of length n_samples, optional
            The id of each row. Links that hold row numbers take them as ids. Links whose rows are
            not both there are left out with a warning. Without `sample_id` the links must hold
            row numbers of exactly `n_samples` rows.
        """
        n = check_n_samples(n_samples)
        if sample_id is None:
            check_same_rows(self.by_id, self.n_samples, n)
            return self
        index = check_sample_id(sample_id, n, self.n_samples, self._example_ids())
        must, must_left_out = self._must.positions_in(index)
        cannot, cannot_left_out = self._cannot.positions_in(index)
        left_out = np.concatenate([must_left_out, cannot_left_out])
        report_left_out(left_out, self.n_links, index.ids)
        return Links._of(must, cannot, n)

    def split(self, k: int, *, random_state: Any = None) -> list[tuple[Links, Links]]:
        """Hold out links k times, so that the remaining links never imply a held-out one.

        The links of one connected component stay together, so that training and held-out links
        share no row. Where components are too coarse for that, the must-links of one must-link
        component stay together, and the cannot-links between the same two, with a `LinksWarning`.

        Parameters
        ----------
        k : int
            Number of folds, at least 2; each link is held out once.
        random_state : int, Generator, RandomState or None
            The same seed gives the same folds.

        Returns
        -------
        list of (train, held_out)
            k pairs of `Links`.
        """
        must, cannot = fold_of_links(self._graph(), k, random_state)
        return [
            (self._select(must != fold, cannot != fold), self._select(must == fold, cannot == fold))
            for fold in range(k)
        ]

    def cannot_clique(self, n_groups: int) -> tuple[Any, ...] | None:
        """Rows that prove that n_groups clusters are too few, if a greedy search finds them.

        Returns
        -------
        tuple or None
            ``n_groups + 1`` rows (or ids) that are all different from each other.

        Examples
        --------
        >>> Links(cannot=[(0, 1), (1, 2), (0, 2)], n_samples=9).cannot_clique(2)
        (0, 1, 2)
        """
        if isinstance(n_groups, bool) or not hasattr(n_groups, "__index__") or n_groups < 1:
            raise LinksError(f"n_groups must be an integer of at least 1. Got {n_groups!r}.")
        graph = self._graph()
        nodes = cannot_clique(Closure(graph), int(n_groups) + 1)
        return None if nodes is None else tuple(map(graph.name, nodes.tolist()))
