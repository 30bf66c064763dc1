"""The name of what a process computes on."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import torch


@cache
def device_name(device: str) -> str:
    """The name of the GPU or of the processor; ``device`` may be "auto"."""
    if device.startswith("cuda") or (device == "auto" and torch.cuda.is_available()):
        return torch.cuda.get_device_name()
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {torch.get_num_threads()} threads"
