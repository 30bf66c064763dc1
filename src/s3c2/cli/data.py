"""``s3c2 data``: where the public data sets are, and downloading them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from s3c2.cli.messages import Interrupted, example, print_json, say
from s3c2.datasets.registry import NAMES
from s3c2.errors import DatasetError

if TYPE_CHECKING:
    from s3c2.datasets.registry import DataFile
    from s3c2.datasets.store import Store

ALL = "all"
IN_SCIKIT_LEARN = "comes with scikit-learn"


@click.group(epilog=example("s3c2 data where", "s3c2 data fetch mnist"))
@click.pass_context
def data(ctx: click.Context) -> None:
    """Find or download the public data sets of the paper.

    Files are looked for in the folder that the environment variable S3C2_DATA names, then in the
    user's cache folder. Downloads go into the cache folder.
    """
    from s3c2.datasets.store import Store

    ctx.obj = ctx.obj or Store.of_user()


@data.command(epilog=example("s3c2 data where", "s3c2 data where mnist"))
@click.argument(
    "name", metavar="[NAME]", type=click.Choice(NAMES, case_sensitive=False), required=False
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def where(store: Store, name: str | None, as_json: bool) -> None:
    """Show where data sets are looked for, and whether they are there and sound.

    With NAME (mnist, fashion-mnist, letters, reuters or digits) every file of that set is listed.
    The exit status is 1 if a file is damaged.
    """
    found = {n: [_find(store, file) for file in store.files[n]] for n in NAMES if name in (None, n)}
    if as_json:
        _print_places(store, found)
    else:
        _tell_places(store, name, found)
    if any(one.damage for files in found.values() for one in files):
        raise click.exceptions.Exit(1)


def _tell_places(store: Store, name: str | None, found: dict[str, list[_Found]]) -> None:
    given = "is not set" if store.given is None else f"is {store.given}"
    mistyped = " (no such folder)" if store.given and not store.given.is_dir() else ""
    click.echo(f"S3C2_DATA {given}{mistyped}; the cache folder is {store.cache}.\n")
    if name is None:
        for each, files in found.items():
            click.echo(f"{each:15}{_summary(store, each, files)}")
        return
    for one in found[name]:
        for path in [one.path] if one.path else store.places(one.file):
            click.echo(f"{one.state:9}{path}{one.because}")
    for one in found[name]:
        if one.path and one.damage:
            click.echo(store.remedy(one.file, one.path))
    others = [one for one in found[name] if not one.damage]
    if any(one.state == "missing" for one in others) or not found[name]:
        click.echo(_summary(store, name, others))


@data.command(epilog=example("s3c2 data fetch mnist", "s3c2 data fetch all"))
@click.argument("name", metavar="NAME", type=click.Choice([*NAMES, ALL], case_sensitive=False))
@click.option("--json", "as_json", is_flag=True, help="Print the places as JSON.")
@click.option("--quiet", is_flag=True, help="No progress and no messages.")
@click.pass_obj
def fetch(store: Store, name: str, as_json: bool, quiet: bool) -> None:
    """Download a data set, or what is missing of it, and say where it is.

    NAME is mnist, fashion-mnist, letters, reuters, digits, or all. A download that was interrupted
    goes on where it stopped. Damaged files in the cache folder are downloaded anew. With all, a set
    that cannot be had does not keep the others from coming.
    """
    places: dict[str, str] = {}
    failed: list[str] = []
    for each in NAMES if name == ALL else [name]:
        try:
            paths = _fetch(replace(store, verbose=0 if quiet else 1), each)
        except KeyboardInterrupt:
            raise Interrupted("Interrupted. The same command goes on from there.") from None
        except DatasetError as error:
            if name != ALL:
                raise
            say(f"{each}: {error}")
            failed.append(each)
            continue
        places[each] = _folders(paths) or IN_SCIKIT_LEARN
        if not (as_json or quiet):
            click.echo(f"{each}: {places[each]}")
    if as_json:
        print_json(places)
    if failed:
        raise DatasetError(f"{' and '.join(failed)} could not be had, for the reasons above.")


@dataclass(frozen=True)
class _Found:
    """A file, the path where it was found, and what is wrong with it."""

    file: DataFile
    path: Path | None
    damage: str | None

    @property
    def state(self) -> str:
        return "missing" if self.path is None else "damaged" if self.damage else "there"

    @property
    def because(self) -> str:
        return f": {self.damage}" if self.damage else ""


def _find(store: Store, file: DataFile) -> _Found:
    path = store.find(file)
    try:
        damage = file.damage(path.read_bytes()) if path else None
    except OSError as error:
        damage = error.strerror or str(error)
    return _Found(file, path, damage)


def _fetch(store: Store, name: str) -> list[Path]:
    if name == "reuters":
        from s3c2.datasets.reuters import fetch_reuters

        return [fetch_reuters(store)]
    return store.fetch(name)


def _summary(store: Store, name: str, found: list[_Found]) -> str:
    """Say in one line how a data set stands."""
    if not found:
        return f"there    {IN_SCIKIT_LEARN}"
    damaged = [one for one in found if one.state == "damaged"]
    missing = [one for one in found if one.state == "missing"]
    if damaged:
        return f"damaged  {damaged[0].path}{damaged[0].because}"
    if not missing:
        return f"there    {_folders([one.path for one in found if one.path])}"
    if name == "reuters":
        return _rcv1_summary()
    megabytes = sum(one.file.size for one in missing) / 1e6
    target = store.cache / name
    return f"missing  's3c2 data fetch {name}' downloads {megabytes:.1f} MB into {target}"


def _rcv1_summary() -> str:
    from s3c2.datasets.reuters import rcv1_folder, rcv1_is_there

    if rcv1_is_there():
        return f"there    {rcv1_folder()}, from scikit-learn's fetch_rcv1"
    return (
        f"missing  's3c2 data fetch reuters' lets scikit-learn download about 650 MB "
        f"into {rcv1_folder()}"
    )


def _folders(paths: list[Path]) -> str:
    return " and ".join(dict.fromkeys(str(p if p.is_dir() else p.parent) for p in paths))


def _print_places(store: Store, found: dict[str, list[_Found]]) -> None:
    sets = {
        name: [
            {
                "file": one.file.name,
                "state": one.state,
                "path": str(one.path) if one.path else None,
                "damage": one.damage,
            }
            for one in files
        ]
        for name, files in found.items()
    }
    given = str(store.given) if store.given else None
    print_json({"S3C2_DATA": given, "cache": str(store.cache), "sets": sets})
