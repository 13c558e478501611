"""Pools and their backward operators."""

from __future__ import annotations

import itertools
import math

import numpy as np
import tenon
import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of
from .rows_view import reshape
from .table import Later, row
from .values import along, cast, constant, count_of, dims, expand_to, fixed, full, pair, positions, shape, zeros_like

_MOST_TERMS = 25  # a backward of more windows over an element is a scatter


def batched(x, rank: int):
    """x with a batch axis, and whether it had one."""
    return (x, True) if x.ndim == rank + 2 else (ops.expand_dims(x, [0]), False)


def unbatched(x, was_batched: bool):
    return x if was_batched else ops.squeeze(x, [0])


class _Window:
    """A sliding window over the last `rank` axes."""

    def __init__(self, rank, kernel, stride, padding, dilation=1, ceil_mode=False):
        self.rank = rank
        self.kernel = [fixed(k, "the window") for k in pair(kernel, rank)]
        stride = [] if stride is None else stride
        self.stride = pair(stride, rank) if isinstance(stride, int) or len(stride) else list(self.kernel)
        self.padding = pair(padding, rank)
        self.dilation = pair(dilation, rank)
        self.ceil_mode = ceil_mode
        for i, pad in enumerate(self.padding):
            if isinstance(pad, int) and pad < 0:
                raise RuntimeError(f"pad must be non-negative, but got pad: {pad}")
            if isinstance(pad, int) and pad > self.span(i) // 2:
                raise RuntimeError(
                    f"pad should be at most half of effective kernel size, but got pad={pad}, "
                    f"kernel_size={self.kernel[i]} and dilation={self.dilation[i]}"
                )

    def span(self, i: int) -> int:
        return (self.kernel[i] - 1) * self.dilation[i] + 1

    def options(self) -> dict:
        return {
            "stride": self.stride, "dilation": self.dilation, "low": self.padding, "high": self.padding,
            "ceil_mode": self.ceil_mode,
        }  # fmt: skip

    def offsets(self):
        return itertools.product(*[range(k) for k in self.kernel])


