"""Links as a graph: the rows are numbered nodes, every link is an edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from s3c2.links.checked import Pairs
from s3c2.links.ids import Ids, Ints, number_ids


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


def link_graph(must: Pairs, cannot: Pairs, n_samples: int | None) -> LinkGraph:
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
