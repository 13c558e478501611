"""Random values. They come from (key, counter) pairs, so they follow PyTorch's distributions and not its numbers."""

from __future__ import annotations

import math

import torch
from tenon import ops

from .dtypes import dtype_of, float_type, is_value
from .table import draw, row
from .values import cast, full, full_like, shape, zeros_like


def _uniform(sizes, dtype=None, low=0.0, high=1.0):
    dtype = dtype or torch.get_default_dtype()
    return ops.uniform(*draw(), shape(dtype, sizes), float(low), float(high))


def _normal(sizes, dtype=None, mean=0.0, deviation=1.0):
    dtype = dtype or torch.get_default_dtype()
    return ops.normal(*draw(), shape(dtype, sizes), float(mean), float(deviation))


@row("rand", "rand.generator", random=True)
def rand(size, *, generator=None, dtype=None):
    return _uniform(size, dtype)


@row("randn", "randn.generator", random=True)
def randn(size, *, generator=None, dtype=None):
    return _normal(size, dtype)


@row("rand_like", random=True)
def rand_like(x, *, dtype=None):
    return _uniform(x.sizes, dtype or dtype_of(x))


@row("randn_like", random=True)
def randn_like(x, *, dtype=None):
    return _normal(x.sizes, dtype or dtype_of(x))


def _integers(sizes, low: int, high: int, dtype):
    """From f64, which keeps 53 bits of evenness."""
    real = ops.uniform(*draw(), shape(torch.float64, sizes))
    whole = cast(ops.floor(ops.mul(real, float(high - low))), torch.int64)
    return cast(ops.add(whole, low), dtype or torch.int64)


@row("randint", random=True)
def randint(high, size, *, dtype=None):
    return _integers(size, 0, high, dtype)


@row("randint.low", random=True)
def randint_low(low, high, size, *, dtype=None):
    return _integers(size, low, high, dtype)


@row("randint_like", random=True)
def randint_like(x, high, *, dtype=None):
    return _integers(x.sizes, 0, high, dtype or dtype_of(x))


@row("randint_like.low_dtype", random=True)
def randint_like_low(x, low, high, *, dtype=None):
    return _integers(x.sizes, low, high, dtype or dtype_of(x))


@row("random", random=True)
def random(x, *, generator=None):
    dtype = dtype_of(x)
    most = 2 ** (24 if dtype == torch.float32 else 53) if dtype.is_floating_point else torch.iinfo(dtype).max
    return _integers(x.sizes, 0, min(most, 2**53), dtype)


@row("random.to", random=True)
def random_to(x, to, *, generator=None):
    return _integers(x.sizes, 0, to, dtype_of(x))


@row("random.from", random=True)
def random_from(x, low, to, *, generator=None):
    return _integers(x.sizes, low, to, dtype_of(x))


@row("randperm", random=True)
def randperm(n, *, dtype=None):
    return cast(ops.permutation(*draw(), n), dtype or torch.int64)


@row("uniform", random=True)
def uniform(x, low=0.0, high=1.0, *, generator=None):
    return _uniform(x.sizes, dtype_of(x), low, high)


@row("normal_functional", random=True)
def normal_functional(x, mean=0.0, std=1.0, *, generator=None):
    return _normal(x.sizes, dtype_of(x), mean, std)


@row("normal.float_float", random=True)
def normal_numbers(mean, std, size, *, generator=None, dtype=None):
    return _normal(size, dtype, mean, std)


@row("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor", random=True)
def normal(mean, std=1.0, *, generator=None):
    like = mean if is_value(mean) else std
    return ops.add(ops.mul(_normal(like.sizes, dtype_of(like)), std), mean)


@row("exponential", random=True)
def exponential(x, lambd=1.0, *, generator=None):
    return ops.div(ops.neg(ops.log1p(ops.neg(_uniform(x.sizes, dtype_of(x))))), float(lambd))


@row("log_normal", random=True)
def log_normal(x, mean=1.0, std=2.0, *, generator=None):
    return ops.exp(_normal(x.sizes, dtype_of(x), mean, std))


@row("cauchy", random=True)
def cauchy(x, median=0.0, sigma=1.0, *, generator=None):
    angle = ops.mul(ops.sub(_uniform(x.sizes, dtype_of(x)), 0.5), math.pi)
    return ops.add(ops.mul(ops.tan(angle), float(sigma)), float(median))


@row("geometric", random=True)
def geometric(x, p, *, generator=None):
    real = _uniform(x.sizes, torch.float32)
    trials = ops.ceil(ops.div(ops.log1p(ops.neg(real)), math.log1p(-p)))
    return cast(ops.max(trials, 1.0), dtype_of(x))


def _coins(sizes, p):
    """True with probability p."""
    return ops.lt(_uniform(sizes, torch.float32), p)


@row("bernoulli", random=True)
def bernoulli(x, *, generator=None):
    return cast(_coins(x.sizes, cast(x, torch.float32)), dtype_of(x))


@row("bernoulli.p", random=True)
def bernoulli_p(x, p=0.5, *, generator=None):
    return cast(_coins(x.sizes, float(p)), dtype_of(x))


@row("bernoulli.Tensor", random=True)
def bernoulli_tensor(x, p, *, generator=None):
    return cast(_coins(x.sizes, cast(p, torch.float32)), dtype_of(x))


# --- Dropout


@row("native_dropout", random=True)
def native_dropout(x, p, train):
    """The result, and which elements were kept."""
    if train is False or p == 0:
        return x, full(x.sizes, True, torch.bool)
    if p == 1:
        return zeros_like(x), full(x.sizes, False, torch.bool)
    kept = _coins(x.sizes, 1.0 - p)
    return ops.select(kept, ops.mul(x, 1.0 / (1.0 - p)), zeros_like(x)), kept


@row("native_dropout_backward")
def native_dropout_backward(grad, mask, scale):
    grad = cast(grad, float_type(grad))
    return ops.mul(ops.select(mask, grad, full_like(grad, 0)), float(scale))


@row("multinomial", random=True)
def multinomial(x, num_samples, replacement=False, *, generator=None):
    """Positions drawn with probabilities that are proportional to x. Without replacement those whose logarithms are
    the largest after Gumbel noise was added to them."""
    axis = x.ndim - 1
    w = cast(x, torch.float32)
    if not replacement:
        noise = ops.neg(ops.log(ops.neg(ops.log(ops.max(_uniform(x.sizes, torch.float32), 1e-30)))))
        return ops.top_k(ops.add(ops.log(w), noise), num_samples, axis, True)[1]
    total = ops.cumulative_sum(w, axis)
    whole = ops.reduce_max(total, [axis], True)
    at = ops.mul(_uniform([*x.sizes[:-1], num_samples], torch.float32), whole)
    below = ops.le(ops.expand_dims(total, [axis]), ops.expand_dims(at, [at.ndim]))
    found = ops.reduce_sum(cast(below, torch.int64), [below.ndim - 1])
    last = x.sizes[-1] - 1
    return ops.min(found, last if isinstance(last, int) else ops.extent_value(last))
