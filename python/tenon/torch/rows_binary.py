"""Elementwise functions of several tensors and numbers, with PyTorch's promotion."""

from __future__ import annotations

import math

import torch
from tenon import ops

from .dtypes import Unsupported, category, dtype_of, is_bool, is_value, result_type, torch_dtype
from .table import row
from .values import as_value, cast, dims, full_like, operand, promoted, promoted_float, scalar, truth, zeros_like


def _tensors(x, y):
    """Both in their common dtype, at least one a value."""
    x, y = promoted(x, y)
    return x, y


def _dtype(x, y):
    return torch_dtype((x if is_value(x) else y).dtype)


# --- Arithmetic


def scaled(y, alpha, dtype: torch.dtype):
    """alpha * y in `dtype`."""
    y = operand(y, dtype)
    if not is_value(alpha) and not hasattr(alpha, "value") and alpha == 1:
        return y
    if dtype == torch.bool:
        return y if alpha else zeros_like(as_value(y, dtype))
    alpha = operand(alpha, dtype)
    if is_value(y) or is_value(alpha):
        return ops.mul(y, alpha)
    return y * alpha


@row("add.Tensor", "add.Scalar", direct="add")
def add(x, y, alpha=1):
    dtype = result_type(x, y)
    x, y = as_value(x, dtype), scaled(y, alpha, dtype)
    return ops.logical_or(x, y) if dtype == torch.bool else ops.add(x, y)


@row("sub.Tensor", "sub.Scalar", direct="sub")
def sub(x, y, alpha=1):
    dtype = result_type(x, y)
    if dtype == torch.bool:
        raise Unsupported("the difference of bools, which PyTorch has none of")
    return ops.sub(as_value(x, dtype), scaled(y, alpha, dtype))


@row("rsub.Tensor", "rsub.Scalar")
def rsub(x, y, alpha=1):
    dtype = result_type(x, y)
    if dtype == torch.bool:
        raise Unsupported("the difference of bools, which PyTorch has none of")
    return ops.sub(operand(y, dtype), as_value(scaled(x, alpha, dtype), dtype))


@row("mul.Tensor", "mul.Scalar", direct="mul")
def mul(x, y):
    x, y = _tensors(x, y)
    return ops.logical_and(x, y) if _dtype(x, y) == torch.bool else ops.mul(x, y)


@row("div.Tensor", "div.Scalar", "true_divide.Tensor", direct="div")
def div(x, y):
    return ops.div(*promoted_float(x, y))


def _dividend_and_divisor(x, y):
    """Both in their common dtype. Integers by the number 0 are an error, in PyTorch's words, where there are any."""
    x, y = _tensors(x, y)
    is_zero = category(_dtype(x, y)) != 2 and not is_value(y) and y == 0
    if is_zero and not any(isinstance(n, int) and n == 0 for n in dims(x)):
        raise RuntimeError("ZeroDivisionError")
    return x, y


@row("div.Tensor_mode", "div.Scalar_mode")
def div_mode(x, y, *, rounding_mode=None):
    if rounding_mode is None:
        return div(x, y)
    x, y = _dividend_and_divisor(x, y)
    if rounding_mode == "floor":
        return ops.floor_div(x, y)
    quotient = ops.div(x, y)
    return quotient if category(_dtype(x, y)) != 2 else ops.trunc(quotient)


@row("floor_divide", "floor_divide.Scalar")
def floor_divide(x, y):
    return ops.floor_div(*_dividend_and_divisor(x, y))


