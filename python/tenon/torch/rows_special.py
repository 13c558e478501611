"""Special functions, by series and asymptotic expansions that hold to the precision of f32, mostly of f64."""

from __future__ import annotations

import math

import torch
from tenon import ops

from .dtypes import dtype_of, float_type, is_value
from .rows_unary import complementary_error, erfinv
from .table import row
from .values import as_value, cast, full_like, promoted_float, zeros_like

# B_2k / (2k (2k - 1)) of Stirling's series, and B_2k / 2k of that of its derivative.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_SHIFT = 8


def _polynomial(x, coefficients):
    """Highest power first."""
    total = full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = ops.add(ops.mul(total, x), c)
    return total


def _pole(x):
    """0, -1, -2, ..."""
    return ops.logical_and(ops.le(x, 0.0), ops.eq(x, ops.floor(x)))


# --- Gamma and its derivatives


def _stirling(x):
    """log(gamma(x)) for x >= 0.5: by the series at x + 8, and the product on the way down."""
    product = x
    for k in range(1, _SHIFT):
        product = ops.mul(product, ops.add(x, float(k)))
    z = ops.add(x, float(_SHIFT))
    inverse = ops.reciprocal(z)
    terms = [b / ((2 * k) * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)]
    series = ops.mul(_polynomial(ops.square(inverse), terms[::-1]), inverse)
    main = ops.sub(ops.mul(ops.sub(z, 0.5), ops.log(z)), z)
    return ops.sub(ops.add(ops.add(main, 0.5 * math.log(2 * math.pi)), series), ops.log(product))


@row("lgamma")
def lgamma(x):
    given = dtype_of(cast(x, float_type(x)))
    x = cast(x, torch.float64)
    small = ops.lt(x, 0.5)
    right = _stirling(ops.min(ops.select(small, ops.sub(1.0, x), x), 1e38))
    part = ops.sub(x, ops.floor(x))
    sine = ops.abs(ops.sin(ops.mul(part, math.pi)))
    reflected = ops.sub(ops.sub(math.log(math.pi), ops.log(sine)), right)
    y = ops.select(small, reflected, right)
    y = ops.select(ops.logical_or(_pole(x), ops.isinf(x)), full_like(x, math.inf), y)
    return cast(ops.select(ops.isnan(x), x, y), given)


@row("digamma")
def digamma(x):
    given = dtype_of(cast(x, float_type(x)))
    x = cast(x, torch.float64)
    small = ops.lt(x, 0.5)
    a = ops.select(small, ops.sub(1.0, x), x)
    total = zeros_like(a)
    for k in range(_SHIFT):
        total = ops.add(total, ops.reciprocal(ops.add(a, float(k))))
    z = ops.add(a, float(_SHIFT))
    square = ops.square(ops.reciprocal(z))
    terms = [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
    series = ops.mul(_polynomial(square, terms[::-1]), square)
    right = ops.sub(ops.sub(ops.sub(ops.log(z), ops.div(0.5, z)), series), total)
    part = ops.sub(x, ops.floor(x))
    reflected = ops.sub(right, ops.div(math.pi, ops.tan(ops.mul(part, math.pi))))
    y = ops.select(small, reflected, right)
    y = ops.select(_pole(x), full_like(x, math.nan), y)
    zero = ops.select(ops.signbit(x), full_like(x, math.inf), full_like(x, -math.inf))
    return cast(ops.select(ops.eq(x, 0.0), zero, y), given)


def _hurwitz(s, q):
    """sum of (q + k)^-s by Euler and Maclaurin, for q > 0; s is a number or f64 like q."""
    minus = -s if not is_value(s) else ops.neg(s)
    total = ops.pow(q, minus)
    for k in range(1, 9):
        total = ops.add(total, ops.pow(ops.add(q, float(k)), minus))
    a = ops.add(q, 9.0)
    less = s - 1 if not is_value(s) else ops.sub(s, 1.0)
    at = ops.pow(a, minus)
    total = ops.add(total, ops.add(ops.div(ops.mul(at, a), less), ops.mul(at, 0.5)))
    factor, term = s, ops.div(at, a)
    for k, b in enumerate(_BERNOULLI, 1):
        scale = b / math.factorial(2 * k)
        total = ops.add(total, ops.mul(ops.mul(term, factor), scale))
        if is_value(s):
            factor = ops.mul(ops.mul(factor, ops.add(s, 2.0 * k - 1)), ops.add(s, 2.0 * k))
        else:
            factor = factor * (s + 2 * k - 1) * (s + 2 * k)
        term = ops.div(term, ops.square(a))
    return total


@row("special_zeta", "special_zeta.self_scalar", "special_zeta.other_scalar")
def zeta(s, q):
    s, q = promoted_float(s, q)
    given = dtype_of(s if is_value(s) else q)
    s, q = as_value(s, torch.float64), as_value(q, torch.float64)
    y = _hurwitz(s, q)
    below = ops.select(ops.eq(q, ops.floor(q)), full_like(y, math.inf), full_like(y, math.nan))
    y = ops.select(ops.le(q, 0.0), below, y)
    y = ops.select(ops.lt(s, 1.0), full_like(y, math.nan), y)
    return cast(ops.select(ops.eq(s, 1.0), full_like(y, math.inf), y), given)


@row("polygamma")
def polygamma(n, x):
    if n == 0:
        return digamma(x)
    given = dtype_of(cast(x, float_type(x)))
    x = cast(x, torch.float64)
    sign = 1.0 if n % 2 else -1.0
    small = ops.lt(x, 0.5)
    right = ops.mul(_hurwitz(n + 1.0, ops.select(small, ops.sub(1.0, x), x)), sign * math.factorial(n))
    cotangent = ops.reciprocal(ops.tan(ops.mul(ops.sub(x, ops.floor(x)), math.pi)))
    slope = ops.mul(_polynomial(cotangent, _cotangent_derivative(n)), math.pi ** (n + 1))
    y = ops.select(small, ops.sub(ops.mul(right, -sign), slope), right)
    return cast(ops.select(_pole(x), full_like(x, sign * math.inf), y), given)


def _cotangent_derivative(n: int) -> list[float]:
    """The n-th derivative of the cotangent as a polynomial of it, highest power first."""
    powers = [0.0, 1.0]  # of the cotangent, lowest first
    for _ in range(n):
        slope = [k * c for k, c in enumerate(powers)][1:]
        powers = [-(a + b) for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope])]
    return powers[::-1]


