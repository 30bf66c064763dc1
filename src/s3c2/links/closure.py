"""What links imply about all rows, not only about the pairs that were judged.

Rows joined by must-links, directly or through others, are the same: they form a component. One
cannot-link between two components makes all their rows different.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from s3c2.errors import LinksError
from s3c2.links.checked import CheckedPairs, pair_keys
from s3c2.links.ids import IdIndex, Ids, Ints, as_ids, kind, not_row_numbers, number_ids

Relation = Literal["must", "cannot"]

_GREEDY_STARTS = 32
_PRUNING_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """The links' ends as node numbers.

    Parameters
    ----------
    must, cannot : int64 arrays of shape (m, 2) and (c, 2)
        Node numbers.
    n_nodes : int
        Number of rows; with ids, the number of different ids.
    names : array of shape (n_nodes,) or None
        The id of each node; None where nodes are row numbers.
    """

    must: Ints
    cannot: Ints
    n_nodes: int
    names: Ids | None

    def name(self, node: int) -> Any:
        """The row number or id of a node, as a plain int or str."""
        return node if self.names is None else self.names[node : node + 1].tolist()[0]


def link_graph(must: CheckedPairs, cannot: CheckedPairs, n_samples: int | None) -> LinkGraph:
    if n_samples is not None:
        return LinkGraph(must.ends, cannot.ends, n_samples, None)
    filled = [pairs.ends for pairs in (must, cannot) if len(pairs)]
    ends = np.concatenate(filled) if filled else must.ends
    numbers, names = number_ids(ends)
    return LinkGraph(numbers[: len(must)], numbers[len(must) :], len(names), names)


def adjacency(edges: Ints, n_nodes: int) -> sparse.csr_array:
    """Symmetric sparse matrix with a 1 for every edge (edges are distinct)."""
    ends = np.concatenate([edges, edges[:, ::-1]])
    ones = np.ones(len(ends), dtype=np.int8)
    return sparse.csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))


def connected(edges: Ints, n_nodes: int) -> tuple[int, npt.NDArray[np.int64]]:
    """Number of connected components, and the component of each node."""
    if n_nodes == 0:
        return 0, np.zeros(0, dtype=np.int64)
    ones = np.ones(len(edges), dtype=np.int8)
    graph = sparse.coo_array((ones, (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))
    count, component = csgraph.connected_components(graph, directed=False)
    return int(count), component.astype(np.int64)


class Closure:
    """The closure of links; made by `Links.closure`.

    Rows joined by must-links form a component. A cannot-link between two rows holds for all rows
    of their components. A cannot-link inside a component is a contradiction and is not part of the
    closure: `Links.contradictions` lists those.

    Attributes
    ----------
    component : array of shape (n,)
        The must-link component of each row.
    rows : array of shape (n,)
        The row number, or the id, that each entry of `component` speaks of.
    n_components : int
        Number of components; a row without must-links is one by itself.
    cannot : array of shape (k, 2)
        Pairs of components that are cannot-linked, sorted, smaller number first.
    n_implied_must, n_implied_cannot : int
        How many pairs of rows are must-linked and cannot-linked, the given pairs included.

    Examples
    --------
    >>> from s3c2.links import Links
    >>> closure = Links(must=[(0, 1), (1, 2)], cannot=[(2, 3)], n_samples=5).closure()
    >>> closure.relation(0, 2), closure.relation(0, 3), closure.relation(0, 4)
    ('must', 'cannot', None)
    >>> closure.n_implied_must, closure.n_implied_cannot
    (3, 3)
    """

    component: Ints
    rows: Ids
    n_components: int
    cannot: Ints
    n_implied_must: int
    n_implied_cannot: int

    def __init__(self, graph: LinkGraph) -> None:
        self._index: IdIndex | None = None  # made for the first question about ids
        self._n_samples = graph.n_nodes if graph.names is None else None
        self.rows = np.arange(graph.n_nodes) if graph.names is None else graph.names
        self.n_components, self.component = connected(graph.must, graph.n_nodes)

        between = self.component[graph.cannot]  # (c, 2)
        between = between[between[:, 0] != between[:, 1]]
        self._keys = np.unique(pair_keys(between, self.n_components))
        divisor = max(self.n_components, 1)
        self.cannot = np.stack([self._keys // divisor, self._keys % divisor], axis=1)

        self._size = np.bincount(self.component, minlength=self.n_components)
        # At most MOST_ROWS² / 2 pairs of rows exist, which 64 bits hold.
        self.n_implied_must = int((self._size * (self._size - 1) // 2).sum())
        self.n_implied_cannot = int(self._size[self.cannot].prod(axis=1).sum())
        for array in (self.component, self.rows, self.cannot):
            array.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"Closure({len(self.rows)} rows in {self.n_components} components, "
            f"{len(self.cannot)} cannot-linked pairs of components)"
        )

    def relation(self, a: Any, b: Any) -> Relation | None:
        """How two rows (or ids) relate: "must", "cannot", or None when the links do not say."""
        answer = int(self.relations([a], [b])[0])
        return "must" if answer > 0 else "cannot" if answer < 0 else None

    def relations(self, a: Any, b: Any) -> npt.NDArray[np.int8]:
        """How the rows in `a` relate to those in `b`, one by one.

        Parameters
        ----------
        a, b : arrays of shape (m,)
            Row numbers, or ids. An id that no link names relates only to itself.

        Returns
        -------
        array of shape (m,)
            +1 for must, −1 for cannot, 0 for unknown.
        """
        a, b = as_ids(a, "a"), as_ids(b, "b")
        if len(a) != len(b):
            raise LinksError(f"a and b must be equally long. Got {len(a)} and {len(b)} rows.")
        node_a, node_b = self._nodes(a, "a"), self._nodes(b, "b")
        known = (node_a >= 0) & (node_b >= 0)
        answer = np.where(a == b, 1, 0).astype(np.int8)

        # (m', 2) components of the rows that the links know
        pairs = np.stack([self.component[node_a[known]], self.component[node_b[known]]], axis=1)
        keys = pair_keys(pairs, self.n_components)
        place = np.minimum(np.searchsorted(self._keys, keys), max(len(self._keys) - 1, 0))
        differ = self._keys[place] == keys if len(self._keys) else np.zeros(len(keys), dtype=bool)
        answer[known] = np.where(pairs[:, 0] == pairs[:, 1], 1, np.where(differ, -1, 0))
        return answer

    def _nodes(self, values: Ids, name: str) -> Ints:
        n = self._n_samples
        if n is None:
            if len(values) and len(self.rows) and kind(values) != kind(self.rows):
                raise LinksError(
                    f"{name} holds {kind(values)}, but the links' ids are {kind(self.rows)}."
                )
            self._index = self._index or IdIndex(self.rows, "ids")
            return self._index.positions(values)
        bad = not_row_numbers(values, n)
        if bad.any():
            value = values[bad].tolist()[0]
            raise LinksError(f"{name} holds {value!r}; row numbers are the integers 0 to {n - 1}.")
        return values

    def implied_pairs(self, limit: int) -> tuple[Ids, Ids]:
        """All implied must-links and cannot-links; see `Links.implied`."""
        count = self.n_implied_must + self.n_implied_cannot
        if count > limit:
            raise LinksError(
                f"The links imply {count:,} pairs ({self.n_implied_must:,} must-links and "
                f"{self.n_implied_cannot:,} cannot-links), more than limit={limit:,}. "
                "Ask relations() about the pairs you need, or raise the limit."
            )
        return self.rows[self._pairs_within()], self.rows[self._pairs_between()]

    def _pairs_within(self) -> Ints:
        order = np.argsort(self.component, kind="stable")  # rows, component by component
        end = np.cumsum(self._size)[self.component[order]]  # where each row's component ends
        n_later = end - np.arange(len(order)) - 1
        first = np.repeat(np.arange(len(order)), n_later)
        second = first + 1 + _count_up(n_later)
        return np.stack([order[first], order[second]], axis=1)

    def _pairs_between(self) -> Ints:
        order = np.argsort(self.component, kind="stable")
        start = np.cumsum(self._size) - self._size
        a, b = self.cannot[:, 0], self.cannot[:, 1]
        n_pairs = self._size[a] * self._size[b]
        number = _count_up(n_pairs)
        width = np.repeat(self._size[b], n_pairs)
        first = np.repeat(start[a], n_pairs) + number // np.maximum(width, 1)
        second = np.repeat(start[b], n_pairs) + number % np.maximum(width, 1)
        return np.stack([order[first], order[second]], axis=1)


def _count_up(lengths: Ints) -> Ints:
    """0 … length − 1 for every length, one after the other."""
    total = int(lengths.sum())
    return np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def cannot_clique(closure: Closure, size: int) -> Ints | None:
    """Search greedily for `size` components that are all cannot-linked to each other.

    Returns one node of each, or None when the search finds none; that is no proof that there are
    none, since the exact answer can take exponential time.
    """
    candidates, edges = _dense_core(closure.cannot, closure.n_components, size - 1)
    if len(candidates) < size:
        return None
    neighbours = adjacency(edges, len(candidates))
    degree = np.diff(neighbours.indptr)
    for start in np.argsort(-degree, kind="stable")[:_GREEDY_STARTS]:
        clique = _grow(neighbours, int(start), size)
        if clique is not None:
            _, first_node = np.unique(closure.component, return_index=True)
            return np.sort(first_node[candidates[clique]])
    return None


def _dense_core(edges: Ints, n_nodes: int, least: int) -> tuple[Ints, Ints]:
    """Nodes with at least `least` neighbours among themselves, and the edges in new numbers.

    A node with fewer neighbours is in no clique that is large enough. Pruning stops after some
    rounds: it only saves time, and a long path would lose one node a round.
    """
    for _ in range(_PRUNING_ROUNDS):
        degree = np.bincount(edges.ravel(), minlength=n_nodes)
        kept = (degree >= least)[edges].all(axis=1)
        if kept.all():
            break
        edges = edges[kept]
    nodes, numbers = np.unique(edges, return_inverse=True)
    return nodes, numbers.reshape(edges.shape)


def _grow(neighbours: sparse.csr_array, start: int, size: int) -> list[int] | None:
    """Add one candidate after the other, each time the one that keeps most of the others."""
    clique = [start]
    inside = neighbours
    candidates = _row(inside, start)
    names = np.arange(neighbours.shape[0])
    while len(clique) + len(candidates) >= size:
        if len(clique) == size:
            return clique
        inside = inside[candidates][:, candidates]
        names = names[candidates]
        best = int(np.argmax(np.diff(inside.indptr)))
        clique.append(int(names[best]))
        candidates = _row(inside, best)
    return None


def _row(matrix: sparse.csr_array, i: int) -> Ints:
    return np.sort(matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]).astype(np.int64)
