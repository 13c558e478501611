"""Tensors of the device `tenon`: PyTorch's side is an empty storage, on which a lazy tensor hangs.

PyTorch copies tensors without asking (`detach`, `nn.Parameter`, what autograd saves), and all copies share the storage:
so that is where a `Held` is. Each view has a storage of its own, with the sizes, strides and offset that it would have
in memory, relative to the `root` that it is a view of.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import tenon
import torch
from tenon import _tenon, ops

from .dtypes import is_supported, tenon_dtype, torch_dtype

_META = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
_create = torch._C._acc.create_empty_tensor
_as_strided = torch.ops.aten.as_strided.default


class Held:
    """What a storage holds: a lazy tensor; or positions in one, where a view is none of Tenon's; or, for a dtype that
    Tenon does not have, a tensor on the CPU, where all its operators run."""

    __slots__ = ("_tensor", "root", "_positions", "cpu")

    def __init__(self, tensor, root, positions=None, cpu=None):
        self._tensor = tensor
        self.root = root  # what it is a view of; itself, for none
        self._positions = positions
        self.cpu = cpu

    @property
    def tensor(self) -> tenon.Tensor:
        """The elements as they are now."""
        return self._tensor if self._positions is None else ops.take(_flat(self.root), self._positions)

    def again(self, x: torch.Tensor) -> torch.Tensor:
        """Another tensor of PyTorch's that is the same as x, which holds this."""
        return wrap_view(self._tensor, self.root, tuple(x.shape), x.stride(), x.storage_offset(), self._positions)

    def write(self, value: tenon.Tensor) -> None:
        """Let the elements be these, which have the sizes and the dtype."""
        if self._positions is None:
            self._tensor.copy_(value)
        else:
            _flat(self.root).put_(_flat(self._positions), _flat(value))


def _flat(x: tenon.Tensor) -> tenon.Tensor:
    return ops.reshape(x, [math.prod(x.sizes)])


def is_ours(x) -> bool:
    return isinstance(x, torch.Tensor) and x.device.type == "tenon"


def held(x: torch.Tensor) -> Held:
    storage = x.untyped_storage()
    try:
        return storage.tenon
    except AttributeError:
        raise tenon.Error("this tensor of the device tenon was made by PyTorch alone, without elements") from None


def unwrap(x: torch.Tensor) -> tenon.Tensor:
    """The lazy tensor."""
    return held(x).tensor


def wrap(tensor: tenon.Tensor) -> torch.Tensor:
    """A PyTorch tensor of its own."""
    sizes = tensor.known_shape()
    if sizes is None:  # data decide
        sizes = tensor.shape
    made = _create(sizes, torch_dtype(tensor.dtype))
    made.untyped_storage().tenon = Held(tensor, tensor)
    return made


def wrap_view(tensor, root: tenon.Tensor, sizes, strides, offset: int, positions=None) -> torch.Tensor:
    """A PyTorch tensor that is a view of `root`: the lazy tensor, or the elements at `positions` of the flat root."""
    made = _create(sizes, torch_dtype(root.dtype))
    if offset != 0 or tuple(strides) != made.stride():
        made = _as_strided.redispatch(_META, made, sizes, strides, offset)
    made.untyped_storage().tenon = Held(tensor, root, positions)
    return made


def wrap_cpu(x: torch.Tensor) -> torch.Tensor:
    """A tensor of the device with the elements of one on the CPU, which is not used for anything else."""
    if is_supported(x.dtype):
        return wrap(leaf(x, copy=False))
    made = _create(x.shape, x.dtype)
    made.untyped_storage().tenon = Held(None, None, cpu=x)
    return made


def to_cpu(x: torch.Tensor) -> torch.Tensor:
    """The elements, computed now, in memory of the CPU that nobody else writes."""
    if x._is_zerotensor():
        return torch.zeros(x.shape, dtype=x.dtype)
    content = held(x)
    if content.cpu is not None:
        return seen(x, content.cpu).clone()
    return seen(x, torch.from_dlpack(content.tensor.to_array())).clone()


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
    return _tenon.make_tensor(x.numpy() if x.dtype != torch.bfloat16 else x, axes, copy)


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


def scalar(value, dtype: torch.dtype) -> tenon.Tensor:
    return _tenon.make_tensor(np.asarray(value), [], False).to(tenon_dtype(dtype))


def replace(x: torch.Tensor, tensor: tenon.Tensor) -> None:
    """Let `x`, whose sizes may be others, be this from now on."""
    x.data = wrap(tensor)
