"""The frame of every page, and how an item looks."""

from __future__ import annotations

from dataclasses import dataclass

from s3c2.page.items import Items
from s3c2.report.page import Markup, text

NAVIGATION = {
    "/": "Question",
    "/clusters": "Clusters",
    "/answers": "Answers",
    "/results": "Results",
}
MOST_TEXT = 1200  # letters of a text beside a question
N_COLOURS = 10
VERDICTS = (("same", "Same"), ("different", "Different"), ("unsure", "Unsure"))


@dataclass(frozen=True)
class Frame:
    """What every page shows around its own content.

    Attributes
    ----------
    title : of the project
    author : who is looking
    path : of the page, to mark it in the navigation
    n_problems : contradictions and disagreements
    """

    title: str
    author: str
    path: str
    n_problems: int = 0

    def page(self, heading: str, content: str) -> str:
        """The whole page."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{text(heading)} – {text(self.title)}</title>"
            '<link rel="stylesheet" href="/static/ask.css">'
            '<link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
            '<script src="/static/ask.js" defer></script></head>\n<body>'
            '<a class="skip" href="#main">To the content</a>'
            f'<header><a class="title" href="/">{text(self.title)}</a>{self._navigation()}'
            f'<a class="who" href="/people">{text(self.author)}</a></header>\n'
            f'<main id="main" tabindex="-1">{content}</main></body></html>'
        )

    def _navigation(self) -> str:
        links = []
        for path, name in NAVIGATION.items():
            here = path == self.path or (path != "/" and self.path.startswith(path))
            current = ' aria-current="page"' if here else ""
            count = ""
            if path == "/answers" and self.n_problems:
                count = (
                    f' <span class="count">{self.n_problems}'
                    '<span class="unseen"> to look at</span></span>'
                )
            links.append(f'<li><a href="{path}"{current}>{name}{count}</a></li>')
        return f'<nav aria-label="Pages"><ul>{"".join(links)}</ul></nav>'


def card(items: Items, row: int, side: str = "") -> Markup:
    """One item to look at."""
    name = items.names[row]
    label = f"{side}: {name}" if side else name
    if items.kind == "image":
        inside = f'<img src="/items/{row}.png" alt="{text(label)}">'
        return Markup(
            f'<figure class="item">{inside}<figcaption>{text(name)}</figcaption></figure>'
        )
    if items.kind == "text":
        assert items.data.texts is not None
        words = items.data.texts[row]
        shown = words if len(words) <= MOST_TEXT else f"{words[:MOST_TEXT]} …"
        return Markup(
            f'<figure class="item words"><blockquote>{text(shown) or "(empty)"}</blockquote>'
            f"<figcaption>{text(name)}</figcaption></figure>"
        )
    return Markup(
        f'<figure class="item words"><figcaption>{text(name)}</figcaption>'
        f"{_values(items, row)}</figure>"
    )


def _values(items: Items, row: int) -> str:
    pairs = zip(items.columns, items.values(row))
    cells = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in pairs)
    return f'<dl class="values">{cells}</dl>'


def comparison(items: Items, left: int, right: int) -> str:
    """Two items side by side; rows of a table in one table, what differs set off."""
    if items.kind != "table":
        return f'<div class="pair">{card(items, left, "Left")}{card(items, right, "Right")}</div>'
    lines = []
    for column, one, two in zip(items.columns, items.values(left), items.values(right)):
        differs = one != two
        mark = ' class="differs"' if differs else ""
        unseen = '<span class="unseen"> differs</span>' if differs else ""
        lines.append(
            f'<tr{mark}><th scope="row">{text(column)}{unseen}</th>'
            f"<td>{text(one)}</td><td>{text(two)}</td></tr>"
        )
    names = items.names
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="The two rows"><table '
        f'class="compare"><thead><tr><td></td><th scope="col">{text(names[left])}</th>'
        f'<th scope="col">{text(names[right])}</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def verdict_buttons(but: str = "") -> str:
    """Large buttons with the answers to a pair and their keys, but for one answer."""
    return "".join(
        f'<button name="verdict" value="{verdict}" class="{verdict}" data-key="{verdict[0]}">{word}'
        f' <kbd aria-hidden="true">{word[0]}</kbd></button>'
        for verdict, word in VERDICTS
        if verdict != but
    )


def keys_switch(keys: str) -> str:
    """The switch for these keys."""
    return (
        '<label class="keys"><input type="checkbox" id="keys" checked> '
        f"Answer with the keys {keys}</label>"
    )


def colour_class(cluster: int) -> str:
    """The class that gives a cluster its colour."""
    return f"c{cluster % N_COLOURS}"


def hidden(**fields: object) -> str:
    """Fields of a form that are not seen."""
    return "".join(
        f'<input type="hidden" name="{name}" value="{text(value)}">'
        for name, value in fields.items()
    )