def _register_max_pool(rank: int) -> None:
    @row(f"max_pool{rank}d_with_indices")
    def max_pool_with_indices(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        x, was = batched(x, rank)
        window = _Window(rank, kernel_size, stride, padding, dilation, ceil_mode)
        y = ops.max_pool(x, window.kernel, **window.options())
        kept = [v.clone() if isinstance(v, tenon.Tensor) else v for v in (x, y)]  # as they are now
        result = unbatched(y, was)
        return result, Later(lambda: unbatched(_winners(*kept, window), was), torch.int64, result.sizes)

    @row(f"max_pool{rank}d")
    def max_pool(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        x, was = batched(x, rank)
        window = _Window(rank, kernel_size, stride, padding, dilation, ceil_mode)
        return unbatched(ops.max_pool(x, window.kernel, **window.options()), was)

    if rank > 1:

        @row(f"max_pool{rank}d_with_indices_backward")
        def max_pool_backward(grad, x, kernel_size, stride, padding, dilation, ceil_mode, indices):
            x, was = batched(x, rank)
            grad, indices = batched(grad, rank)[0], batched(indices, rank)[0]
            window = _Window(rank, kernel_size, stride, padding, dilation, ceil_mode)
            return unbatched(_spread_back(grad, x, window, indices), was)


def _winners(x, y, window: _Window):
    """For each window the row-major position, among all of x's, of its largest element; the first of equals."""
    low, high = [0, 0, *window.padding], [0, 0]
    for i in range(window.rank):
        n, out = x.sizes[2 + i], y.sizes[2 + i]
        reach = (out - 1) * window.stride[i] + window.span(i) - n - window.padding[i]
        high.append(max(reach, 0) if isinstance(reach, int) else tenon.extent_max(reach, 0))
    padded = ops.pad(x, low, high, "constant", -math.inf if dtype_of(x).is_floating_point else _least(x))
    is_float = dtype_of(x).is_floating_point
    lost = ops.isnan(y) if is_float else None
    winner = full(y.sizes, 0, torch.int64)
    for offset in reversed(list(window.offsets())):
        starts = [0, 0] + [k * d for k, d in zip(offset, window.dilation)]
        part = ops.slice(padded, starts, list(y.sizes), [1, 1, *window.stride])
        hit = ops.eq(part, y)
        if is_float:
            hit = ops.logical_or(hit, ops.logical_and(ops.isnan(part), lost))
        place = None
        inside = None
        for i, k in enumerate(offset):
            at = ops.add(ops.mul(positions(y.sizes[2 + i]), window.stride[i]),
                         k * window.dilation[i] - window.padding[i])  # fmt: skip
            n = x.sizes[2 + i]
            ok = ops.logical_and(ops.ge(at, 0), ops.lt(at, _number(n)))
            at, ok = along(at, y.ndim, 2 + i), along(ok, y.ndim, 2 + i)
            place = at if place is None else ops.add(ops.mul(place, _number(n)), at)
            inside = ok if inside is None else ops.logical_and(inside, ok)
        winner = ops.select(ops.logical_and(hit, inside), place, winner)
    return winner


def _least(x) -> float:
    return float(torch.iinfo(dtype_of(x)).min)


def _number(n):
    return n if isinstance(n, int) else ops.extent_value(n)


def _spread_back(grad, x, window: _Window, indices):
    """Each element of x takes the gradients of the windows that it won: a sum over the few windows over it."""
    counts = [-(-window.span(i) // window.stride[i]) for i in range(window.rank)]
    if math.prod(counts) > _MOST_TERMS:
        return scatter_back(grad, x, indices)
    own = None
    for i in range(window.rank):
        at = along(positions(x.sizes[2 + i]), x.ndim, 2 + i)
        own = at if own is None else ops.add(ops.mul(own, _number(x.sizes[2 + i])), at)
    total = None
    axes = [2 + i for i in range(window.rank)]
    for choice in itertools.product(*[range(c) for c in counts]):
        valid, places = None, []
        for i, j in enumerate(choice):
            at = ops.add(positions(x.sizes[2 + i]), window.padding[i])
            here = ops.sub(ops.floor_div(at, window.stride[i]), j)
            last = grad.sizes[2 + i] - 1
            ok = ops.logical_and(ops.ge(here, 0), ops.le(here, _number(last)))
            ok = along(ok, x.ndim, 2 + i)
            valid = ok if valid is None else ops.logical_and(valid, ok)
            places.append(ops.max(ops.min(here, _number(last)), 0))
        g, won = grad, indices
        for axis, line in zip(axes, places):
            g, won = ops.take(g, line, axis), ops.take(won, line, axis)
        one = ops.select(ops.logical_and(valid, ops.eq(won, own)), g, zeros_like(g))
        total = one if total is None else ops.add(total, one)
    return total


def scatter_back(grad, x, indices):
    """Gradients added up at row-major positions of each plane of x."""
    n, c, *rest = x.sizes
    flat = full([n, c, count_of(rest)], 0, dtype_of(grad))
    rows = count_of(grad.sizes[2:])
    spread = ops.scatter_along_axis(flat, reshape(indices, [n, c, rows]), reshape(grad, [n, c, rows]), 2, "add")
    return reshape(spread, x.sizes)


for _rank in (1, 2, 3):
    _register_max_pool(_rank)


# --- Averages


def _pooled_sum(x, window: _Window):
    return ops.sum_pool(x, window.kernel, **window.options())


def _divisors(sizes, window: _Window, count_include_pad, out_sizes):
    """How many elements each window averages over: a value along each axis, multiplied."""
    total = None
    rank = len(sizes)
    for i in range(window.rank):
        n = sizes[2 + i]
        start = ops.sub(ops.mul(positions(out_sizes[2 + i]), window.stride[i]), window.padding[i])
        edge = n + window.padding[i]
        end = ops.min(ops.add(start, window.kernel[i]), _number(edge))
        if not count_include_pad:
            end = ops.min(end, _number(n))
            start = ops.max(start, 0)
        line = along(ops.sub(end, start), rank, 2 + i)
        total = line if total is None else ops.mul(total, line)
    return total


def _whole(window: _Window, count_include_pad, divisor_override):
    """The one divisor of all windows, where there is one."""
    if divisor_override:
        return divisor_override
    plain = count_include_pad or not any(isinstance(p, int) and p for p in window.padding)
    return math.prod(window.kernel) if plain and not window.ceil_mode else None


def _register_average_pool(rank: int) -> None:
    @row(f"avg_pool{rank}d")
    def average_pool(
        x, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        x, was = batched(x, rank)
        window = _Window(rank, kernel_size, stride, padding, 1, ceil_mode)
        y = _pooled_sum(x, window)
        one = _whole(window, count_include_pad, divisor_override)
        by = float(one) if one else cast(_divisors(x.sizes, window, count_include_pad, y.sizes), dtype_of(x))
        return unbatched(ops.div(y, by), was)

    if rank > 1:

        @row(f"avg_pool{rank}d_backward")
        def average_pool_backward(
            grad, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        ):
            x, was = batched(x, rank)
            grad = batched(grad, rank)[0]
            window = _Window(rank, kernel_size, stride, padding, 1, ceil_mode)
            one = _whole(window, count_include_pad, divisor_override)
            by = float(one) if one else cast(_divisors(x.sizes, window, count_include_pad, grad.sizes), dtype_of(x))
            return unbatched(_sum_back(ops.div(grad, by), x, window), was)


def _sum_back(grad, x, window: _Window):
    """Each element of x takes the gradients of all windows over it."""
    n, c, *rest = x.sizes
    planes = reshape(grad, [n * c, 1, *grad.sizes[2:]])
    ones = full([1, 1, *window.kernel], 1, dtype_of(grad))
    low, high = [], []
    for i in range(window.rank):
        reach = window.kernel[i] - 1
        low.append(reach - window.padding[i])
        high.append(rest[i] - 1 - (grad.sizes[2 + i] - 1) * window.stride[i] + window.padding[i])
    spread = ops.conv(planes, ones, [1] * window.rank, window.stride, [], low, high, 1)
    return reshape(spread, x.sizes)


for _rank in (1, 2, 3):
    _register_average_pool(_rank)


# --- Adaptive ones: as many parts as asked for


def _edges(n: int, parts: int) -> list[tuple[int, int]]:
    return [(i * n // parts, -(-(i + 1) * n // parts)) for i in range(parts)]


def _is_one(parts) -> bool:
    return all(isinstance(p, int) and p == 1 for p in parts)


def _weights(n, parts, dtype):
    """[parts, n]: 1 / length where an element belongs to a part."""
    i, j = along(positions(parts), 2, 0), along(positions(n), 2, 1)
    start = ops.floor_div(ops.mul(i, _number(n)), _number(parts))
    end = ops.floor_div(ops.add(ops.mul(ops.add(i, 1), _number(n)), _number(parts - 1)), _number(parts))
    inside = ops.logical_and(ops.ge(j, start), ops.lt(j, end))
    return ops.div(cast(inside, dtype), cast(ops.sub(end, start), dtype))


def _adaptive_average(x, parts):
    rank = len(parts)
    axes = [x.ndim - rank + i for i in range(rank)]
    if _is_one(parts):
        return ops.reduce_mean(x, axes, True)
    for axis, p in zip(axes, parts):
        n = x.sizes[axis]
        if n == p:
            continue
        if isinstance(n, int) and isinstance(p, int) and p and n % p == 0:
            split = reshape(x, [*x.sizes[:axis], p, n // p, *x.sizes[axis + 1 :]])
            x = ops.reduce_mean(split, [axis + 1])
            continue
        x = _along_axis(x, _weights(n, p, dtype_of(x)), axis)
    return x


def _along_axis(x, matrix, axis):
    """matrix[out, n] times x along one axis."""
    y = ops.contract(x, matrix, [], [], [axis], [1])
    order = [*range(axis), x.ndim - 1, *range(axis, x.ndim - 1)]
    return ops.transpose(y, order)


def _register_adaptive(rank: int) -> None:
    @row(*([f"_adaptive_avg_pool{rank}d"] if rank > 1 else []), f"adaptive_avg_pool{rank}d")
    def adaptive_average(x, output_size):
        return _adaptive_average(x, pair(output_size, rank))

    if rank > 1:

        @row(f"_adaptive_avg_pool{rank}d_backward")
        def adaptive_average_backward(grad, x):
            axes = [x.ndim - rank + i for i in range(rank)]
            parts = [grad.sizes[a] for a in axes]
            if _is_one(parts):
                return expand_to(ops.div(grad, cast_count([x.sizes[a] for a in axes], grad)), x.sizes)
            for axis in axes:
                n, p = x.sizes[axis], grad.sizes[axis]
                if n == p:
                    continue
                weights = _weights(n, p, dtype_of(grad))
                grad = _along_axis(grad, ops.transpose(weights, [1, 0]), axis)
            return grad

    @row(f"adaptive_max_pool{rank}d")
    def adaptive_max(x, output_size):
        return _adaptive_max(x, pair(output_size, rank))

    if rank > 1:

        @row(f"adaptive_max_pool{rank}d_backward")
        def adaptive_max_backward(grad, x, indices):
            y, was = batched(x, rank)
            return unbatched(scatter_back(batched(grad, rank)[0], y, batched(indices, rank)[0]), was)


def cast_count(sizes, like):
    """The number of elements beside `like`."""
    n = count_of(sizes)
    return float(n) if isinstance(n, int) else ops.extent_value(n, like.dtype)


def _windows(x, axes, parts):
    """x[..., n, ...] as [..., out..., elements of a part]: each axis picked by a table [out, longest part], where a
    shorter part repeats its last element."""
    rank, lead = len(axes), x.ndim - len(axes)
    for axis, p in zip(reversed(axes), reversed(parts)):
        edges = _edges(fixed(dims(x)[axis], "an axis of an adaptive maximum"), p)
        longest = max(end - start for start, end in edges)
        table = np.array([[min(start + k, end - 1) for k in range(longest)] for start, end in edges], np.int64)
        x = ops.take(x, constant(table, x), axis)
    outs = [lead + 2 * i for i in range(rank)]
    x = ops.transpose(x, [*range(lead), *outs, *[i + 1 for i in outs]])
    sizes = list(x.sizes)
    return reshape(x, [*sizes[: lead + rank], count_of(sizes[lead + rank :])])


def _adaptive_max(x, parts):
    """Values and row-major positions."""
    rank = len(parts)
    axes = [x.ndim - rank + i for i in range(rank)]
    if any(p == 0 for p in parts):
        raise Unsupported("a maximum of no parts")
    sizes = [x.sizes[a] for a in axes]
    place = reshape(ops.iota(shape(torch.int64, [count_of(sizes)])), sizes)
    elements = _windows(x, axes, parts)
    places = _windows(place, list(range(rank)), parts)
    best = ops.argmax(elements, -1, True)
    where = ops.take_along_axis(expand_to(places, elements.sizes), best, elements.ndim - 1)
    last = elements.ndim - 1
    return ops.reduce_max(elements, [last]), ops.squeeze(where, [last])


for _rank in (1, 2, 3):
    _register_adaptive(_rank)
