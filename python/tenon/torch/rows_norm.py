"""Normalisation and its backward operators.

Moments are written as Tenon's own composites are: one difference x - mean that variance and result both use, so that
statistics and result are one kernel where they can be. Statistics of half-precision values are f32.
"""

from __future__ import annotations

import math

import tenon
import torch
from tenon import ops

from .dtypes import dtype_of, opmath_type
from .rows_view import reshape
from .table import row
from .values import along, axis_of, cast, count_of, dims, expand_to, full, wide


def _count(sizes, like):
    n = count_of(sizes)
    return float(n) if isinstance(n, int) else ops.extent_value(n, like.dtype)


def _around(x) -> list[int]:
    """All axes but the channels."""
    return [i for i in range(x.ndim) if i != 1]


def _moments(x, axes, eps):
    """Mean, x - mean, variance and 1 / sqrt(variance + eps), with the axes kept."""
    mean = ops.reduce_mean(x, axes, True)
    centred = ops.sub(x, mean)
    variance = ops.reduce_mean(ops.square(centred), axes, True)
    return mean, centred, variance, ops.rsqrt(ops.add(variance, float(eps)))


def _affine(x, weight, bias, axis):
    if weight is not None:
        x = ops.mul(x, along(wide(weight), x.ndim, axis))
    return x if bias is None else ops.add(x, along(wide(bias), x.ndim, axis))


# --- Batch norm


def _blend(running, fresh, momentum):
    if running is None:
        return _nothing(torch.float32)
    blended = ops.add(ops.mul(wide(running), 1 - momentum), ops.mul(fresh, float(momentum)))
    return cast(blended, dtype_of(running))


def _train(x, weight, bias, running_mean, running_var, momentum, eps):
    """y, the batch's mean and 1 / deviation, and the new running moments."""
    axes = _around(x)
    w = wide(x)
    mean, centred, variance, inverse = _moments(w, axes, eps)
    y = cast(_affine(ops.mul(centred, inverse), weight, bias, 1), dtype_of(x))
    count = count_of([x.sizes[i] for i in axes])
    if isinstance(count, int):
        correction = count / (count - 1) if count > 1 else math.nan
    else:
        correction = ops.div(_count([count], w), ops.extent_value(count - 1, w.dtype))
    flat_mean, flat_inverse = ops.squeeze(mean, axes), ops.squeeze(inverse, axes)
    unbiased = ops.mul(ops.squeeze(variance, axes), correction)
    return (
        y, flat_mean, flat_inverse, _blend(running_mean, flat_mean, momentum),
        _blend(running_var, unbiased, momentum),
    )  # fmt: skip


def _evaluate(x, weight, bias, mean, variance, eps):
    if weight is not None and bias is not None:
        return ops.batch_norm(x, weight, bias, mean, variance, float(eps))
    w = wide(x)
    inverse = ops.rsqrt(ops.add(wide(variance), float(eps)))
    y = ops.mul(ops.sub(w, along(wide(mean), x.ndim, 1)), along(inverse, x.ndim, 1))
    return cast(_affine(y, weight, bias, 1), dtype_of(x))


def _nothing(dtype):
    return full([0], 0, dtype)


@row("_native_batch_norm_legit_functional")
def batch_norm_functional(x, weight, bias, running_mean, running_var, training, momentum, eps):
    if training:
        return _train(x, weight, bias, running_mean, running_var, momentum, eps)
    y = _evaluate(x, weight, bias, running_mean, running_var, eps)
    none = _nothing(opmath_type(dtype_of(x)))
    return y, none, none, running_mean, running_var


@row("_native_batch_norm_legit.no_stats")
def batch_norm_no_stats(x, weight, bias, training, momentum, eps):
    return _train(x, weight, bias, None, None, momentum, eps)[:3]


@row("_native_batch_norm_legit_no_training")
def batch_norm_no_training(x, weight, bias, running_mean, running_var, momentum, eps):
    none = _nothing(opmath_type(dtype_of(x)))
    return _evaluate(x, weight, bias, running_mean, running_var, eps), none, none


@row("_batch_norm_no_update")
def batch_norm_no_update(x, weight, bias, running_mean, running_var, momentum, eps):
    none = _nothing(opmath_type(dtype_of(x)))
    return _evaluate(x, weight, bias, running_mean, running_var, eps), none, none, full([0], 0, torch.uint8)


