"""How messages name things: numbers of them, and parameters as the reader writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Spelling = Callable[[str, str | None], str]


def _in_python(parameter: str, value: str | None) -> str:
    return parameter if value is None else f"{parameter}={value!r}"


_spelling: ContextVar[Spelling] = ContextVar("spelling of parameters", default=_in_python)


def named(parameter: str, value: str | None = None) -> str:
    """A parameter, with a value where one is given, as whoever reads the message writes it.

    Examples
    --------
    >>> named("id_column"), named("id_column", "name")
    ('id_column', "id_column='name'")
    """
    return _spelling.get()(parameter, value)


def many(n: int, one: str, more: str | None = None) -> str:
    """A number with its word.

    Examples
    --------
    >>> many(1, "answer"), many(7000, "answer"), many(2, "entry", "entries")
    ('1 answer', '7,000 answers', '2 entries')
    """
    return f"{n:,} {one if n == 1 else more or one + 's'}"


@contextmanager
def parameters_spelled(spelling: Spelling) -> Iterator[None]:
    """Let messages that are made inside name parameters in another way."""
    token = _spelling.set(spelling)
    try:
        yield
    finally:
        _spelling.reset(token)
