"""Which of the processes that torchrun started speaks and writes for all; torch is not needed."""

from __future__ import annotations

import os


def under_torchrun() -> bool:
    """Whether torchrun started this process beside others."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_first() -> bool:
    """Whether this process speaks and writes for all."""
    return not under_torchrun() or os.environ.get("RANK") == "0"
