"""Convolutions and both their derivatives, which are convolutions again."""

from __future__ import annotations

from tenon import ops

from .dtypes import Unsupported
from .table import row
from .values import along, pair


def _forward(x, weight, stride, padding, dilation, transposed, output_padding, groups):
    if transposed:
        return ops.conv_transpose(x, weight, stride, dilation, padding, padding, output_padding, groups)
    return ops.conv(x, weight, stride, [], dilation, padding, padding, groups)


class _Options:
    """The lists of a convolution, one entry for each position axis."""

    def __init__(self, x, stride, padding, dilation, output_padding):
        rank = x.ndim - 2
        self.stride, self.padding = pair(stride, rank), pair(padding, rank)
        self.dilation = pair(dilation, rank)
        self.output_padding = pair(output_padding, rank) if len(output_padding) else [0] * rank


@row("convolution", "_convolution", "convolution_overrideable", "_convolution.deprecated")
def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *flags):
    o = _Options(x, stride, padding, dilation, output_padding)
    unbatched = x.ndim == weight.ndim - 1
    if unbatched:
        raise Unsupported("a convolution without a batch axis")
    y = _forward(x, weight, o.stride, o.padding, o.dilation, transposed, o.output_padding, groups)
    return y if bias is None else ops.add(y, along(bias, y.ndim, 1))


def _reach(n, dilation):
    """First to last element, less one."""
    return (n - 1) * dilation


