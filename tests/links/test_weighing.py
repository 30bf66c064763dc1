"""Links that stand for random pairs."""

from __future__ import annotations

import pytest

from s3c2 import Links
from s3c2.links import as_random_pairs


def test_kinds_have_the_share_of_random_pairs():
    links = Links(must=[(0, 1)], cannot=[(0, 2), (1, 3), (2, 3)], cannot_weight=[0.5, 0.5, 1])
    assert as_random_pairs(links, 0.2) == pytest.approx([0.2, 0.2, 0.2, 0.4])


@pytest.mark.parametrize("given", [{"must": [(0, 1)]}, {"cannot": [(0, 1)]}, {}])
def test_links_of_one_kind_cannot_stand_for_them(given):
    assert as_random_pairs(Links(**given, n_samples=3), 0.5) is None
