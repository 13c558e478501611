"""Picking and writing by position."""

from __future__ import annotations

import tenon
import torch
from tenon import ops

from .dtypes import Unsupported, dtype_of, is_bool, is_float, is_value
from .rows_view import reshape
from .table import row
from .values import (
    along,
    as_value,
    axis_of,
    cast,
    count_of,
    dims,
    expand_to,
    full,
    full_like,
    operand,
    promoted,
    same_sizes,
    truth,
    zeros_like,
)

# --- x[indices]


def require_lazy(x, what: str) -> None:
    """Sizes that data decide are for lazy tensors; a graph of PyTorch's has its own names for them."""
    if isinstance(x, tenon.Value):
        raise Unsupported(f"{what}: the size of the result is decided by data")


def _as_index(x):
    return cast(x, torch.int64) if dtype_of(x) in (torch.uint8, torch.int8, torch.int16) else x


def _expanded(x, indices):
    """Masks as positions: pairs of axis and index."""
    found, axis = [], 0
    for index in indices:
        if index is None:
            axis += 1
        elif is_bool(index) or dtype_of(index) == torch.uint8:
            require_lazy(index, "a mask as an index")
            where = ops.nonzero(truth(index))
            for k in range(index.ndim):
                found.append((axis + k, ops.squeeze(ops.slice_axis(where, 0, k, k + 1), [0])))
            axis += index.ndim
        else:
            found.append((axis, _as_index(index)))
            axis += 1
    return found


def _broadcast_sizes(values) -> list:
    """NumPy broadcasting of sizes, of which some may be symbols."""
    rank = max(v.ndim for v in values)
    sizes, known = [1] * rank, [1] * rank
    for v in values:
        for i, (n, number) in enumerate(zip(v.sizes, dims(v)), rank - v.ndim):
            if isinstance(known[i], int) and known[i] == 1:
                sizes[i], known[i] = n, number
    return sizes


class _Pick:
    """Where x[indices] takes its elements from, and how the result's axes lie."""

    def __init__(self, x, indices):
        pairs = _expanded(x, indices)
        self.axes = [axis for axis, _ in pairs]
        sizes = _broadcast_sizes([index for _, index in pairs])
        dtypes = {dtype_of(index) for _, index in pairs}
        wanted = torch.int64 if len(dtypes) > 1 else dtypes.pop()
        self.indices = [expand_to(cast(index, wanted), sizes) for _, index in pairs]
        self.index_sizes = sizes
        self.others = [i for i in range(x.ndim) if i not in self.axes]
        adjacent = self.axes == list(range(self.axes[0], self.axes[0] + len(self.axes)))
        self.before = self.axes[0] if adjacent else 0  # axes of x that stay before those of the index

    def order(self) -> list[int]:
        """Axis i of PyTorch's result is axis order[i] of Tenon's, which has the index axes first."""
        rank = len(self.index_sizes)
        behind = [rank + i for i in range(len(self.others))]
        return behind[: self.before] + list(range(rank)) + behind[self.before :]

    def inverse(self) -> list[int]:
        order = self.order()
        return [order.index(i) for i in range(len(order))]

    def sizes(self, x) -> list:
        rest = [x.sizes[i] for i in self.others]
        return rest[: self.before] + list(self.index_sizes) + rest[self.before :]


@row("index.Tensor", "_unsafe_index.Tensor")
def index(x, indices):
    if all(i is None for i in indices):
        return x
    pick = _Pick(x, indices)
    found = ops.gather(x, pick.indices, pick.axes)
    return ops.transpose(found, pick.order()) if found.ndim else found


@row("index_put", "_unsafe_index_put", "_index_put_impl")
def index_put(x, indices, values, accumulate=False, unsafe=False):
    values = cast(values, dtype_of(x))
    given = [i for i in indices if i is not None]
    mask = given[0] if len(given) == 1 and is_bool(given[0]) else None
    if mask is not None and not accumulate and values.ndim == 0:
        at = next(k for k, i in enumerate(indices) if i is not None)
        rest = x.ndim - at - mask.ndim
        return ops.select(reshape(mask, [*mask.sizes, *[1] * rest]), values, x)
    pick = _Pick(x, indices)
    update = expand_to(values, pick.sizes(x))
    update = ops.transpose(update, pick.inverse()) if update.ndim else update
    return _put(x, update, pick.indices, "add" if accumulate else "set", pick.axes)


@row("_unsafe_masked_index")
def unsafe_masked_index(x, mask, indices, fill):
    limits = [None if i is None else ops.clamp(i, 0, _last(x, k)) for k, i in enumerate(indices)]
    found = index(x, limits)
    return ops.select(mask, found, full_like(found, fill))


@row("_unsafe_masked_index_put_accumulate")
def unsafe_masked_index_put(x, mask, indices, values):
    limits = [None if i is None else ops.clamp(i, 0, _last(x, k)) for k, i in enumerate(indices)]
    return index_put(x, limits, ops.select(mask, values, zeros_like(values)), True)


