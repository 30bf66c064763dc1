"""The pages to look at: clusters, answers that do not go together, results, people."""

from __future__ import annotations

import secrets

import numpy as np

from s3c2.naming import many
from s3c2.page.layout import (
    VERDICTS,
    card,
    colour_class,
    comparison,
    hidden,
    keys_switch,
    verdict_buttons,
)
from s3c2.page.project import Project, Step
from s3c2.page.results import MODEL, REPORT, Opinions
from s3c2.questions import Answered, Pair
from s3c2.report.page import Markup, text

TYPICAL = 8  # items of each cluster on the page of all
A_PAGE = 48  # items of one cluster
MOST_SHOWN = 20  # contradictions
MOST_ANSWERS = 30  # on a page
NO_TRAINING = "No model is trained: <code>s3c2 ask</code> was started with --no-training."


def clusters_page(project: Project) -> str:
    """All clusters, each with its most typical items."""
    opinions = project.opinions
    if opinions is None:
        return "<h1>Clusters</h1>" + _no_model(project)
    sizes = np.bincount(opinions.labels, minlength=project.n_clusters)
    cards = []
    for cluster, size in enumerate(sizes.tolist()):
        items = "".join(card(project.items, i) for i in opinions.members(cluster)[:TYPICAL])
        inside = items or '<p class="soft">No item is in this cluster.</p>'
        cards.append(
            f'<section class="cluster {colour_class(cluster)}"><h2><a href="/clusters/{cluster}">'
            f"Cluster {cluster}</a> <span>{many(size, 'item')}</span></h2>"
            f'<div class="strip {project.items.kind}">{inside}</div></section>'
        )
    return (
        "<h1>Clusters</h1><p>Each with its most typical items. Open a cluster to say which items "
        f"do not belong to it.</p>{''.join(cards)}"
    )


