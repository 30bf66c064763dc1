"""How the commands speak: one line for an error, stderr for messages, exit codes."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from s3c2.errors import DataWarning, LinksWarning, MissingExtraError, S3C2Error
from s3c2.naming import parameters_spelled

BAD_INPUT = 2
INTERRUPTED = 130


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what the user should know about it."""


class PlainSpokenGroup(click.Group):
    """A group whose commands end in one clear line when something was given that cannot be used."""

    def invoke(self, ctx: click.Context) -> Any:
        with parameters_spelled(flag), warnings.catch_warnings():
            for kind in (DataWarning, LinksWarning):
                warnings.simplefilter("always", kind)
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            try:
                return super().invoke(ctx)
            except (S3C2Error, MissingExtraError) as error:
                _fail(ctx, str(error), BAD_INPUT)
            except BrokenPipeError:
                raise
            except OSError as error:
                place = f"{error.filename}: " if error.filename else ""
                _fail(ctx, f"{place}{error.strerror or error}.", BAD_INPUT)
            except KeyboardInterrupt as error:
                say(str(error) or "Interrupted.")
                ctx.exit(INTERRUPTED)


@contextmanager
def settings_as_given() -> Iterator[None]:
    """Show a setting that the library refuses as bad input: one line, exit code 2."""
    try:
        yield
    except S3C2Error:
        raise
    except ValueError as error:
        raise S3C2Error(str(error)) from error


def this_command() -> str:
    """How to call the program again: by its name if the shell finds it, otherwise as now."""
    if shutil.which("s3c2"):
        return "s3c2"
    return sys.argv[0] if Path(sys.argv[0]).name == "s3c2" else "python -m s3c2"


def flag(parameter: str, value: str | None = None) -> str:
    """How the command line writes a parameter of the library: ``--id-column name``."""
    name = "--" + parameter.replace("_", "-")
    return name if value is None else f"{name} {shlex.quote(value)}"


def say(message: str, *, quiet: bool = False) -> None:
    """Tell the user something, on stderr."""
    if not quiet:
        click.echo(message, err=True)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    click.echo(json.dumps(content, ensure_ascii=False))


def example(*lines: str) -> str:
    """Format the end of a help page."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def _fail(ctx: click.Context, message: str, code: int) -> None:
    say(f"Error: {' '.join(message.split())}")
    ctx.exit(code)


def _show_warning(message: Warning | str, *_: Any) -> None:
    say(f"Warning: {' '.join(str(message).split())}")
