"""Products by groups of rows, as layers of experts take them: each row by the matrix of its group, of rows that are
sorted by group and of which `offsets` says where each group ends.

Every matrix multiplies all rows, and a row keeps the product of its group: no size depends on the data, at the price of
as many products as there are groups.
"""

from __future__ import annotations

import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of
from .table import row
from .values import cast, dims, expand_to, positions, unsqueeze, zeros_like


def _is_of_group(rows, groups, offsets):
    """[group, row, 1]: whether the row is one of the group."""
    place = unsqueeze(positions(rows), 0)
    ends = unsqueeze(cast(offsets, torch.int64), 1)
    begins = ops.concat([zeros_like(ops.slice_axis(ends, 0, 0, 1)), ops.slice_axis(ends, 0, 0, groups - 1)], 0)
    return unsqueeze(ops.logical_and(ops.le(begins, place), ops.lt(place, ends)), 2)


def _sum_of_own(product, own):
    """Of [group, row, unit] the sum over groups of what is the row's own."""
    return ops.reduce_sum(ops.select(own, product, zeros_like(product)), [0])


@row("transformers.grouped_mm_fallback")
def grouped(x, weight, offsets):
    rows, depth = dims(x)
    groups = dims(weight)[0]
    product = ops.matmul(expand_to(unsqueeze(x, 0), [groups, rows, depth]), weight)
    return _sum_of_own(product, _is_of_group(rows, groups, offsets))


@row("transformers.grouped_mm_fallback_backward")
def grouped_backward(x, weight, offsets, grad):
    rows, depth = dims(x)
    groups, _, units = dims(weight)
    own = _is_of_group(rows, groups, offsets)
    grads = expand_to(unsqueeze(grad, 0), [groups, rows, units])
    by_x = _sum_of_own(ops.matmul(grads, ops.transpose(weight, [0, 2, 1])), own)
    spread = expand_to(unsqueeze(x, 0), [groups, rows, depth])
    own_x = ops.select(own, spread, zeros_like(spread))
    return by_x, ops.matmul(ops.transpose(own_x, [0, 2, 1]), grads)


@row("_grouped_mm")
def grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    if a.ndim != 2 or b.ndim != 3 or offs is None or bias is not None:
        raise Unsupported("products by groups of another form than rows by a matrix for each group")
    return cast(grouped(a, b, offs), out_dtype or dtype_of(a))
