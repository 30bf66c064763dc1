"""The clusters of LabNet's representation.

Rows of a cluster lie together in h, so h can be clustered before any network of clusters is
trained. CluNet may begin with these clusters.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from s3c2 import losses
from s3c2.distances import are_must_links

JUDGED = 3000  # rows from which clusters are found, and whose pairs judge them
STARTS = 20  # of k-means; from 5, one clustering of MNIST in fifteen cuts a digit in two
LOOSEST = 1.05  # times the inertia of the tightest of them: T alone may be wrong
MERGERS = 3
THREADS = 2  # of one k-means
MOST_WORKERS = 8  # each holds some hundred megabytes
SEGMENTS = 3  # for each cluster, and SPARE more: what is merged into clusters
SPARE = 10
BY_CHANCE = 2.0  # times the standard error of how many more links a clustering contradicts


class Linked(NamedTuple):
    """Given links, which clusterings should not contradict.

    Attributes
    ----------
    ends : (2, links, dimensions), the representation of both rows of each
    same : (links,)
    weight : (links,)
    """

    ends: NDArray[np.float32]
    same: NDArray[np.bool_]
    weight: NDArray[np.float64]


class Asked(NamedTuple):
    """A representation whose clusters are wanted.

    Attributes
    ----------
    h : (rows, dimensions), in random order
    n_clusters, seed : int
    threshold : T, by which clusterings are compared
    linked : links to compare them by, if there are any
    """

    h: NDArray[np.float32]
    n_clusters: int
    seed: int
    threshold: float
    linked: Linked | None = None


def clusters_of_each(asked: Sequence[Asked]) -> list[NDArray[np.int64]]:
    """The clusters of each representation, several at a time where there are processors for it."""
    workers = min(MOST_WORKERS, max(1, (os.cpu_count() or 1) // THREADS))
    with (
        threadpool_limits(limits=1, user_api="blas"),
        warnings.catch_warnings(),
        ThreadPoolExecutor(workers, initializer=_limit_threads) as pool,
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
        return list(pool.map(lambda one: clusters_of(*one), asked))


def _limit_threads() -> None:
    """Limit OpenMP in the thread that calls it.

    The sums of two threads are the same in either order, those of more are not.
    """
    threadpool_limits(limits=THREADS, user_api="openmp")


def clusters_of(
    h: NDArray[np.float32],
    n_clusters: int,
    seed: int,
    threshold: float,
    linked: Linked | None = None,
) -> NDArray[np.int64]:
    """Clusters of h: of many clusterings the one that agrees best with T, and with the links.

    k-means ends elsewhere from each start, and at times cuts a cluster in two while it joins two
    others; it likes clusters of one size. Merging smaller ones of k-means goes by the distances of
    pairs. So both are tried several times.

    Where LabNet often takes two clusters for one, T agrees best with a clustering that has them as
    one, and a few far rows as another. Links tell them apart, so clusterings that contradict more
    links than another one, and not by chance, do not come into question.
    """
    seen = h[:JUDGED]
    n_clusters = min(n_clusters, len(seen))
    n_segments = min(SEGMENTS * n_clusters + SPARE, len(seen))
    d2 = losses.squared_distances_of_all(torch.from_numpy(seen)[None])[0].numpy()
    must, nearness = are_must_links(d2, threshold).astype(np.float32), np.exp(-d2)
    draws = np.random.RandomState(seed)

    def k_means(n: int) -> KMeans:
        return KMeans(n, n_init=1, random_state=draws).fit(seen)

    whole = [k_means(n_clusters) for _ in range(STARTS)]
    tightest = min(one.inertia_ for one in whole)
    found = [(one, np.arange(n_clusters)) for one in whole if one.inertia_ <= LOOSEST * tightest]
    for _ in range(MERGERS):
        segments = k_means(n_segments)
        member = np.eye(n_segments, dtype=np.float32)[segments.labels_]  # (seen, segments)
        found.append((segments, merged_segments(member, nearness, n_clusters)))

    possible = list(range(len(found)))
    if linked is not None:
        clusters = [[cluster[one.predict(end)] for end in linked.ends] for one, cluster in found]
        wrong = np.array([(one == two) != linked.same for one, two in clusters])
        possible = contradict_fewest(wrong, linked.weight)
    best, cluster = min(
        (found[number] for number in possible),
        key=lambda one: disagreement(one[1][one[0].labels_], must),
    )
    labels: NDArray[np.int64] = cluster[best.predict(h)].astype(np.int64)
    return labels


def contradict_fewest(wrong: NDArray[np.bool_], weight: NDArray[np.float64]) -> list[int]:
    """The clusterings that contradict the fewest links, and those that do not more but by chance.

    Parameters
    ----------
    wrong : (clusterings, links), whether a clustering contradicts a link
    weight : (links,)
    """
    fewest = (wrong @ weight).argmin()
    more = (wrong.astype(np.int8) - wrong[fewest]) * weight  # (clusterings, links)
    spread = np.sqrt(np.square(more).sum(1))
    return [int(one) for one in np.flatnonzero(more.sum(1) <= BY_CHANCE * spread)]


def disagreement(labels: NDArray[Any], must: NDArray[np.float32]) -> float:
    """How many pairs are in one cluster and no must-links, or the other way round.

    Each pair counts in both orders.

    Parameters
    ----------
    must : (rows, rows), 1 where a pair is a must-link, a row with itself among them
    """
    member = np.eye(int(labels.max()) + 1, dtype=np.float32)[labels]  # (rows, clusters)
    same = float(np.square(member.sum(0, dtype=np.float64)).sum())
    return same + float(must.sum(dtype=np.float64)) - 2 * float((member * (must @ member)).sum())


def merged_segments(
    member: NDArray[np.float32], nearness: NDArray[np.float32], n_clusters: int
) -> NDArray[np.int64]:
    """The cluster of each segment, after merging those whose rows are nearest, two by two.

    Parameters
    ----------
    member : (rows, segments), 1 where a row is in a segment
    nearness : (rows, rows)
    """
    together = member.T @ nearness @ member  # sums over the pairs between segments
    pairs = np.outer(member.sum(0), member.sum(0))
    cluster = np.arange(len(pairs))
    left = pairs.diagonal() > 0
    mean = np.where(np.outer(left, left), together / np.maximum(pairs, 1), -1.0)
    np.fill_diagonal(mean, -1.0)
    for _ in range(int(left.sum()) - n_clusters):
        into, gone = np.unravel_index(mean.argmax(), mean.shape)
        for sums in (together, pairs):
            sums[into] += sums[gone]
            sums[:, into] += sums[:, gone]
        cluster[cluster == gone] = into
        left[gone] = False
        mean[gone] = mean[:, gone] = -1.0
        others = left & (np.arange(len(left)) != into)
        for place in (np.s_[into, others], np.s_[others, into]):
            mean[place] = together[place] / np.maximum(pairs[place], 1)
    names: NDArray[Any] = np.cumsum(left) - 1
    return names[cluster].clip(min=0)
