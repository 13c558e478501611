"""Views: the elements of operand 0 under other axes. What is written to a view is written to its base."""

from __future__ import annotations

import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of
from .table import row
from .values import axis_among, axis_of, cast, count_of, dims, fixed, full, same_sizes, shape, size


def resolved(sizes, x) -> list:
    """Sizes with at most one -1, which takes what is left. Of known sizes it is a number: n*4 / 9 says less than 4, which
    is n's where it is the size of an axis of x."""
    sizes = list(sizes)
    if not any(isinstance(n, int) and n == -1 for n in sizes):
        return sizes
    at = next(i for i, n in enumerate(sizes) if isinstance(n, int) and n == -1)
    rest = count_of(sizes[:at] + sizes[at + 1 :])
    if isinstance(rest, int) and rest == 0:
        raise Unsupported("a view of no elements with an open size")
    sizes[at] = count_of(dims(x) if isinstance(rest, int) else x.sizes) // rest
    return sizes


def reshape(x, sizes):
    """Any rank, scalars and empty tensors too."""
    sizes = resolved(sizes, x)
    return x if same_sizes(x.sizes, sizes) else ops.reshape(x, sizes)


@row("view", "reshape", "_unsafe_view", "view_copy", "_reshape_copy", view=True)
def view(x, size):
    return reshape(x, size)


@row("_reshape_alias", view=True)
def reshape_alias(x, size, stride):
    return reshape(x, size)


@row("alias", "detach", "alias_copy", "detach_copy", "lift", "lift_fresh", "contiguous", view=True)
def alias(x):
    return x


@row("permute", "permute_copy", view=True)
def permute(x, dims):
    return ops.transpose(x, [axis_of(x, d) for d in dims]) if x.ndim else x


@row("transpose.int", "transpose_copy.int", view=True)
def transpose(x, dim0, dim1):
    if not x.ndim:
        return x
    order = list(range(x.ndim))
    a, b = axis_of(x, dim0), axis_of(x, dim1)
    order[a], order[b] = order[b], order[a]
    return x if a == b else ops.transpose(x, order)


@row("t", "t_copy", view=True)
def t(x):
    return transpose(x, 0, 1) if x.ndim == 2 else x


@row("expand", "expand_copy", view=True)
def expand(x, size, *, implicit=False):
    lead = len(size) - x.ndim
    to = [x.sizes[i - lead] if isinstance(n, int) and n == -1 else n for i, n in enumerate(size)]
    return x if same_sizes(x.sizes, to) else ops.broadcast_to(x, to)


def _squeeze(x, axes):
    axes = [i for i in sorted(set(axes)) if x.ndim and dims(x)[i] == 1]
    return ops.squeeze(x, axes) if axes else x


@row("squeeze", "squeeze_copy", view=True)
def squeeze(x):
    return _squeeze(x, range(x.ndim))


@row("squeeze.dim", "squeeze_copy.dim", view=True)
def squeeze_dim(x, dim):
    return _squeeze(x, [axis_of(x, dim)])


@row("squeeze.dims", "squeeze_copy.dims", view=True)
def squeeze_dims(x, dim):
    return _squeeze(x, [axis_of(x, d) for d in dim])


@row("unsqueeze", "unsqueeze_copy", view=True)
def unsqueeze(x, dim):
    return ops.expand_dims(x, [axis_among(x.ndim + 1, dim)])


@row("select.int", "select_copy.int", view=True)
def select(x, dim, index):
    axis = axis_of(x, dim)
    start = index
    if isinstance(index, int) and index < 0:
        start = size(x, axis) + index
    return ops.squeeze(_window(x, axis, start, 1, 1), [axis])


def _window(x, axis, start, count, step):
    starts, counts = [0] * x.ndim, list(x.sizes)
    starts[axis], counts[axis] = start, count
    steps = [1] * x.ndim
    steps[axis] = step
    return ops.slice(x, starts, counts, steps)


@row("slice.Tensor", "slice_copy.Tensor", view=True)
def slice_(x, dim=0, start=None, end=None, step=1):
    axis = axis_of(x, dim)
    begin = 0 if start is None else start
    if isinstance(end, int) and end >= 2**62:
        end = None
    if end is not None and end is not size(x, axis) and end == size(x, axis):
        end = None
    if isinstance(begin, int) and begin == 0 and end is None and step == 1:
        return x
    if step == 1 and (found := _from_the_end(x, axis, begin, end)) is not None:
        return _window(x, axis, *found, 1)
    return ops.slice_axis(x, axis, begin, end, step)


def _from_the_end(x, axis, begin, end):
    """Where `x[-2:]` or `x[:-1]` begins and how many elements it has, for sizes like the one that is known: 2 and not
    min(n, 2), which cat() in a loop would make larger at each step. Nothing for other slices."""
    known = dims(x)[axis]
    if not isinstance(known, int) or not all(isinstance(n, int) for n in (begin, end or 0)):
        return None
    first = begin + known if begin < 0 else begin
    last = known if end is None else end + known if end < 0 else end
    if not (begin < 0 or (end is not None and end < 0)) or not 0 <= first < last <= known:
        return None
    n = size(x, axis)
    start = n + begin if begin < 0 else begin
    stop = n if end is None else n + end if end < 0 else end
    return start, stop - start


