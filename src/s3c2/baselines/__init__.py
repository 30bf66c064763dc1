"""The methods that the paper compares with, as estimators like S3C2.

The names below are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s3c2.baselines.dcpr import DCPR
    from s3c2.baselines.dgraph import DGraph
    from s3c2.baselines.idec import IDEC
    from s3c2.baselines.nnclustering import NNClustering

_HOME = {"DCPR": "dcpr", "DGraph": "dgraph", "IDEC": "idec", "NNClustering": "nnclustering"}

__all__ = ["DCPR", "IDEC", "DGraph", "NNClustering"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 's3c2.baselines' has no attribute {name!r}")
    return getattr(importlib.import_module(f"s3c2.baselines.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
