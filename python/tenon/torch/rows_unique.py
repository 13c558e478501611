"""Different elements, whose number data decide."""

from __future__ import annotations

import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of, is_bool
from .rows_index import require_lazy
from .rows_view import reshape
from .table import row
from .values import axis_of, cast, count_of, dims, full, positions


def _comparable(x):
    return cast(x, torch.uint8) if is_bool(x) else x


class _Runs:
    """Equal neighbours among the rows of x, [n] or [n, width]: the first of each run, which run a row is of, and how long
    each is. NaN equals nothing, as in PyTorch."""

    def __init__(self, x):
        n = x.sizes[0]
        index = positions(n)
        differs = ops.ne(x, ops.take(x, ops.max(ops.sub(index, 1), 0), 0))
        if differs.ndim > 1:
            differs = ops.reduce_any(differs, list(range(1, differs.ndim)))
        is_new = ops.logical_or(ops.eq(index, 0), differs)
        self.starts = ops.compress(index, is_new, 0)
        self.number = ops.sub(ops.cumulative_sum(cast(is_new, torch.int64), 0), 1)
        runs = ops.extent_value(self.starts.sizes[0])
        after = ops.add(positions(self.starts.sizes[0]), 1)
        next_start = ops.take(self.starts, ops.min(after, ops.sub(runs, 1)), 0)
        end = ops.select(ops.lt(after, runs), next_start, n if isinstance(n, int) else ops.extent_value(n))
        self.lengths = ops.sub(end, self.starts)


def _asked_for(values, inverse, counts, return_inverse, return_counts):
    nothing = full([0], 0, torch.int64)
    return values, inverse if return_inverse else nothing, counts if return_counts else nothing


@row("_unique2")
def unique2(x, sorted=True, return_inverse=False, return_counts=False):
    require_lazy(x, "unique")
    line, order = ops.sort(_comparable(reshape(x, [count_of(x.sizes)])), [positions(count_of(x.sizes))], 0, False)
    runs = _Runs(line)
    values = cast(ops.take(line, runs.starts, 0), dtype_of(x))
    inverse = reshape(ops.take(runs.number, ops.argsort(order, 0), 0), x.sizes)
    return _asked_for(values, inverse, runs.lengths, return_inverse, return_counts)


@row("_unique")
def unique(x, sorted=True, return_inverse=False):
    return unique2(x, sorted, return_inverse)[:2]


@row("unique_consecutive")
def unique_consecutive(x, return_inverse=False, return_counts=False, dim=None):
    if dim is not None:
        return unique_dim_consecutive(x, dim, return_inverse, return_counts)
    require_lazy(x, "unique_consecutive")
    line = reshape(x, [count_of(x.sizes)])
    runs = _Runs(line)
    inverse = reshape(runs.number, x.sizes)
    return _asked_for(ops.take(line, runs.starts, 0), inverse, runs.lengths, return_inverse, return_counts)


def _slices(x, dim):
    """x with the axis in front and the others as one."""
    require_lazy(x, "unique along an axis")
    if not all(isinstance(n, int) and n > 0 for n in dims(x)) or not x.ndim:
        raise Unsupported("different slices of no elements")
    axis = axis_of(x, dim)
    front = ops.transpose(x, [axis, *[i for i in range(x.ndim) if i != axis]])
    return axis, reshape(front, [x.sizes[axis], count_of([n for i, n in enumerate(x.sizes) if i != axis])])


@row("unique_dim")
def unique_dim(x, dim, sorted=True, return_inverse=False, return_counts=False):
    axis, _ = _slices(x, dim)
    values, _, inverse, counts = ops.unique(_comparable(x), True, axis)
    return _asked_for(cast(values, dtype_of(x)), inverse, counts, return_inverse, return_counts)


@row("unique_dim_consecutive")
def unique_dim_consecutive(x, dim, return_inverse=False, return_counts=False):
    axis, slices = _slices(x, dim)
    runs = _Runs(slices)
    return _asked_for(ops.take(x, runs.starts, axis), runs.number, runs.lengths, return_inverse, return_counts)