def _last(x, axis):
    n = x.sizes[axis]
    return n - 1 if isinstance(n, int) else ops.extent_value(n - 1)


# --- Along one axis


def _put(x, update, indices, op, axes):
    """ops.scatter, of bools too: their sum is `or`, their product `and`."""
    if not is_bool(x):
        return ops.scatter(x, update, indices, op, axes)
    op = {"add": "max", "mul": "min"}.get(op, op)
    return cast(ops.scatter(cast(x, torch.uint8), cast(update, torch.uint8), indices, op, axes), torch.bool)


@row("index_select")
def index_select(x, dim, index):
    if not x.ndim:
        return x
    return ops.take(x, reshape(_as_index(index), [count_of(index.sizes)]), axis_of(x, dim))


@row("take")
def take(x, index):
    return ops.take(reshape(x, [count_of(x.sizes)]), _as_index(index), 0)


@row("put")
def put(x, index, source, accumulate=False):
    flat = reshape(x, [count_of(x.sizes)])
    source = reshape(cast(source, dtype_of(x)), index.sizes)
    result = _put(flat, source, [_as_index(index)], "add" if accumulate else "set", [0])
    return reshape(result, x.sizes)


@row("gather")
def gather(x, dim, index, *, sparse_grad=False):
    if any(isinstance(n, int) and n == 0 for n in dims(index)):
        return full(index.sizes, 0, dtype_of(x))
    if not x.ndim:
        return expand_to(x, index.sizes)
    if not index.ndim:
        return ops.take(x, index, 0)
    return ops.take_along_axis(x, _as_index(index), axis_of(x, dim))


def _scattered(x, dim, index, update, op):
    if any(isinstance(n, int) and n == 0 for n in dims(index)):
        return x
    if not x.ndim:
        x, index, update = (reshape(v, [1]) for v in (x, index, update))
        return reshape(_scattered(x, 0, index, update, op), [])
    if not index.ndim:
        index, update = reshape(index, [1]), reshape(update, [1])
    update = cast(update, dtype_of(x))
    if not same_sizes(update.sizes, index.sizes):
        update = ops.slice(update, [0] * update.ndim, list(index.sizes))
    if is_bool(x):
        op = {"add": "max", "mul": "min"}.get(op, op)
        y = ops.scatter_along_axis(cast(x, torch.uint8), index, cast(update, torch.uint8), axis_of(x, dim), op)
        return cast(y, torch.bool)
    return ops.scatter_along_axis(x, _as_index(index), update, axis_of(x, dim), op)


