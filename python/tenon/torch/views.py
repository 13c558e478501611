"""Views on the device: tensors on the storage that they are views of."""

from __future__ import annotations

import math

import torch

from .memory import overlaps
from .storages import adopt, content_of, part_of_storage, same_storage


_layouts: dict = {}
_MOST_LAYOUTS = 16384


def _layout(overload, x: torch.Tensor, args, kwargs):
    """Sizes, strides and offset of what a view operator gives: one triple, or a list."""
    size, stride, offset = x.shape, x.stride(), x.storage_offset()
    base = torch.empty_strided(
        (1 + offset + sum((n - 1) * s for n, s in zip(size, stride)) if math.prod(size) else offset,),
        (1,),
        dtype=x.dtype,
        device="meta",
    )
    result = overload(base.as_strided(size, stride, offset), *args, **kwargs)

    def triple(t):
        return t.shape, t.stride(), t.storage_offset()

    return [triple(t) for t in result] if isinstance(result, (list, tuple)) else triple(result)


def _hashable(value):
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


def _places(overload, x: torch.Tensor, args, kwargs):
    """The same, kept for as long as the operators live, which is always."""
    given = tuple([a if type(a) is int else _hashable(a) for a in args])
    named = tuple(sorted((k, _hashable(v)) for k, v in kwargs.items())) if kwargs else ()
    key = (id(overload), x.shape, x.stride(), x.storage_offset(), x.dtype, given, named)
    found = _layouts.get(key)
    if found is None:
        if len(_layouts) >= _MOST_LAYOUTS:
            _layouts.clear()
        found = _layouts[key] = _layout(overload, x, args, kwargs)
    return found


def view(overload, x: torch.Tensor, args, kwargs, row=None):
    """What a view operator gives for x. `row` computes the same from lazy tensors, whose symbolic sizes it keeps; where
    it gives a copy, or nothing, the view is found from its strides when somebody asks for its elements."""
    places = _places(overload, x, args, kwargs)
    several = isinstance(places, list)
    content = content_of(x)
    adopt(content, x)
    if content.cpu is None:
        content.open()
        is_known = all(content.find(*place) is not None for place in (places if several else [places]))
        if row is not None and not is_known:
            tensors = row()
            is_repeated = overlaps(x.shape, x.stride())
            for place, tensor in zip(places, tensors) if several else [(places, tensors)]:
                # Of what is repeated Tenon's views cannot be written, single elements can.
                if tensor.shares_memory(content.root) and not (is_repeated and not overlaps(*place[:2])):
                    content.remember(*place, tensor)
    if several:
        return [part_of_storage(x, *place) for place in places]
    return part_of_storage(x, *places)


def as_strided(x: torch.Tensor, size, stride, storage_offset=None) -> torch.Tensor:
    content_of(x).open()
    return same_storage(x, size, stride, x.storage_offset() if storage_offset is None else storage_offset)
