"""Links that exclude each other, each with the chain of links that proves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph

from s3c2.links.checked import CheckedPairs, pair_keys
from s3c2.links.closure import LinkGraph, adjacency, connected
from s3c2.links.ids import Ints

# A longer chain is shown by its two ends; `chain` holds all of it.
_MOST_STEPS_SHOWN = 20
_STEPS_SHOWN_AT_AN_END = 5


@dataclass(frozen=True)
class Contradiction:
    """A cannot-link whose two rows are joined by must-links.

    Attributes
    ----------
    a, b : int or str
        The rows (or ids) of the cannot-link.
    chain : tuple
        A shortest chain of rows from `a` to `b`; each is must-linked to the next. Searched when
        first asked for.
    """

    a: Any
    b: Any
    _found: _ContradictionSearch = field(repr=False, compare=False)
    _position: int = field(repr=False, compare=False)

    @property
    def chain(self) -> tuple[Any, ...]:
        return tuple(map(self._found.graph.name, self._found.nodes_of_chain(self._position)))

    def __str__(self) -> str:
        nodes = self._found.nodes_of_chain(self._position)
        steps = [
            f"{self._found.graph.name(a)!r}–{self._found.graph.name(b)!r}"
            f"{self._found.must_line(a, b)}"
            for a, b in pairwise(nodes)
        ]
        n_links = len(steps) + 1
        if len(steps) > _MOST_STEPS_SHOWN:
            left_out = len(steps) - 2 * _STEPS_SHOWN_AT_AN_END
            steps[_STEPS_SHOWN_AT_AN_END:-_STEPS_SHOWN_AT_AN_END] = [f"… {left_out} more …"]
        joined = "a must-link joins" if n_links == 2 else "must-links join"
        return (
            f"{self.a!r} and {self.b!r} are a cannot-link"
            f"{self._found.cannot_line(self._position)}, but {joined} them: "
            f"{', '.join(steps)}. "
            f"At least one of these {n_links} links is wrong: correct or remove it."
        )


class Contradictions(Sequence[Contradiction]):
    """All contradictions of some links, in the order of their cannot-links.

    Examples
    --------
    >>> from s3c2.links import Links
    >>> found = Links(must=[(3, 5), (5, 9)], cannot=[(3, 9)], n_samples=10).contradictions()
    >>> print(found[0])
    3 and 9 are a cannot-link, but must-links join them: 3–5, 5–9.
    At least one of these 3 links is wrong: correct or remove it.
    >>> found[0].chain
    (3, 5, 9)
    """

    def __init__(self, search: _ContradictionSearch) -> None:
        self._search = search

    def __len__(self) -> int:
        return len(self._search.positions)

    @overload
    def __getitem__(self, i: int) -> Contradiction: ...
    @overload
    def __getitem__(self, i: slice) -> list[Contradiction]: ...
    def __getitem__(self, i: int | slice) -> Contradiction | list[Contradiction]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        position = int(self._search.positions[i])
        a, b = map(self._search.graph.name, self._search.graph.cannot[position].tolist())
        return Contradiction(a, b, self._search, position)

    def __iter__(self) -> Iterator[Contradiction]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Contradictions({len(self)})"


class _ContradictionSearch:
    """Finds contradictions at once, and the chain of one when it is asked for."""

    def __init__(self, graph: LinkGraph, must: CheckedPairs, cannot: CheckedPairs) -> None:
        self.graph = graph
        self._must_lines = must.line
        self._cannot_lines = cannot.line
        _, self._component = connected(graph.must, graph.n_nodes)
        self.positions = np.flatnonzero(joined_by_must_links(graph, self._component))
        # Must-links component by component, sorted when the first chain is asked for.
        self._edge_order: Ints | None = None
        self._edge_component: Ints | None = None
        self._last: tuple[int, Ints, Any] | None = None  # component, its nodes, its matrix
        self._must_keys: tuple[Ints, Ints] | None = None

    def nodes_of_chain(self, position: int) -> list[int]:
        a, b = self.graph.cannot[position].tolist()
        nodes, matrix = self._component_graph(int(self._component[a]))
        start, end = np.searchsorted(nodes, [a, b]).tolist()
        _, previous = csgraph.breadth_first_order(matrix, start, directed=False)
        chain = [end]
        while chain[-1] != start:
            chain.append(int(previous[chain[-1]]))
        return [int(nodes[i]) for i in reversed(chain)]

    def _component_graph(self, component: int) -> tuple[Ints, Any]:
        """The nodes of a component in order, and its must-links between their positions."""
        if self._last is None or self._last[0] != component:
            if self._edge_order is None or self._edge_component is None:
                edge_component = self._component[self.graph.must[:, 0]]
                self._edge_order = np.argsort(edge_component, kind="stable")
                self._edge_component = edge_component[self._edge_order]
            lo, hi = np.searchsorted(self._edge_component, [component, component + 1])
            edges = self.graph.must[self._edge_order[lo:hi]]
            nodes, numbers = np.unique(edges, return_inverse=True)
            matrix = adjacency(numbers.reshape(edges.shape), len(nodes))
            self._last = component, nodes, matrix
        return self._last[1], self._last[2]

    def cannot_line(self, position: int) -> str:
        return "" if self._cannot_lines is None else f" (line {self._cannot_lines[position]})"

    def must_line(self, a: int, b: int) -> str:
        if self._must_lines is None:
            return ""
        if self._must_keys is None:
            keys = pair_keys(self.graph.must, self.graph.n_nodes)
            order = np.argsort(keys)
            self._must_keys = keys[order], order
        keys, order = self._must_keys
        key = min(a, b) * self.graph.n_nodes + max(a, b)
        return f" (line {self._must_lines[order[np.searchsorted(keys, key)]]})"


def joined_by_must_links(graph: LinkGraph, component: Ints) -> npt.NDArray[np.bool_]:
    """Which cannot-links have both rows in one must-link component."""
    ends = component[graph.cannot]  # (c, 2)
    return np.asarray(ends[:, 0] == ends[:, 1], dtype=np.bool_)


def find_contradictions(
    graph: LinkGraph, must: CheckedPairs, cannot: CheckedPairs
) -> Contradictions:
    return Contradictions(_ContradictionSearch(graph, must, cannot))


def consistent_part(graph: LinkGraph) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Masks of the must-links and the cannot-links that may stay.

    A pair judged both ways loses both judgements, since one of them is wrong and nothing says
    which. Then every cannot-link that the remaining must-links contradict goes.
    """
    must_keys = pair_keys(graph.must, graph.n_nodes)
    cannot_keys = pair_keys(graph.cannot, graph.n_nodes)
    keep_must = ~np.isin(must_keys, cannot_keys)
    keep_cannot = ~np.isin(cannot_keys, must_keys)
    _, component = connected(graph.must[keep_must], graph.n_nodes)
    return keep_must, keep_cannot & ~joined_by_must_links(graph, component)
