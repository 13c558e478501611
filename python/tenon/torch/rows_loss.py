"""Softmax, losses and their backward operators."""

from __future__ import annotations

import torch
from tenon import ops

from .dtypes import dtype_of, float_type
from .rows_view import reshape
from .table import row
from .values import along, axis_of, cast, count_of, expand_to, full, full_like, positions, promoted, wide, zeros_like

_NONE, _MEAN, _SUM = 0, 1, 2


# --- Softmax


@row("_softmax")
def softmax(x, dim, half_to_float):
    x = cast(x, torch.float32) if half_to_float else x
    return ops.softmax(x, axis_of(x, dim)) if x.ndim else full_like(x, 1)


@row("_log_softmax")
def log_softmax(x, dim, half_to_float):
    x = cast(x, torch.float32) if half_to_float else x
    return ops.log_softmax(x, axis_of(x, dim)) if x.ndim else zeros_like(x)


@row("softmax.int")
def softmax_int(x, dim, dtype=None):
    return softmax(cast(x, dtype or float_type(x)), dim, False)


@row("log_softmax.int")
def log_softmax_int(x, dim, dtype=None):
    return log_softmax(cast(x, dtype or float_type(x)), dim, False)


@row("_safe_softmax")
def safe_softmax(x, dim, dtype=None):
    """Zeros where all is -inf."""
    x = cast(x, dtype or dtype_of(x))
    axis = axis_of(x, dim)
    hidden = ops.reduce_all(ops.eq(x, -float("inf")), [axis], True)
    return ops.select(hidden, zeros_like(x), ops.softmax(x, axis))


@row("_softmax_backward_data")
def softmax_backward(grad, y, dim, input_dtype):
    if not y.ndim:
        return cast(zeros_like(y), input_dtype)
    g, w = wide(grad), wide(y)
    product = ops.mul(g, w)
    total = ops.reduce_sum(product, [axis_of(y, dim)], True)
    return cast(ops.sub(product, ops.mul(w, total)), input_dtype)


@row("_log_softmax_backward_data")
def log_softmax_backward(grad, y, dim, input_dtype):
    if not y.ndim:
        return cast(zeros_like(y), input_dtype)
    g, w = wide(grad), wide(y)
    total = ops.reduce_sum(g, [axis_of(y, dim)], True)
    return cast(ops.sub(g, ops.mul(ops.exp(w), total)), input_dtype)


# --- Negative log likelihood


def _class_axis(x) -> int:
    return 0 if x.ndim == 1 else 1


def _picked(x, target, weight, ignore_index):
    """-x at the target, and the weight of each, both 0 where the target is ignored."""
    axis = _class_axis(x)
    kept = ops.ne(target, ignore_index)
    safe = ops.select(kept, target, zeros_like(target))
    found = ops.squeeze(ops.take_along_axis(x, ops.expand_dims(safe, [axis]), axis), [axis])
    factor = full_like(found, 1) if weight is None else cast(ops.take(weight, safe, 0), dtype_of(x))
    factor = ops.select(kept, factor, zeros_like(factor))
    loss = ops.select(kept, ops.neg(ops.mul(found, factor)), zeros_like(found))
    return loss, factor


def _all(x):
    return ops.reduce_sum(x, list(range(x.ndim))) if x.ndim else x


