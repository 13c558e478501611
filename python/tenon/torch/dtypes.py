"""dtypes of PyTorch and of Tenon, and PyTorch's rules of type promotion."""

from __future__ import annotations

import tenon
import torch
from tenon import Unsupported, _tenon


class Weak:
    """A number that is known when a program runs: `value`, of rank 0, promotes as a Python number of its kind does."""

    def __init__(self, value, kind: type):
        self.value = value
        self.kind = kind


TENON_DTYPES = {getattr(torch, name): dtype for name, dtype in _tenon.usual_dtype_names.items()}
_TO_TORCH = {ours: theirs for theirs, ours in TENON_DTYPES.items()}


def tenon_dtype(dtype: torch.dtype) -> tenon.Dtype:
    """The Tenon dtype; `Unsupported` for complex, quantised and 8-bit float dtypes."""
    found = TENON_DTYPES.get(dtype)
    if found is None:
        raise Unsupported(f"dtype {str(dtype).removeprefix('torch.')} has no Tenon dtype")
    return found


def torch_dtype(dtype: tenon.Dtype) -> torch.dtype:
    return _TO_TORCH[dtype]


def is_supported(dtype: torch.dtype) -> bool:
    return dtype in TENON_DTYPES


def is_value(x) -> bool:
    return isinstance(x, (tenon.Value, tenon.Tensor))


def dtype_of(x) -> torch.dtype:
    return torch_dtype(x.dtype)


def is_float(x) -> bool:
    return dtype_of(x).is_floating_point


def is_bool(x) -> bool:
    return dtype_of(x) == torch.bool


def category(dtype: torch.dtype) -> int:
    """bool < integers < floats, as `Dtype::numbers`' weak rules order them."""
    return 0 if dtype == torch.bool else 2 if dtype.is_floating_point else 1


def _number_dtype(x) -> torch.dtype:
    kind = x.kind if isinstance(x, Weak) else type(x)
    if kind is bool:
        return torch.bool
    if kind is complex:
        raise Unsupported("a complex number")
    return torch.get_default_dtype() if kind is float else torch.int64


def result_type(*operands) -> torch.dtype:
    """The common dtype of tensors, tensors of rank 0 and numbers, the later ones being weaker."""
    found: list[torch.dtype | None] = [None, None, None]
    for x in operands:
        if x is None:
            continue
        if is_value(x):
            rank, dtype = (0 if x.ndim else 1), dtype_of(x)
        else:
            rank, dtype = 2, _number_dtype(x)
        found[rank] = dtype if found[rank] is None else torch.promote_types(found[rank], dtype)
    common: torch.dtype | None = None
    for dtype in found:
        if dtype is None:
            continue
        if common is None or category(dtype) > category(common):
            common = dtype
    assert common is not None, "there is no operand"
    return common


def float_type(*operands) -> torch.dtype:
    """The same, where integers become the default float."""
    common = result_type(*operands)
    return common if common.is_floating_point else torch.get_default_dtype()


def opmath_type(dtype: torch.dtype) -> torch.dtype:
    """What PyTorch computes `dtype` in."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def sum_type(dtype: torch.dtype) -> torch.dtype:
    """What sums and products of `dtype` give where nothing else is asked for."""
    return dtype if dtype.is_floating_point else torch.int64