@row("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(x, y):
    return ops.mod(*_dividend_and_divisor(x, y))


@row("fmod.Tensor", "fmod.Scalar")
def fmod(x, y):
    return ops.rem(*_dividend_and_divisor(x, y))


@row("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(x, y):
    if not is_value(y) and is_value(x):
        return _power_number(x, y)
    x, y = _tensors(x, y)
    if _dtype(x, y) == torch.bool:
        raise Unsupported("powers of bools")
    return ops.pow(x, y)


def _power_number(x, y):
    dtype = result_type(x, y)
    x = cast(x, dtype)
    if not isinstance(y, (int, float)):
        return ops.pow(x, operand(y, dtype))
    if dtype.is_floating_point:
        direct = {
            0.5: ops.sqrt, 1.0: lambda v: v, 2.0: ops.square, -0.5: ops.rsqrt, -1.0: ops.reciprocal,
            3.0: lambda v: ops.mul(ops.square(v), v),
        }.get(float(y))  # fmt: skip
        return direct(x) if direct else ops.pow(x, float(y))
    if y == 2:
        return ops.square(x)
    return ops.pow(x, y)


@row("maximum", direct="max")
def maximum(x, y):
    x, y = _tensors(x, y)
    return ops.logical_or(x, y) if _dtype(x, y) == torch.bool else ops.max(x, y)


@row("minimum", direct="min")
def minimum(x, y):
    x, y = _tensors(x, y)
    return ops.logical_and(x, y) if _dtype(x, y) == torch.bool else ops.min(x, y)


@row("fmax")
def fmax(x, y):
    x, y = _tensors(x, y)
    return maximum(x, y) if category(_dtype(x, y)) != 2 else ops.fmax(x, y)


@row("fmin")
def fmin(x, y):
    x, y = _tensors(x, y)
    return minimum(x, y) if category(_dtype(x, y)) != 2 else ops.fmin(x, y)


@row("clamp.Tensor")
def clamp_tensor(x, min=None, max=None):
    x = cast(x, result_type(*[t for t in (x, min, max) if t is not None]))
    if min is not None:
        x = maximum(x, min)
    return x if max is None else minimum(x, max)


@row("clamp_min.Tensor")
def clamp_min_tensor(x, min):
    return clamp_tensor(x, min)


@row("clamp_max.Tensor")
def clamp_max_tensor(x, max):
    return clamp_tensor(x, None, max)


@row("atan2")
def atan2(x, y):
    return ops.atan2(*promoted_float(x, y))


@row("hypot")
def hypot(x, y):
    return ops.hypot(*promoted_float(x, y))


@row("copysign.Tensor", "copysign.Scalar")
def copysign(x, y):
    return ops.copysign(*promoted_float(x, y))


@row("logaddexp")
def logaddexp(x, y):
    return ops.logaddexp(*promoted_float(x, y))


@row("logaddexp2")
def logaddexp2(x, y):
    x, y = promoted_float(x, y)
    return ops.div(ops.logaddexp(ops.mul(x, math.log(2)), ops.mul(y, math.log(2))), math.log(2))


def _times_log(x, y, logarithm):
    """x * log(y), 0 for x = 0 unless y is NaN."""
    x, y = promoted_float(x, y)
    like = x if is_value(x) else y
    x, y = as_value(x, dtype_of(like)), as_value(y, dtype_of(like))
    product = ops.mul(x, logarithm(y))
    zero = zeros_like(product)
    keep = ops.logical_and(ops.eq(x, 0.0), ops.logical_not(ops.isnan(y)))
    return ops.select(keep, zero, product)


@row("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other")
def xlogy(x, y):
    return _times_log(x, y, ops.log)


@row("special_xlog1py", "special_xlog1py.self_scalar", "special_xlog1py.other_scalar")
def xlog1py(x, y):
    return _times_log(x, y, ops.log1p)


@row("heaviside")
def heaviside(x, values):
    x, values = _tensors(x, values)
    if dtype_of(x) == torch.bool:
        return ops.logical_or(x, values)
    inside = ops.select(ops.lt(x, 0), zeros_like(x), full_like(x, 1))
    if category(dtype_of(x)) == 2:
        inside = ops.select(ops.isnan(x), zeros_like(x), inside)
    return ops.select(ops.eq(x, 0), values, inside)


# --- Comparisons and logic


def _register_comparison(name: str, function) -> None:
    @row(f"{name}.Tensor", f"{name}.Scalar", direct=name)
    def compare(x, y):
        x, y = _tensors(x, y)
        if _dtype(x, y) == torch.bool and name not in ("eq", "ne"):
            x, y = (cast(v, torch.uint8) if is_value(v) else int(v) for v in (x, y))
        return function(x, y)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _register_comparison(_name, getattr(ops, _name))


def _register_logical(name: str) -> None:
    row(name)(lambda x, y: getattr(ops, name)(truth(x), truth(y)))


for _name in ("logical_and", "logical_or", "logical_xor"):
    _register_logical(_name)


def _register_bitwise(name: str, function) -> None:
    number = "Tensor_Scalar" if name.endswith("shift") else "Scalar"
    row(f"{name}.Tensor", f"{name}.{number}", f"{name}.Scalar_Tensor")(lambda x, y: function(*_tensors(x, y)))


for _name, _function in {
    "bitwise_and": ops.bit_and, "bitwise_or": ops.bit_or, "bitwise_xor": ops.bit_xor,
    "bitwise_left_shift": ops.shl, "bitwise_right_shift": ops.shr,
}.items():  # fmt: skip
    _register_bitwise(_name, _function)


@row("__lshift__.Tensor", "__lshift__.Scalar")
def left_shift(x, y):
    return ops.shl(*_tensors(x, y))


@row("__rshift__.Tensor", "__rshift__.Scalar")
def right_shift(x, y):
    return ops.shr(*_tensors(x, y))


# --- Three operands


@row("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(condition, x, y):
    x, y = _tensors(x, y)
    if not is_value(x) and not is_value(y):
        x = scalar(x, torch.get_default_dtype())
    return ops.select(truth(condition), x, y)


@row("lerp.Scalar", "lerp.Tensor")
def lerp(x, end, weight):
    """From the nearer end, as PyTorch does it, so that a weight of 1 gives exactly `end`."""
    x, end = _tensors(x, end)
    distance = ops.sub(end, x)
    if not is_value(weight):
        if weight < 0.5:
            return ops.add(x, ops.mul(distance, float(weight)))
        return ops.sub(end, ops.mul(distance, 1.0 - weight))
    weight = cast(weight, dtype_of(x))
    near = ops.add(x, ops.mul(distance, weight))
    far = ops.sub(end, ops.mul(distance, ops.sub(1.0, weight)))
    return ops.select(ops.lt(ops.abs(weight), 0.5), near, far)


@row("addcmul")
def addcmul(x, a, b, value=1):
    dtype = result_type(x, a, b)
    product = ops.mul(as_value(scaled(a, value, dtype), dtype), operand(b, dtype))
    return ops.add(cast(x, dtype), product)


@row("addcdiv")
def addcdiv(x, a, b, value=1):
    dtype = result_type(x, a, b)
    if not dtype.is_floating_point:
        raise Unsupported("addcdiv of integers, which PyTorch has none of")
    return ops.add(cast(x, dtype), ops.div(as_value(scaled(a, value, dtype), dtype), operand(b, dtype)))


@row("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(x, mask, value):
    if is_value(value) or hasattr(value, "value"):
        return ops.select(truth(mask), operand(value, dtype_of(x)), x)
    if is_bool(x):
        value = bool(value)
    return ops.select(truth(mask), operand(value, dtype_of(x), x), x)


@row("prims.fma")
def multiply_add(a, b, c):
    return ops.add(ops.mul(a, b), c)
