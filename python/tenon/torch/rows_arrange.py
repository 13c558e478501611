"""Joining, repeating, padding and writing parts: results of their own, not views."""

from __future__ import annotations

import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of, result_type
from .rows_view import reshape, select, slice_
from .table import row
from .values import along, axis_among, axis_of, cast, dims, expand_to, fixed, full, number, positions, size, zeros_like


def _nothing(x) -> bool:
    """PyTorch lets `f32[0]` be joined with anything."""
    return x.ndim == 1 and dims(x)[0] == 0


@row("cat", "concatenate", "concat")
def cat(tensors, dim=0):
    dtype = result_type(*tensors)
    real = [t for t in tensors if not _nothing(t)] or tensors[:1]
    real = [cast(t, dtype) for t in real]
    for t in real:
        if t.ndim != real[0].ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {real[0].ndim} and {t.ndim}")
    if len(real) == 1:
        return real[0]
    return ops.concat(real, axis_of(real[0], dim))


@row("stack")
def stack(tensors, dim=0):
    dtype = result_type(*tensors)
    rank = tensors[0].ndim + 1
    return ops.stack([cast(t, dtype) for t in tensors], axis_among(rank, dim))


@row("flip")
def flip(x, dims):
    axes = sorted({axis_of(x, d) for d in dims}) if x.ndim else []
    return ops.flip(x, axes) if axes else x


@row("roll")
def roll(x, shifts, dims=()):
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    dims = [dims] if isinstance(dims, int) else list(dims)
    if not dims:
        flat = ops.reshape(x, [-1])
        return reshape(ops.roll(flat, shifts[0], 0), x.sizes)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for shift, dim in zip(shifts, dims):
        x = ops.roll(x, shift, axis_of(x, dim))
    return x


