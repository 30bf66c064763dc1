"""Write docs/results.md, and the tables of docs/reproduction.md, from the results.

    python -m experiments page            # write both pages
    python -m experiments page --check    # fail if a page would change

In reproduction.md a table stands between <!-- table NAME --> and <!-- end -->. The whole of
results.md is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from experiments import ledger, provenance, results_page, tables
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


def written(page: Path | None) -> dict[Path, str]:
    """Each page with its new text: the two of docs, or another one with marked tables."""
    if page is not None:
        return {page: filled(page.read_text())}
    return {PAGE: filled(PAGE.read_text()), results_page.PAGE: results_page.text()}


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
