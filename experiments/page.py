"""Write the tables of docs/reproduction.md from the results.

    python -m experiments page            # write them into the page
    python -m experiments page --check    # fail if the page would change

A table stands in the page between <!-- table NAME --> and <!-- end -->.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from experiments import ledger, provenance, tables
from experiments.figures import figure_2, figure_5

PAGE = Path(__file__).parent.parent / "docs" / "reproduction.md"
TABLES: dict[str, Callable[[], str]] = {
    "claims": tables.claims,
    "claims_with_settings": tables.claims_with_settings,
    "both_settings": tables.both_settings,
    "figure_2": lambda: tables.methods(figure_2.EXPERIMENT),
    "figure_3": tables.thresholds,
    "figure_4": tables.correlations,
    "figure_5": lambda: tables.methods(figure_5.EXPERIMENT),
    "figure_6": tables.semi_supervised,
    "uniform_links": tables.uniform,
    "neighbours": tables.numbers_of_neighbours,
    "what_it_takes": tables.what_it_takes,
    "settings": tables.dense_settings,
    "settings_images": tables.convolutional_settings,
    "times": provenance.times,
    "idec_time": provenance.idec_time,
    "provenance": provenance.provenance,
    "missing": provenance.missing_runs,
}
MARKED = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """The page with new tables."""
    return MARKED.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], text)


def write(page: Path = PAGE) -> None:
    """Write the tables into the page."""
    if page == PAGE and ledger.elsewhere():
        raise SystemExit(
            "The page is made from the committed results, but S3C2_RESULTS names others. Unset it, "
            "or name another page with --page."
        )
    before = page.read_text()
    after = filled(before)
    if after != before:
        page.write_text(after)


def check(page: Path = PAGE) -> None:
    """Fail if the results give another page."""
    before = page.read_text()
    if filled(before) != before:
        raise SystemExit(f"{page} is not up to date: run python -m experiments page")