@row("_batch_norm_with_update_functional")
def batch_norm_with_update(x, weight, bias, running_mean, running_var, momentum, eps):
    y, mean, inverse, new_mean, new_var = _train(x, weight, bias, running_mean, running_var, momentum, eps)
    return y, mean, inverse, full([0], 0, torch.uint8), new_mean, new_var


@row("native_batch_norm_backward")
def batch_norm_backward(grad, x, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask):
    axes = _around(x)
    w, g = wide(x), wide(grad)
    if train:
        mean, inverse = wide(save_mean), wide(save_invstd)
    else:
        mean, inverse = wide(running_mean), ops.rsqrt(ops.add(wide(running_var), float(eps)))
    mean, inverse = along(mean, x.ndim, 1), along(inverse, x.ndim, 1)
    normal = ops.mul(ops.sub(w, mean), inverse)
    by_bias = ops.reduce_sum(g, axes, True)
    by_weight = ops.reduce_sum(ops.mul(g, normal), axes, True)
    scale = inverse if weight is None else ops.mul(inverse, along(wide(weight), x.ndim, 1))
    by_x = None
    if output_mask[0]:
        inner = g
        if train:
            n = _count([x.sizes[i] for i in axes], w)
            inner = ops.sub(ops.sub(g, ops.div(by_bias, n)), ops.mul(normal, ops.div(by_weight, n)))
        by_x = cast(ops.mul(inner, scale), dtype_of(x))
    flat = dtype_of(weight) if weight is not None else dtype_of(x)
    return (
        by_x,
        cast(ops.squeeze(by_weight, axes), flat) if output_mask[1] else None,
        cast(ops.squeeze(by_bias, axes), flat) if output_mask[2] else None,
    )


@row("batch_norm_backward")
def batch_norm_backward_reserve(
    grad, x, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask, reserve
):
    return batch_norm_backward(
        grad, x, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask
    )


# --- Layer norm and root mean square norm


def _last_axes(x, normalized_shape) -> list[int]:
    last = dims(x)[max(x.ndim - len(normalized_shape), 0) :]
    if len(last) != len(normalized_shape) or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(last, normalized_shape)
    ):
        wanted = ", ".join(map(str, normalized_shape))
        raise tenon.Error(
            f"Given normalized_shape=[{wanted}], expected input with shape [*, {wanted}], but got input of "
            f"size{list(dims(x))}"
        )
    return list(range(x.ndim - len(normalized_shape), x.ndim))


@row("native_layer_norm")
def layer_norm(x, normalized_shape, weight, bias, eps):
    axes = _last_axes(x, normalized_shape)
    given = {k: v for k, v in (("scale", weight), ("bias", bias)) if v is not None}
    y = ops.layer_norm(x, axes=axes, epsilon=float(eps), **given)
    mean, _, _, inverse = _moments(wide(x), axes, eps)
    return y, mean, inverse


@row("layer_norm")
def plain_layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return layer_norm(x, normalized_shape, weight, bias, eps)[0]


@row("native_layer_norm_backward")
def layer_norm_backward(grad, x, normalized_shape, mean, rstd, weight, bias, output_mask):
    axes = _last_axes(x, normalized_shape)
    lead = list(range(x.ndim - len(axes)))
    w, g = wide(x), wide(grad)
    normal = ops.mul(ops.sub(w, wide(mean)), wide(rstd))
    by_x = by_weight = by_bias = None
    if output_mask[0]:
        scaled = g if weight is None else ops.mul(g, wide(weight))
        average = ops.reduce_mean(scaled, axes, True)
        product = ops.reduce_mean(ops.mul(scaled, normal), axes, True)
        inner = ops.sub(ops.sub(scaled, average), ops.mul(normal, product))
        by_x = cast(ops.mul(inner, wide(rstd)), dtype_of(x))
    if output_mask[1] and weight is not None:
        product = ops.mul(g, normal)
        by_weight = cast(ops.reduce_sum(product, lead) if lead else product, dtype_of(weight))
    if output_mask[2]:
        by_bias = cast(ops.reduce_sum(g, lead) if lead else g, dtype_of(x if bias is None else bias))
    return by_x, by_weight, by_bias


