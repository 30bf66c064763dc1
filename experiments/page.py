"""Write docs/results.md, and the marked parts of other pages in docs, from the results.

    python -m experiments page            # write the pages
    python -m experiments page --check    # fail if a page would change

In the others of PAGES a part stands between <!-- table NAME --> and <!-- end -->. The whole of
results.md is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from experiments import (
    benchmark_tables,
    claim_tables,
    earlier,
    in_short,
    ledger,
    provenance,
    questions_page,
    results_page,
    tables,
)
from experiments.experiment import Experiment
from experiments.figures import figure_2, figure_3_on_d, figure_4_on_d, figure_5, idec
from experiments.findings import NOT_RUN
from experiments.tables import for_both

DOCS = Path(__file__).parent.parent / "docs"
PAGES = tuple(
    DOCS / f"{name}.md"
    for name in ("reproduction", "reproduction-notes", "guide", "asking", "performance", "scale")
)


def shown(experiment: Experiment) -> str:
    """The picture of an experiment, or that it was not run yet."""
    return results_page.picture(experiment) or f"{NOT_RUN.capitalize()}.\n"


TABLES: dict[str, Callable[[], str]] = {
    "in_short": in_short.in_short,
    "claims": claim_tables.claims,
    "claim_numbers": claim_tables.claim_numbers,
    "claims_with_settings": lambda: for_both(claim_tables.claims_with_settings),
    "claims_on_d": claim_tables.claims_on_d,
    "judged_otherwise": earlier.judged_otherwise,
    "earlier_rows": earlier.earlier_rows,
    "idec_versions": earlier.idec_versions,
    "figure_2": lambda: for_both(partial(tables.methods, figure_2.EXPERIMENT)),
    "figure_3": lambda: for_both(tables.thresholds),
    "figure_3_on_d": partial(shown, figure_3_on_d.EXPERIMENT),
    "figure_4": lambda: for_both(tables.correlations),
    "figure_4_on_d": partial(shown, figure_4_on_d.EXPERIMENT),
    "figure_5": lambda: for_both(partial(tables.methods, figure_5.EXPERIMENT)),
    "figure_6": lambda: for_both(tables.semi_supervised),
    "idec": partial(shown, idec.EXPERIMENT),
    "uniform_links": tables.uniform,
    "neighbours": lambda: for_both(tables.numbers_of_neighbours),
    "what_it_takes": lambda: for_both(tables.what_it_takes),
    "both_settings": lambda: for_both(tables.both_settings),
    "settings": lambda: for_both(tables.dense_settings),
    "settings_images": tables.convolutional_settings,
    "chained_beside_uniform": tables.chained_beside_uniform,
    "times": provenance.times,
    "idec_time": provenance.idec_time,
    "provenance": provenance.provenance,
    "missing": provenance.missing_runs,
    "questions": questions_page.page_table,
    "asking": benchmark_tables.latency,
    "cost": benchmark_tables.cost,
    "scale": benchmark_tables.scale,
    "workers": benchmark_tables.workers,
    "ranks": benchmark_tables.ranks,
    "rates": benchmark_tables.rates,
    "clusters": benchmark_tables.clusters,
}
MARKED = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """The page with new tables."""
    return MARKED.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], text)


def written(page: Path | None) -> dict[Path, str]:
    """Each page with its new text: those of docs, or another one with marked parts."""
    marked = PAGES if page is None else (page,)
    found = {path: filled(path.read_text()) for path in marked}
    return found if page is not None else {**found, results_page.PAGE: results_page.text()}


def write(page: Path | None = None) -> None:
    """Write the pages, or the tables of another one."""
    if page is None and ledger.elsewhere():
        raise SystemExit(
            "The pages are made from the committed results, but S3C2_RESULTS names others. Unset "
            "it, or name another page with --page."
        )
    for path, text in written(page).items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def check(page: Path | None = None) -> None:
    """Fail if the results give other pages."""
    for path, text in written(page).items():
        if not path.exists() or path.read_text() != text:
            raise SystemExit(f"{path} is not up to date: run python -m experiments page")
