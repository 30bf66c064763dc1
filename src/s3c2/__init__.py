"""Clustering by example: learn clusters from pairs judged the same or different.

The names below are imported when they are first used, so that ``import s3c2`` and the command
line's help do not wait for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s3c2.clunet import CluNet
    from s3c2.data.streams import Batches
    from s3c2.engine.callbacks import Callback, Step
    from s3c2.estimator import S3C2
    from s3c2.grids import fit_many
    from s3c2.labnet import LabNet
    from s3c2.links import Links
    from s3c2.metrics import Rates
    from s3c2.onnx_export import export_onnx
    from s3c2.tuning import LinkScores, cross_validate_links

__version__ = "0.1.0"

_HOME = {
    "Batches": "data.streams",
    "Callback": "engine.callbacks",
    "CluNet": "clunet",
    "LabNet": "labnet",
    "LinkScores": "tuning",
    "Links": "links",
    "Rates": "metrics",
    "S3C2": "estimator",
    "Step": "engine.callbacks",
    "cross_validate_links": "tuning",
    "export_onnx": "onnx_export",
    "fit_many": "grids",
}

__all__ = [
    "S3C2",
    "Batches",
    "Callback",
    "CluNet",
    "LabNet",
    "LinkScores",
    "Links",
    "Rates",
    "Step",
    "cross_validate_links",
    "export_onnx",
    "fit_many",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 's3c2' has no attribute {name!r}")
    return getattr(importlib.import_module(f"s3c2.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
