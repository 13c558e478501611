"""Where elements lie: sizes, strides and offsets, and any strided part of a row-major tensor as views of Tenon's."""

from __future__ import annotations

import math

import numpy as np
import tenon
from tenon import _tenon, ops


class Positions:
    """A part of a flat tensor that no chain of Tenon's views is: where each of its elements lies."""

    __slots__ = ("index",)

    def __init__(self, index: tenon.Tensor):
        self.index = index


def row_major(sizes) -> tuple[int, ...]:
    """The strides of a contiguous tensor, as PyTorch counts them: sizes of 0 as 1."""
    strides, step = [], 1
    for n in reversed(sizes):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def reach(sizes, strides, offset: int) -> int:
    """How many elements a storage must have for this part of it."""
    if 0 in sizes:
        return 0
    return 1 + offset + sum((n - 1) * s for n, s in zip(sizes, strides))


def order_of(sizes, strides) -> list[int] | None:
    """Axes from the outermost in memory to the innermost; None where elements overlap or leave gaps."""
    order = sorted(range(len(sizes)), key=lambda i: (-strides[i], -sizes[i], i))
    step = 1
    for i in reversed(order):
        if sizes[i] != 1 and strides[i] != step:
            return None
        step *= max(sizes[i], 1)
    return order


def overlaps(sizes, strides) -> bool:
    """Whether PyTorch refuses writes, because one place holds several elements."""
    return any(s == 0 and n > 1 for n, s in zip(sizes, strides)) and 0 not in sizes


def flat(x: tenon.Tensor) -> tenon.Tensor:
    return ops.reshape(x, [math.prod(x.sizes)])


def part(root: tenon.Tensor, sizes, strides, offset: int) -> tenon.Tensor | Positions:
    """The part of a row-major tensor with these sizes, strides and offset: views of Tenon's, else positions."""
    tensor = strided(root, sizes, strides, offset)
    if tensor is not None:
        return tensor
    positions = np.full([1] * len(sizes), offset, np.int64)
    for i, (size, stride) in enumerate(zip(sizes, strides)):
        steps = np.arange(size, dtype=np.int64) * stride
        positions = positions + steps.reshape([-1 if k == i else 1 for k in range(len(sizes))])
    return Positions(_tenon.make_tensor(positions.reshape(sizes), list(sizes), False))


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
    return ops.broadcast_to(x, list(sizes)) if overlaps(sizes, strides) else x
