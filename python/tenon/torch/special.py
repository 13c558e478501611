"""Operators of the device that are no rows: they move elements between devices, give no tensors, or change storages."""

from __future__ import annotations

import tenon
import torch

from . import fallback, views
from .arguments import OnCpu, lazy
from .dtypes import Unsupported, is_supported, tenon_dtype
from .handles import given_sizes, is_on_cpu, is_ours, leaf, on_cpu, unwrap, wrap, wrap_cpu
from .hooks import refuse_other_devices
from .memory import order_of, reach, row_major
from .storages import (
    at,
    content_of,
    copy_bytes,
    count_of_bytes,
    count_of_elements,
    cpu_part,
    resize,
    same_storage,
    set_storage,
    write,
)
from .table import call_row, rows
from .values import cast, expand_to

aten = torch.ops.aten


def _copy_(x, src, non_blocking=False):
    if not is_ours(x):
        return x.copy_(on_cpu(src))
    content = content_of(x)
    if content.raw is not None and x.dtype == src.dtype == torch.uint8 and x.numel() == count_of_elements(content) == src.numel():
        return _copy_bytes(x, src)
    if is_on_cpu(x):
        cpu_part(x).copy_(on_cpu(src) if is_ours(src) else src)
        return x
    if is_ours(src) and not src._is_zerotensor() and not is_on_cpu(src):
        value = unwrap(src)
        value = -value if src.is_neg() else value
    else:
        value = leaf((on_cpu(src) if is_ours(src) else src).to(x.dtype))
    value = cast(value, x.dtype)
    if tuple(src.shape) != tuple(x.shape):
        value = expand_to(value, at(content, x).sizes)
    write(x, value)
    return x


def _copy_bytes(x, src):
    """From storage to storage, as PyTorch's storages copy themselves (`deepcopy`, `torch.load`)."""
    content = content_of(x)
    if is_ours(src):
        if count_of_bytes(content_of(src)) > src.untyped_storage().nbytes():
            raise tenon.Error("copy_ of a storage that grew while tensors share it: clone() the storage instead")
        copy_bytes(content, content_of(src))
    else:
        content.raw = src.detach().clone()
    return x


def _copy_from(src, dst, non_blocking=False):
    return _copy_(dst, src)


def _item(x):
    return on_cpu(x).item() if is_on_cpu(x) else unwrap(x).item()


def _nonzero(x):
    """Its columns lie one after the other."""
    try:
        found = wrap(call_row(rows()["aten.nonzero.default"], [lazy(x, [])], {}))
    except (OnCpu, Unsupported) as reason:
        return fallback.run(aten.nonzero.default, (x,), {}, str(reason))
    n, axes = found.shape
    return wrap(unwrap(found), (1, n)) if n > 1 and axes > 1 else found


def _resize_(x, size, *, memory_format=None):
    told = memory_format not in (None, torch.contiguous_format, torch.preserve_format)
    if tuple(size) != tuple(x.shape):
        resize(x, size, torch.empty(size, device="meta", memory_format=memory_format).stride() if told else None)
    return x


def _set_tensor(x, source):
    x.data = source.detach()
    return x


def _set_storage(x, source, storage_offset=0, size=None, stride=()):
    if size is None:
        size = [source.nbytes() // x.itemsize]
    return set_storage(x, source, storage_offset, size, stride or row_major(size))


def _set_nothing(x):
    x.data = torch.empty(0, dtype=x.dtype, device=x.device)
    return x


def _equal(a, b):
    if a.shape != b.shape:
        return False
    return bool((a == b).all().item())


def _empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    dtype = dtype or torch.get_default_dtype()
    if device is not None:
        refuse_other_devices(device)
    if not is_supported(dtype):
        return wrap_cpu(torch.empty_strided(size, stride, dtype=dtype))
    size, stride = tuple(size), tuple(stride)
    if stride == row_major(size) or order_of(size, stride) is not None:
        zeros = tenon.ops.full(tenon.Shape(tenon_dtype(dtype), given_sizes(size)), 0)
        return wrap(zeros, None if stride == row_major(size) else stride)
    storage = wrap(tenon.ops.full(tenon.Shape(tenon_dtype(dtype), [reach(size, stride, 0)]), 0))
    return views.as_strided(storage, size, stride, 0)


def _alias(x):
    return same_storage(x, x.shape, x.stride(), x.storage_offset())


SPECIAL = {
    "copy_": _copy_,
    "_copy_from": _copy_from,
    "_copy_from_and_resize": _copy_from,
    "_local_scalar_dense": _item,
    "nonzero": _nonzero,
    "resize_": _resize_,
    "set_": _set_nothing,
    "set_.source_Tensor": _set_tensor,
    "set_.source_Storage": _set_storage,
    "set_.source_Storage_storage_offset": _set_storage,
    "equal": _equal,
    "empty_strided": _empty_strided,
    "as_strided": views.as_strided,
    "alias": _alias,
}
