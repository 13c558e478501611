"""Activations and their backward operators. A backward is elementwise, so it joins what is around it."""

from __future__ import annotations

import math

from tenon import ops

from .dtypes import Unsupported, dtype_of
from .table import draw, row
from .values import axis_of, full_like, operand, shape, size, zeros_like

_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)


def _where(condition, x, otherwise):
    return ops.select(condition, x, otherwise)


# --- relu and what is flat in parts


@row("threshold_backward")
def threshold_backward(grad, x, threshold):
    return _where(ops.le(x, operand(threshold, dtype_of(x))), zeros_like(grad), grad)


@row("threshold")
def threshold(x, threshold, value):
    return _where(ops.gt(x, operand(threshold, dtype_of(x))), x, full_like(x, value))


@row("relu6")
def relu6(x):
    return ops.clamp(x, 0, 6)


@row("hardtanh")
def hardtanh(x, min_val=-1, max_val=1):
    dtype = dtype_of(x)
    return ops.min(ops.max(x, operand(min_val, dtype)), operand(max_val, dtype))


@row("hardtanh_backward")
def hardtanh_backward(grad, x, min_val, max_val):
    flat = ops.logical_or(ops.le(x, min_val), ops.ge(x, max_val))
    return _where(flat, zeros_like(grad), grad)


@row("leaky_relu")
def leaky_relu(x, negative_slope=0.01):
    return ops.leaky_relu(x, float(negative_slope))


@row("leaky_relu_backward")
def leaky_relu_backward(grad, x, negative_slope, self_is_result):
    return _where(ops.gt(x, 0.0), grad, ops.mul(grad, float(negative_slope)))


@row("_prelu_kernel")
def prelu(x, weight):
    return _where(ops.gt(x, 0.0), x, ops.mul(x, weight))


@row("_prelu_kernel_backward")
def prelu_backward(grad, x, weight):
    positive = ops.gt(x, 0.0)
    by_x = _where(positive, grad, ops.mul(grad, weight))
    by_weight = _where(positive, zeros_like(grad), ops.mul(x, grad))
    return by_x, by_weight


@row("hardsigmoid")
def hardsigmoid(x):
    return ops.div(ops.clamp(ops.add(x, 3.0), 0.0, 6.0), 6.0)


@row("hardsigmoid_backward")
def hardsigmoid_backward(grad, x):
    steep = ops.logical_and(ops.gt(x, -3.0), ops.lt(x, 3.0))
    return _where(steep, ops.mul(grad, 1 / 6), zeros_like(grad))


@row("hardswish")
def hardswish(x):
    return ops.hard_swish(x)


@row("hardswish_backward")
def hardswish_backward(grad, x):
    middle = ops.mul(grad, ops.add(ops.div(x, 3.0), 0.5))
    return _where(ops.le(x, -3.0), zeros_like(grad), _where(ops.lt(x, 3.0), middle, grad))


@row("hardshrink")
def hardshrink(x, lambd=0.5):
    return _where(ops.le(ops.abs(x), float(lambd)), zeros_like(x), x)


@row("hardshrink_backward")
def hardshrink_backward(grad, x, lambd):
    return _where(ops.le(ops.abs(x), float(lambd)), zeros_like(grad), grad)


@row("softshrink")
def softshrink(x, lambd=0.5):
    moved = ops.sub(x, ops.mul(ops.sign(x), float(lambd)))
    return _where(ops.gt(ops.abs(x), float(lambd)), moved, ops.mul(x, 0.0))


@row("softshrink_backward")
def softshrink_backward(grad, x, lambd):
    return hardshrink_backward(grad, x, lambd)


# --- Smooth ones


@row("sigmoid_backward")
def sigmoid_backward(grad, y):
    return ops.mul(grad, ops.mul(y, ops.sub(1.0, y)))


@row("tanh_backward")
def tanh_backward(grad, y):
    return ops.mul(grad, ops.sub(1.0, ops.square(y)))


@row("silu", direct="silu")
def silu(x):
    return ops.silu(x)


@row("silu_backward")
def silu_backward(grad, x):
    s = ops.sigmoid(x)
    return ops.mul(ops.mul(grad, s), ops.add(ops.mul(x, ops.sub(1.0, s)), 1.0))


@row("gelu", direct="gelu")
def gelu(x, *, approximate="none"):
    return ops.gelu_tanh(x) if approximate == "tanh" else ops.gelu(x)


