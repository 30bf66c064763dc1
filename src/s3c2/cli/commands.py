"""All commands, gathered."""

from __future__ import annotations

import click

from s3c2.cli.ask import ask
from s3c2.cli.data import data
from s3c2.cli.demo import demo
from s3c2.cli.evaluate import evaluate
from s3c2.cli.export import export
from s3c2.cli.fit import fit
from s3c2.cli.links import links
from s3c2.cli.messages import PlainSpokenGroup, example
from s3c2.cli.predict import predict


@click.group(
    cls=PlainSpokenGroup,
    epilog=example(
        "s3c2 fit plants.csv --id-column name --links links.csv -k 5 -o out",
        "s3c2 predict out new_plants.csv -o new_labels.csv",
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="s3c2")
def s3c2() -> None:
    """Cluster by example: from pairs judged the same or different to clusters of all rows."""


for command in (demo, ask, fit, predict, evaluate, export, links, data):
    s3c2.add_command(command)
