"""Making filled tensors on the device: the same sizes, dtype and number again are the value that was recorded before."""

from __future__ import annotations

import torch
from tenon import _tenon

from .handles import given_sizes
from .storages import Content

NAMES = {"aten.zeros.default", "aten.ones.default", "aten.full.default", "aten.empty.memory_format"}
_MOST = 1024  # of one operator
_CONTIGUOUS = (None, torch.contiguous_format, torch.preserve_format)


def kernel(otherwise):
    """What PyTorch calls for an operator of NAMES; new cases, and sizes that are symbols, are for `otherwise`."""
    known: dict = {}

    def call(size, *number, dtype=None, device=None, memory_format=None, **placement):
        sizes = given_sizes(size)
        key = (dtype or torch.get_default_dtype(), *map(_told_apart, number), dtype is None, *sizes)
        is_usual = (
            set(map(type, sizes)) <= {int}
            and memory_format in _CONTIGUOUS
            and (device is None or device.index in (None, 0))
        )
        if is_usual and (found := known.get(key)) is not None:
            return _tenon.wrap_plain(found.clone())
        if memory_format is not None:
            placement["memory_format"] = memory_format
        made = otherwise(size, *number, dtype=dtype, device=device, **placement)
        if is_usual:
            content = made.untyped_storage().tenon
            if type(content) is Content and content.plain is not None:
                if len(known) >= _MOST:
                    known.clear()
                known[key] = content.plain.clone()  # what is written to `made` does not count
        return made

    return call


def _told_apart(number) -> tuple:
    """1, 1.0 and True are equal, so are 0.0 and -0.0, and NaN is not equal to itself."""
    return type(number), repr(number)