def _rms(x, normalized_shape, weight, eps):
    axes = _last_axes(x, normalized_shape)
    eps = torch.finfo(dtype_of(wide(x))).eps if eps is None else eps
    w = wide(x)
    inverse = ops.rsqrt(ops.add(ops.reduce_mean(ops.square(w), axes, True), float(eps)))
    y = ops.rms_norm(x, axes=axes, epsilon=float(eps), **({} if weight is None else {"scale": weight}))
    return y, inverse


@row("_fused_rms_norm")
def fused_rms_norm(x, normalized_shape, weight, eps):
    return _rms(x, normalized_shape, weight, eps)


@row("rms_norm")
def rms_norm(x, normalized_shape, weight=None, eps=None):
    return _rms(x, normalized_shape, weight, eps)[0]


@row("_fused_rms_norm_backward")
def fused_rms_norm_backward(grad, x, normalized_shape, rstd, weight, output_mask):
    axes = _last_axes(x, normalized_shape)
    lead = list(range(x.ndim - len(axes)))
    g, normal = wide(grad), ops.mul(wide(x), wide(rstd))
    by_x = by_weight = None
    if output_mask[0]:
        scaled = g if weight is None else ops.mul(g, wide(weight))
        product = ops.reduce_mean(ops.mul(scaled, normal), axes, True)
        by_x = cast(ops.mul(ops.sub(scaled, ops.mul(normal, product)), wide(rstd)), dtype_of(x))
    if output_mask[1] and weight is not None:
        product = ops.mul(g, normal)
        by_weight = cast(ops.reduce_sum(product, lead) if lead else product, dtype_of(weight))
    return by_x, by_weight


# --- Group norm


@row("native_group_norm")
def group_norm(x, weight, bias, N, C, HxW, group, eps):
    grouped = wide(reshape(x, [N, group, C // group, HxW]))
    mean, centred, _, inverse = _moments(grouped, [2, 3], eps)
    if weight is not None and bias is not None and x.ndim > 2:
        y = ops.group_norm(x, weight, bias, group, float(eps))
    else:
        normal = reshape(ops.mul(centred, inverse), x.sizes)
        y = cast(_affine(normal, weight, bias, 1), dtype_of(x))
    return y, reshape(mean, [N, group]), reshape(inverse, [N, group])


@row("native_group_norm_backward")
def group_norm_backward(grad, x, mean, rstd, weight, N, C, HxW, group, output_mask):
    sizes = [N, group, C // group, HxW]
    g, w = wide(reshape(grad, sizes)), wide(reshape(x, sizes))
    inverse = reshape(wide(rstd), [N, group, 1, 1])
    normal = ops.mul(ops.sub(w, reshape(wide(mean), [N, group, 1, 1])), inverse)
    by_x = by_weight = by_bias = None
    if output_mask[0]:
        scaled = g if weight is None else ops.mul(g, reshape(wide(weight), [1, group, C // group, 1]))
        average = ops.reduce_mean(scaled, [2, 3], True)
        product = ops.reduce_mean(ops.mul(scaled, normal), [2, 3], True)
        inner = ops.sub(ops.sub(scaled, average), ops.mul(normal, product))
        by_x = cast(reshape(ops.mul(inner, inverse), x.sizes), dtype_of(x))
    if output_mask[1]:
        by_weight = cast(reshape(ops.reduce_sum(ops.mul(g, normal), [0, 3]), [C]), dtype_of(x))
    if output_mask[2]:
        by_bias = cast(reshape(ops.reduce_sum(g, [0, 3]), [C]), dtype_of(x))
    return by_x, by_weight, by_bias


# --- Others


@row("renorm")
def renorm(x, p, dim, maxnorm):
    """Slices whose p-norm is above `maxnorm` are scaled to it."""
    axis = axis_of(x, dim)
    axes = [i for i in range(x.ndim) if i != axis]
    if math.isinf(p):
        size = ops.reduce_max(ops.abs(x), axes, True)
    else:
        size = ops.pow(ops.reduce_sum(ops.pow(ops.abs(x), float(p)), axes, True), 1.0 / p)
    factor = ops.div(float(maxnorm), ops.add(size, 1e-7))
    one = full(size.sizes, 1, dtype_of(x))
    return ops.mul(x, expand_to(ops.select(ops.gt(size, float(maxnorm)), factor, one), x.sizes))
