"""Making tensors: filled, counted, copied, cast."""

from __future__ import annotations

import math

import tenon
import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of, is_value
from .table import row
from .values import along, cast, expand_to, full, number, positions, scalar, shape, zeros_like


def _default(dtype, fill=None) -> torch.dtype:
    if dtype is not None:
        return dtype
    if isinstance(fill, bool):
        return torch.bool
    return torch.int64 if isinstance(fill, (int, tenon.Extent)) else torch.get_default_dtype()


@row("full")
def full_(size, fill_value, *, dtype=None):
    if is_value(fill_value):
        return expand_to(cast(fill_value, dtype or dtype_of(fill_value)), size)
    return full(size, fill_value, _default(dtype, fill_value))


@row("full_like")
def full_like(x, fill_value, *, dtype=None):
    return full_(x.sizes, fill_value, dtype=dtype or dtype_of(x))


@row("new_full")
def new_full(x, size, fill_value, *, dtype=None):
    return full_(size, fill_value, dtype=dtype or dtype_of(x))


# What is left empty in PyTorch is zeros here: no program reads memory that none wrote.
@row("zeros", "empty.memory_format", "_efficientzerotensor")
def zeros(size, *, dtype=None):
    return full(size, 0, _default(dtype))


@row("empty_strided", "new_empty_strided")
def empty_strided(*args, dtype=None):
    like = args[0] if is_value(args[0]) else None
    return full(args[0] if like is None else args[1], 0, dtype or (_default(None) if like is None else dtype_of(like)))


@row("empty_permuted")
def empty_permuted(size, physical_layout, *, dtype=None):
    return full(size, 0, _default(dtype))


@row("ones")
def ones(size, *, dtype=None):
    return full(size, 1, _default(dtype))


@row("zeros_like", "empty_like")
def zeros_like_(x, *, dtype=None):
    return full(x.sizes, 0, dtype or dtype_of(x))


@row("ones_like")
def ones_like(x, *, dtype=None):
    return full(x.sizes, 1, dtype or dtype_of(x))


@row("new_zeros", "new_empty")
def new_zeros(x, size, *, dtype=None):
    return full(size, 0, dtype or dtype_of(x))


@row("new_ones")
def new_ones(x, size, *, dtype=None):
    return full(size, 1, dtype or dtype_of(x))


@row("scalar_tensor")
def scalar_tensor(s, *, dtype=None):
    return scalar(s, _default(dtype, float(s) if isinstance(s, (bool, int, float)) else None))


@row("fill.Scalar", "fill.Tensor")
def fill(x, value):
    return full_like(x, value)


@row("zero")
def zero(x):
    return zeros_like(x)


# --- Counting


@row("arange")
def arange(end, *, dtype=None):
    return arange_step(0, end, 1, dtype=dtype)


@row("arange.start")
def arange_start(start, end, *, dtype=None):
    return arange_step(start, end, 1, dtype=dtype)


@row("arange.start_step")
def arange_step(start, end, step=1, *, dtype=None):
    numbers = (start, end, step)
    if dtype is None:
        whole = not any(isinstance(n, float) for n in numbers)
        dtype = torch.int64 if whole else torch.get_default_dtype()
    if not any(isinstance(n, float) for n in numbers):
        if isinstance(step, int):
            return cast(ops.arange(start, end, step, tenon.i64), dtype)
        count = tenon.extent_max(tenon.ceildiv(end - start, step), 0)  # a symbolic step is a size: positive
        line = ops.mul(positions(count), ops.extent_value(step))
        return cast(ops.add(line, number(start, torch.int64)), dtype)
    start, end, step = (fixed_number(n) for n in numbers)
    if not dtype.is_floating_point:  # PyTorch counts in the dtype of the result
        start, end, step = int(start), int(end), int(step)
    count = max(0, math.ceil((end - start) / step))
    line = ops.iota(shape(torch.float64, [count]))
    return cast(ops.add(ops.mul(line, float(step)), float(start)), dtype)


def fixed_number(n) -> float:
    if isinstance(n, (int, float)):
        return n
    raise Unsupported(f"a number that must be constant is {n}")


def _ends(start, end, dtype: torch.dtype) -> tuple:
    """Integers where the result is of integers."""
    start, end = fixed_number(start), fixed_number(end)
    return (start, end) if dtype.is_floating_point else (int(start), int(end))


@row("linspace")
def linspace(start, end, steps, *, dtype=None):
    """From both ends, as PyTorch counts."""
    dtype = dtype or torch.get_default_dtype()
    start, end = _ends(start, end, dtype)
    if isinstance(steps, int) and steps <= 1:
        return full([steps], start, dtype)
    compute = torch.float64
    line = ops.iota(shape(compute, [steps]))
    last = float(steps - 1) if isinstance(steps, int) else ops.extent_value(steps - 1, tenon.f64)
    step = (end - start) / last if isinstance(last, float) else ops.div(float(end - start), last)
    up = ops.add(ops.mul(line, step), float(start))
    down = ops.sub(float(end), ops.mul(ops.sub(last, line), step))
    half = ops.lt(line, float(steps // 2) if isinstance(steps, int) else ops.extent_value(steps // 2, tenon.f64))
    return cast(ops.select(half, up, down), dtype)


@row("logspace")
def logspace(start, end, steps, base=10.0, *, dtype=None):
    dtype = dtype or torch.get_default_dtype()
    line = linspace(*_ends(start, end, dtype), steps, dtype=torch.float64)
    powers = ops.exp(ops.mul(line, math.log(base)))
    whole = ops.round(powers)  # 10^2 is 100 and not 99.99...
    close = ops.lt(ops.abs(ops.sub(powers, whole)), ops.mul(powers, 1e-12))
    return cast(ops.select(close, whole, powers), dtype)


@row("eye")
def eye(n, *, dtype=None):
    return eye_m(n, n, dtype=dtype)


@row("eye.m")
def eye_m(n, m, *, dtype=None):
    dtype = _default(dtype)
    return cast(ops.eq(along(positions(n), 2, 0), along(positions(m), 2, 1)), dtype)


# --- Copies and casts


@row("clone", "lift_fresh_copy", "_conj_physical")
def clone(x):
    return x


@row("_to_copy")
def to_copy(x, *, dtype=None):
    return x if dtype is None else cast(x, dtype)


@row("to.dtype")
def to_dtype(x, dtype, non_blocking=False, copy=False):
    return cast(x, dtype)


@row("type_as")
def type_as(x, other):
    return cast(x, dtype_of(other))


@row("copy")
def copy(x, src, non_blocking=False):
    return expand_to(cast(src, dtype_of(x)), x.sizes)


@row("prims.convert_element_type")
def convert_element_type(x, dtype):
    return cast(x, dtype)


@row("prims.iota")
def prims_iota(length, *, start, step, dtype, requires_grad=False):
    line = positions(length)
    if not (isinstance(start, int) and start == 0 and isinstance(step, int) and step == 1):
        line = ops.add(ops.mul(line, step), start)
    return cast(line, dtype)


@row("prims.device_put")
def device_put(x, device, non_blocking=False):
    return x
