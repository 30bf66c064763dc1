"""d-graph with 10, 30 and 100 neighbours: the paper's footnote.

    python experiments/neighbours.py --device cuda --precision bf16

Dense networks, balanced links, five link sets. The runs with 30 are those of figure 2; rows in
results/dense.csv.
"""

from __future__ import annotations

from variants import Variants

from runner import main

STYLES = {
    "10 neighbours": ("#56B4E9", "v", "-"),
    "30 neighbours": ("#E69F00", "s", "-"),
    "100 neighbours": ("#D55E00", "^", "-"),
}
CHANGED = {f"{n} neighbours": {"n_neighbors": n} for n in (10, 100)}
VARIANTS = Variants("neighbours", "d-graph", "30 neighbours", CHANGED, STYLES)
EXPERIMENT = VARIANTS.experiment

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
