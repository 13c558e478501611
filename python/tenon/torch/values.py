"""What rows are written with: axes, sizes, casts and operands of ATen's conventions over Tenon's builders."""

from __future__ import annotations

import math

import numpy as np
import tenon
import torch
from tenon import ops

from .dtypes import (
    Unsupported,
    Weak,
    category,
    dtype_of,
    float_type,
    is_bool,
    is_value,
    result_type,
    tenon_dtype,
)

LARGEST_EXACT = 2**53


# --- Axes and sizes


def axis_among(rank: int, axis: int) -> int:
    """The axis of so many counted from the front; a scalar counts as having one."""
    rank = max(rank, 1)
    if not -rank <= axis < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {axis})")
    return axis % rank


def axis_of(x, axis: int) -> int:
    """The axis counted from the front; a scalar counts as having one axis."""
    return axis_among(x.ndim, axis)


def axes_of(x, dims) -> list[int]:
    """Axes to reduce; none are all of them."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(x.ndim))
    axes = [axis_of(x, d) for d in ([dims] if isinstance(dims, int) else dims)]
    for i, axis in enumerate(axes):
        if axis in axes[:i]:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
    return sorted(axes) if x.ndim else []


def size(x, axis: int):
    return x.sizes[axis]


def dims(x) -> tuple:
    """Sizes as numbers wherever they are known, as those of lazy tensors mostly are. What is built from such a number
    holds for it alone, so this is for what decides structure: axes of size 1, the number of parts."""
    known = x.known_shape() if isinstance(x, tenon.Tensor) else None
    return x.sizes if known is None else tuple(known)


def count_of(sizes):
    """The number of elements."""
    return math.prod(sizes, start=1)


def fixed(n, what: str) -> int:
    """A size that must be known when the program is built."""
    if isinstance(n, int):
        return n
    raise Unsupported(f"{what} must be a constant here, is {n}")


def pair(values, rank: int) -> list:
    """One number, or a list of one, for all `rank` positions."""
    values = [values] if isinstance(values, (int, tenon.Extent)) else list(values)
    return values * rank if len(values) == 1 else values


def same_sizes(a, b) -> bool:
    return len(a) == len(b) and all(x == y for x, y in zip(a, b))


def shape(dtype: torch.dtype, sizes) -> tenon.Shape:
    return tenon.Shape(tenon_dtype(dtype), list(sizes))


# --- Casts, operands and constants


def cast(x, dtype: torch.dtype):
    """As `to(dtype)`: to bool means not 0, and integers wrap."""
    if dtype_of(x) == dtype:
        return x
    if dtype == torch.bool:
        return ops.ne(x, 0)
    target = tenon_dtype(dtype)
    if category(dtype_of(x)) == 2 and dtype in (torch.uint8, torch.uint16, torch.uint32):
        return narrow_integer(ops.cast(x, tenon.i64), dtype)
    if category(dtype_of(x)) == 1 and category(dtype) == 1:
        return narrow_integer(x, dtype)
    return ops.cast(x, target)


def narrow_integer(x, dtype: torch.dtype):
    """Integers modulo 2^n, where Tenon's cast would stop at the largest."""
    to = torch.iinfo(dtype)
    source = torch.iinfo(dtype_of(x))
    if to.bits == 64 or (source.min >= to.min and source.max <= to.max):
        return ops.cast(x, tenon_dtype(dtype))
    x = ops.cast(x, tenon.i64)
    mask = 2**to.bits - 1
    low = ops.bit_and(x, number(mask, torch.int64, like=x))
    if to.min < 0:
        low = ops.select(ops.gt(low, number(to.max, torch.int64, like=x)), ops.sub(low, mask + 1), low)
    return ops.cast(low, tenon_dtype(dtype))


def _of_the_run(value, dtype: torch.dtype):
    """A rank-0 value of a number that is known when a program runs; None for one that is known now."""
    if isinstance(value, Weak):
        return cast(value.value, dtype)
    if isinstance(value, tenon.Extent):
        return ops.extent_value(value, tenon_dtype(dtype))
    if isinstance(value, complex):
        raise Unsupported("a complex number")
    return None


