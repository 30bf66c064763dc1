"""``s3c2 export``: a model for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from s3c2.cli.data_options import PATH
from s3c2.cli.messages import example, print_json, say, settings_as_given
from s3c2.cli.outputs import check_writable_file


@click.command(epilog=example("s3c2 export out -o plants.onnx"))
@click.argument("model", type=PATH)
@click.option("-o", "out", type=PATH, required=True, help="File to write, such as model.onnx.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    default="float32",
    show_default=True,
    help="Type of the rows that the graph takes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
@click.option("--quiet", is_flag=True, help="No messages.")
def export(model: Path, out: Path, dtype: str, as_json: bool, quiet: bool) -> None:
    """Write MODEL as one ONNX graph, with its scaling.

    MODEL is the folder that fit wrote, or the model folder in it. The graph takes rows of numbers
    as they are in a table or an NPY file, and gives cluster, probability and representation. Texts
    and pictures must be turned into numbers as fit did.
    """
    check_writable_file(out)
    from s3c2 import S3C2, export_onnx
    from s3c2.onnx_export import OPSET

    with settings_as_given():
        fitted = S3C2.load(model, device="cpu")
        export_onnx(fitted, out, dtype=dtype)
    if as_json:
        print_json({"output": str(out), "opset": OPSET, "rows": dtype})
    say(f"Written to {out} (opset {OPSET}, rows of {dtype}).", quiet=quiet or as_json)
