"""Reductions: sums, extrema, moments, norms."""

from __future__ import annotations

import math

import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of, float_type, is_bool, is_float, opmath_type, sum_type
from .table import row
from .values import axes_of, axis_of, cast, count_of, dims, full, full_like, reduced, shape, size, truth, zeros_like


def _summed(x, axes, keep):
    """Half precision is added up in f32 and rounded once."""
    dtype = dtype_of(x)
    return cast(reduced(ops.reduce_sum, cast(x, opmath_type(dtype)), axes, keep), dtype)


@row("sum", "sum.dim_IntList")
def sum_(x, dim=None, keepdim=False, *, dtype=None):
    x = cast(x, dtype or sum_type(dtype_of(x)))
    return _summed(x, axes_of(x, dim), keepdim)


@row("nansum")
def nansum(x, dim=None, keepdim=False, *, dtype=None):
    if is_float(x):
        x = ops.select(ops.isnan(x), zeros_like(x), x)
    return sum_(x, dim, keepdim, dtype=dtype)


@row("mean", "mean.dim")
def mean(x, dim=None, keepdim=False, *, dtype=None):
    x = cast(x, dtype or dtype_of(x))
    if not is_float(x):
        raise Unsupported("the mean of integers, which PyTorch has none of")
    return reduced(ops.reduce_mean, x, axes_of(x, dim), keepdim)


@row("prod")
def prod(x, *, dtype=None):
    x = cast(x, dtype or sum_type(dtype_of(x)))
    return reduced(ops.reduce_product, x, axes_of(x, None))


@row("prod.dim_int")
def prod_dim(x, dim, keepdim=False, *, dtype=None):
    x = cast(x, dtype or sum_type(dtype_of(x)))
    return reduced(ops.reduce_product, x, axes_of(x, dim), keepdim)


@row("trace")
def trace(x):
    if x.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    return sum_(ops.diagonal(x, 0, 1, 0))


# --- Extrema


