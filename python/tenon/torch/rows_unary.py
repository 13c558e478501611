"""Elementwise functions of one tensor."""

from __future__ import annotations

import math

import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of, float_type, is_bool, is_float
from .table import row
from .values import cast, full, full_like, promoted, truth, zeros_like

# ATen names of functions of floats; integers become the default float first.
_FLOAT = {
    "acos": ops.acos, "acosh": ops.acosh, "asin": ops.asin, "asinh": ops.asinh, "atan": ops.atan, "atanh": ops.atanh,
    "cos": ops.cos, "cosh": ops.cosh, "erf": ops.erf, "exp": ops.exp, "exp2": ops.exp2, "expm1": ops.expm1,
    "log": ops.log, "log10": ops.log10, "log1p": ops.log1p, "log2": ops.log2, "reciprocal": ops.reciprocal,
    "rsqrt": ops.rsqrt, "sigmoid": ops.sigmoid, "sin": ops.sin, "sinh": ops.sinh, "sqrt": ops.sqrt, "tan": ops.tan,
    "tanh": ops.tanh, "deg2rad": ops.radians, "rad2deg": ops.degrees, "special_expm1": ops.expm1,
}  # fmt: skip


def _register_float(name: str, function) -> None:
    row(name, direct=function.__name__)(lambda x: function(cast(x, float_type(x))))


for _name, _function in _FLOAT.items():
    _register_float(_name, _function)


# Rounding leaves integers as they are.
def _register_rounding(name: str, function) -> None:
    row(name)(lambda x: function(x) if is_float(x) else x)


for _name, _function in {"floor": ops.floor, "ceil": ops.ceil, "trunc": ops.trunc, "round": ops.round}.items():
    _register_rounding(_name, _function)


@row("round.decimals")
def round_decimals(x, *, decimals=0):
    if not is_float(x):
        return x
    ten = 10.0 ** abs(decimals)
    if decimals < 0:
        return ops.mul(ops.round(ops.div(x, ten)), ten)
    return ops.div(ops.round(ops.mul(x, ten)), ten)


@row("frac")
def frac(x):
    return ops.sub(x, ops.trunc(x))


@row("abs", direct="abs")
def absolute(x):
    return x if is_bool(x) or not dtype_of(x).is_signed else ops.abs(x)


@row("neg", direct="neg")
def neg(x):
    if is_bool(x):
        raise Unsupported("negation of bool, which PyTorch has none of")
    return ops.neg(x)


@row("sign", "sgn")
def sign(x):
    return x if is_bool(x) else ops.sign(x)


@row("square")
def square(x):
    return cast(ops.square(cast(x, torch.int64)), torch.int64) if is_bool(x) else ops.square(x)


@row("positive", "conj_physical", "real")
def positive(x):
    return x


@row("relu", direct="relu")
def relu(x):
    return ops.relu(x)


@row("logical_not")
def logical_not(x):
    return ops.logical_not(truth(x))


@row("bitwise_not")
def bitwise_not(x):
    return ops.bit_not(x)


@row("isnan")
def isnan(x):
    return ops.isnan(x) if is_float(x) else full(x.sizes, False, torch.bool)


@row("isinf")
def isinf(x):
    return ops.isinf(x) if is_float(x) else full(x.sizes, False, torch.bool)


@row("isfinite")
def isfinite(x):
    return ops.isfinite(x) if is_float(x) else full(x.sizes, True, torch.bool)


@row("isposinf")
def isposinf(x):
    return ops.eq(x, math.inf) if is_float(x) else full(x.sizes, False, torch.bool)


@row("isneginf")
def isneginf(x):
    return ops.eq(x, -math.inf) if is_float(x) else full(x.sizes, False, torch.bool)


@row("signbit")
def signbit(x):
    if is_bool(x):
        return full(x.sizes, False, torch.bool)
    return ops.signbit(x) if is_float(x) else ops.lt(x, 0)


@row("erfc")
def erfc(x):
    return complementary_error(cast(x, float_type(x)))