@row("gelu_backward")
def gelu_backward(grad, x, *, approximate="none"):
    if approximate == "tanh":
        root = math.sqrt(2 / math.pi)
        squared = ops.square(x)
        inner = ops.mul(ops.mul(x, ops.add(ops.mul(squared, 0.044715), 1.0)), root)
        t = ops.tanh(inner)
        steep = ops.mul(ops.add(ops.mul(squared, 3 * 0.044715), 1.0), root)
        left = ops.mul(ops.add(t, 1.0), 0.5)
        right = ops.mul(ops.mul(x, 0.5), ops.mul(ops.sub(1.0, ops.square(t)), steep))
        return ops.mul(grad, ops.add(left, right))
    below = ops.mul(ops.add(ops.erf(ops.mul(x, _ROOT_HALF)), 1.0), 0.5)
    density = ops.mul(ops.exp(ops.mul(ops.square(x), -0.5)), _DENSITY)
    return ops.mul(grad, ops.add(below, ops.mul(x, density)))


@row("mish")
def mish(x):
    return ops.mish(x)


@row("mish_backward")
def mish_backward(grad, x):
    t = ops.tanh(ops.softplus(x))
    s = ops.sigmoid(x)
    return ops.mul(grad, ops.add(t, ops.mul(ops.mul(x, s), ops.sub(1.0, ops.square(t)))))


@row("elu")
def elu(x, alpha=1, scale=1, input_scale=1):
    below = ops.mul(ops.expm1(ops.mul(ops.min(x, 0.0), float(input_scale))), float(alpha) * float(scale))
    return _where(ops.gt(x, 0.0), ops.mul(x, float(scale)), below)


@row("elu_backward")
def elu_backward(grad, alpha, scale, input_scale, is_result, x):
    alpha, scale, input_scale = float(alpha), float(scale), float(input_scale)
    if is_result:
        slope = ops.mul(ops.add(x, alpha * scale), input_scale)
    else:
        slope = ops.mul(ops.exp(ops.mul(x, input_scale)), alpha * scale * input_scale)
    return _where(ops.le(x, 0.0), ops.mul(grad, slope), ops.mul(grad, scale))


@row("celu")
def celu(x, alpha=1.0):
    return elu(x, alpha, 1.0, 1.0 / alpha)


@row("selu")
def selu(x):
    return elu(x, 1.6732632423543772, 1.0507009873554805)


@row("softplus")
def softplus(x, beta=1, threshold=20):
    beta, threshold = float(beta), float(threshold)
    z = ops.mul(x, beta)
    return _where(ops.gt(z, threshold), x, ops.div(ops.softplus(z), beta))


@row("softplus_backward")
def softplus_backward(grad, x, beta, threshold):
    z = ops.mul(x, float(beta))
    return _where(ops.gt(z, float(threshold)), grad, ops.mul(grad, ops.sigmoid(z)))


@row("log_sigmoid_forward")
def log_sigmoid_forward(x):
    """Value and the buffer that the backward of CPU reads, exp(-|x|)."""
    buffer = ops.exp(ops.neg(ops.abs(x)))
    return ops.sub(ops.min(x, 0.0), ops.log1p(buffer)), buffer


@row("log_sigmoid_backward")
def log_sigmoid_backward(grad, x, buffer):
    return ops.mul(grad, ops.sigmoid(ops.neg(x)))


@row("logit_backward")
def logit_backward(grad, x, eps=None):
    inside = ops.div(grad, ops.mul(x, ops.sub(1.0, x)))
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    outside = full_like(grad, math.nan) if eps is None else zeros_like(grad)
    out = ops.logical_or(ops.lt(x, low), ops.gt(x, high))
    return _where(out, outside, inside)


# --- Halves of an axis


def _halves(x, dim):
    axis = axis_of(x, dim)
    n = size(x, axis)
    if isinstance(n, int) and n % 2:
        raise Unsupported("glu of an odd axis")
    half = n // 2
    return ops.slice_axis(x, axis, 0, half), ops.slice_axis(x, axis, half, n), axis


@row("glu")
def glu(x, dim=-1):
    a, b, _ = _halves(x, dim)
    return ops.mul(a, ops.sigmoid(b))


@row("glu_backward")
def glu_backward(grad, x, dim):
    a, b, axis = _halves(x, dim)
    s = ops.sigmoid(b)
    by_b = ops.mul(ops.mul(grad, a), ops.mul(s, ops.sub(1.0, s)))
    return ops.concat([ops.mul(grad, s), by_b], axis)


@row("rrelu_with_noise_functional", random=True)
def rrelu_with_noise(x, noise, lower=0.125, upper=0.3333333333333333, training=False, generator=None):
    """The result, and the slopes that were drawn."""
    if not training:
        return leaky_relu(x, (lower + upper) / 2), noise
    drawn = ops.uniform(*draw(), shape(dtype_of(x), x.sizes), float(lower), float(upper))
    slopes = _where(ops.le(x, 0.0), drawn, full_like(x, 1))
    return ops.mul(x, slopes), slopes
