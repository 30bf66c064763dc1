"""The report's HTML: one page, nothing fetched, no script."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence

from s3c2.naming import many

STYLE = """
:root { color-scheme: light dark; --ink: #1f2430; --soft: #5b6270; --ground: #fbfbf9;
  --card: #ffffff; --line: #e3e4e0; --accent: #1f6fb5; }
@media (prefers-color-scheme: dark) { :root { --ink: #d8dbe2; --soft: #a0a6b3;
  --ground: #16181d; --card: #1e2127; --line: #343841; --accent: #7db8ee; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; display: flex; align-items: baseline; gap: .5rem; }
p { margin: .4rem 0; max-width: 46rem; }
.lead { font-size: 1.1rem; } .soft, figcaption, h3 span { color: var(--soft); font-weight: 400; }
h3 span { font-size: .9rem; }
.tiles { display: grid; gap: .75rem; margin: 1.5rem 0 0; padding: 0;
  grid-template-columns: repeat(auto-fit, minmax(7.25rem, 1fr)); }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: .7rem .9rem; }
.tiles dt { color: var(--soft); font-size: .85rem; } .tiles dd { margin: 0; font-size: 1.35rem;
  font-variant-numeric: tabular-nums; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line);
  border-radius: .6rem; padding: 1rem; }
figure img { display: block; width: 100%; height: auto; }
figcaption { font-size: .92rem; margin-top: .6rem; }
.pair { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem 1.4rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.number, th.number { text-align: right; }
.clusters { display: grid; gap: .75rem; }
.cluster { background: var(--card); border: 1px solid var(--line); border-left: .4rem solid;
  border-radius: .6rem; padding: .8rem 1rem; }
.strip { display: block; margin-top: .6rem; max-width: 100%; height: auto; }
.small { image-rendering: pixelated; }
.rows { margin: .5rem 0 0; padding: 0; list-style: none; display: grid; gap: .3rem 1.5rem;
  grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); }
.texts { grid-template-columns: 1fr; }
.rows b { font-weight: 600; overflow-wrap: anywhere; }
.rows span { color: var(--soft); font-variant-numeric: tabular-nums; }
details { margin-top: 2.6rem; } summary { cursor: pointer; color: var(--accent); }
footer { margin-top: 3rem; color: var(--soft); font-size: .88rem; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Put the parts between head and foot."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


class Markup(str):
    """HTML that is written as it is."""

    __slots__ = ()


def text(value: object) -> str:
    """Escape for HTML."""
    return value if isinstance(value, Markup) else html.escape(str(value))


def tiles(facts: Mapping[str, str]) -> str:
    """Show the main numbers at a glance."""
    cells = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in facts.items())
    return f'<dl class="tiles">{cells}</dl>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Show a table whose first column names the row."""
    head = "".join(
        f'<th scope="col"{"" if i == 0 else CLASS_NUMBER}>{text(name)}</th>'
        for i, name in enumerate(header)
    )
    body = "".join(
        f'<tr><th scope="row">{text(first)}</th>'
        + "".join(f"<td{CLASS_NUMBER}>{text(value)}</td>" for value in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody>'
        "</table></div>"
    )


CLASS_NUMBER = ' class="number"'


def svg_figure(svg: bytes, alt: str, caption: str) -> str:
    """Show a picture with words for those who cannot see it, and how to read it."""
    return (
        f'<figure><img src="{data_uri(svg, "svg+xml")}" alt="{text(alt)}">'
        f"<figcaption>{text(caption)}</figcaption></figure>"
    )


def cluster_card(cluster: int, size: int, colour: str, content: str) -> str:
    """Show one cluster: its number, size, and most typical rows."""
    return (
        f'<section class="cluster" style="border-left-color:{colour}">'
        f"<h3>Cluster {cluster} <span>{many(size, 'row')}</span></h3>{content}</section>"
    )


def strip(png: bytes, alt: str, height: int) -> str:
    """Show a strip of pictures; small ones enlarged with crisp pixels."""
    factor = max(1, round(56 / height))
    small = " small" if factor > 1 else ""
    size = f' style="height:{height * factor}px;width:auto"' if factor > 1 else ""
    return (
        f'<div class="wide"><img class="strip{small}"{size} src="{data_uri(png, "png")}" '
        f'alt="{text(alt)}"></div>'
    )


def data_uri(content: bytes, kind: str) -> str:
    """Hold a picture inside the page."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
