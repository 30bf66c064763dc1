"""The paper's claims, each with the rule that decides it from the rows of the experiments.

A claim has a list of cases, each true or false. If all are true, the claim holds; if less than a
third are, it does not hold; otherwise it holds in part. Where the paper says "most", more than half
is enough to hold. If runs of some cases are missing, the other cases decide, and the verdict says
"so far"; if there are none, it is "not run yet". "Undecided" is what was run and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from s3c2 import published

from experiments import judges, labnet_judges
from experiments.findings import Finding, Results
from experiments.judges import MARGIN
from experiments.labnet_judges import SAFE


@dataclass(frozen=True)
class Claim:
    """What the paper says, the rule that decides it, and the function that applies the rule.

    ``changed`` says how the rule differs from that of an earlier version of the page.
    """

    figure: str
    says: str
    rule: str
    judge: Callable[[Results], Finding]
    changed: str = ""


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
    Claim("2", "d-graph is the best with 100 and 200 links",
          "d-graph above the three others, four sets", judges.d_graph_best_with_few,
          "the claim was missing"),
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
          "four sets", labnet_judges.safe_thresholds),
    Claim("3", "Few links want a lower T, many a higher",
          "the best of the six T, mean of 100 and 200 links, below that of 2,000 and 5,000, four "
          "sets; a best T on the edge of the grid decides nothing",
          labnet_judges.lower_then_higher, "a best T on the edge of the grid counted"),
    Claim("3", "T = 1/2 suits only many links",
          "never the best of the six T at 100 and 200 links, four sets", labnet_judges.one_half,
          f"T = 1/2 also had to be within {MARGIN} of the best with 5,000 links, which the paper "
          "does not say"),
    Claim("2, footnote", "30 neighbours are best for d-graph",
          "30 above 10 and 100, four sets, six budgets", judges.thirty_neighbours),
    Claim("4", "With few and medium links NMI goes most with the CL rate",
          "its correlation above those of ML rate and of accuracy on balanced pairs, as the script "
          "measures it, at 100 to 1,000 links, four sets", labnet_judges.cl_rate_leads,
          "accuracy was that on uniform pairs"),
    Claim("4", "… the same, with accuracy on uniform pairs", "as above",
          partial(labnet_judges.cl_rate_leads, accuracy="accuracy")),
    Claim("4", "The ML rate correlates negatively in most cases",
          "more than half of four sets × six budgets", labnet_judges.ml_rate_negative),
    Claim("4", "With 2,000 and 5,000 links the CL rate is above 95 % for most models",
          "more than half of the 30 runs, four sets, two budgets", labnet_judges.cl_rate_high),
    Claim("4", "… so that its correlation is not so strong there",
          f"mean of 2,000 and 5,000 links more than {MARGIN} below that of 100 to 1,000, four sets",
          labnet_judges.cl_rate_weaker),
    Claim("4", "… and is negative on Fashion-MNIST",
          "2,000 and 5,000 links", labnet_judges.cl_rate_negative_on_fashion),
    Claim("4", "… and only a higher ML rate would help",
          "its correlation positive at 2,000 and 5,000 links, four sets",
          labnet_judges.ml_rate_is_left),
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
          "mean gain in NMI at 100 and 200 links above the size of the mean change at 2,000 and "
          "5,000, two sets", judges.semi_supervised_helps,
          "a large loss with many links counted as a smaller gain"),
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
# The claims of the threshold and of LabNet's rates: they can be judged with T on d, too
OF_LABNET = tuple(claim for claim in CLAIMS if claim.figure in ("3", "4"))
COMPARISONS = (
    *(claim for claim in CLAIMS if claim.judge in _COMPARING),
    Claim("5", "S3C2 with supervised LabNet beats d-graph, DCPR and NNclustering",
          "three others, two sets", partial(judges.convolutional_lead, variants=("S3C2",))),
)  # fmt: skip
