"""What a user said about pairs: must-links and cannot-links."""

from s3c2.links.closure import Closure
from s3c2.links.contradictions import Contradiction, Contradictions
from s3c2.links.links import Links
from s3c2.links.weighing import as_random_pairs

__all__ = ["Closure", "Contradiction", "Contradictions", "Links", "as_random_pairs"]
