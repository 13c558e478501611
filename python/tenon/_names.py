"""What NumPy and PyTorch users call things: methods of tensors and values beside those of the tables."""

import math
import numbers

from tenon import _tenon, _tensors
from tenon._tenon import Dtype, Tensor, Value, ops


def _axes(axis):
    if axis is None:
        return []
    return [axis] if isinstance(axis, numbers.Integral) else list(axis)


def _one_name(ours, theirs, names):
    """An argument that has NumPy's name or PyTorch's."""
    if theirs is None:
        return ours
    if ours is not None and ours is not False:
        raise TypeError(f"`{names[0]}` and `{names[1]}` are the same: give one of them")
    return theirs


def _along(axis, keepdims, dim, keepdim):
    return _axes(_one_name(axis, dim, ("axis", "dim"))), bool(_one_name(keepdims, keepdim, ("keepdims", "keepdim")))


def _reduction(builder):
    def method(self, axis=None, keepdims=False, *, dim=None, keepdim=None):
        return builder(self, *_along(axis, keepdims, dim, keepdim))

    method.__doc__ = builder.__doc__
    return method


def _extremum(builder, row):
    def method(self, axis=None, keepdims=False, *, dim=None, keepdim=None):
        if isinstance(axis, (Tensor, Value)):
            return row(self, axis)
        return builder(self, *_along(axis, keepdims, dim, keepdim))

    method.__doc__ = "Along `axis`, an int or several; all without one. Of two tensors, elementwise."
    return method


def _running(builder):
    def method(self, axis=None, *, dim=None):
        axis = _one_name(axis, dim, ("axis", "dim"))
        return builder(flatten(self), 0) if axis is None else builder(self, axis)

    method.__doc__ = f"{builder.__doc__} along `axis`; without one, of all elements in a row, as NumPy has it."
    return method


def var(self, axis=None, keepdims=False, correction=0, *, dim=None, keepdim=None):
    """Mean square distance from the mean along `axis`."""
    return ops.variance(self, *_along(axis, keepdims, dim, keepdim), correction)


def std(self, axis=None, keepdims=False, correction=0, *, dim=None, keepdim=None):
    """Standard deviation along `axis`."""
    return ops.standard_deviation(self, *_along(axis, keepdims, dim, keepdim), correction)


def where(condition, a, b):
    """a where the condition holds, b elsewhere; either may be a number.

    >>> import tenon
    >>> tenon.where(tenon.tensor([True, False]), 1.5, 0).tolist()
    [1.5, 0.0]
    """
    if not any(isinstance(x, (Tensor, Value)) for x in (a, b)):
        whole = all(isinstance(x, numbers.Integral) for x in (a, b))
        a = ops.scalar(Dtype.i64 if whole else Dtype.f32, a)
    return ops.select(condition, a, b)


def _sizes(sizes):
    return list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else list(sizes)


def reshape(self, *sizes):
    """The same elements under other axes; one -1 takes what is left. A view."""
    return ops.reshape(self, _sizes(sizes))


def transpose(self, *axes):
    """Axis i of the result is axis axes[i]; without axes they are reversed. A view."""
    return ops.transpose(self, _sizes(axes))


def swapaxes(self, a, b):
    """Two axes exchanged. A view."""
    order = list(range(self.ndim))
    order[a], order[b] = order[b], order[a]
    return ops.transpose(self, order)


def flatten(self, start=0, end=-1):
    """The axes from `start` to `end` as one."""
    first, last = start % max(self.ndim, 1), end % max(self.ndim, 1)
    if self.ndim == 0:
        return ops.reshape(self, [1])
    return ops.reshape(self, [*self.sizes[:first], math.prod(self.sizes[first : last + 1]), *self.sizes[last + 1 :]])


def unsqueeze(self, axis):
    """An axis of size 1 at this position. A view."""
    return ops.expand_dims(self, [axis])


def expand(self, *sizes):
    """Broadcast to these sizes; -1 keeps one. A view."""
    wanted = _sizes(sizes)
    own = [1] * (len(wanted) - self.ndim) + list(self.sizes)
    return ops.broadcast_to(self, [o if isinstance(w, int) and w == -1 else w for w, o in zip(wanted, own)])


def astype(self, dtype):
    """Another dtype."""
    return self.to(dtype)


