"""The backward of sampling an image at the positions of a grid. (PyTorch takes the forward apart into gathers.)"""

from __future__ import annotations

import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of
from .table import row
from .values import cast, full_like, zeros_like

_BILINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER = 0, 1


def _number(n, like):
    return float(n) if isinstance(n, int) else ops.extent_value(n, like.dtype)


def _position(coordinate, n, align: bool):
    """-1 ... 1 as positions of an axis of n elements, and how fast they grow."""
    count = _number(n, coordinate)
    if align:
        slope = (count - 1) / 2 if isinstance(count, float) else ops.mul(ops.sub(count, 1.0), 0.5)
        return ops.mul(ops.add(coordinate, 1.0), slope), slope
    slope = count / 2 if isinstance(count, float) else ops.mul(count, 0.5)
    return ops.sub(ops.mul(ops.add(coordinate, 1.0), slope), 0.5), slope


def _clipped(at, n):
    """Between the first and the last element, and 1 where nothing was clipped."""
    last = _number(n - 1, at)
    inside = ops.logical_and(ops.gt(at, 0.0), ops.lt(at, last))
    return ops.max(ops.min(at, last), 0.0), cast(inside, dtype_of(at))


def _reflected(at, n, align: bool):
    """Thrown back at the borders, and whether that turned the direction."""
    low, span = (0.0, _number(n - 1, at)) if align else (-0.5, _number(n, at))
    away = ops.sub(at, low)
    sign = ops.select(ops.lt(away, 0.0), full_like(away, -1), full_like(away, 1))
    away = ops.abs(away)
    extra, flips = ops.rem(away, span), ops.floor(ops.div(away, span))
    even = ops.eq(ops.rem(flips, 2.0), 0.0)
    back = ops.select(even, ops.add(extra, low), ops.add(ops.sub(span, extra), low))
    return back, ops.select(even, sign, ops.neg(sign))


def _source(coordinate, n, padding: int, align: bool):
    """Where to look, and the derivative of that by the coordinate."""
    at, slope = _position(coordinate, n, align)
    if padding == _ZEROS:
        return at, ops.mul(full_like(at, 1), slope)
    if padding != _BORDER:
        at, sign = _reflected(at, n, align)
        slope = ops.mul(sign, slope)
    at, inside = _clipped(at, n)
    return at, ops.mul(inside, slope)


class _Image:
    """x[batch, channel, height, width] at positions [batch, rows, columns]; nothing outside."""

    def __init__(self, x):
        self.x, (self.height, self.width) = x, x.sizes[2:]

    def place(self, y, x):
        inside = None
        for at, n in ((y, self.height), (x, self.width)):
            ok = ops.logical_and(ops.ge(at, 0.0), ops.le(at, _number(n - 1, at)))
            inside = ok if inside is None else ops.logical_and(inside, ok)
        zero = zeros_like(y)
        return [cast(ops.select(inside, at, zero), torch.int64) for at in (y, x)], inside

    def read(self, y, x):
        """[batch, rows, columns, channel]"""
        places, inside = self.place(y, x)
        found = ops.gather(self.x, places, [2, 3], [0], [0])
        return ops.select(ops.expand_dims(inside, [3]), found, zeros_like(found))

    def add(self, base, update, y, x):
        """update[batch, rows, columns, channel] added at the positions."""
        places, inside = self.place(y, x)
        update = ops.select(ops.expand_dims(inside, [3]), update, zeros_like(update))
        return ops.scatter(base, update, places, "add", [2, 3], [0], [0])


@row("grid_sampler_2d_backward")
def grid_sampler_backward(grad, x, grid, interpolation_mode, padding_mode, align_corners, output_mask):
    if interpolation_mode not in (_BILINEAR, _NEAREST):
        raise Unsupported("the gradient of cubic sampling")
    image = _Image(x)
    across, down = (ops.squeeze(ops.slice_axis(grid, 3, k, k + 1), [3]) for k in (0, 1))
    at_x, slope_x = _source(across, image.width, padding_mode, align_corners)
    at_y, slope_y = _source(down, image.height, padding_mode, align_corners)
    g = ops.transpose(grad, [0, 2, 3, 1])
    by_x, by_grid = zeros_like(x), zeros_like(grid)
    if interpolation_mode == _NEAREST:
        return image.add(by_x, g, ops.round(at_y), ops.round(at_x)) if output_mask[0] else None, by_grid
    left, top = ops.floor(at_x), ops.floor(at_y)
    part_x, part_y = ops.sub(at_x, left), ops.sub(at_y, top)
    along_x, along_y = zeros_like(at_x), zeros_like(at_y)
    for i in (0, 1):
        for j in (0, 1):
            y, z = ops.add(top, float(i)), ops.add(left, float(j))
            weight_y = part_y if i else ops.sub(1.0, part_y)
            weight_x = part_x if j else ops.sub(1.0, part_x)
            if output_mask[0]:
                by_x = image.add(by_x, ops.mul(g, ops.expand_dims(ops.mul(weight_y, weight_x), [3])), y, z)
            share = ops.reduce_sum(ops.mul(image.read(y, z), g), [3])
            along_x = ops.add(along_x, ops.mul(share, weight_y if j else ops.neg(weight_y)))
            along_y = ops.add(along_y, ops.mul(share, weight_x if i else ops.neg(weight_x)))
    by_grid = ops.stack([ops.mul(along_x, slope_x), ops.mul(along_y, slope_y)], 3)
    return by_x if output_mask[0] else None, by_grid
