"""What a process computes on, by name."""

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
    name = processor("model name") or platform.machine()
    return f"{name}, {torch.get_num_threads()} threads"


@cache
def processor(what: str) -> str:
    """What Linux tells of the processor, such as "model name" or "vendor_id"; "" elsewhere."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    found = [line.split(":", 1)[1].strip() for line in lines if line.startswith(what)]
    return found[0] if found else ""
