"""The command ``s3c2``. Packages that take long to import are imported inside the commands."""

from __future__ import annotations

import sys

from s3c2.errors import MissingExtraError


def main() -> None:
    """Run the command line, or say which extra installs it."""
    try:
        import click  # noqa: F401
    except ImportError:
        print(f"Error: {MissingExtraError('The command line', 'click', 'app')}", file=sys.stderr)
        raise SystemExit(2) from None
    from s3c2.cli.commands import s3c2

    s3c2(prog_name="s3c2")
