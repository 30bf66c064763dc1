"""``s3c2 links``: check a file of links, or sample links from labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from s3c2.cli.data_options import PATH, data_options, read_links
from s3c2.cli.messages import example, print_json, say
from s3c2.cli.outputs import check_is_no_input, check_table_name
from s3c2.naming import many

if TYPE_CHECKING:
    from s3c2.links import Links

CONTRADICTIONS_FOUND = 1


@click.group(epilog=example("s3c2 links check links.csv"))
def links() -> None:
    """Check links, or sample them from known labels."""


@links.command(
    epilog=example("s3c2 links check links.csv --data plants.csv --id-column name --drop species")
)
@click.argument("links_file", metavar="LINKS", type=PATH)
@click.option("--data", type=PATH, help="Data that the links speak of; unknown rows are found.")
@data_options
@click.option(
    "--most",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many contradictions to show.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(
    links_file: Path,
    data: Path | None,
    id_column: str | None,
    text_column: str | None,
    drop: tuple[str, ...],
    most: int,
    as_json: bool,
) -> None:
    """Count the links in LINKS, what follows from them, and how they contradict each other.

    The exit code is 0 when all links can hold, and 1 when some exclude each other.
    """
    from s3c2.links import Links

    if data is None:
        if id_column or text_column or drop:
            raise click.UsageError("--id-column, --text-column and --drop need --data.")
        read = Links.read(links_file)
    else:
        from s3c2.data import prepare

        rows, _ = prepare(data, id_column=id_column, text_column=text_column, drop=drop)
        read = read_links(links_file, ids=rows.ids, n_rows=rows.n_rows)
        if rows.ids is not None:
            read = Links.read(links_file)  # all ids are there: speak of them by name
    result = _check_result(read, most)
    if as_json:
        print_json(result)
    else:
        _print_check(result)
        if data is None and read.by_id:
            say("Whether the data has rows with these ids was not checked: give it with --data.")
    if result["n_contradictions"]:
        click.get_current_context().exit(CONTRADICTIONS_FOUND)


@links.command(epilog=example("s3c2 links sample species.csv -n 500 -o links.csv --id-column name"))
@click.argument("labels", type=PATH)
@click.option("-n", "n_links", type=click.IntRange(min=1), required=True, help="How many links.")
@click.option(
    "-o", "out", type=PATH, required=True, help="CSV, JSON Lines or Parquet file, by its ending."
)
@click.option(
    "--must-share",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Share of must-links.",
)
@click.option("--uniform", is_flag=True, help="Draw all pairs alike, whatever share that gives.")
@click.option(
    "--design",
    type=click.Choice(["uniform", "chained"]),
    default="uniform",
    show_default=True,
    help="Draw the pairs of a kind alike, or must-links in chains inside a class and cannot-links "
    "between the rows of these chains, so that rows have links of both kinds.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--id-column", default="id", show_default=True, help="Column with the rows' ids.")
@click.option("--label-column", help="Column with the classes, where there are several.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def sample(
    labels: Path,
    n_links: int,
    out: Path,
    must_share: float,
    uniform: bool,
    design: Literal["uniform", "chained"],
    seed: int,
    id_column: str,
    label_column: str | None,
    as_json: bool,
) -> None:
    """Sample links from the known classes of a table, as a perfect judge would give them.

    Rows whose class is empty are left out. Links go by the id column where there is one,
    otherwise by row number, from 0.
    """
    check_is_no_input(out, labels)
    check_table_name(out)
    import numpy as np

    from s3c2.cli.data_options import link_ids
    from s3c2.cli.label_files import read_label_column
    from s3c2.links import Links

    table = read_label_column(
        labels,
        column=label_column,
        usual=["label", "class", "truth"],
        id_columns=[id_column],
        option="--label-column",
    )
    classes = sorted({label for label in table.labels if label is not None})
    number = {label: place for place, label in enumerate(classes)}
    y = np.array([-1 if label is None else number[label] for label in table.labels])
    drawn = Links.from_labels(
        y,
        n_links,
        must_share=None if uniform else must_share,
        design=design,
        random_state=seed,
    )
    drawn.write(out, ids=None if table.ids is None else link_ids(table.ids))
    counts = {"must_links": drawn.n_must, "cannot_links": drawn.n_cannot, "output": str(out)}
    if as_json:
        print_json(counts)
    else:
        must, cannot = many(drawn.n_must, "must-link"), many(drawn.n_cannot, "cannot-link")
        say(f"{must} and {cannot} written to {out}.")


def _check_result(read: Links, most: int) -> dict[str, Any]:
    closure = read.closure()
    contradictions = read.contradictions()
    return {
        "must_links": read.n_must,
        "cannot_links": read.n_cannot,
        "duplicates": read.n_duplicates,
        "implied_must_links": int(closure.n_implied_must),
        "implied_cannot_links": int(closure.n_implied_cannot),
        "n_contradictions": len(contradictions),
        "contradictions": [str(each) for each, _ in zip(contradictions, range(most))],
    }


def _print_check(result: dict[str, Any]) -> None:
    click.echo(f"{_both(result['must_links'], result['cannot_links'])}.")
    if result["duplicates"]:
        were = many(result["duplicates"], "link was", "links were")
        click.echo(f"{were} given more than once; each counts once.")
    without = " but for contradictory ones" if result["n_contradictions"] else ""
    click.echo(
        f"With all that follows from them{without}: "
        f"{_both(result['implied_must_links'], result['implied_cannot_links'])}."
    )
    n_found, shown = result["n_contradictions"], result["contradictions"]
    if n_found == 0:
        click.echo("No contradictions.")
        return
    click.echo(f"{many(n_found, 'contradiction')}:")
    for sentence in shown:
        click.echo(f"- {sentence}")
    if n_found > len(shown):
        click.echo(f"… and {n_found - len(shown):,} more (--most {n_found} shows all).")


def _both(n_must: int, n_cannot: int) -> str:
    return f"{many(n_must, 'must-link')}, {many(n_cannot, 'cannot-link')}"
