"""Options that several commands have: how DATA is read, how many clusters. And its links."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from s3c2.links import Links

Command = TypeVar("Command", bound=Callable[..., Any])


class PathOnDisk(click.Path):
    """A path; one with a NUL character, which no file can have, is refused at once."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if "\0" in str(value):
            self.fail(f"{str(value)!r} holds a NUL character, which no path can.", param, ctx)
        return super().convert(value, param, ctx)


PATH = PathOnDisk(path_type=Path)

clusters_option = click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=int,
    required=True,
    help="Number of clusters, at least 2.",
)


def data_options(command: Command) -> Command:
    """Add --id-column, --text-column and --drop."""
    for option in (
        click.option(
            "--drop", multiple=True, metavar="NAME", help="Column to leave out; may be repeated."
        ),
        click.option(
            "--text-column", metavar="NAME", help="Column with texts; they become tf-idf vectors."
        ),
        click.option(
            "--id-column",
            metavar="NAME",
            help="Column with the rows' ids. Without it rows are known by number, from 0.",
        ),
    ):
        command = option(command)
    return command


def read_links(path: Path, *, ids: list[str] | None, n_rows: int) -> Links:
    """Read links as row numbers of the data; messages name rows as the file does."""
    from s3c2.errors import LinksError, RowNumberError
    from s3c2.links import Links

    if ids is not None:
        try:
            return Links.read(path, ids=link_ids(ids))
        except LinksError:
            Links.read(path)  # a fault that needs no data is told by id, not by row number
            raise
    try:
        return Links.read(path, n_samples=n_rows)
    except RowNumberError as error:
        raise LinksError(
            f"{error.problem} If the links speak of ids, name their column with --id-column."
        ) from None


def refuse_contradictions(links: Links, path: Path) -> None:
    """Refuse links that exclude each other, naming the first of them as the file does."""
    from s3c2.errors import ContradictoryLinksError
    from s3c2.links import Links

    if not links.contradictions():
        return
    found = Links.read(path).contradictions()
    others = f" ({len(found) - 1:,} more of this kind)" if len(found) > 1 else ""
    raise ContradictoryLinksError(
        f"{path}: {found[0]}{others} 's3c2 links check {path}' lists all; "
        f"'--contradictions drop' leaves such links out."
    )


def link_ids(ids: list[str]) -> list[str] | list[int]:
    """Give ids as integers when all of them are, as JSON and Parquet files of links hold them."""
    try:
        numbers = [int(name) for name in ids]
    except ValueError:
        return ids
    plain = all(str(number) == name for number, name in zip(numbers, ids))
    return numbers if plain and all(abs(number) < 2**63 for number in numbers) else ids
