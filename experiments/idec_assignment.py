"""IDEC with the assignment of its authors' code, and with that of their paper.

    python experiments/idec_assignment.py --device cuda --precision bf16

A row at distance d belongs to a centre as (1 + d²)^−power. The code has a power of 2; the paper has
Student's t with one degree of freedom, which is 1. Dense networks, balanced links, five link sets.
The runs with 2 are those of figure 2; rows in results/dense.csv.
"""

from __future__ import annotations

from variants import Variants

from runner import main

CODE, PAPER = "(1 + d²)⁻², the code", "(1 + d²)⁻¹, the paper"
STYLES = {CODE: ("#CC79A7", "D", "-"), PAPER: ("#0072B2", "o", "-")}
VARIANTS = Variants("idec_assignment", "IDEC", CODE, {PAPER: {"assignment_power": 1.0}}, STYLES)
EXPERIMENT = VARIANTS.experiment

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