@row("rot90")
def rot90(x, k=1, dims=(0, 1)):
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if x.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {x.ndim}")
    a, b = (axis_of(x, d) for d in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    order = list(range(x.ndim))
    order[a], order[b] = order[b], order[a]
    k %= 4
    if k == 1:
        return ops.transpose(ops.flip(x, [b]), order)
    if k == 2:
        return ops.flip(x, sorted([a, b]))
    return ops.flip(ops.transpose(x, order), [b]) if k == 3 else x


@row("repeat")
def repeat(x, repeats):
    lead = len(repeats) - x.ndim
    x = ops.expand_dims(x, list(range(lead))) if lead else x
    return ops.tile(x, list(repeats)) if repeats else x


@row("tile")
def tile(x, dims):
    dims = [1] * (x.ndim - len(dims)) + list(dims)
    return repeat(x, dims)


@row("repeat_interleave.self_int")
def repeat_interleave(x, repeats, dim=None, *, output_size=None):
    if dim is None:
        x, dim = ops.reshape(x, [-1]), 0
    return ops.repeat_interleave(x, repeats, axis_of(x, dim))


@row("tril")
def tril(x, diagonal=0):
    return _triangle(x, diagonal, True)


@row("triu")
def triu(x, diagonal=0):
    return _triangle(x, diagonal, False)


def _triangle(x, diagonal, lower: bool):
    if x.ndim < 2:
        name = "tril" if lower else "triu"
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    rows, columns = x.sizes[-2], x.sizes[-1]
    mask = ops.triangle_mask(rows, columns, diagonal if lower else diagonal - 1)
    mask = mask if lower else ops.logical_not(mask)
    return ops.select(mask, x, zeros_like(x))


@row("diag_embed")
def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    rank = x.ndim + 1
    a, b = axis_among(rank, dim1), axis_among(rank, dim2)
    n = size(x, -1) + abs(offset)
    row_ = along(positions(n), 2, 0)
    column = along(positions(n), 2, 1)
    on = ops.eq(ops.sub(column, row_), offset)
    source = ops.clamp(ops.add(column, -max(offset, 0)), 0, ops.sub(ops.extent_value(size(x, -1)), 1)
                       if not isinstance(size(x, -1), int) else size(x, -1) - 1)  # fmt: skip
    source = ops.reshape(source, [n])
    spread = ops.expand_dims(ops.take(x, source, x.ndim - 1), [x.ndim - 1])
    spread = expand_to(spread, [*x.sizes[:-1], n, n])
    result = ops.select(on, spread, zeros_like(spread))
    others = iter(range(x.ndim - 1))
    order = [x.ndim - 1 if i == a else x.ndim if i == b else next(others) for i in range(rank)]
    return ops.transpose(result, order)


# --- Padding


def _padding(x, pad):
    """ATen lists the last axis first."""
    low, high = [0] * x.ndim, [0] * x.ndim
    for i in range(len(pad) // 2):
        low[x.ndim - 1 - i], high[x.ndim - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return low, high


@row("constant_pad_nd")
def constant_pad(x, pad, value=0):
    low, high = _padding(x, pad)
    if dtype_of(x) == torch.bool:
        value = int(bool(value))
    return ops.pad(x, low, high, "constant", float(value))


def _sources(n, low, high, mode: str):
    """Where each element of a padded axis comes from."""
    at = ops.sub(positions(n + low + high), number(low, torch.int64))
    last = number(n - 1, torch.int64)
    if mode == "edge":
        return ops.max(ops.min(at, last), 0)
    at = ops.abs(at)
    return ops.sub(last, ops.abs(ops.sub(last, at)))


def _register_pads(kind: str, mode: str) -> None:
    @row(f"{kind}1d", f"{kind}2d", f"{kind}3d")
    def pad(x, padding):
        low, high = _padding(x, padding)
        if not any(isinstance(n, int) and n < 0 for n in padding):
            return ops.pad(x, low, high, mode)
        for axis in range(x.ndim):  # PyTorch pads before it crops
            if low[axis] or high[axis]:
                x = ops.take(x, _sources(size(x, axis), low[axis], high[axis], mode), axis)
        return x


_register_pads("reflection_pad", "reflect")
_register_pads("replication_pad", "edge")


def _register_pad_backward(kind: str, mode: str, rank: int) -> None:
    @row(f"{kind}{rank}d_backward")
    def pad_backward(grad, x, padding):
        """Each axis by the matrix that says which elements came from where."""
        low, high = _padding(x, padding)
        for axis in range(x.ndim - rank, x.ndim):
            n = size(x, axis)
            if isinstance(low[axis], int) and low[axis] == 0 and isinstance(high[axis], int) and high[axis] == 0:
                continue
            source = _sources(n, low[axis], high[axis], mode)
            matrix = cast(ops.eq(along(source, 2, 0), along(positions(n), 2, 1)), dtype_of(grad))
            product = ops.contract(grad, matrix, [], [], [axis], [0])
            grad = ops.transpose(product, [*range(axis), x.ndim - 1, *range(axis, x.ndim - 1)])
        return grad


for _rank in (1, 2, 3):
    _register_pad_backward("reflection_pad", "reflect", _rank)
    _register_pad_backward("replication_pad", "edge", _rank)


@row("_pad_circular")
def pad_circular(x, pad):
    return ops.pad(x, *_padding(x, pad), "wrap")


# --- Parts replaced


@row("slice_scatter")
def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    axis = axis_of(x, dim)
    n = size(x, axis)
    part = slice_(x, dim, start, end, step)
    src = expand_to(cast(src, dtype_of(x)), part.sizes)
    begin = 0 if start is None else start
    if isinstance(begin, int) and begin < 0:
        begin = max(n + begin, 0) if isinstance(n, int) else n + begin
    if isinstance(begin, int) and isinstance(n, int):
        begin = min(begin, n)
    if step == 1:
        starts = [0] * x.ndim
        starts[axis] = begin
        return ops.update_slice(x, src, starts)
    index = ops.add(ops.mul(positions(part.sizes[axis]), step), number(begin, torch.int64))
    return _scatter_set(x, index, src, axis)


def _scatter_set(x, index, src, axis):
    """`src` at `index` along one axis."""
    order = [axis] + [i for i in range(x.ndim) if i != axis]
    return ops.scatter(x, ops.transpose(src, order), [index], "set", [axis])


@row("select_scatter")
def select_scatter(x, src, dim, index):
    axis = axis_of(x, dim)
    starts = [0] * x.ndim
    starts[axis] = size(x, axis) + index if isinstance(index, int) and index < 0 else index
    src = ops.expand_dims(cast(src, dtype_of(x)), [axis])
    sizes = list(x.sizes)
    sizes[axis] = 1
    return ops.update_slice(x, expand_to(src, sizes), starts)


@row("diagonal_scatter")
def diagonal_scatter(x, src, offset=0, dim1=0, dim2=1):
    return _put_diagonal(x, cast(src, dtype_of(x)), offset, dim1, dim2)


def _put_diagonal(x, src, offset, dim1, dim2):
    a, b = axis_of(x, dim1), axis_of(x, dim2)
    n = src.sizes[-1]
    top, left = max(-offset, 0), max(offset, 0)
    line = positions(n)
    update = ops.transpose(src, [src.ndim - 1, *range(src.ndim - 1)])
    return ops.scatter(x, update, [ops.add(line, top), ops.add(line, left)], "set", [a, b])


@row("slice_backward")
def slice_backward(grad, input_sizes, dim, start, end, step):
    base = full(input_sizes, 0, dtype_of(grad))
    return slice_scatter(base, grad, dim, start, end, step)


@row("select_backward")
def select_backward(grad, input_sizes, dim, index):
    return select_scatter(full(input_sizes, 0, dtype_of(grad)), grad, dim, index)


@row("diagonal_backward")
def diagonal_backward(grad, input_sizes, offset, dim1, dim2):
    return _put_diagonal(full(input_sizes, 0, dtype_of(grad)), grad, offset, dim1, dim2)


@row("unfold_backward")
def unfold_backward(grad, input_sizes, dim, size, step):
    if not input_sizes:
        return reshape(grad, [])
    axis = axis_among(len(input_sizes), dim)
    total = full(input_sizes, 0, dtype_of(grad))
    line = ops.mul(positions(grad.sizes[axis]), step)
    for k in range(fixed(size, "the window")):
        part = select(grad, -1, k)
        order = [axis] + [i for i in range(part.ndim) if i != axis]
        total = ops.scatter(total, ops.transpose(part, order), [ops.add(line, k)], "add", [axis])
    return total


# --- Channels and positions


@row("pixel_shuffle")
def pixel_shuffle(x, upscale_factor):
    r = upscale_factor
    *lead, c, h, w = x.sizes
    k = len(lead)
    x = ops.reshape(x, [*lead, c // (r * r), r, r, h, w])
    x = ops.transpose(x, [*range(k), k, k + 3, k + 1, k + 4, k + 2])
    return ops.reshape(x, [*lead, c // (r * r), h * r, w * r])


@row("pixel_unshuffle")
def pixel_unshuffle(x, downscale_factor):
    r = downscale_factor
    *lead, c, h, w = x.sizes
    k = len(lead)
    x = ops.reshape(x, [*lead, c, h // r, r, w // r, r])
    x = ops.transpose(x, [*range(k), k, k + 2, k + 4, k + 1, k + 3])
    return ops.reshape(x, [*lead, c * r * r, h // r, w // r])


@row("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(x, groups):
    n, c, *rest = x.sizes
    if isinstance(c, int) and c % groups:
        raise Unsupported("channels that are no multiple of the groups")
    split = ops.reshape(x, [n, groups, c // groups, *rest])
    order = [0, 2, 1, *range(3, split.ndim)]
    return ops.reshape(ops.transpose(split, order), list(x.sizes))


@row("block_diag")
def block_diag(tensors):
    dtype = result_type(*tensors)
    blocks = [cast(reshape(t, [1] * (2 - t.ndim) + list(t.sizes)), dtype) for t in tensors]
    width, left, rows = sum(b.sizes[1] for b in blocks), 0, []
    for block in blocks:
        right = width - left - block.sizes[1]
        rows.append(ops.pad(block, [0, left], [0, right]))
        left = left + block.sizes[1]
    return rows[0] if len(rows) == 1 else ops.concat(rows, 0)