@row("mvlgamma")
def mvlgamma(x, p):
    x = cast(x, float_type(x))
    total = full_like(x, p * (p - 1) / 4 * math.log(math.pi))
    for j in range(p):
        total = ops.add(total, lgamma(ops.sub(x, j / 2)))
    return total


# --- Modified Bessel functions of the first kind


def _bessel_i(x, order: int, scaled: bool):
    """By the power series up to 20, beyond by the asymptotic one."""
    given = dtype_of(cast(x, float_type(x)))
    x = cast(x, torch.float64)
    z = ops.abs(x)
    near = ops.min(z, 20.0)
    quarter = ops.mul(ops.square(near), 0.25)
    coefficients = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(45)]
    series = _polynomial(quarter, coefficients[::-1])
    series = ops.mul(series, ops.mul(near, 0.5)) if order else series
    far = ops.max(z, 20.0)
    terms, mu = [1.0], 4.0 * order * order
    for k in range(1, 16):
        terms.append(terms[-1] * -(mu - (2 * k - 1) ** 2) / (k * 8))
    tail = ops.div(_polynomial(ops.reciprocal(far), terms[::-1]), ops.sqrt(ops.mul(far, 2 * math.pi)))
    if scaled:
        series = ops.mul(series, ops.exp(ops.neg(near)))
    else:
        tail = ops.mul(tail, ops.exp(far))
    y = ops.select(ops.le(z, 20.0), series, tail)
    y = ops.select(ops.isnan(x), x, y)
    return cast(ops.mul(y, ops.sign(x)) if order else y, given)


for _name, _order, _scaled in (
    ("i0", 0, False), ("special_i0e", 0, True), ("special_i1", 1, False), ("special_i1e", 1, True),
    ("special_modified_bessel_i0", 0, False), ("special_modified_bessel_i1", 1, False),
):  # fmt: skip

    def _row(x, order=_order, scaled=_scaled):
        return _bessel_i(x, order, scaled)

    row(_name)(_row)


# --- The normal distribution


@row("special_erfcx")
def erfcx(x):
    given = dtype_of(cast(x, float_type(x)))
    x = cast(x, torch.float64)
    far = ops.gt(x, 20.0)
    near = ops.mul(ops.exp(ops.square(ops.min(x, 20.0))), complementary_error(ops.min(x, 20.0)))
    inverse = ops.reciprocal(ops.max(x, 20.0))
    square = ops.square(inverse)
    tail = ops.mul(_polynomial(square, [-15 / 8, 3 / 4, -0.5, 1.0]), ops.mul(inverse, 1 / math.sqrt(math.pi)))
    return cast(ops.select(far, tail, near), given)


@row("special_ndtri")
def ndtri(p):
    p = cast(p, float_type(p))
    return ops.mul(erfinv(ops.sub(ops.mul(p, 2.0), 1.0)), math.sqrt(2))