def _refuse_nothing(x, axes, name: str, dim) -> None:
    """The largest of no elements is an error, in PyTorch's words."""
    empty = [i for i in axes if isinstance(dims(x)[i], int) and dims(x)[i] == 0]
    if empty and dim is None:
        raise (IndexError if name.startswith("arg") else RuntimeError)(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    if empty:
        raise IndexError(f"{name}(): Expected reduction dim {empty[0]} to have non-zero size.")


def extreme(x, axes, keep, largest: bool):
    """The largest or smallest, of bools too."""
    if is_bool(x):
        return reduced(ops.reduce_any if largest else ops.reduce_all, x, axes, keep)
    return reduced(ops.reduce_max if largest else ops.reduce_min, x, axes, keep)


def position(x, axis: int, keep: bool, largest: bool):
    """Where the extreme is, the first of equals."""
    if not x.ndim:
        return full([], 0, torch.int64)
    x = cast(x, torch.uint8) if is_bool(x) else x
    return (ops.argmax if largest else ops.argmin)(x, axis, keep)


@row("amax")
def amax(x, dim=(), keepdim=False):
    axes = axes_of(x, dim)
    _refuse_nothing(x, axes, "amax", dim or None)
    return extreme(x, axes, keepdim, True)


@row("amin")
def amin(x, dim=(), keepdim=False):
    axes = axes_of(x, dim)
    _refuse_nothing(x, axes, "amin", dim or None)
    return extreme(x, axes, keepdim, False)


@row("aminmax")
def aminmax(x, *, dim=None, keepdim=False):
    axes = axes_of(x, dim)
    if dim is None and 0 in dims(x):
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    _refuse_nothing(x, axes, "aminmax", dim)
    return extreme(x, axes, keepdim, False), extreme(x, axes, keepdim, True)


@row("max")
def max_all(x):
    _refuse_nothing(x, range(x.ndim), "max", None)
    return extreme(x, axes_of(x, None), False, True)


@row("min")
def min_all(x):
    _refuse_nothing(x, range(x.ndim), "min", None)
    return extreme(x, axes_of(x, None), False, False)


@row("max.dim")
def max_dim(x, dim, keepdim=False):
    _refuse_nothing(x, axes_of(x, dim), "max", dim)
    return extreme(x, axes_of(x, dim), keepdim, True), position(x, dim, keepdim, True)


@row("min.dim")
def min_dim(x, dim, keepdim=False):
    _refuse_nothing(x, axes_of(x, dim), "min", dim)
    return extreme(x, axes_of(x, dim), keepdim, False), position(x, dim, keepdim, False)


def _position_of(x, dim, keepdim, largest):
    if dim is not None:
        return position(x, dim, keepdim, largest)
    found = position(ops.reshape(x, [-1]) if x.ndim != 1 else x, 0, False, largest)
    return ops.expand_dims(found, list(range(x.ndim))) if keepdim and x.ndim else found


@row("argmax")
def argmax(x, dim=None, keepdim=False):
    _refuse_nothing(x, axes_of(x, dim), "argmax", dim)
    return _position_of(x, dim, keepdim, True)


@row("argmin")
def argmin(x, dim=None, keepdim=False):
    _refuse_nothing(x, axes_of(x, dim), "argmin", dim)
    return _position_of(x, dim, keepdim, False)


def _logical(x, dim, keep, function):
    found = reduced(function, truth(x), axes_of(x, dim), keep)
    return cast(found, torch.uint8) if dtype_of(x) == torch.uint8 else found


@row("any", "any.dim", "any.dims")
def any_(x, dim=None, keepdim=False):
    return _logical(x, dim, keepdim, ops.reduce_any)


@row("all", "all.dim", "all.dims")
def all_(x, dim=None, keepdim=False):
    return _logical(x, dim, keepdim, ops.reduce_all)


@row("count_nonzero.dim_IntList", "count_nonzero")
def count_nonzero(x, dim=None):
    return reduced(ops.reduce_sum, cast(truth(x), torch.int64), axes_of(x, dim))


# --- Moments


def moments(x, dim, keep: bool, correction):
    """Variance and mean in x's dtype; in f32 on the way for half precision."""
    if not is_float(x):
        raise Unsupported("moments of integers, which PyTorch has none of")
    axes = axes_of(x, dim)
    dtype = dtype_of(x)
    wide = cast(x, opmath_type(dtype))
    if not axes:
        nan = full_like(wide, math.nan if correction >= 1 else 0.0)
        return cast(nan, dtype), x
    average = ops.reduce_mean(wide, axes, True)
    squares = ops.reduce_sum(ops.square(ops.sub(wide, average)), axes, True)
    count = count_of([size(x, i) for i in axes])
    if isinstance(count, int):
        divisor = max(count - correction, 0)
        spread = ops.div(squares, float(divisor))
    else:
        left = ops.max(ops.sub(ops.extent_value(count, wide.dtype), float(correction)), 0.0)
        spread = ops.div(squares, left)
    if not keep:
        spread, average = ops.squeeze(spread, axes), ops.squeeze(average, axes)
    return cast(spread, dtype), cast(average, dtype)


def _correction(unbiased) -> int:
    return 1 if unbiased else 0


@row("var.correction")
def var(x, dim=None, *, correction=None, keepdim=False):
    return moments(x, dim, keepdim, 1 if correction is None else correction)[0]


@row("var", "var.dim")
def var_unbiased(x, dim=None, unbiased=True, keepdim=False):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return moments(x, dim, keepdim, _correction(unbiased))[0]


@row("std.correction")
def std(x, dim=None, *, correction=None, keepdim=False):
    return ops.sqrt(moments(x, dim, keepdim, 1 if correction is None else correction)[0])


@row("std", "std.dim")
def std_unbiased(x, dim=None, unbiased=True, keepdim=False):
    return ops.sqrt(var_unbiased(x, dim, unbiased, keepdim))


@row("var_mean.correction")
def var_mean(x, dim=None, *, correction=None, keepdim=False):
    return moments(x, dim, keepdim, 1 if correction is None else correction)


@row("std_mean.correction")
def std_mean(x, dim=None, *, correction=None, keepdim=False):
    spread, average = moments(x, dim, keepdim, 1 if correction is None else correction)
    return ops.sqrt(spread), average


# --- Norms and logarithms of sums


@row("logsumexp")
def logsumexp(x, dim, keepdim=False):
    x = cast(x, float_type(x))
    return reduced(ops.logsumexp, x, axes_of(x, dim), keepdim)


def vector_norm(x, p, axes, keep):
    x = ops.abs(x)
    if not axes:
        return cast(ops.ne(x, 0.0), dtype_of(x)) if p == 0 else x
    if p == math.inf:
        return ops.reduce_max(x, axes, keep)
    if p == -math.inf:
        return ops.reduce_min(x, axes, keep)
    if p == 0:
        return ops.reduce_sum(cast(ops.ne(x, 0.0), dtype_of(x)), axes, keep)
    if p == 1:
        return ops.reduce_l1(x, axes, keep)
    if p == 2:
        return ops.reduce_l2(x, axes, keep)
    return ops.pow(ops.reduce_sum(ops.pow(x, float(p)), axes, keep), 1.0 / p)


@row("linalg_vector_norm")
def linalg_vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = cast(x, dtype or dtype_of(x))
    return vector_norm(x, ord, axes_of(x, dim), keepdim)


@row("norm.Scalar")
def norm_scalar(x, p=2):
    return vector_norm(x, p, axes_of(x, None), False)


@row("norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype", "norm.ScalarOpt_dtype")
def norm_dim(x, p, dim=(), keepdim=False, *, dtype=None):
    x = cast(x, dtype or dtype_of(x))
    return vector_norm(x, 2 if p is None else p, axes_of(x, dim), keepdim)


@row("dist")
def dist(x, y, p=2):
    return norm_scalar(ops.sub(x, y), p)


# --- Running


def _register_running(name: str, function) -> None:
    @row(name)
    def running(x, dim, *, dtype=None):
        x = cast(x, dtype or sum_type(dtype_of(x)))
        return function(x, axis_of(x, dim)) if x.ndim else x


_register_running("cumsum", ops.cumulative_sum)
_register_running("cumprod", ops.cumulative_product)


@row("logcumsumexp")
def logcumsumexp(x, dim):
    """By the largest of all, so that the sums do not overflow."""
    if not x.ndim:
        return x
    axis = axis_of(x, dim)
    top = ops.reduce_max(x, [axis], True)
    top = ops.select(ops.isfinite(top), top, zeros_like(top))
    return ops.add(ops.log(ops.cumulative_sum(ops.exp(ops.sub(x, top)), axis)), top)


def _running_extreme(x, dim, running, larger_or_equal):
    """Values, and the last position that reached each."""
    if not x.ndim:
        return x, full([], 0, torch.int64)
    axis = axis_of(x, dim)
    plain = cast(x, torch.uint8) if is_bool(x) else x
    values = running(plain, axis)
    here = ops.iota(shape(torch.int64, x.sizes), axis)
    hit = larger_or_equal(plain, values)
    if is_float(plain):
        hit = ops.logical_or(hit, ops.isnan(plain))
    where = ops.cumulative_max(ops.select(hit, here, zeros_like(here)), axis)
    return cast(values, dtype_of(x)), where


@row("cummax")
def cummax(x, dim):
    return _running_extreme(x, dim, ops.cumulative_max, ops.ge)


@row("cummin")
def cummin(x, dim):
    return _running_extreme(x, dim, ops.cumulative_min, ops.le)