def cluster_page(project: Project, cluster: int, page: int, said: str = "") -> str | None:
    """One cluster; None if there is no such cluster."""
    opinions = project.opinions
    if not 0 <= cluster < project.n_clusters:
        return None
    heading = f'<h1 class="{colour_class(cluster)} mark">Cluster {cluster}</h1>'
    if opinions is None:
        return heading + _no_model(project)
    members = opinions.members(cluster)
    rows = members[::-1]
    n_pages = max(1, -(-len(rows) // A_PAGE))
    page = min(max(page, 0), n_pages - 1)
    shown = rows[page * A_PAGE : (page + 1) * A_PAGE]
    marked = project.said_not_to_belong(members, shown)
    items = (_member(project, opinions, row, cluster, page, row in marked) for row in shown)
    told = f'<p role="status" class="told">{text(said)}</p>' if said else ""
    return (
        f"{heading}<p>{many(len(rows), 'item')}, the least sure first. What is marked as not "
        f"belonging is told to the next training.</p>{told}"
        f'<div class="grid {project.items.kind}">'
        f"{''.join(items)}</div>"
        f"{_pages(f'/clusters/{cluster}', page, n_pages, 'Less sure items', 'Surer items')}"
    )


def _member(
    project: Project, opinions: Opinions, row: int, cluster: int, page: int, is_marked: bool
) -> str:
    name, sure = project.items.names[row], opinions.probabilities[row]
    seen = f'{card(project.items, row)}<p class="soft">{100 * sure:.0f} % sure</p>'
    if is_marked:
        told = '<p class="told">Marked as not belonging; <a href="/answers">answers</a></p>'
        return f'<div class="member">{seen}{told}</div>'
    key = secrets.token_urlsafe(9)
    return (
        f'<div class="member">{seen}<form method="post" action="/outlier">'
        f"{hidden(key=key, row=row, cluster=cluster, page=page)}"
        f'<button class="plain">Does not belong<span class="unseen">: {text(name)}</span></button>'
        "</form></div>"
    )


def _pages(path: str, page: int, n_pages: int, before: str, after: str) -> str:
    """Links to the page before and after this one; ``before`` and ``after`` say what is there."""
    if n_pages == 1:
        return ""
    links = []
    if page > 0:
        links.append(f'<a href="{path}?page={page - 1}">{before}</a>')
    links.append(f"page {page + 1} of {n_pages}")
    if page + 1 < n_pages:
        links.append(f'<a href="{path}?page={page + 1}">{after}</a>')
    return f'<nav aria-label="More pages of this list" class="pages">{" · ".join(links)}</nav>'


def answers_page(project: Project, author: str, page: int = 0, said: str = "") -> str:
    """Contradictions, disagreements, doubts, and all answers; one's own can be changed."""
    told = f'<p role="status" class="told">{text(said)}</p>' if said else ""
    return (
        f"<h1>Answers</h1>{told}{_contradictions(project)}{_disagreements(project)}"
        f"{_doubted(project)}{_all_answers(project, author, page)}"
    )


def _contradictions(project: Project) -> str:
    found = project.contradictions()
    if not found:
        return (
            "<h2>Contradictions</h2><p>None: all answers go together. If some ever do not, they "
            "are shown here.</p>"
        )
    parts = []
    for steps in found[:MOST_SHOWN]:
        n = len(steps)
        lines = "".join(f"<li>{_step(project, step)}</li>" for step in steps)
        parts.append(
            f'<section class="problem"><p>These {n} answers exclude each other: two items are '
            '"different", and a chain of "same" joins them. At least one answer is wrong. Change '
            f"it here.</p><ol>{lines}</ol></section>"
        )
    more = len(found) - MOST_SHOWN
    rest = f"<p>{many(more, 'more contradiction')}.</p>" if more > 0 else ""
    return (
        f'<h2>Contradictions <span class="count">{len(found)}</span></h2>'
        "<p>They are left out of the training until they are mended.</p>"
        f"{''.join(parts)}{rest}"
    )


def _disagreements(project: Project) -> str:
    found = project.disagreements()
    if not found:
        return ""
    parts = []
    for steps in found[:MOST_SHOWN]:
        said = "; ".join(f"{text(s.authors[0])}: <b>{text(s.verdict)}</b>" for s in steps)
        parts.append(
            f'<section class="problem">{comparison(project.items, steps[0].a, steps[0].b)}'
            f"<p>{said}</p>{_change(steps[0].a, steps[0].b)}</section>"
        )
    return (
        f'<h2>Disagreements <span class="count">{len(found)}</span></h2><p>People said different '
        "things of these pairs. What most of them say counts; a tie is left out.</p>"
        f"{''.join(parts)}"
    )


def _doubted(project: Project) -> str:
    found = project.doubted()
    if not found:
        return ""
    shown = found[:MOST_SHOWN]
    parts = [
        f'<section class="problem">{_said(project, step)}{_change(step.a, step.b)}</section>'
        for step in shown
    ]
    which = f"The {len(shown)} most doubtful are shown. " if len(shown) < len(found) else ""
    return (
        f'<h2>Answers to look at again <span class="count">{len(found)}</span></h2>'
        "<p>Similar items speak against these answers, and they count less in the training. "
        f"{which}Change what is wrong. If an answer is right, give it again, and it is not shown "
        "any more.</p>"
        f"{''.join(parts)}"
    )


def _step(project: Project, step: Step) -> str:
    return f"{_said(project, step)}{_change(step.a, step.b, but=step.verdict)}"


def _said(project: Project, step: Step) -> str:
    by = ", ".join(step.authors) or "nobody"
    return (
        f"{comparison(project.items, step.a, step.b)}<p><b>{text(step.verdict)}</b>, said "
        f"{text(by)}</p>"
    )


def _change(a: int, b: int, but: str = "") -> str:
    """Buttons with the answers to a pair, but for the one that was given."""
    buttons = "".join(
        f'<button class="plain" name="verdict" value="{verdict}">{word}</button>'
        for verdict, word in VERDICTS
        if verdict != but
    )
    fields = hidden(key=secrets.token_urlsafe(9), left=a, right=b, back="/answers")
    return f'<form method="post" action="/answer" class="change">{fields}I say: {buttons}</form>'


def _all_answers(project: Project, author: str, page: int) -> str:
    answers = project.last_words()
    if not answers:
        return "<h2>All answers</h2><p>There are none yet.</p>"
    n_pages = -(-len(answers) // MOST_ANSWERS)
    page = min(page, n_pages - 1)
    shown = answers[page * MOST_ANSWERS : (page + 1) * MOST_ANSWERS]
    lines = "".join(_answer(project, one, one.author == author) for one in shown)
    return (
        "<h2>All answers</h2><p>The newest first. You can change your own.</p>"
        '<div class="wide" tabindex="0" role="region" '
        'aria-label="All answers"><table><thead><tr><th scope="col">item</th><th scope="col">item'
        '</th><th scope="col">answer</th><th scope="col">by</th><td></td></tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
        f"{_pages('/answers', page, n_pages, 'Newer answers', 'Older answers')}"
    )


def _answer(project: Project, one: Answered, own: bool) -> str:
    a, b = (text(project.items.names[row]) for row in one.pair)
    first, second = (_small(project, row) for row in one.pair)
    change = (
        f'<a href="/answers/change?a={one.pair.a}&amp;b={one.pair.b}">Change'
        f'<span class="unseen"> what you said of {a} and {b}</span></a>'
    )
    return (
        f"<tr><td>{first}{a}</td><td>{second}{b}</td><td>{text(one.verdict)}</td>"
        f"<td>{text(one.author)}</td><td>{change if own else ''}</td></tr>"
    )


def _small(project: Project, row: int) -> str:
    """A small picture of an item, its name being said beside it; empty for texts and tables."""
    if project.items.kind != "image":
        return ""
    return f'<img class="small-picture" src="/items/{row}.png" alt="" loading="lazy">'


def change_page(project: Project, author: str, a: int, b: int) -> str | None:
    """An answer of one's own, to be changed or withdrawn; None if there is no such answer."""
    said = None if a == b else project.said_by(author, Pair.of(a, b))
    if said is None:
        return None
    fields = hidden(key=secrets.token_urlsafe(9), left=a, right=b, back="/answers")
    keys = ", ".join(word[0] for verdict, word in VERDICTS if verdict != said)
    return (
        f"<h1>Change an answer</h1><p>You said: <b>{text(said)}</b>.</p>"
        f"{comparison(project.items, a, b)}"
        f'<form method="post" action="/answer" class="verdicts by-key">{fields}'
        f"{verdict_buttons(but=said)}"
        '<button formaction="/withdraw" class="withdraw" data-key="w">Withdraw '
        '<kbd aria-hidden="true">W</kbd></button></form><div class="small">'
        f'<a href="/answers">Leave it as it is</a>{keys_switch(f"{keys} and W")}</div>'
    )


def results_page(project: Project, finishing: bool) -> str:
    """What can be taken away."""
    model = (project.folder / MODEL).is_dir()
    comes = not model and project.trainer is not None
    ready = "<p>Labels and model come with the first training.</p>" if comes else ""
    rows = [("/download/links.csv", "links.csv", "the answers, as links for <code>s3c2 fit</code>")]
    if model:
        rows += [
            ("/download/labels.csv", "labels.csv", "the cluster of every item"),
            (
                "/download/model.zip",
                "model.zip",
                "the model: unzip it, for <code>s3c2 predict</code>",
            ),
        ]
    if (project.folder / REPORT).is_file():
        rows.append(("/report", "report.html", "pictures of the training and of the clusters"))
    links = "".join(f'<li><a href="{to}">{name}</a>: {what}</li>' for to, name, what in rows)
    if project.trainer is None:
        form = f"<p>{NO_TRAINING}</p>"
    elif finishing:
        form = '<p role="status" class="told">The last training is under way; you may go on.</p>'
    else:
        form = (
            f'<form method="post" action="/finish">{hidden(key=secrets.token_urlsafe(9))}'
            "<button>Finish: train on all answers and write the report</button></form>"
        )
    notes = [*project.notes, *_left_out(project)]
    noted = "".join(f"<li>{text(note)}</li>" for note in notes)
    beside = f"<h2>About the data</h2><ul>{noted}</ul>" if notes else ""
    return (
        f"<h1>Results</h1><ul>{links}</ul>{ready}{form}{beside}"
        f"<p class='soft'>Everything is in the project folder, too. <code>s3c2 ask</code> on it "
        "goes on where you stopped.</p>"
    )


def _left_out(project: Project) -> list[str]:
    found = project.items.left_out
    return [f"{name} was left out: {why}" for name, why in list(found.items())[:MOST_SHOWN]] + (
        [f"… and {len(found) - MOST_SHOWN:,} more"] if len(found) > MOST_SHOWN else []
    )


def people_page(project: Project, author: str) -> str:
    """Who answers."""
    lines = "".join(
        f"<li>{text(name)}: {many(n, 'answer')}</li>" for name, n in project.authors().items()
    )
    others = f"<h2>Who has answered</h2><ul>{lines}</ul>" if lines else ""
    return (
        "<h1>Who are you?</h1><p>Your name is kept with your answers, so that several people can "
        "answer, each on a screen of their own.</p>"
        '<form method="post" action="/people" class="name"><label>Your name <input name="name" '
        f'value="{text(author)}" maxlength="40" autocomplete="nickname" required></label>'
        f"<button>Keep it</button></form>{others}"
    )


def _no_model(project: Project) -> Markup:
    if project.trainer is None:
        return Markup(f"<p>{NO_TRAINING}</p>")
    doing = f": {text(project.trainer.doing)}" if project.trainer.doing else ""
    busy = f"It is under way{doing}." if project.trainer.busy else ""
    return Markup(f"<p>The clusters come with the first training. {busy}</p>")
