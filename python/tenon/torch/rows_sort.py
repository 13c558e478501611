"""Ordering: sort, top k, medians, searching."""

from __future__ import annotations

import tenon
import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of, is_bool, is_float
from .rows_view import reshape
from .table import row
from .values import axis_of, cast, count_of, dims, fixed, full, full_like, shape


def _sortable(x):
    return cast(x, torch.uint8) if is_bool(x) else x


def _sorted(x, dim, descending):
    if not x.ndim:
        return x, full([], 0, torch.int64)
    axis = axis_of(x, dim)
    where = ops.iota(shape(torch.int64, x.sizes), axis)
    values, where = ops.sort(_sortable(x), [where], axis, bool(descending))
    return cast(values, dtype_of(x)), where


@row("sort")
def sort(x, dim=-1, descending=False):
    return _sorted(x, dim, descending)


@row("sort.stable")
def sort_stable(x, *, stable=None, dim=-1, descending=False):
    return _sorted(x, dim, descending)


@row("argsort")
def argsort(x, dim=-1, descending=False):
    return _sorted(x, dim, descending)[1]


@row("argsort.stable")
def argsort_stable(x, *, stable=True, dim=-1, descending=False):
    return _sorted(x, dim, descending)[1]


@row("topk")
def topk(x, k, dim=-1, largest=True, sorted=True):
    if not x.ndim:
        return x, full([], 0, torch.int64)
    values, where = ops.top_k(_sortable(x), k, axis_of(x, dim), bool(largest))
    return cast(values, dtype_of(x)), where


@row("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    if not x.ndim:
        return x, full([], 0, torch.int64)
    axis = axis_of(x, dim)
    values, where = _sorted(x, axis, False)
    pick = [ops.slice_axis(v, axis, k - 1, k) for v in (values, where)]
    return tuple(v if keepdim else ops.squeeze(v, [axis]) for v in pick)


def _median(x, axis, keepdim, ignore_nan):
    """The lower median; NaN wins unless it is ignored."""
    values, where = _sorted(x, axis, False)
    n = fixed(dims(x)[axis], "the axis of a median")
    if n == 0:
        raise Unsupported("the median of nothing")
    if is_float(x):
        lost = ops.reduce_sum(cast(ops.isnan(x), torch.int64), [axis], True)
        if ignore_nan:
            at = ops.max(ops.floor_div(ops.sub(n - 1, lost), 2), 0)
        else:
            middle = full_like(lost, (n - 1) // 2)
            at = ops.select(ops.gt(lost, 0), ops.sub(n, lost), middle)
    else:
        sizes = list(x.sizes)
        sizes[axis] = 1
        at = full(sizes, (n - 1) // 2, torch.int64)
    picked = [ops.take_along_axis(v, at, axis) for v in (values, where)]
    return tuple(v if keepdim else ops.squeeze(v, [axis]) for v in picked)


def _register_median(name: str, ignore_nan: bool) -> None:
    @row(f"{name}.dim")
    def median_dim(x, dim, keepdim=False):
        if not x.ndim:
            return x, full([], 0, torch.int64)
        return _median(x, axis_of(x, dim), keepdim, ignore_nan)

    @row(name)
    def median(x):
        return _median(reshape(x, [count_of(x.sizes)]), 0, False, ignore_nan)[0]


_register_median("median", False)
_register_median("nanmedian", True)


# --- Searching: how many elements of a sorted line lie before each


def _before(line, x, right, out_int32):
    """line[..., n] against x[..., m]: counts by comparison, so nothing is stored."""
    less = ops.le if right else ops.lt
    hits = less(ops.expand_dims(line, [line.ndim - 1]), ops.expand_dims(x, [x.ndim]))
    return ops.reduce_sum(cast(hits, torch.int32 if out_int32 else torch.int64), [hits.ndim - 1])


@row("searchsorted.Tensor")
def searchsorted(line, x, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None:
        line = ops.take_along_axis(line, sorter, line.ndim - 1)
    right = side == "right" if side is not None else right
    if line.ndim > 1:
        return _before(line, x, right, out_int32)
    flat = reshape(x, [count_of(x.sizes)])
    return reshape(_before(line, flat, right, out_int32), x.sizes)


@row("bucketize.Tensor")
def bucketize(x, boundaries, *, out_int32=False, right=False):
    return searchsorted(boundaries, x, out_int32=out_int32, right=right)


# --- Counting


@row("histc")
def histc(x, bins=100, min=0, max=0):
    if min == max:
        raise Unsupported("a histogram between limits that data decide")
    flat = reshape(x, [count_of(x.sizes)])
    width = (max - min) / bins
    exact = flat if dtype_of(x).is_floating_point else ops.cast(flat, tenon.f64)  # integers would divide as such
    place = cast(ops.floor(ops.div(ops.sub(exact, float(min)), float(width))), torch.int64)
    inside = ops.logical_and(ops.ge(flat, float(min)), ops.le(flat, float(max)))
    place = ops.clamp(place, 0, bins - 1)
    counts = ops.select(inside, full_like(flat, 1), full_like(flat, 0))
    return ops.scatter(full([bins], 0, dtype_of(x)), counts, [place], "add", [0])
