"""Which rows stored answers speak of, where the data may have changed since."""

from __future__ import annotations

from dataclasses import dataclass, field

from s3c2.naming import many
from s3c2.page.items import Items
from s3c2.page.store import Event, Store
from s3c2.questions import Answered, Pair, Verdict

MOST_NAMED = 5


@dataclass
class Match:
    """Stored items found again.

    Attributes
    ----------
    row_of : row of each stored name that was found
    moved : names that were found by their content, in another row or under another id
    changed : names whose id is there with another content
    lost : names that were not found
    """

    row_of: dict[str, int] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def words(self, n_answers: int, n_lost: int) -> list[str]:
        """What a person should know about it."""
        said = []
        if self.moved:
            said.append(f"Found by content, though the data changed: {_items(self.moved)}.")
        if self.changed:
            said.append(
                f"Found by id, with another content than when the answers were given: "
                f"{_items(self.changed)}. Check these answers."
            )
        if n_lost:
            said.append(
                f"Not in the data any more: {_items(self.lost)}. {n_lost} of {n_answers} answers "
                f"are kept, but not used."
            )
        return said


def match(store: Store, items: Items) -> Match:
    """Find the stored items: by id and content, by content alone, or by id alone."""
    contents, found = store.contents(), Match()
    if not contents:
        return found
    place = {name: row for row, name in enumerate(items.names)}
    by_content: dict[str, int] | None = None
    for name, content in contents.items():
        row = place.get(name)
        if row is not None and items.content(row) == content:
            found.row_of[name] = row
            continue
        if by_content is None:  # only where the data changed
            by_content = {items.content(i): i for i in reversed(range(len(items)))}
        if content in by_content:
            found.row_of[name] = by_content[content]
            found.moved.append(name)
        elif row is not None and items.data.ids is not None:
            found.row_of[name] = row
            found.changed.append(name)
        else:
            found.lost.append(name)
    return found


def as_history(answers: list[Event], found: Match) -> dict[str, Answered]:
    """The stored answers by key, in row numbers; those whose items are lost are left out."""
    history = {}
    for event in answers:
        a, b = found.row_of.get(event.a), found.row_of.get(event.b)
        if a is not None and b is not None and a != b:
            verdict: Verdict = event.verdict  # type: ignore[assignment]
            history[event.key] = Answered(Pair.of(a, b), verdict, event.expected, event.author)
    return history


def _items(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
    return f"{many(len(names), 'item')} ({shown})"