@row("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(x, target, weight, reduction, ignore_index):
    loss, factor = _picked(x, target, weight, ignore_index)
    total = _all(factor)
    if reduction == _NONE:
        return loss, full([], 0, dtype_of(x))
    return (ops.div(_all(loss), total), total) if reduction == _MEAN else (_all(loss), total)


@row("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(grad, x, target, weight, reduction, ignore_index, total_weight):
    """-weight * grad at the target: a comparison of positions, which fuses, and not a scatter."""
    axis = _class_axis(x)
    kept = ops.ne(target, ignore_index)
    safe = ops.select(kept, target, zeros_like(target))
    factor = full(target.sizes, 1, dtype_of(x)) if weight is None else cast(ops.take(weight, safe, 0), dtype_of(x))
    if reduction == _MEAN:
        grad = ops.div(grad, total_weight)
    step = ops.select(kept, ops.neg(ops.mul(factor, grad)), zeros_like(factor))
    classes = along(positions(x.sizes[axis]), x.ndim, axis)
    hit = ops.eq(ops.expand_dims(safe, [axis]), classes)
    spread = expand_to(ops.expand_dims(step, [axis]), x.sizes)
    return ops.select(hit, spread, zeros_like(spread))


# --- Elementwise losses


def _reduced(loss, reduction):
    if reduction == _NONE:
        return loss
    axes = list(range(loss.ndim))
    if not axes:
        return loss
    return ops.reduce_mean(loss, axes) if reduction == _MEAN else ops.reduce_sum(loss, axes)


def _share(grad, like, reduction):
    """The gradient of each element's loss."""
    if reduction == _MEAN:
        n = count_of(like.sizes)
        grad = ops.div(grad, float(n) if isinstance(n, int) else ops.extent_value(n, grad.dtype))
    return grad


@row("mse_loss")
def mse_loss(x, target, reduction=_MEAN):
    x, target = promoted(x, target)
    return _reduced(ops.square(ops.sub(x, target)), reduction)


@row("mse_loss_backward")
def mse_loss_backward(grad, x, target, reduction):
    difference = ops.sub(x, target)
    return ops.mul(ops.mul(difference, 2.0), _share(grad, difference, reduction))


@row("l1_loss")
def l1_loss(x, target, reduction=_MEAN):
    x, target = promoted(x, target)
    return _reduced(ops.abs(ops.sub(x, target)), reduction)


@row("huber_loss")
def huber_loss(x, target, reduction=_MEAN, delta=1.0):
    x, target = promoted(x, target)
    z = ops.abs(ops.sub(x, target))
    near = ops.mul(ops.square(z), 0.5)
    far = ops.mul(ops.sub(z, 0.5 * delta), float(delta))
    return _reduced(ops.select(ops.le(z, float(delta)), near, far), reduction)


@row("huber_loss_backward")
def huber_loss_backward(grad, x, target, reduction, delta):
    d = ops.sub(x, target)
    slope = ops.max(ops.min(d, float(delta)), -float(delta))
    return ops.mul(slope, _share(grad, d, reduction))


@row("smooth_l1_loss")
def smooth_l1_loss(x, target, reduction=_MEAN, beta=1.0):
    x, target = promoted(x, target)
    z = ops.abs(ops.sub(x, target))
    if beta == 0:
        return _reduced(z, reduction)
    near = ops.div(ops.mul(ops.square(z), 0.5), float(beta))
    return _reduced(ops.select(ops.lt(z, float(beta)), near, ops.sub(z, 0.5 * beta)), reduction)


@row("smooth_l1_loss_backward")
def smooth_l1_loss_backward(grad, x, target, reduction, beta):
    d = ops.sub(x, target)
    slope = ops.sign(d) if beta == 0 else ops.max(ops.min(ops.div(d, float(beta)), 1.0), -1.0)
    return ops.mul(slope, _share(grad, d, reduction))


@row("binary_cross_entropy")
def binary_cross_entropy(x, target, weight=None, reduction=_MEAN):
    low = -100.0
    left = ops.mul(ops.sub(target, 1.0), ops.max(ops.log1p(ops.neg(x)), low))
    loss = ops.sub(left, ops.mul(target, ops.max(ops.log(x), low)))
    return _reduced(loss if weight is None else ops.mul(loss, weight), reduction)


@row("binary_cross_entropy_backward")
def binary_cross_entropy_backward(grad, x, target, weight=None, reduction=_MEAN):
    slope = ops.div(ops.sub(x, target), ops.max(ops.mul(x, ops.sub(1.0, x)), 1e-12))
    slope = slope if weight is None else ops.mul(slope, weight)
    return ops.mul(slope, _share(grad, x, reduction))


@row("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(x, target, weight=None, pos_weight=None, reduction=_MEAN):
    log_weight = 1.0 if pos_weight is None else ops.add(ops.mul(ops.sub(pos_weight, 1.0), target), 1.0)
    tail = ops.softplus(ops.neg(x))
    tail = tail if pos_weight is None else ops.mul(tail, log_weight)
    loss = ops.add(ops.mul(ops.sub(1.0, target), x), tail)
    return _reduced(loss if weight is None else ops.mul(loss, weight), reduction)


@row("soft_margin_loss")
def soft_margin_loss(x, target, reduction=_MEAN):
    return _reduced(ops.softplus(ops.neg(ops.mul(x, target))), reduction)


@row("soft_margin_loss_backward")
def soft_margin_loss_backward(grad, x, target, reduction):
    slope = ops.neg(ops.mul(target, ops.sigmoid(ops.neg(ops.mul(x, target)))))
    return ops.mul(slope, _share(grad, x, reduction))


def _margins(x, target, p, margin, weight):
    """What each class but the target's exceeds the margin by, on [batch, class]; and which class that is."""
    flat = x if x.ndim == 2 else reshape(x, [1, count_of(x.sizes)])
    labels = target if target.ndim == 1 else reshape(target, [1])
    own = ops.take_along_axis(flat, ops.expand_dims(labels, [1]), 1)
    is_own = ops.eq(ops.expand_dims(labels, [1]), along(positions(flat.sizes[1]), 2, 1))
    excess = ops.max(ops.add(ops.sub(float(margin), own), flat), 0.0)
    excess = ops.select(is_own, zeros_like(excess), excess)
    factor = 1.0 if weight is None else ops.expand_dims(ops.take(weight, labels, 0), [1])
    return excess, is_own, factor


def _classes(x):
    n = x.sizes[-1] if x.ndim else 1
    return float(n) if isinstance(n, int) else ops.extent_value(n, x.dtype)


@row("multi_margin_loss")
def multi_margin_loss(x, target, p=1, margin=1, weight=None, reduction=_MEAN):
    excess, _, factor = _margins(x, target, p, margin, weight)
    powers = ops.mul(excess if p == 1 else ops.square(excess), factor)
    loss = ops.div(ops.reduce_sum(powers, [1]), _classes(x))
    loss = loss if x.ndim == 2 else ops.squeeze(loss, [0])
    return _reduced(loss, reduction)


@row("multi_margin_loss_backward")
def multi_margin_loss_backward(grad, x, target, p, margin, weight=None, reduction=_MEAN):
    excess, is_own, factor = _margins(x, target, p, margin, weight)
    slope = cast(ops.gt(excess, 0.0), dtype_of(x)) if p == 1 else ops.mul(excess, 2.0)
    slope = ops.div(ops.mul(slope, factor), _classes(x))
    slope = ops.select(is_own, ops.neg(ops.reduce_sum(slope, [1], True)), slope)
    if reduction == _NONE:
        grad = ops.expand_dims(grad, [1]) if grad.ndim else grad
    elif reduction == _MEAN and x.ndim == 2:
        n = x.sizes[0]
        grad = ops.div(grad, float(n) if isinstance(n, int) else ops.extent_value(n, x.dtype))
    slope = ops.mul(slope, grad)
    return slope if x.ndim == 2 else reshape(slope, x.sizes)
