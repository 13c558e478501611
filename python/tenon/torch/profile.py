"""Events of `torch.profiler`: each realisation of the device, and each call of an exported or compiled program."""

from __future__ import annotations

import torch
from tenon import _tenon
from torch.autograd import profiler

span = torch._C._profiler._RecordFunctionFast


def is_profiling() -> bool:
    return profiler._is_profiler_enabled


def _began(text: str):
    if not profiler._is_profiler_enabled:
        return None
    event = span(f"tenon: {text}")
    event.__enter__()
    return event


def install() -> None:
    _tenon.watch_realizations(_began)
