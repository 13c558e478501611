"""Matrix products."""

from __future__ import annotations

import numpy as np
import torch
from tenon import ops

from .dtypes import dtype_of, result_type
from .rows_reduce import vector_norm
from .rows_view import reshape
from .table import row
from .values import axis_among, cast, constant, count_of, dims, expand_to, fixed, operand, unsqueeze, zeros_like


def _scaled(x, factor):
    """factor * x; x itself for 1."""
    return x if factor == 1 else ops.mul(x, operand(factor, dtype_of(x)))


def _plus(base, product, beta, alpha):
    """beta * base + alpha * product; a beta of 0 hides NaN in the base, as in BLAS."""
    product = _scaled(product, alpha)
    if beta == 0:
        return product
    return ops.add(product, _scaled(cast(base, dtype_of(product)), beta))


@row("mm", "bmm", direct="matmul")
def mm(a, b):
    return ops.matmul(a, b)


@row("mm.dtype", "bmm.dtype")
def mm_dtype(a, b, out_dtype):
    return ops.matmul(cast(a, out_dtype), cast(b, out_dtype))


@row("matmul")
def matmul(a, b):
    dtype = result_type(a, b)
    a, b = cast(a, dtype), cast(b, dtype)
    if a.ndim == 1 and b.ndim == 1:
        return dot(a, b)
    if a.ndim == 1:
        return ops.squeeze(ops.matmul(unsqueeze(a, 0), b), [b.ndim - 2])
    if b.ndim == 1:
        return ops.squeeze(ops.matmul(a, unsqueeze(b, 1)), [a.ndim - 1])
    return ops.matmul(a, b)


@row("dot", "vdot")
def dot(a, b):
    return ops.contract(a, b, [], [], [0], [0])


@row("mv")
def mv(a, b):
    return ops.contract(a, b, [], [], [1], [0])


@row("addmm")
def addmm(bias, a, b, *, beta=1, alpha=1):
    if beta == 1 and alpha == 1 and bias.ndim == 1 and dtype_of(a).is_floating_point and dims(bias)[0] != 1:
        return ops.dense(a, b, bias)
    return _plus(bias, ops.matmul(a, b), beta, alpha)


@row("_addmm_activation")
def addmm_activation(bias, a, b, *, beta=1, alpha=1, use_gelu=False):
    y = addmm(bias, a, b, beta=beta, alpha=alpha)
    return ops.gelu_tanh(y) if use_gelu else ops.relu(y)


@row("baddbmm")
def baddbmm(base, a, b, *, beta=1, alpha=1):
    return _plus(base, ops.matmul(a, b), beta, alpha)


@row("addbmm")
def addbmm(base, a, b, *, beta=1, alpha=1):
    return _plus(base, ops.contract(a, b, [], [], [0, 2], [0, 1]), beta, alpha)


@row("addmv")
def addmv(base, a, b, *, beta=1, alpha=1):
    return _plus(base, mv(a, b), beta, alpha)


@row("addr")
def addr(base, a, b, *, beta=1, alpha=1):
    dtype = result_type(base, a, b)
    a, b = cast(a, dtype), cast(b, dtype)
    if dtype == torch.bool:
        product = ops.logical_and(unsqueeze(a, 1), unsqueeze(b, 0))
        return product if not beta else ops.logical_or(product, base) if alpha else expand_to(base, product.sizes)
    return _plus(base, ops.mul(unsqueeze(a, 1), unsqueeze(b, 0)), beta, alpha)


@row("linear")
def linear(x, weight, bias=None):
    """x of any rank; weight is [out, in]."""
    if weight.ndim == 1:
        y = matmul(x, weight)
        return y if bias is None else ops.add(y, bias)
    turned = ops.transpose(weight, [1, 0])
    if x.ndim == 1:
        y = ops.squeeze(ops.matmul(unsqueeze(x, 0), turned), [0])
        return y if bias is None else ops.add(y, bias)
    return ops.dense(x, turned, bias) if bias is not None else ops.dense(x, turned)


@row("linear_backward")
def linear_backward(x, grad, weight, output_mask):
    by_x = by_weight = by_bias = None
    inside = weight.sizes[-1]
    rows = count_of(list(x.sizes[:-1]))
    across = reshape(grad, [rows, weight.sizes[0] if weight.ndim == 2 else 1])
    if output_mask[0]:
        by_x = ops.matmul(across, weight) if weight.ndim == 2 else ops.mul(across, weight)
        by_x = reshape(by_x, x.sizes)
    if output_mask[1]:
        by_weight = ops.matmul(ops.transpose(across, [1, 0]), reshape(x, [rows, inside]))
        by_weight = reshape(by_weight, weight.sizes)
    if output_mask[2]:
        by_bias = ops.reduce_sum(across, [0] if weight.ndim == 2 else [0, 1])
    return by_x, by_weight, by_bias


