"""Numbers that another paper printed: ACC and NMI with links drawn uniformly.

From the table of SpherePair (NeurIPS 2025). CIDEC is IDEC with links. "Links alone" learns from the
links and nothing else.
"""

from __future__ import annotations

from experiments.findings import number

Entry = tuple[float, float]  # ACC, NMI
NAMES = ("CIDEC", "SpherePair", "DC-GMM", "links alone")
# (data set, number of links) → method → its entry
PRINTED: dict[tuple[str, int], dict[str, Entry]] = {
    ("mnist", 1000): {
        "CIDEC": (0.880, 0.860), "SpherePair": (0.917, 0.828), "DC-GMM": (0.846, 0.808),
    },
    ("mnist", 5000): {
        "CIDEC": (0.954, 0.907), "SpherePair": (0.959, 0.899), "DC-GMM": (0.941, 0.887),
    },
    ("mnist", 10_000): {
        "CIDEC": (0.970, 0.926), "SpherePair": (0.970, 0.921), "DC-GMM": (0.953, 0.908),
    },
    ("fashion-mnist", 1000): {
        "CIDEC": (0.576, 0.603), "SpherePair": (0.698, 0.617), "DC-GMM": (0.635, 0.611),
    },
    ("fashion-mnist", 5000): {
        "CIDEC": (0.638, 0.604), "SpherePair": (0.799, 0.709), "DC-GMM": (0.773, 0.698),
    },
    ("fashion-mnist", 10_000): {
        "CIDEC": (0.740, 0.682), "SpherePair": (0.836, 0.742), "DC-GMM": (0.803, 0.723),
    },
    ("reuters", 1000): {
        "CIDEC": (0.769, 0.605), "SpherePair": (0.914, 0.741), "links alone": (0.708, 0.430),
    },
    ("reuters", 5000): {
        "CIDEC": (0.927, 0.783), "SpherePair": (0.948, 0.807), "DC-GMM": (0.944, 0.802),
        "links alone": (0.948, 0.815),
    },
}  # fmt: skip


def entry(dataset: str, n_links: int, name: str) -> str:
    """ACC / NMI as a page shows them, or – where nothing is printed."""
    found = PRINTED.get((dataset, n_links), {}).get(name)
    return "–" if found is None else " / ".join(map(number, found))


def best(dataset: str, n_links: int) -> Entry | None:
    """The largest ACC and the largest NMI that are printed."""
    found = PRINTED.get((dataset, n_links), {}).values()
    return (max(a for a, _ in found), max(n for _, n in found)) if found else None
