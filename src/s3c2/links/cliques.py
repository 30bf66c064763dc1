"""Groups of rows that are all different from each other: a proof that more clusters are needed."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from s3c2.links.closure import Closure
from s3c2.links.graph import adjacency
from s3c2.links.ids import Ints

_GREEDY_STARTS = 32
_PRUNING_ROUNDS = 100


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
    """Add, time and again, the candidate that keeps the most other candidates."""
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
