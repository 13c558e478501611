"""Arguments of operators on the device as rows take them."""

from __future__ import annotations

import tenon
import torch
from tenon import _tenon

from .dtypes import Unsupported, is_supported
from .handles import is_on_cpu, leaf, unwrap
from .memory import row_major
from .storages import at


class OnCpu(Unsupported):
    """An argument has a dtype that Tenon does not have."""


def lazy(x, odd: list):
    """An argument as rows take it. Tensors that are not contiguous are added to `odd`."""
    if isinstance(x, torch.Tensor):
        content = _tenon.find_content(x)
        if content is None:
            return _from_elsewhere(x)
        tensor = content.plain
        if tensor is None:
            if is_on_cpu(x):
                raise OnCpu(f"dtype {str(x.dtype).removeprefix('torch.')} has no Tenon dtype")
            tensor = at(content, x)
            if not x.is_contiguous() or (1 in x.shape and x.stride() != row_major(x.shape)):
                odd.append(x)
        return -tensor if x.is_neg() else tensor
    if isinstance(x, (list, tuple)):
        return [lazy(v, odd) for v in x]
    return x


def _from_elsewhere(x: torch.Tensor) -> tenon.Tensor:
    """Of tensors on the CPU, numbers and positions go along with those of the device."""
    if x.device.type == "tenon":
        return unwrap(x)  # says what is wrong
    if not is_supported(x.dtype):
        raise OnCpu(f"dtype {str(x.dtype).removeprefix('torch.')} has no Tenon dtype")
    if x.dim() == 0 or not x.is_floating_point():
        return leaf(x)
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, tenon:0 and {x.device}"
    )


def check_indices(x: torch.Tensor, indices) -> None:
    """Refuse masks of other sizes than x, and indices on the CPU that lie outside of x now; those on the device are
    seen when they are computed."""
    axis = 0
    for index in indices:
        if index is None:
            axis += 1
            continue
        if index.dtype in (torch.bool, torch.uint8):
            for k, (have, want) in enumerate(zip(index.shape, x.shape[axis:])):
                if have != want:
                    raise IndexError(
                        f"The shape of the mask {list(index.shape)} at index {k} does not match the shape of the "
                        f"indexed tensor {list(x.shape)} at index {axis + k}"
                    )
            axis += index.dim()
            continue
        if index.device.type == "cpu" and index.numel() and axis < x.dim():
            size = x.shape[axis]
            low, high = (int(n) for n in torch.aminmax(index))
            if low < -size or high >= size:
                wrong = low if low < -size else high
                raise IndexError(f"index {wrong} is out of bounds for dimension {axis} with size {size}")
        axis += 1
