"""Views on the device: where their elements would lie, and any strided view as views of Tenon's."""

from __future__ import annotations

import functools
import math

import numpy as np
import tenon
import torch
from tenon import _tenon, ops

from .handles import held, wrap_view


@functools.lru_cache(maxsize=4096)
def _layout(overload, size, stride, offset, dtype, args, kwargs):
    """Sizes, strides and offset of what a view operator gives: one triple, or a list."""
    base = torch.empty_strided(
        (1 + offset + sum((n - 1) * s for n, s in zip(size, stride)) if math.prod(size) else offset,),
        (1,),
        dtype=dtype,
        device="meta",
    )
    result = overload(base.as_strided(size, stride, offset), *args, **dict(kwargs))

    def triple(t):
        return tuple(t.shape), t.stride(), t.storage_offset()

    return [triple(t) for t in result] if isinstance(result, (list, tuple)) else triple(result)


def _hashable(value):
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


def layout(overload, x: torch.Tensor, args, kwargs):
    named = tuple(sorted((k, _hashable(v)) for k, v in kwargs.items())) if kwargs else ()
    given = tuple([tuple(map(_hashable, a)) if isinstance(a, (list, tuple)) else a for a in args])
    return _layout(overload, x.shape, x.stride(), x.storage_offset(), x.dtype, given, named)


def view(overload, tensors, x: torch.Tensor, args, kwargs):
    """PyTorch's tensors of lazy ones that a view operator gave for x; rows that copy are seen through strides instead."""
    root = held(x).root
    places = layout(overload, x, args, kwargs)
    if not isinstance(places, list):
        return _one(root, tensors, places)
    return [_one(root, tensor, place) for tensor, place in zip(tensors, places)]


def _one(root: tenon.Tensor, tensor, place) -> torch.Tensor:
    if tensor is not None and tensor.shares_memory(root):
        return wrap_view(tensor, root, *place)
    return by_strides(root, *place)


def view_by_strides(overload, x: torch.Tensor, args, kwargs):
    """What a view operator without a row gives."""
    places = layout(overload, x, args, kwargs)
    return view(overload, [None] * len(places) if isinstance(places, list) else None, x, args, kwargs)


def by_strides(root: tenon.Tensor, sizes, strides, offset: int) -> torch.Tensor:
    """The view of a row-major tensor that has these sizes, strides and offset: by views of Tenon's, else by positions."""
    tensor = strided(root, sizes, strides, offset)
    if tensor is not None:
        return wrap_view(tensor, root, sizes, strides, offset)
    positions = np.full([1] * len(sizes), offset, np.int64)
    for i, (size, stride) in enumerate(zip(sizes, strides)):
        steps = np.arange(size, dtype=np.int64) * stride
        positions = positions + steps.reshape([-1 if k == i else 1 for k in range(len(sizes))])
    held_positions = _tenon.make_tensor(positions.reshape(sizes), list(sizes), False)
    return wrap_view(None, root, sizes, strides, offset, held_positions)


def strided(root: tenon.Tensor, sizes, strides, offset: int) -> tenon.Tensor | None:
    """The same as a chain of views; None where there is none, because elements overlap or blocks do not fit.

    The flat tensor is cut by the largest stride into rows, of which some are taken, then each row by the next one, and
    so on.
    """
    length = math.prod(root.shape)
    x = ops.reshape(root, [length])
    if math.prod(sizes) == 0:
        return ops.reshape(ops.slice_axis(x, 0, 0, 0), list(sizes))
    if length == 0:
        return None
    order = sorted((i for i in range(len(sizes)) if sizes[i] > 1 and strides[i] > 0), key=lambda i: -strides[i])
    for place, i in enumerate(order):
        step, count = strides[i], sizes[i]
        if place + 1 == len(order):
            x = ops.slice_axis(x, place, offset, offset + (count - 1) * step + 1, step)
            break
        inner_reach = sum((sizes[k] - 1) * strides[k] for k in order[place + 1 :])
        first = offset // step * step
        if offset - first + inner_reach >= step or first + count * step > length:
            return None
        x = ops.slice_axis(x, place, first, first + count * step)
        x = ops.reshape(x, [sizes[k] for k in order[:place]] + [count, step])
        length, offset = step, offset - first
    if not order:
        x = ops.slice_axis(x, 0, offset, offset + 1)
    # Axes in the wanted order, those of size 1 and of stride 0 put in.
    else:
        x = ops.transpose(x, [order.index(i) for i in sorted(order)])
    x = ops.reshape(x, [sizes[i] if i in order else 1 for i in range(len(sizes))])
    return ops.broadcast_to(x, list(sizes)) if any(s == 0 and n > 1 for n, s in zip(sizes, strides)) else x


def as_strided(x: torch.Tensor, size, stride, storage_offset=None) -> torch.Tensor:
    offset = x.storage_offset() if storage_offset is None else storage_offset
    return by_strides(held(x).root, tuple(size), tuple(stride), offset)