def complementary_error(x):
    """1 - erf(x) where that is exact enough; beyond, by a continued fraction, which keeps small tails."""
    z = ops.abs(x)
    far = ops.gt(z, 2.0)
    # Evaluated from the innermost term: exp(-z^2)/sqrt(pi) * 1/(z + (1/2)/(z + (2/2)/(z + ...))).
    safe = ops.select(far, z, full_like(z, 2.0))
    tail = safe
    for k in range(24, 0, -1):
        tail = ops.add(safe, ops.div(full_like(tail, k / 2), tail))
    tail = ops.div(ops.mul(ops.exp(ops.neg(ops.square(safe))), 1 / math.sqrt(math.pi)), tail)
    tail = ops.select(ops.lt(x, 0.0), ops.sub(2.0, tail), tail)
    return ops.select(far, tail, ops.sub(1.0, ops.erf(x)))


@row("erfinv")
def erfinv(x):
    """Giles' approximation, made exact by two Newton steps."""
    x = cast(x, float_type(x))
    w = ops.neg(ops.log(ops.mul(ops.sub(1.0, x), ops.add(1.0, x))))
    near, far = _ERFINV_NEAR, _ERFINV_FAR
    a, b = ops.sub(w, 2.5), ops.sub(ops.sqrt(ops.max(w, 5.0)), 3.0)
    p, q = full_like(x, near[0]), full_like(x, far[0])
    for c, d in zip(near[1:], far[1:]):
        p, q = ops.add(ops.mul(p, a), c), ops.add(ops.mul(q, b), d)
    y = ops.mul(ops.select(ops.lt(w, 5.0), p, q), x)
    for _ in range(2):
        slope = ops.mul(ops.exp(ops.neg(ops.square(y))), 2 / math.sqrt(math.pi))
        y = ops.sub(y, ops.div(ops.sub(ops.erf(y), x), slope))
    edge = ops.select(ops.gt(ops.abs(x), 1.0), full_like(x, math.nan), ops.mul(x, math.inf))
    return ops.select(ops.lt(ops.abs(x), 1.0), y, edge)


_ERFINV_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
_ERFINV_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
               0.00943887047, 1.00167406, 2.83297682)  # fmt: skip


@row("angle")
def angle(x):
    x = cast(x, float_type(x))
    turned = ops.select(ops.lt(x, 0.0), full_like(x, math.pi), zeros_like(x))
    return ops.select(ops.isnan(x), x, turned)


@row("sinc")
def sinc(x):
    x = cast(x, float_type(x))
    angle = ops.mul(x, math.pi)
    return ops.select(ops.eq(x, 0.0), full_like(x, 1.0), ops.div(ops.sin(angle), angle))


@row("logit")
def logit(x, eps=None):
    x = cast(x, float_type(x))
    if eps is not None:
        x = ops.clamp(x, eps, 1 - eps)
    return ops.log(ops.div(x, ops.sub(1.0, x)))


@row("nan_to_num")
def nan_to_num(x, nan=None, posinf=None, neginf=None):
    if not is_float(x):
        return x
    limits = torch.finfo(dtype_of(x))
    x = ops.select(ops.isnan(x), full_like(x, 0.0 if nan is None else nan), x)
    x = ops.select(ops.eq(x, math.inf), full_like(x, limits.max if posinf is None else posinf), x)
    return ops.select(ops.eq(x, -math.inf), full_like(x, limits.min if neginf is None else neginf), x)


@row("special_entr")
def entr(x):
    x = cast(x, float_type(x))
    inside = ops.mul(ops.neg(x), ops.log(x))
    below = ops.select(ops.isnan(x), x, full_like(x, -math.inf))
    return ops.select(ops.gt(x, 0.0), inside, ops.select(ops.eq(x, 0.0), zeros_like(x), below))


@row("special_log_ndtr")
def log_ndtr(x):
    x = cast(x, float_type(x))
    return ops.log(ops.mul(complementary_error(ops.mul(x, -math.sqrt(0.5))), 0.5))


@row("clamp")
def clamp(x, min=None, max=None):
    x, low, high = promoted(x, min, max) if None not in (min, max) else _one_sided(x, min, max)
    if low is not None:
        x = ops.max(x, low)
    return x if high is None else ops.min(x, high)


def _one_sided(x, low, high):
    if low is None:
        x, high = promoted(x, high)
    else:
        x, low = promoted(x, low)
    return x, low, high


@row("clamp_min")
def clamp_min(x, min):
    return clamp(x, min)


@row("clamp_max")
def clamp_max(x, max):
    return clamp(x, None, max)
