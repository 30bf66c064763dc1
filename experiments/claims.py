"""The paper's claims, each with the rule that decides it from the rows of the experiments.

A claim has a list of cases, each true or false. If all are true, the claim holds; if less than a
third are, it does not hold; otherwise it holds in part. Where the paper says "most", more than half
is enough to hold. If runs of some cases are missing, the other cases decide, and the verdict says
"so far".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from s3c2 import published

from experiments import judges
from experiments.findings import Finding, Results
from experiments.judges import MARGIN, SAFE


@dataclass(frozen=True)
class Claim:
    """What the paper says, the rule that decides it, and the function that applies the rule."""

    figure: str
    says: str
    rule: str
    judge: Callable[[Results], Finding]


CLAIMS = (
    Claim("2", "With many links S3C2 is good",
          f"no more than {MARGIN} below the best other of the four at 2,000 and 5,000 links, four "
          "sets", judges.good_with_many_links),
    Claim("2", "… and ahead of d-graph",
          "S3C2 above d-graph at 2,000 and 5,000 links, four sets", judges.many_links),
    Claim("2", "… as IDEC is, too",
          "IDEC above d-graph at 2,000 and 5,000 links, four sets", judges.idec_many_links),
    Claim("2", "With 100 and 200 links S3C2 is behind d-graph",
          "d-graph above S3C2 at 100 and 200 links, four sets", judges.few_links),
    Claim("2", "… and still competitive with DCPR and IDEC, or better",
          f"S3C2 no more than {MARGIN} below either at 100 and 200 links, four sets",
          judges.few_links_others),
    Claim("2", "Letters, with its 26 classes, is a strong case of S3C2",
          "S3C2 the best of four on Letters at 1,000, 2,000 and 5,000 links", judges.letters),
    Claim("2", "DCPR is competitive on Reuters alone",
          f"mean over budgets: DCPR no more than {MARGIN} below S3C2 on Reuters, and more than "
          "that on the other set, three others", judges.dcpr_on_reuters),
    Claim("2", "IDEC is unstable on MNIST and Letters",
          f"its mean falls by more than {MARGIN} from one budget to the next, two sets",
          judges.idec_unstable),
    Claim("3", "T from 0.2 to 0.3 is safe with any number of links",
          f"T = 0.2 and T = 0.3 both within {SAFE} of the best of the six T at all six budgets, "
          "four sets", judges.safe_thresholds),
    Claim("3", "Few links want a lower T, many a higher",
          "the best of the six T, mean of 100 and 200 links, below that of 2,000 and 5,000, four "
          "sets", judges.lower_then_higher),
    Claim("3", "T = 1/2 suits only many links",
          f"T = 0.5 within {MARGIN} of the best of the six T at 5,000 links, and further below at "
          "all of 100 to 1,000, four sets", judges.one_half),
    Claim("2, footnote", "30 neighbours are best for d-graph",
          "30 above 10 and 100, four sets, six budgets", judges.thirty_neighbours),
    Claim("4", "With few and medium links NMI goes most with the CL rate",
          "its correlation above those of ML rate and of accuracy on uniform pairs at 100 to 1,000 "
          "links, four sets", judges.cl_rate_leads),
    Claim("4", "… the same, with accuracy on balanced pairs", "as above",
          partial(judges.cl_rate_leads, accuracy="balanced_accuracy")),
    Claim("4", "The ML rate correlates negatively in most cases",
          "more than half of four sets × six budgets", judges.ml_rate_negative),
    Claim("4", "With 2,000 and 5,000 links the CL rate is above 95 % for most models",
          "more than half of the 30 runs, four sets, two budgets", judges.cl_rate_high),
    Claim("4", "… so that its correlation is not so strong there",
          f"mean of 2,000 and 5,000 links more than {MARGIN} below that of 100 to 1,000, four sets",
          judges.cl_rate_weaker),
    Claim("4", "… and is negative on Fashion-MNIST",
          "2,000 and 5,000 links", judges.cl_rate_negative_on_fashion),
    Claim("4", "… and only a higher ML rate would help",
          "its correlation positive at 2,000 and 5,000 links, four sets", judges.ml_rate_is_left),
    Claim("5", "Convolutional networks beat dense ones",
          f"S3C2 with T = {published.THRESHOLD}, two sets, six budgets", judges.convolutions_help),
    Claim("5", "Both variants of S3C2 beat d-graph, DCPR and NNclustering",
          "two variants, three others, two sets, six budgets", judges.convolutional_lead),
    Claim("5", "IDEC is inferior to S3C2, but the best on MNIST with 5,000 links",
          "there best of six; in the eleven others below the better of S3C2's two variants",
          judges.idec_is_inferior),
    Claim("5, 6", "The semi-supervised LabNet has a positive influence",
          "gain in NMI positive, two sets, six budgets", judges.semi_supervised_positive),
    Claim("6", "… most with few links",
          "mean gain in NMI at 100 and 200 links positive, and above that at 2,000 and 5,000, two "
          "sets", judges.semi_supervised_helps),
    Claim("6", "… where its CL rate is higher", "gain positive at 100 and 200 links, two sets",
          judges.semi_supervised_cl_rate),
)  # fmt: skip

# The claims that compare S3C2 with other methods: its settings can change the verdict
_COMPARING = (
    judges.good_with_many_links,
    judges.many_links,
    judges.few_links,
    judges.few_links_others,
    judges.letters,
    judges.dcpr_on_reuters,
    judges.idec_is_inferior,
)
COMPARISONS = (
    *(claim for claim in CLAIMS if claim.judge in _COMPARING),
    Claim("5", "S3C2 with supervised LabNet beats d-graph, DCPR and NNclustering",
          "three others, two sets", partial(judges.convolutional_lead, variants=("S3C2",))),
)  # fmt: skip