_OPS = {"add": "add", "multiply": "mul", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@row("scatter.src")
def scatter(x, dim, index, src):
    return _scattered(x, dim, index, src, "set")


@row("scatter.value")
def scatter_value(x, dim, index, value):
    return _scattered(x, dim, index, full(index.sizes, value, dtype_of(x)), "set")


@row("scatter.reduce")
def scatter_op(x, dim, index, src, *, reduce):
    return _scattered(x, dim, index, src, _OPS[reduce])


@row("scatter.value_reduce")
def scatter_value_op(x, dim, index, value, *, reduce):
    return _scattered(x, dim, index, full(index.sizes, value, dtype_of(x)), _OPS[reduce])


@row("scatter_add")
def scatter_add(x, dim, index, src):
    return _scattered(x, dim, index, src, "add")


@row("scatter_reduce.two")
def scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    base = x
    if not include_self:
        neutral = _neutral(dtype_of(x), reduce)
        base = scatter_value(x, dim, index, neutral)
    if reduce != "mean":
        return _scattered(base, dim, index, src, _OPS[reduce])
    total = _scattered(base, dim, index, src, "add")
    ones = full(index.sizes, 1, dtype_of(x))
    start = full_like(x, 1) if include_self else scatter_value(full_like(x, 1), dim, index, 0)
    count = _scattered(start, dim, index, ones, "add")
    return ops.div(total, count) if is_float(x) else ops.floor_div(total, count)


def _neutral(dtype: torch.dtype, reduce: str):
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.is_floating_point:
        low, high = -torch.inf, torch.inf
    else:
        low, high = (0, 1) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    return low if reduce == "amax" else high


def _line_update(x, dim, index, source, op):
    """`source` along one axis, its positions being those of a line of indices."""
    if not x.ndim:
        x, source = reshape(x, [1]), reshape(source, [1])
        return reshape(_line_update(x, 0, index, source, op), [])
    axis = axis_of(x, dim)
    index = reshape(_as_index(index), [count_of(index.sizes)])
    source = reshape(source, [*x.sizes[:axis], index.sizes[0], *x.sizes[axis + 1 :]]) if not source.ndim else source
    order = [axis] + [i for i in range(x.ndim) if i != axis]
    return _put(x, ops.transpose(cast(source, dtype_of(x)), order), [index], op, [axis])


@row("index_add")
def index_add(x, dim, index, source, *, alpha=1):
    if alpha != 1 and is_bool(source):
        source = source if alpha else zeros_like(source)
    elif alpha != 1:
        source = ops.mul(source, operand(alpha, dtype_of(source)))
    return _line_update(x, dim, index, source, "add")


@row("index_copy")
def index_copy(x, dim, index, source):
    return _line_update(x, dim, index, source, "set")


@row("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(x, dim, index, value):
    """By a mask: where some index is the position."""
    index = reshape(_as_index(index), [count_of(index.sizes)])
    if not x.ndim:
        return cast(value, dtype_of(x)) if is_value(value) else full_like(x, value)
    axis = axis_of(x, dim)
    n = x.sizes[axis]
    line = full([n], False, torch.bool)
    hit = ops.scatter(cast(line, torch.uint8), full(index.sizes, 1, torch.uint8), [index], "set", [0])
    mask = along(ops.ne(hit, 0), x.ndim, axis)
    return ops.select(mask, operand(value, dtype_of(x), x), x)


@row("index_reduce")
def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    base = x if include_self else index_fill(x, dim, index, _neutral(dtype_of(x), reduce))
    if reduce != "mean":
        return _line_update(base, dim, index, source, _OPS[reduce])
    total = _line_update(base, dim, index, source, "add")
    start = full_like(x, 1) if include_self else index_fill(full_like(x, 1), dim, index, 0)
    count = _line_update(start, dim, index, full_like(source, 1), "add")
    count = ops.max(count, 1) if not include_self else count
    return ops.div(total, count) if is_float(x) else ops.floor_div(total, count)


# --- Embeddings


@row("embedding")
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return ops.take(weight, indices, 0)


@row("embedding_dense_backward")
def embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        raise Unsupported("gradients scaled by frequency")
    width = grad.sizes[-1]
    flat = reshape(indices, [count_of(indices.sizes)])
    grad = reshape(grad, [count_of(indices.sizes), width])
    if isinstance(padding_idx, int) and padding_idx >= 0:
        kept = along(ops.ne(flat, padding_idx), 2, 0)
        grad = ops.select(kept, grad, zeros_like(grad))
    return ops.scatter(full([num_weights, width], 0, dtype_of(grad)), grad, [flat], "add", [0])


# --- By a mask


@row("nonzero")
def nonzero(x):
    require_lazy(x, "nonzero")
    found = ops.transpose(ops.nonzero(truth(reshape(x, [1]) if not x.ndim else x)), [1, 0])
    return found if x.ndim else ops.slice_axis(found, 1, 0, 0)


@row("masked_select")
def masked_select(x, mask):
    require_lazy(x, "masked_select")
    sizes = _broadcast_sizes([x, mask])
    x, mask = expand_to(x, sizes), expand_to(truth(mask), sizes)
    n = count_of(sizes)
    return ops.compress(reshape(x, [n]), reshape(mask, [n]), 0)


@row("masked_scatter")
def masked_scatter(x, mask, source):
    """The k-th true element takes the k-th element of the source."""
    sizes = _broadcast_sizes([x, mask])
    x, mask = expand_to(x, sizes), expand_to(truth(mask), sizes)
    n = count_of(sizes)
    flat = reshape(mask, [n])
    rank = ops.sub(ops.cumulative_sum(cast(flat, torch.int64), 0), 1)
    source = reshape(source, [count_of(source.sizes)])
    source = ops.concat([source, full([1], 0, dtype_of(source))], 0)  # so that there is something to read in any case
    found = ops.take(source, ops.max(ops.min(rank, _last(source, 0)), 0), 0)
    return ops.select(mask, reshape(found, sizes), x)


@row("masked_scatter_backward")
def masked_scatter_backward(grad, mask, sizes):
    """The gradients where the mask is true, one after the other, then zeros."""
    mask = expand_to(truth(mask), grad.sizes)
    n, out = count_of(grad.sizes), count_of(sizes)
    flat, kept = reshape(grad, [n]), reshape(mask, [n])
    rank = ops.sub(ops.cumulative_sum(cast(kept, torch.int64), 0), 1)
    base = full([out], 0, dtype_of(grad))
    where = ops.max(ops.min(rank, _last(base, 0)), 0)
    return reshape(ops.scatter(base, ops.select(kept, flat, zeros_like(flat)), [where], "add", [0]), sizes)


@row("isin.Tensor_Tensor", "isin.Tensor_Scalar", "isin.Scalar_Tensor")
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Every element against every other: a comparison and a reduction, nothing is sorted or stored."""
    elements, tests = promoted(elements, test_elements)
    if not is_value(tests):
        found = ops.eq(elements, tests)
    else:
        elements = elements if is_value(elements) else as_value(elements, dtype_of(tests))
        line = reshape(tests, [count_of(tests.sizes)])
        found = ops.reduce_any(ops.eq(ops.expand_dims(elements, [elements.ndim]), line), [elements.ndim])
    return ops.logical_not(found) if invert else found