def split_at(self, count, axis=0):
    """Parts of `count` elements along an axis."""
    size = self.shape[axis]
    return [ops.slice_axis(self, axis, at, min(at + count, size)) for at in range(0, size, count)]


# --- Indexing


def _bound(at, size):
    """A start or an end of a slice, counted from the front."""
    if isinstance(at, numbers.Integral) and isinstance(size, int):
        return max(0, min(at + size if at < 0 else at, size))
    if isinstance(at, numbers.Integral) and at < 0:
        return size + at
    return at


def _slice(x, axis, part):
    size = x.sizes[axis]
    step = 1 if part.step is None else int(part.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        known = _tenon.size_of(size) if not isinstance(size, int) else size
        start, stop, step = part.indices(known)
        count = max(0, -(-(start - stop) // -step))
        if count == 0:
            return ops.slice_axis(x, axis, 0, 0)
        last = start + (count - 1) * step
        return ops.flip(ops.slice_axis(x, axis, last, start + 1, -step), [axis])
    begin = 0 if part.start is None else _bound(part.start, size)
    if part.stop is None:
        return x if part.start is None and step == 1 else ops.slice_axis(x, axis, begin, None, step)
    end = _bound(part.stop, size)
    if not isinstance(size, int) and isinstance(end, int):  # no further than the axis
        known = _tenon.size_of(size)
        if known is not None and end > known:
            end = None
    if isinstance(begin, int) and isinstance(end, int):
        end = max(begin, end)
    return ops.slice_axis(x, axis, begin, end, step)


def _index(key):
    """Lists of positions, and arrays, as tensors."""
    if isinstance(key, tuple):
        return tuple(map(_index, key))
    is_array = hasattr(key, "__array__") and not isinstance(key, (Tensor, Value)) and not isinstance(key, numbers.Number)
    return _tensors.tensor(key) if isinstance(key, list) or is_array else key


def _item(x, key):
    """x[key], and whether it is a view of x, with positions that a tensor gives left for the end."""
    keys = list(key) if isinstance(key, tuple) else [key]
    taken = sum(1 for k in keys if k is not None and k is not Ellipsis)
    keys = list(keys)
    if Ellipsis in [k for k in keys if not isinstance(k, (Tensor, Value))]:
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        keys[at : at + 1] = [slice(None)] * (x.ndim - taken)
    if sum(1 for k in keys if k is not None) > x.ndim:
        raise IndexError(f"{len(keys)} indices for a tensor of {x.ndim} axes")
    axis, picks = 0, []
    for k in keys:
        if k is None:
            x = ops.expand_dims(x, [axis])
            axis += 1
        elif isinstance(k, slice):
            x = _slice(x, axis, k)
            axis += 1
        elif isinstance(k, (Tensor, Value)):
            picks.append((axis, k))
            axis += 1
        elif isinstance(k, numbers.Integral) and not isinstance(k, bool):
            size = x.sizes[axis]
            known = size if isinstance(size, int) else _tenon.size_of(size)
            if known is not None and not -known <= k < known:
                raise IndexError(f"position {k} of axis {axis}, which has {known} elements")
            begin = _bound(int(k), size)
            x = ops.squeeze(ops.slice_axis(x, axis, begin, begin + 1), [axis])
        else:
            raise TypeError(f"a tensor cannot be indexed with {k!r}: ints, slices, None, ... and tensors are possible")
    return x, picks


def getitem(self, key):
    """x[i, 1:n, None, ..., positions]: ints and slices are views; one tensor of integers, or of bool, picks."""
    key = _index(key)
    if isinstance(key, (Tensor, Value)) and key.dtype == Dtype.boolean and key.ndim == self.ndim > 1:
        return ops.compress(flatten(self), flatten(key), 0)
    x, picks = _item(self, key)
    if not picks:
        return x
    if len(picks) > 1:
        raise TypeError("one tensor at most among the indices; see ops.gather for several")
    axis, index = picks[0]
    if index.dtype == Dtype.boolean:
        return ops.compress(x, index, axis)
    return ops.take(x, index, axis)


def setitem(self, key, value):
    """x[...] = value, lazily, through the view."""
    key = _index(key)
    if isinstance(key, Tensor) and key.dtype == Dtype.boolean and key.ndim == self.ndim and isinstance(value, numbers.Number):
        self.masked_fill_(key, value)
        return
    x, picks = _item(self, key)
    if not picks:
        x.copy_(value)
        return
    if len(picks) > 1:
        raise TypeError("one tensor at most among the indices")
    axis, index = picks[0]
    if index.dtype == Dtype.boolean:
        if not isinstance(value, numbers.Number):
            raise TypeError("behind a mask, a number can be written; ops.select takes tensors")
        mask = index.reshape([1] * axis + list(index.sizes) + [1] * (x.ndim - axis - index.ndim))
        x.masked_fill_(mask, value)
        return
    if isinstance(value, numbers.Number):
        sizes = list(x.sizes[:axis]) + list(index.sizes) + list(x.sizes[axis + 1 :])
        value = ops.full(_tenon.Shape(x.dtype, sizes), value)
    x.put_(index, value, axis)


# --- Looking


def numpy(self):
    """The elements, computed now, as a NumPy array."""
    return self.to_array().numpy()


def tolist(self):
    """The elements, computed now, as nested lists."""
    return self.numpy().tolist()


def explain(self):
    """Compute it, with every pending write that shares work with it, and say how: text, and a page by `.save(path)`."""
    return _tenon.explain_tensors([self])


def _array(self, dtype=None, copy=None):
    return self.to_array().__array__(dtype, copy)


def _dlpack(self, **options):
    return self.to_array().__dlpack__(**options)


def _length(self):
    if self.ndim == 0:
        raise TypeError("a tensor without axes has no length")
    return self.shape[0]


def _iterate(self):
    return (self[i] for i in range(_length(self)))


def _repr(self):
    return f"Tensor({self.to_string()})"


def _format(self, spec):
    return format(self.item() if self.ndim == 0 else str(self), spec)


def _deepcopy(self, memo):
    copy = self.detach().clone()
    return copy.requires_grad_() if self.requires_grad else copy


def _reduce(self):
    return _tensors.tensor, (self.numpy().copy(), None)


def _html(self):
    from tenon._display import tensor_html

    return tensor_html(self)


def _no_truth(self):
    raise _tenon.Error("a value of a graph has no truth while the graph is built: use ops.select, or decide outside")


def _no_iteration(self):
    raise TypeError("a value of a graph cannot be iterated over; ops.unstack gives its parts")


def install():
    """Give both classes these names."""
    both = {
        "sum": _reduction(ops.reduce_sum),
        "mean": _reduction(ops.reduce_mean),
        "prod": _reduction(ops.reduce_product),
        "any": _reduction(ops.reduce_any),
        "all": _reduction(ops.reduce_all),
        "max": _extremum(ops.reduce_max, ops.max),
        "min": _extremum(ops.reduce_min, ops.min),
        "cumsum": _running(ops.cumulative_sum),
        "cumprod": _running(ops.cumulative_product),
        "where": lambda self, condition, other: where(condition, self, other),
        "var": var,
        "std": std,
        "reshape": reshape,
        "view": reshape,
        "transpose": transpose,
        "permute": transpose,
        "swapaxes": swapaxes,
        "flatten": flatten,
        "unsqueeze": unsqueeze,
        "expand": expand,
        "astype": astype,
        "T": property(lambda self: ops.transpose(self)),
        "__getitem__": getitem,
    }
    looking = {
        "split": split_at,
        "numpy": numpy,
        "tolist": tolist,
        "explain": explain,
        "__array__": _array,
        "__dlpack__": _dlpack,
        "__dlpack_device__": lambda self: (1, 0),
        "__setitem__": setitem,
        "__len__": _length,
        "__iter__": _iterate,
        "__repr__": _repr,
        "__hash__": lambda self: id(self) >> 4,
        "__float__": lambda self: float(self.item()),
        "__int__": lambda self: int(self.item()),
        "size": property(lambda self: math.prod(self.shape)),
        "__format__": _format,
        "__deepcopy__": _deepcopy,
        "__reduce__": _reduce,
        "_repr_html_": _html,
        "__array_ufunc__": None,  # NumPy leaves operators to us
    }
    for name, method in {**both, **looking}.items():
        if callable(method):  # stubs list what belongs to the class's own module
            method.__module__, method.__name__ = Tensor.__module__, name
        setattr(Tensor, name, method)
        if name in both:
            setattr(Value, name, method)
    Value.__bool__, Value.__iter__ = _no_truth, _no_iteration
    Dtype.__str__ = lambda self: "bool" if self is Dtype.boolean else self.name
    Dtype.__repr__ = lambda self: f"tenon.{self.name}"
