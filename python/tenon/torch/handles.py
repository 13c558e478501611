"""Tensors of the device `tenon`, from lazy ones and to them.

PyTorch copies tensors without asking (`detach`, `nn.Parameter`, what autograd saves), and views share the storage that
they are views of: so that is where elements are. Which of them a tensor has follows from its sizes, strides and offset.
"""

from __future__ import annotations

import sys

import tenon
import torch
from tenon import _tenon, ops

from .dtypes import is_supported, tenon_dtype, torch_dtype
from .memory import order_of
from .storages import Content, at, bytes_of, content_of, exported, new_storage, same_storage, set_storage
from .table import Later


# --- From PyTorch's tensors to lazy ones and back


def is_ours(x) -> bool:
    return isinstance(x, torch.Tensor) and x.device.type == "tenon"


def unwrap(x: torch.Tensor) -> tenon.Tensor:
    """The lazy tensor."""
    return at(content_of(x), x)


def is_on_cpu(x: torch.Tensor) -> bool:
    """Whether a tensor of the device has a dtype that Tenon does not have."""
    return not is_supported(x.dtype)


def wrap(tensor: tenon.Tensor, strides=None) -> torch.Tensor:
    """A PyTorch tensor with a storage of its own: row-major, or with these strides, which must fill it."""
    made = _tenon.device_tensor(tensor, strides)
    if made is None:  # data decide a size: elements are known when it is, and the line of the user's names it
        tensor = _tenon.make_tensor(tensor.to_array(), None, False)
        made = _tenon.device_tensor(tensor, strides)
    if strides is not None:
        content = content_of(made)
        tensor = content.plain
        content.set_root(ops.transpose(tensor, order_of(made.shape, strides)))
        if made.stride() != tuple(strides):  # of axes of size 1
            made = same_storage(made, made.shape, strides, 0)
        content.remember(made.shape, made.stride(), 0, tensor)
    return made


def wrap_later(later: Later) -> torch.Tensor:
    """The same of a result that is not built before somebody asks for it."""
    made = _tenon.later_device_tensor(later.make, tenon_dtype(later.dtype), list(later.sizes))
    return wrap(later.make()) if made is None else made


def wrap_cpu(x: torch.Tensor) -> torch.Tensor:
    """A tensor of the device with the elements and strides of one on the CPU, which is not used for anything else."""
    x = x.resolve_conj().resolve_neg()
    if is_supported(x.dtype):
        order = None if x.is_contiguous() else order_of(x.shape, x.stride())
        return wrap(leaf(x, copy=False), None if order is None else x.stride())
    content = Content()
    content.cpu = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
    made = torch._C._acc.create_empty_tensor((0,), x.dtype)
    storage = new_storage(x.untyped_storage().nbytes(), content)
    return set_storage(made, storage, x.storage_offset(), x.shape, x.stride())


def on_cpu(x: torch.Tensor) -> torch.Tensor:
    """The elements, computed now, in memory of the CPU that others may have, too."""
    if x._is_zerotensor():
        return torch.zeros(x.shape, dtype=x.dtype)
    content = content_of(x)
    whole = content.root if content.plain is None else content.plain
    if whole is not None and torch_dtype(whole.dtype) == x.dtype:
        elements = torch.from_dlpack(at(content, x).to_array())
    else:
        bytes_ = bytes_of(content)
        bytes_ = bytes_[: bytes_.numel() // x.itemsize * x.itemsize].view(x.dtype)
        elements = bytes_.as_strided(x.shape, x.stride(), x.storage_offset())
    return seen(x, elements)


def to_cpu(x: torch.Tensor) -> torch.Tensor:
    """The elements, computed now, in memory of the CPU that nobody else writes; strides are kept where they can be."""
    elements = on_cpu(x)
    if x.is_contiguous() or order_of(x.shape, x.stride()) is None:
        return elements.clone(memory_format=torch.contiguous_format)
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype).copy_(elements)


def seen(x: torch.Tensor, elements: torch.Tensor) -> torch.Tensor:
    """Elements as x, which may be marked as conjugate or negative, sees them."""
    if x.is_conj():
        elements = elements.conj().resolve_conj()
    return elements.neg() if x.is_neg() else elements


def leaf(x: torch.Tensor, copy: bool = True) -> tenon.Tensor:
    """A lazy tensor of elements on the CPU. Sizes of weights are constants, others symbols once they have changed."""
    x = torch.zeros(x.shape, dtype=x.dtype) if x._is_zerotensor() else x.detach().contiguous()
    axes = list(x.shape) if _is_moving_a_module() else None
    if x.dim() == 0:
        axes = []
    return _tenon.make_tensor(exported(x), axes, copy)


# --- Sizes


def _is_moving_a_module() -> bool:
    """Whether the user has called `module.to(...)`, or made a module, so that what is moved or made are weights."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if "/torch/nn/" in file and ("/nn/modules/" in file or "/nn/init" in file or "/nn/parameter" in file):
            return frame.f_code.co_name in ("_apply", "to", "__init__", "reset_parameters", "convert") or _weights(frame)
        if "/torch/" not in file and "/tenon/" not in file:
            return False
        frame = frame.f_back
    return False


def _weights(frame) -> bool:
    while frame is not None and "/torch/" in frame.f_code.co_filename:
        if frame.f_code.co_name in ("_apply", "__init__", "reset_parameters", "_reset_parameters"):
            return True
        frame = frame.f_back
    return False


def given_sizes(sizes) -> list:
    """Sizes that the user's line gives as numbers: symbols from the second different ones on."""
    if _is_moving_a_module():
        return list(sizes)
    return [_tenon.size_from(int(s), i) if s != 1 else 1 for i, s in enumerate(sizes)]