def _grouped_adjoint(weight, groups):
    """w[out, channel/groups, ...] as [channel, out/groups, ...], reversed along the positions."""
    positions = list(range(2, weight.ndim))
    weight = ops.flip(weight, positions) if positions else weight
    if groups == 1:
        return ops.transpose(weight, [1, 0, *positions])
    out, part, *rest = weight.sizes
    split = ops.reshape(weight, [groups, out // groups, part, *rest])
    split = ops.transpose(split, [0, 2, 1, *range(3, split.ndim)])
    return ops.reshape(split, [groups * part, out // groups, *rest])


def _channels_as_batch(x, groups):
    """x[batch, groups * c, ...] as [c, groups * batch, ...]: each group sums over its own batch."""
    n, channels, *rest = x.sizes
    if groups == 1:
        return ops.transpose(x, [1, 0, *range(2, x.ndim)])
    split = ops.reshape(x, [n, groups, channels // groups, *rest])
    turned = ops.transpose(split, [2, 1, 0, *range(3, split.ndim)])
    return ops.reshape(turned, [channels // groups, groups * n, *rest])


def conv_by_x(grad, x_sizes, weight, stride, padding, dilation, groups):
    """The gradient of conv by x: the gradient with zeros between its elements, under the reversed weights."""
    low, high = [], []
    for i, (s, p, d) in enumerate(zip(stride, padding, dilation)):
        reach = _reach(weight.sizes[2 + i], d)
        low.append(reach - p)
        high.append(_reach(x_sizes[2 + i], 1) - _reach(grad.sizes[2 + i], s) + p)
    ones = [1] * len(stride)
    return ops.conv(grad, _grouped_adjoint(weight, groups), ones, list(stride), list(dilation), low, high, groups)


def conv_by_weight(grad, x, weight_sizes, stride, padding, dilation, groups):
    """The gradient of conv by w: the gradient slides over x, and the batch is what is summed."""
    high = []
    for i, (s, p, d) in enumerate(zip(stride, padding, dilation)):
        reach = _reach(weight_sizes[2 + i], d)
        high.append(reach + _reach(grad.sizes[2 + i], s) - _reach(x.sizes[2 + i], 1) - p)
    kernel = ops.transpose(grad, [1, 0, *range(2, grad.ndim)])
    ones = [1] * len(stride)
    y = ops.conv(_channels_as_batch(x, groups), kernel, list(dilation), ones, list(stride), list(padding), high, groups)
    return ops.transpose(y, [1, 0, *range(2, y.ndim)])


@row("convolution_backward", "convolution_backward_overrideable")
def convolution_backward(
    grad, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    o = _Options(x, stride, padding, dilation, output_padding)
    by_x = by_weight = by_bias = None
    if transposed:
        # The transpose maps x to grad's sizes, so x's gradient is a plain convolution of grad with the same weights.
        high = []
        for i, (s, p, d) in enumerate(zip(o.stride, o.padding, o.dilation)):
            span = _reach(weight.sizes[2 + i], d)
            high.append(_reach(x.sizes[2 + i], s) + span + 1 - p - grad.sizes[2 + i])
        if output_mask[0]:
            by_x = ops.conv(grad, weight, o.stride, [], o.dilation, o.padding, high, groups)
        if output_mask[1]:
            by_weight = conv_by_weight(x, grad, weight.sizes, o.stride, o.padding, o.dilation, groups)
    else:
        if output_mask[0]:
            by_x = conv_by_x(grad, x.sizes, weight, o.stride, o.padding, o.dilation, groups)
        if output_mask[1]:
            by_weight = conv_by_weight(grad, x, weight.sizes, o.stride, o.padding, o.dilation, groups)
    if output_mask[2]:
        by_bias = ops.reduce_sum(grad, [0, *range(2, grad.ndim)])
    return by_x, by_weight, by_bias


def _register_plain(rank: int) -> None:
    @row(f"conv{rank}d")
    def conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        batched = x.ndim == rank + 2
        x = x if batched else ops.expand_dims(x, [0])
        zeros = [0] * rank
        y = convolution(
            x, weight, bias, pair(stride, rank), pair(padding, rank), pair(dilation, rank), False, zeros, groups
        )
        return y if batched else ops.squeeze(y, [0])


for _rank in (1, 2, 3):
    _register_plain(_rank)


# --- Windows as columns


@row("im2col")
def im2col(x, kernel_size, dilation, padding, stride):
    """Every window as a column: [batch, channel * offsets, positions]."""
    batched = x.ndim == 4
    x = x if batched else ops.expand_dims(x, [0])
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (pair(v, 2) for v in (kernel_size, dilation, padding, stride))
    n, c, h, w = x.sizes
    x = ops.pad(x, [0, 0, ph, pw], [0, 0, ph, pw])
    rows = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    columns = (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    parts = []
    for i in range(kh):
        for j in range(kw):
            part = ops.slice(x, [0, 0, i * dh, j * dw], [n, c, rows, columns], [1, 1, sh, sw])
            parts.append(ops.reshape(part, [n, c, 1, rows * columns]))
    joined = parts[0] if len(parts) == 1 else ops.concat(parts, 2)
    y = ops.reshape(joined, [n, c * kh * kw, rows * columns])
    return y if batched else ops.squeeze(y, [0])


@row("col2im")
def col2im(x, output_size, kernel_size, dilation, padding, stride):
    """The opposite: columns added up where their windows lie."""
    batched = x.ndim == 3
    x = x if batched else ops.expand_dims(x, [0])
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (pair(v, 2) for v in (kernel_size, dilation, padding, stride))
    h, w = output_size
    rows = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    columns = (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    n, c = x.sizes[0], x.sizes[1] // (kh * kw)
    x = ops.reshape(x, [n, c, kh, kw, rows, columns])
    # As the transpose of a convolution with a weight that picks one offset of one channel each.
    pick = ops.reshape(ops.eye(kh * kw, kh * kw, 0, x.dtype), [kh * kw, 1, kh, kw])
    flat = ops.reshape(x, [n * c, kh * kw, rows, columns])
    # Elements at the end that no window reaches.
    slack = [
        h - (sh * (rows - 1) + dh * (kh - 1) + 1 - 2 * ph),
        w - (sw * (columns - 1) + dw * (kw - 1) + 1 - 2 * pw),
    ]
    y = ops.conv_transpose(flat, pick, [sh, sw], [dh, dw], [ph, pw], [ph, pw], slack, 1)
    y = ops.reshape(y, [n, c, h, w])
    return y if batched else ops.squeeze(y, [0])
