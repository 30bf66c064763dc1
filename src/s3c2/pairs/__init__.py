"""One kind of batch, labelled pairs of rows, and the sources it is drawn from.

Everything carries a leading dimension for replicas, (replicas, pairs); one model is one replica. A
source has the same shape at every step, and its draw depends on a seed and the step alone.
"""

from s3c2.pairs.batch import AllPairsBatch, PairBatch, PairSource, RowBatch
from s3c2.pairs.drawn import AllPairs, RandomPairs, RandomRows
from s3c2.pairs.given import GivenLinks
from s3c2.pairs.labelled import KnownPairs, LabelledPairs, Pool
from s3c2.pairs.neighbours import NeighbourPairs
from s3c2.pairs.twins import Ends, Twins

__all__ = [
    "AllPairs",
    "AllPairsBatch",
    "Ends",
    "GivenLinks",
    "KnownPairs",
    "LabelledPairs",
    "NeighbourPairs",
    "PairBatch",
    "PairSource",
    "Pool",
    "RandomPairs",
    "RandomRows",
    "RowBatch",
    "Twins",
]