def number(value, dtype: torch.dtype, like=None):
    """A Python number as an operand beside values of `dtype`."""
    if (found := _of_the_run(value, dtype)) is not None:
        return found
    if dtype == torch.bool:
        return int(bool(value))
    if category(dtype) == 1:
        value = int(value)
        if abs(value) > LARGEST_EXACT:
            return constant(np.array(value, dtype=str(dtype).removeprefix("torch.")), like)
        return value
    return float(value)


def constant(array: np.ndarray, like):
    """An array as a value of the kind of `like`."""
    return tenon.tensor(array) if isinstance(like, tenon.Tensor) else tenon.constant(array)


def operand(x, dtype: torch.dtype, like=None):
    """A tensor cast to `dtype`, or a number beside tensors of it."""
    return cast(x, dtype) if is_value(x) else number(x, dtype, like)


def scalar(value, dtype: torch.dtype):
    """A rank-0 value of a number."""
    found = _of_the_run(value, dtype)
    return found if found is not None else ops.scalar(tenon_dtype(dtype), float(value))


def as_value(x, dtype: torch.dtype):
    """A tensor cast to `dtype`, or a rank-0 value of a number."""
    return cast(x, dtype) if is_value(x) else scalar(x, dtype)


def promoted(*operands, kind=result_type) -> list:
    """All operands in their common dtype; numbers stay numbers beside tensors."""
    dtype = kind(*operands)
    like = next((x for x in operands if is_value(x)), None)
    if like is None:
        return [scalar(x, dtype) for x in operands]
    return [operand(x, dtype, like) for x in operands]


def promoted_float(*operands) -> list:
    return promoted(*operands, kind=float_type)


def wide(x):
    """Half precision as f32, the rest as it is."""
    return ops.cast(x, tenon.f32) if dtype_of(x) in (torch.float16, torch.bfloat16) else x


def truth(x):
    """Not 0, as bool."""
    return x if is_bool(x) else ops.ne(x, 0)


# --- Filled values


def full(sizes, value, dtype: torch.dtype):
    if (found := _of_the_run(value, dtype)) is not None:
        return ops.broadcast_to(found, list(sizes))
    if category(dtype) == 1 and abs(int(value)) > LARGEST_EXACT:
        return ops.broadcast_to(scalar_integer(int(value), dtype), list(sizes))
    if dtype == torch.bool:
        value = bool(value)
    elif category(dtype) == 1:
        value = int(value)
    return ops.full(shape(dtype, sizes), float(value))


def scalar_integer(value: int, dtype: torch.dtype):
    """A large integer from two halves that doubles hold."""
    kind = tenon_dtype(dtype)
    high, low = value >> 32, value & 0xFFFFFFFF
    top = ops.mul(ops.scalar(kind, float(high)), float(2**32))
    return ops.add(top, ops.scalar(kind, float(low)))


def zeros_like(x):
    return full(x.sizes, 0, dtype_of(x))


def full_like(x, value):
    return full(x.sizes, value, dtype_of(x))


def positions(n, dtype: torch.dtype = torch.int64):
    """0, 1, ... n-1."""
    return ops.iota(shape(dtype, [n]))


def along(line, rank: int, axis: int):
    """A value of rank 1 as `axis` of `rank` axes, the others being of size 1."""
    axes = [i for i in range(rank) if i != axis]
    return ops.expand_dims(line, axes) if axes else line


def expand_to(x, sizes):
    return x if same_sizes(x.sizes, sizes) else ops.broadcast_to(x, list(sizes))


def unsqueeze(x, axis: int):
    return ops.expand_dims(x, [axis])


def sum_to(x, sizes):
    """The opposite of broadcasting to x's sizes."""
    lead = x.ndim - len(sizes)
    if lead:
        x = ops.reduce_sum(x, list(range(lead)))
    axes = [i for i, n in enumerate(sizes) if isinstance(n, int) and n == 1 and dims(x)[i] != 1]
    return ops.reduce_sum(x, axes, True) if axes else x


def reduced(function, x, axes, keep=False):
    """A reduction over these axes; x itself where there is none (a scalar)."""
    return function(x, axes, keep) if axes else x
