"""Resampling along position axes, and its backward: one axis after the other."""

from __future__ import annotations

import tenon
import torch
from tenon import ops

from .dtypes import Unsupported, category, dtype_of
from .table import row
from .values import along, cast, positions, wide

_CUBIC = -0.75


def _ratio(n, out, scale, align: bool):
    """How far one step of the result goes in x: a number, or an f32 scalar."""
    if align:
        if isinstance(out, int) and isinstance(n, int):
            return float(torch.tensor((n - 1) / (out - 1), dtype=torch.float32)) if out > 1 else 0.0
        return ops.div(ops.extent_value(n - 1, tenon.f32), ops.max(ops.extent_value(out - 1, tenon.f32), 1.0))
    if scale is not None and scale > 0:
        return float(torch.tensor(1.0 / scale, dtype=torch.float32))
    if isinstance(out, int) and isinstance(n, int):
        return float(torch.tensor(n / out, dtype=torch.float32))
    return ops.div(ops.extent_value(n, tenon.f32), ops.extent_value(out, tenon.f32))


def _inside(place, n):
    last = n - 1 if isinstance(n, int) else ops.extent_value(n - 1)
    return ops.max(ops.min(place, last), 0)


def _taps(mode: str, n, out, scale, align: bool) -> list:
    """Pairs of positions in x, i64[out], and their weights, f32[out]; no weight is 1."""
    ratio = _ratio(n, out, scale, align)
    line = cast(positions(out), torch.float32)
    if mode in ("nearest", "exact"):
        at = ops.mul(line if mode == "nearest" else ops.add(line, 0.5), ratio)
        return [(_inside(cast(ops.floor(at), torch.int64), n), None)]
    at = ops.mul(line, ratio) if align else ops.sub(ops.mul(ops.add(line, 0.5), ratio), 0.5)
    if mode == "linear":
        at = ops.max(at, 0.0)
        low = ops.floor(at)
        part = ops.clamp(ops.sub(at, low), 0.0, 1.0)
        first = _inside(cast(low, torch.int64), n)
        return [(first, ops.sub(1.0, part)), (_inside(ops.add(first, 1), n), part)]
    low = ops.floor(at)
    part = ops.sub(at, low)
    start = cast(low, torch.int64)
    return [(_inside(ops.add(start, k - 1), n), _cubic(part, k)) for k in range(4)]


def _cubic(t, k: int):
    """Weights of the four neighbours, by Keys' kernel."""
    a = _CUBIC
    distance = [ops.add(t, 1.0), t, ops.sub(1.0, t), ops.sub(2.0, t)][k]
    d2 = ops.square(distance)
    d3 = ops.mul(d2, distance)
    if k in (1, 2):
        return ops.add(ops.sub(ops.mul(d3, a + 2), ops.mul(d2, a + 3)), 1.0)
    return ops.sub(ops.add(ops.sub(ops.mul(d3, a), ops.mul(d2, 5 * a)), ops.mul(distance, 8 * a)), 4 * a)


def _resized(x, mode, sizes, scales, align):
    dtype = dtype_of(x)
    if mode not in ("nearest", "exact") and category(dtype) != 2:
        raise Unsupported("interpolation of integers")
    for i, out in enumerate(sizes):
        axis = 2 + i
        taps = _taps(mode, x.sizes[axis], out, scales[i], align)
        if taps[0][1] is None:
            x = ops.take(x, taps[0][0], axis)
            continue
        w = wide(x)
        total = None
        for place, weight in taps:
            part = ops.mul(ops.take(w, place, axis), along(cast(weight, dtype_of(w)), x.ndim, axis))
            total = part if total is None else ops.add(total, part)
        x = cast(total, dtype)
    return x


def _resized_back(grad, mode, input_size, scales, align):
    """Each axis by the transposed matrix of weights, which is made where it is used."""
    dtype = dtype_of(grad)
    g = wide(grad)
    for i in range(len(input_size) - 2):
        axis, n = 2 + i, input_size[2 + i]
        matrix = None  # [out, n]
        column = along(positions(n), 2, 1)
        for place, weight in _taps(mode, n, g.sizes[axis], scales[i], align):
            hit = cast(ops.eq(along(place, 2, 0), column), dtype_of(g))
            part = hit if weight is None else ops.mul(hit, along(cast(weight, dtype_of(g)), 2, 0))
            matrix = part if matrix is None else ops.add(matrix, part)
        product = ops.contract(g, matrix, [], [], [axis], [0])
        order = [*range(axis), g.ndim - 1, *range(axis, g.ndim - 1)]
        g = ops.transpose(product, order)
    return cast(g, dtype)


def _from_factors(x, output_size, factors, rank: int):
    """Sizes and scales of the forms that take either."""
    if output_size is not None:
        return list(output_size), [None] * rank
    sizes = []
    for n, f in zip(x.sizes[2:], factors):
        if isinstance(n, int):
            sizes.append(int(n * f))
        elif float(f).is_integer():
            sizes.append(n * int(f))
        else:
            raise Unsupported(f"a symbolic size times {f}")
    return sizes, list(factors)


def _register(name: str, mode: str, rank: int, aligned: bool) -> None:
    def split(args):
        """align_corners, where there is one, and the scales."""
        align = bool(args[0]) if aligned else False
        scales = list(args[1 if aligned else 0 :])
        return align, scales + [None] * (rank - len(scales))

    @row(name)
    def forward(x, output_size, *rest, **scales):
        align, given = split([*rest, *scales.values()])
        return _resized(x, mode, output_size, given, align)

    @row(f"{name}.vec")
    def by_factors(x, output_size, *rest):
        align, factors = (bool(rest[0]), rest[1]) if aligned else (False, rest[0])
        sizes, scales = _from_factors(x, output_size, factors, rank)
        return _resized(x, mode, sizes, scales, align)

    @row(f"{name}_backward")
    def backward(grad, output_size, input_size, *rest, **scales):
        align, given = split([*rest, *scales.values()])
        return _resized_back(grad, mode, input_size, given, align)


for _rank, _linear in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
    _register(f"upsample_nearest{_rank}d", "nearest", _rank, False)
    _register(f"_upsample_nearest_exact{_rank}d", "exact", _rank, False)
    _register(f"upsample_{_linear}", "linear", _rank, True)
_register("upsample_bicubic2d", "cubic", 2, True)
