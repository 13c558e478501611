"""Operators without a row: taken apart by PyTorch's own decompositions, or run on the CPU, each named once."""

from __future__ import annotations

import threading
import warnings

import torch
import torch._decomp
from torch.utils._pytree import tree_map

from . import views
from .differentiated import linear_backward
from .dtypes import Unsupported
from .handles import is_on_cpu, is_ours, leaf, seen, to_cpu, wrap_cpu
from .report import record_fallback
from .storages import cpu_part, resize, write

_warned: set[str] = set()
_active = threading.local()
# Decompositions that look at elements, or that are slower than a copy to the CPU and back.
_NOT_TAKEN_APART = {"aten.item.default", "aten.equal.default"}


# Views that see elements as another dtype: copies here.
_OTHER_DTYPE = {"aten.view_as_complex.default", "aten.view_as_real.default", "aten.view.dtype"}


def is_view(overload) -> bool:
    """Whether its results are views of its first argument, by its schema."""
    schema = overload._schema
    first = schema.arguments[0].alias_info if schema.arguments else None
    return (
        first is not None
        and not first.is_write
        and any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
    )


def run(overload, args, kwargs, reason: str):
    """The operator by views, by a decomposition, or on the CPU."""
    if is_view(overload) and is_ours(args[0]) and str(overload) not in _OTHER_DTYPE:
        return views.view(overload, args[0], args[1:], kwargs)
    taken_apart = _by_decomposition(overload, args, kwargs)
    if taken_apart is not NotImplemented:
        return taken_apart
    return on_cpu(overload, args, kwargs, reason)


def _by_decomposition(overload, args, kwargs):
    function = torch._decomp.decomposition_table.get(overload)
    stack = _active.__dict__.setdefault("stack", [])
    if function is None or overload in stack or str(overload) in _NOT_TAKEN_APART or len(stack) > 8:
        return NotImplemented
    if _holds_cpu(args) or _holds_cpu(kwargs.values()) or _writes(overload):
        return NotImplemented
    stack.append(overload)
    try:
        return function(*args, **kwargs)
    except (NotImplementedError, Unsupported):  # any other error is one of the call's, or of ours
        return NotImplemented
    finally:
        stack.pop()


def _writes(overload) -> bool:
    return any(a.alias_info is not None and a.alias_info.is_write for a in overload._schema.arguments)


def _holds_cpu(values) -> bool:
    return any(is_ours(v) and is_on_cpu(v) for v in values)


# Operators that devices alone have which have other operators whole.
_NOT_ON_CPU = {"aten.linear_backward.default": linear_backward}


def on_cpu(overload, args, kwargs, reason: str):
    """The operator on the CPU, after computing what it takes."""
    name = str(overload).removeprefix("aten.").removesuffix(".default")
    record_fallback("device", name, reason)
    if name not in _warned:
        _warned.add(name)
        warnings.warn(f"tenon: {name} runs on the CPU: {reason}", stacklevel=3)
    moved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def move(x):
        if is_ours(x):
            if id(x) not in moved:
                is_copy = x._is_zerotensor() or not is_on_cpu(x)  # others are written where they are
                moved[id(x)] = (x, to_cpu(x) if is_copy else seen(x, cpu_part(x)))
            return moved[id(x)][1]
        if isinstance(x, torch.device) and x.type == "tenon":
            return torch.device("cpu")
        return x

    cpu_args, cpu_kwargs = tree_map(move, (args, kwargs))
    if "device" in cpu_kwargs and cpu_kwargs["device"] is not None:
        cpu_kwargs["device"] = torch.device("cpu")
    result = _NOT_ON_CPU.get(str(overload), overload)(*cpu_args, **cpu_kwargs)
    written = {}
    for i, argument in enumerate(overload._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = kwargs.get(argument.name, args[i] if i < len(args) else None)
        for x in value if isinstance(value, (list, tuple)) else [value]:
            if is_ours(x):
                _write_back(x, moved[id(x)][1])
                written[id(moved[id(x)][1])] = x

    def back(x):
        if not isinstance(x, torch.Tensor):
            return x
        return written[id(x)] if id(x) in written else wrap_cpu(x.clone() if is_view(overload) else x)

    return tree_map(back, result)


def _write_back(x: torch.Tensor, elements: torch.Tensor) -> None:
    if tuple(x.shape) != tuple(elements.shape):
        resize(x, elements.shape)
        if is_on_cpu(x):
            cpu_part(x).copy_(elements)
    if not is_on_cpu(x):
        write(x, leaf(elements))
