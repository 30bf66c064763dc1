"""What ``s3c2 fit`` says at its end, as JSON and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from s3c2.cli.messages import say

if TYPE_CHECKING:
    from s3c2.report import Answers

MOST_SIZES = 30  # of clusters, that are listed


def summary_of(answers: Answers) -> dict[str, Any]:
    """The numbers of a fit; a rate of no links is None, and so are doubts of links not judged."""
    import numpy as np

    model, links, doubted = answers.model, answers.links, answers.doubted_links
    return {
        "rows": len(model.labels_),
        "clusters": model.n_clusters_,
        "scale": model.scale_,
        "network": model.network_kind_,
        "sizes": np.bincount(model.labels_, minlength=model.n_clusters_).tolist(),
        "must_links": links.n_must,
        "cannot_links": links.n_cannot,
        "threshold": float(model.threshold_),
        "ml_rate": answers.ml_rate,
        "cl_rate": answers.cl_rate,
        "doubted_links": None if doubted is None else len(doubted),
    }


def tell(summary: dict[str, Any], quiet: bool) -> None:
    """Say in words what the summary holds."""
    n_empty = summary["sizes"].count(0)
    if n_empty:
        say(
            f"{n_empty} of {summary['clusters']} clusters stayed empty. More links, a lower "
            f"--threshold or --restarts may fill them.",
            quiet=quiet,
        )
    sizes = _in_words(summary["sizes"])
    n_links = summary["must_links"] + summary["cannot_links"]
    source = f"from {n_links:,} links" if n_links else "without links"
    say(
        f"{summary['rows']:,} rows {source} in clusters of {sizes} "
        f"(scale: {summary['scale'] or 'none'}, network: {summary['network']}). "
        f"Written: {', '.join(summary['outputs'].values())}.",
        quiet=quiet,
    )
    if summary["doubted_links"]:
        say(words_of_doubt(summary["doubted_links"], "report" in summary["outputs"]), quiet=quiet)


def _in_words(sizes: list[int]) -> str:
    """The sizes of all clusters, or of many the smallest and the largest."""
    if len(sizes) <= MOST_SIZES:
        return ", ".join(map(str, sizes))
    return f"{min(sizes):,} to {max(sizes):,} rows each"


def words_of_doubt(n_doubted: int, report: bool) -> str:
    """How many links may be wrong, and where they are listed."""
    from s3c2.report.writing import MOST_DOUBTED

    one = n_doubted == 1
    link, rows, them = ("link is", "its", "it") if one else ("links are", "their", "them")
    if n_doubted > MOST_DOUBTED:
        them = f"the first {MOST_DOUBTED}"
    against = "it" if one else "them"
    words = f"{n_doubted:,} {link} doubtful: the neighbours of {rows} rows speak against {against}"
    return f"{words}; the report lists {them}." if report else f"{words}."


def tell_of_no_links(quiet: bool) -> None:
    """Say what it means that there are none."""
    say(
        "There are no links: the clusters follow from the neighbours of the rows alone, and may "
        "not be the ones you mean. A few links would help: --links.",
        quiet=quiet,
    )