@row("_trilinear")
def trilinear(a, b, c, expand1, expand2, expand3, sumdim, unroll_dim=1):
    """The sum over `sumdim` of a product of three that broadcast: what bilinear layers are made of."""
    for axes, name in ((expand1, "a"), (expand2, "b"), (expand3, "c")):
        for axis in axes:
            if name == "a":
                a = unsqueeze(a, axis)
            elif name == "b":
                b = unsqueeze(b, axis)
            else:
                c = unsqueeze(c, axis)
    product = ops.mul(ops.mul(a, b), c)
    return ops.reduce_sum(product, list(sumdim)) if sumdim else product


@row("bilinear")
def bilinear(a, b, weight, bias=None):
    lead = list(a.sizes[:-1])
    n = count_of(lead)
    a2, b2 = reshape(a, [n, a.sizes[-1]]), reshape(b, [n, b.sizes[-1]])
    y = ops.reduce_sum(ops.mul(ops.contract(a2, weight, [], [], [1], [1]), unsqueeze(b2, 1)), [2])
    y = reshape(y, [*lead, weight.sizes[0]])
    return y if bias is None else ops.add(y, bias)


@row("linalg_cross")
def cross(a, b, *, dim=-1):
    """a x b: both turned by one place and by two."""
    dtype = result_type(a, b)
    a, b = cast(a, dtype), cast(b, dtype)
    axis = axis_among(max(a.ndim, b.ndim), dim)

    def turned(x, by):
        return ops.roll(x, -by, axis)

    return ops.sub(ops.mul(turned(a, 1), turned(b, 2)), ops.mul(turned(a, 2), turned(b, 1)))


# --- Distances


def _distances(a, b, p):
    """Distances of every row of a from every row of b, p-norm."""
    difference = ops.abs(ops.sub(ops.expand_dims(a, [a.ndim - 1]), ops.expand_dims(b, [b.ndim - 2])))
    axis = [difference.ndim - 1]
    if p == 0:
        return ops.reduce_sum(cast(ops.ne(difference, 0.0), dtype_of(a)), axis)
    if p == 1:
        return ops.reduce_sum(difference, axis)
    if p == 2:
        return ops.sqrt(ops.reduce_sum(ops.square(difference), axis))
    if p == float("inf"):
        return ops.reduce_max(difference, axis)
    return ops.pow(ops.reduce_sum(ops.pow(difference, float(p)), axis), 1.0 / p)


@row("_cdist_forward")
def cdist(a, b, p, compute_mode=None):
    return _distances(a, b, p)


@row("_euclidean_dist")
def euclidean_dist(a, b):
    return _distances(a, b, 2)


@row("_cdist_backward")
def cdist_backward(grad, a, b, p, cdist):
    """The gradient by a."""
    difference = ops.sub(ops.expand_dims(a, [a.ndim - 1]), ops.expand_dims(b, [b.ndim - 2]))
    d, g = ops.expand_dims(cdist, [cdist.ndim]), ops.expand_dims(grad, [grad.ndim])
    return ops.reduce_sum(_distance_slope(difference, d, g, p), [difference.ndim - 2])


def _distance_slope(difference, distance, grad, p):
    """grad times the derivative of the p-norm by each difference; 0 where the distance is 0."""
    zero = zeros_like(difference)
    size, direction = ops.abs(difference), ops.sign(difference)
    if p == 0:
        return zero
    if p == 1:
        return ops.mul(direction, grad)
    if p == float("inf"):
        return ops.select(ops.eq(size, distance), ops.mul(direction, grad), zero)
    share = difference if p == 2 else ops.mul(direction, ops.pow(size, p - 1.0))
    slope = ops.mul(share, ops.div(grad, ops.pow(distance, p - 1.0) if p != 2 else distance))
    return ops.select(ops.logical_or(ops.eq(distance, 0.0), ops.eq(size, 0.0)), zero, slope)


def _pairs(n: int):
    """Rows i < j of all pairs."""
    first, second = np.triu_indices(n, 1)
    return first.astype(np.int64), second.astype(np.int64)


@row("_pdist_forward")
def pdist(x, p=2):
    first, second = (ops.take(x, constant(i, x), 0) for i in _pairs(fixed(dims(x)[0], "the number of points")))
    return vector_norm(ops.sub(first, second), p, [1], False)


@row("_pdist_backward")
def pdist_backward(grad, x, p, pdist):
    first, second = (constant(i, x) for i in _pairs(fixed(dims(x)[0], "the number of points")))
    difference = ops.sub(ops.take(x, first, 0), ops.take(x, second, 0))
    slope = _distance_slope(difference, ops.expand_dims(pdist, [1]), ops.expand_dims(grad, [1]), p)
    total = ops.scatter(zeros_like(x), slope, [first], "add", [0])
    return ops.scatter(total, ops.neg(slope), [second], "add", [0])
