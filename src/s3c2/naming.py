"""How messages name a parameter: as Python does, unless the command line says how it does."""

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


@contextmanager
def parameters_spelled(spelling: Spelling) -> Iterator[None]:
    """Let messages that are made inside name parameters in another way."""
    token = _spelling.set(spelling)
    try:
        yield
    finally:
        _spelling.reset(token)
