"""The page with the question."""

from __future__ import annotations

from s3c2.naming import many
from s3c2.page.layout import comparison, hidden, keys_switch, verdict_buttons
from s3c2.page.project import Project, Question
from s3c2.report.page import text

HINTS = 5  # answers, after which the question explains itself


def question_page(project: Project, author: str, said: str = "", alarm: str = "") -> str:
    """The question, what was just said, and how far it is."""
    question = project.question(author)
    asked = _question(project, question) if question is not None else _nothing_left()
    told = f'<p class="alarm" role="alert">{text(alarm)}</p>' if alarm else ""
    return (
        f'<h1 class="unseen">Same or different?</h1>{told}'
        f'<section id="ask" aria-label="Question">{asked}</section>'
        f'<p id="said" role="status" class="soft">{text(said)}</p>{_state(project)}'
    )


def _question(project: Project, question: Question) -> str:
    fields = hidden(key=question.key, left=question.left, right=question.right)
    undo = (
        f'<form method="post" action="/undo">{hidden(key=f"u-{question.key}")}'
        '<button class="undo" data-key="z">Undo <kbd aria-hidden="true">Z</kbd></button></form>'
    )
    return (
        f'<p class="lead" aria-hidden="true">Same or different?</p>{_hint(project)}'
        f"{comparison(project.items, question.left, question.right)}"
        f'<form method="post" action="/answer" class="verdicts">{fields}{verdict_buttons()}</form>'
        f'<div class="small">{undo}{keys_switch("S, D, U and Z")}</div>'
    )


def _hint(project: Project) -> str:
    """What is meant, for the first answers."""
    if project.counts()["answers"] >= HINTS:
        return ""
    return '<p class="hint soft">Same means: you would put the two into one group.</p>'


def _nothing_left() -> str:
    return (
        '<p class="lead">Nothing is left to ask.</p><p>All pairs follow from the answers. '
        'Look at the <a href="/clusters">clusters</a>, or take the <a href="/results">results</a>.'
        "</p>"
    )


def _state(project: Project) -> str:
    signal, counts = project.signal(), project.counts()
    share = round(100 * signal.share)
    words = (
        f"{many(counts['answers'], 'answer')}: {counts['same']:,} same, "
        f"{counts['different']:,} different, {counts['unsure']:,} unsure"
    )
    return (
        f'<aside id="state" data-version="{version(project)}" aria-label="How far it is">'
        f'<progress max="100" value="{share}" aria-label="How far it is">{share} %</progress>'
        f'<p class="signal {signal.state.replace(" ", "-")}">{text(signal.words)}</p>'
        f'<p class="soft">{words}. <span id="training">{text(training(project))}</span></p>'
        f"{_picture(project)}</aside>"
    )


def version(project: Project) -> str:
    """Changes when there is something new to see without an answer."""
    busy = project.trainer is not None and project.trainer.busy
    return f"{project.n_trainings}-{int(busy)}"


def training(project: Project) -> str:
    """What is to be said of the model."""
    if project.problem is not None:
        return f"The last training failed: {project.problem}"
    if project.trainer is None:
        return ""
    if project.trainer.busy:
        doing = f" ({project.trainer.doing})" if project.trainer.doing else ""
        return f"A model is being trained{doing}; you need not wait."
    n = project.trainer.trained_on
    return "" if n is None else f"The model knows {many(n, 'answer')}."


def _picture(project: Project) -> str:
    if project.opinions is None:
        return '<p class="soft">A picture of the clusters comes with the first model.</p>'
    return (
        f'<a href="/clusters" class="map"><img src="/picture.svg?v={project.n_trainings}" '
        'alt="The clusters so far, as points in the plane: show all clusters"></a>'
    )
