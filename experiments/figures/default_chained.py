"""S3C2 with its defaults and chained links, beside the same with uniform ones.

    python -m experiments default_chained --device cuda --precision bf16

Dense networks on the four data sets, five link sets, which are the chained ones of figure 2. Rows
in results/chained.csv; those with uniform links are the rows of best.
"""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.figures import figure_2
from experiments.plots import draw_methods

EXPERIMENT = Experiment(
    __name__, "chained", figure_2.default_chained, draw_methods,
    beside={"default": figure_2.default},
)  # fmt: skip
