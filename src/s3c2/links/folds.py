"""Holding out links so that the remaining ones do not give the answers away.

Two links of one connected component can decide a third between their rows, so a component goes
to one fold as a whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s3c2.errors import LinksError, LinksWarning, warn
from s3c2.links.checked import pair_keys
from s3c2.links.closure import LinkGraph, connected
from s3c2.links.ids import Ints
from s3c2.links.sampling import generator


def fold_of_links(graph: LinkGraph, k: Any, random_state: Any) -> tuple[Ints, Ints]:
    """The fold, 0 … k − 1, of every must-link and every cannot-link; see `Links.split`."""
    if isinstance(k, bool) or not hasattr(k, "__index__") or k.__index__() < 2:
        raise LinksError(f"k must be the number of folds, an integer of at least 2. Got {k!r}.")
    rng = generator(random_state)
    n_must, n_links = len(graph.must), len(graph.must) + len(graph.cannot)
    group = _whole_components(graph)
    largest = int(np.bincount(group).max(initial=0))
    n_components = int(group.max(initial=-1)) + 1
    if n_links and (2 * largest > n_links or n_components < k):
        group = _must_components_and_pairs_of_them(graph)
        n_groups = int(group.max()) + 1
        if n_groups >= k:
            warn(
                f"The links form {n_components} connected component(s), and the largest holds "
                f"{largest} of the {n_links} links: too coarse for {k} folds by component. "
                "Folds are made of finer groups instead (the must-links of one must-link "
                "component; the cannot-links between the same two). Held-out links are still "
                "not implied by the others, but training and held-out links share rows.",
                LinksWarning,
            )
    n_groups = int(group.max(initial=-1)) + 1
    if n_groups < k:
        raise LinksError(
            f"The {n_links} links form {n_groups} group(s) that do not imply each other, too few "
            f"for k={k} folds. Use a smaller k, or give links about more rows."
        )
    fold = _deal(group, n_must, int(k), rng)
    return fold[:n_must], fold[n_must:]


def _whole_components(graph: LinkGraph) -> Ints:
    """Group of each link (must-links first): its component in the graph of all links."""
    edges = np.concatenate([graph.must, graph.cannot])
    _, component = connected(edges, graph.n_nodes)
    return _renumber(component[edges[:, 0]])


def _must_components_and_pairs_of_them(graph: LinkGraph) -> Ints:
    """Group of each link: its must-link component, or the two components it tells apart.

    A cannot-link inside a component, a contradiction, belongs to that component's group.
    """
    n, component = connected(graph.must, graph.n_nodes)
    return _renumber(pair_keys(component[np.concatenate([graph.must, graph.cannot])], n))


def _renumber(keys: Ints) -> Ints:
    _, group = np.unique(keys, return_inverse=True)
    return group.astype(np.int64)


def _deal(group: Ints, n_must: int, k: int, rng: np.random.Generator) -> Ints:
    """Fold of each link, the folds alike in must-links and in cannot-links.

    Groups with the same numbers of both are dealt out in turn, since they are interchangeable;
    what does not come out even goes, largest first, where it makes the folds most alike.
    """
    n_groups = int(group.max()) + 1
    must = np.bincount(group[:n_must], minlength=n_groups)
    cannot = np.bincount(group[n_must:], minlength=n_groups)
    load = np.stack([must, cannot, must + cannot], axis=1)  # (groups, 3)
    scale = np.maximum(load.sum(axis=0), 1).astype(np.float64)

    fold_of_group = np.empty(n_groups, dtype=np.int64)
    order = rng.permutation(n_groups)
    _, kind_of_group = np.unique(load[order], axis=0, return_inverse=True)
    kind_of_group = kind_of_group.ravel()
    by_kind = order[np.argsort(kind_of_group, kind="stable")]
    remaining: list[int] = []
    for groups in np.split(by_kind, np.cumsum(np.bincount(kind_of_group))[:-1]):
        even = len(groups) // k * k
        fold_of_group[groups[:even]] = np.arange(even) % k
        remaining += groups[even:].tolist()

    filled = np.zeros((k, 3))
    remaining.sort(key=lambda g: -load[g, 2])
    for g in remaining:
        # The least growth of the folds' sum of squares, over all three counts.
        best = int(np.argmin((filled * load[g] / scale**2).sum(axis=1)))
        fold_of_group[g] = best
        filled[best] += load[g]
    return fold_of_group[group]