@row("narrow", "narrow_copy", view=True)
def narrow(x, dim, start, length):
    axis = axis_of(x, dim)
    if isinstance(start, int) and start < 0:
        start = size(x, axis) + start
    return _window(x, axis, start, length, 1)


@row("split_with_sizes", "split_with_sizes_copy", view=True)
def split_with_sizes(x, split_sizes, dim=0):
    axis = axis_of(x, dim)
    parts, start = [], 0
    for n in split_sizes:
        parts.append(_window(x, axis, start, n, 1))
        start = start + n
    return parts


@row("split.Tensor", "split_copy.Tensor", view=True)
def split(x, split_size, dim=0):
    n = fixed(dims(x)[axis_of(x, dim)], "the axis that is split")
    step = fixed(split_size, "the size of the parts")
    if n == 0 or step == 0:
        return [x]
    return split_with_sizes(x, [min(step, n - i) for i in range(0, n, step)], dim)


@row("chunk", view=True)
def chunk(x, chunks, dim=0):
    n = fixed(dims(x)[axis_of(x, dim)], "the axis that is split")
    step = -(-n // chunks)
    if step == 0:
        return split_with_sizes(x, [0] * chunks, dim)
    return split(x, step, dim)


@row("unbind.int", "unbind_copy.int", view=True)
def unbind(x, dim=0):
    n = fixed(dims(x)[axis_of(x, dim)], "the axis that is taken apart")
    return [select(x, dim, i) for i in range(n)]


@row("diagonal", "diagonal_copy", view=True)
def diagonal(x, offset=0, dim1=0, dim2=1):
    """A view where the second axis has a known size: every (n + 1)-th element of the rows laid end to end."""
    a, b = axis_of(x, dim1), axis_of(x, dim2)
    rows, columns = x.sizes[a], x.sizes[b]
    if not (isinstance(rows, int) and isinstance(columns, int)):
        return ops.diagonal(x, a, b, offset)
    others = [i for i in range(x.ndim) if i not in (a, b)]
    x = ops.transpose(x, [*others, a, b])
    top, left = max(-offset, 0), max(offset, 0)
    count = max(0, min(rows - top, columns - left))
    lead = list(x.sizes[:-2])
    if count == 0:
        return ops.reshape(_window(x, x.ndim - 1, 0, 0, 1), [*lead, 0]) if rows else ops.reshape(x, [*lead, 0])
    flat = ops.reshape(x, [*lead, rows * columns])
    return _window(flat, len(lead), top * columns + left, count, columns + 1)


@row("unfold", "unfold_copy", view=True)
def unfold(x, dimension, size, step):
    """Windows of an axis, their elements as a last axis. Not a view where windows overlap."""
    if not x.ndim:
        return ops.broadcast_to(x, [1])
    axis = axis_of(x, dimension)
    n = x.sizes[axis]
    count = (n - size) // step + 1
    if step == size:
        whole = _window(x, axis, 0, count * size, 1)
        split_up = ops.reshape(whole, [*x.sizes[:axis], count, size, *x.sizes[axis + 1 :]])
        order = [i for i in range(x.ndim + 1) if i != axis + 1] + [axis + 1]
        return ops.transpose(split_up, order)
    parts = [_window(x, axis, k, count, step) for k in range(size)]
    return ops.stack(parts, x.ndim)


@row("as_strided", "as_strided_copy", view=True)
def as_strided(x, size, stride, storage_offset=None):
    """Of a contiguous x: by positions in its memory, unless that is plain reshaping."""
    offset = storage_offset or 0
    dense, expected = 1, []
    for n in reversed(size):
        expected.insert(0, dense)
        dense = dense * n
    plain = all(n == 1 or s == e for n, s, e in zip(size, stride, expected))
    if plain and isinstance(offset, int) and offset == 0 and dense == count_of(x.sizes):
        return reshape(x, size)
    return ops.take(reshape(x, [count_of(x.sizes)]), _memory(size, stride, offset), 0)


def _memory(size, stride, offset):
    """Where the elements of a strided view lie."""
    place = full(size, 0, torch.int64)
    for i, s in enumerate(stride):
        step = ops.iota(shape(torch.int64, size), i)
        place = ops.add(place, ops.mul(step, s if isinstance(s, int) else ops.extent_value(s)))
    return ops.add(place, offset if isinstance(offset, int) else ops.extent_value(offset))


@row("as_strided_scatter")
def as_strided_scatter(x, src, size, stride, storage_offset=None):
    """Of a contiguous x."""
    flat = reshape(x, [count_of(x.sizes)])
    written = ops.scatter(flat, cast(src, dtype_of(x)), [_memory(size, stride, storage_offset or 0)], "set", [0])
    return reshape(written, x.sizes)


@row("view.dtype")
def view_dtype(x, dtype):
    if dtype == dtype_of(x):
        return x
    raise Unsupported("bits of one dtype seen as another")


@row("broadcast_tensors")
def broadcast_tensors(tensors):
    sizes = list(torch.broadcast_shapes(*[tuple(fixed(n, "a size") for n in dims(t)) for t in tensors]))
    return [expand(t, sizes) for t in tensors]


row("unsafe_split.Tensor")(split)
row("unsafe_split_with_sizes")(split_with_sizes)
row("unsafe_chunk")(chunk)
