"""Storages of the device `tenon`: PyTorch's side has no memory; a `Content`, found by its address, holds the elements."""

from __future__ import annotations

import math

import tenon
import torch
from tenon import _tenon, ops

from .dtypes import is_supported, torch_dtype
from .memory import Positions, flat, overlaps, part, reach, row_major

_META = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_as_strided = torch.ops.aten.as_strided.default
_set_storage = torch.ops.aten.set_.source_Storage_storage_offset
reinterpret = getattr(torch._C._dynamo.guards, "_reinterpret_tensor", None)  # as inductor does, in a quarter of the time
Content = _tenon.DeviceContent
exported = torch._C._to_dlpack  # not numpy(), after which PyTorch does not resize the storage any more


def content_of(x: torch.Tensor) -> Content:
    """What the storage of a tensor holds: the class says in which forms."""
    content = _tenon.find_content(x)
    if content is None:
        raise tenon.Error("this tensor of the device tenon was made by PyTorch alone, without elements")
    return content


def content_in(storage: torch.UntypedStorage) -> Content:
    """What a storage holds."""
    return _tenon.content_at(storage.data_ptr())


# --- Elements


def at(content: Content, x: torch.Tensor) -> tenon.Tensor:
    """The elements of x, which is on this storage, as they are now."""
    plain = content.plain
    if plain is not None:
        return plain
    found = _part(content, x)
    return ops.take(flat(content.root), found.index) if type(found) is Positions else found


def write(x: torch.Tensor, value: tenon.Tensor, is_uniform: bool = False) -> None:
    """Let the elements of x be these, which have its sizes and dtype. Elements that lie in one place can be written
    only where all are the same (`is_uniform`)."""
    content = content_of(x)
    plain = content.plain
    if plain is not None:
        plain.copy_(value)
        return
    if x.numel() == 0:
        return
    if overlaps(x.shape, x.stride()):
        if is_uniform:
            once = [1 if s == 0 else n for n, s in zip(x.shape, x.stride())]
            value = ops.slice(value, [0] * x.dim(), once, [1] * x.dim())
            write(same_storage(x, once, x.stride(), x.storage_offset()), value)
            return
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )
    found = _part(content, x)
    if type(found) is Positions:
        flat(content.root).put_(flat(found.index), flat(value))
    else:
        found.copy_(value)


def cpu_part(x: torch.Tensor) -> torch.Tensor:
    """The elements of x on the CPU, where they are held: what is written to them counts."""
    content = content_of(x)
    adopt(content, x)
    return content.cpu.as_strided(x.shape, x.stride(), x.storage_offset())


def _part(content: Content, x: torch.Tensor):
    adopt(content, x)
    root = content.root
    if root is None:
        raise tenon.Error(f"a tensor of {x.dtype} has no lazy form: its storage is on the CPU")
    if torch_dtype(root.dtype) != x.dtype:
        raise tenon.Error(f"a tensor of {x.dtype} lies in a storage of {torch_dtype(root.dtype)}")
    key = (x.shape, x.stride(), x.storage_offset())
    found = content.find(*key)
    if found is None:
        found = part(root, *key)
        content.remember(*key, found)
    return found


# --- Storages whose dtype or size changes


def _whole(content: Content) -> tenon.Tensor:
    return content.root if content.plain is None else content.plain


def count_of_elements(content: Content) -> int:
    if content.raw is not None:
        return content.raw.numel()
    if content.cpu is not None:
        return content.cpu.numel()
    return math.prod(_whole(content).known_shape())


def count_of_bytes(content: Content) -> int:
    if content.raw is not None:
        return content.raw.numel()
    if content.cpu is not None:
        return content.cpu.numel() * content.cpu.itemsize
    return count_of_elements(content) * torch_dtype(_whole(content).dtype).itemsize


def grow(content: Content, count: int) -> None:
    """Let there be so many elements, the new ones 0."""
    added = count - count_of_elements(content)
    if content.raw is not None or content.cpu is not None:
        old = content.cpu if content.raw is None else content.raw
        new = torch.cat([old, old.new_zeros(added)])
        content.raw, content.cpu = (new, None) if content.cpu is None else (None, new)
        return
    old = flat(_whole(content))
    zeros = ops.full(tenon.Shape(old.dtype, [added]), 0)
    content.set_root(ops.concat([old, zeros], 0) if count > added else zeros)


def copy_bytes(content: Content, other: Content) -> None:
    """Let it hold what the other one does, in memory of its own."""
    content.clear()
    if other.plain is not None:
        content.set_plain(other.plain.clone())
    elif other.root is not None:
        content.set_root(flat(other.root).clone())
    elif other.cpu is not None:
        content.cpu = other.cpu.clone()
    else:
        content.raw = other.raw.clone()


def bytes_of(content: Content) -> torch.Tensor:
    """All of it on the CPU, computed now, as bytes."""
    if content.raw is not None:
        return content.raw
    if content.cpu is not None:
        return content.cpu.view(torch.uint8)
    return torch.from_dlpack(flat(_whole(content)).to_array()).view(torch.uint8)


def adopt(content: Content, x: torch.Tensor) -> None:
    """The first tensor that is asked for its elements says of which dtype raw bytes are."""
    if content.raw is None:
        return
    elements = content.raw[: content.raw.numel() // x.itemsize * x.itemsize].view(x.dtype)
    content.raw = None
    if not is_supported(x.dtype):
        content.cpu = elements
        return
    if x.numel() == elements.numel() and x.is_contiguous():  # others may lie in the same storage with other strides
        elements = elements.view(x.shape)
    root = _tenon.make_tensor(exported(elements), list(elements.shape), False)
    content.set_root(root)
    content.remember(elements.shape, elements.stride(), 0, root)


class GrownStorage(torch.UntypedStorage):
    """A storage that has grown while several tensors share it. PyTorch's side keeps the size that it was made with, so
    these methods, which copying and saving call, answer for the content. `added` counts the rest as memory."""

    def nbytes(self) -> int:
        return count_of_bytes(content_in(self))

    __len__ = nbytes

    def clone(self) -> torch.UntypedStorage:
        content = Content()
        copy_bytes(content, content_in(self))
        return new_storage(count_of_bytes(content), content)

    def cpu(self) -> torch.UntypedStorage:
        return bytes_of(content_in(self)).clone().untyped_storage()

    def copy_(self, source, non_blocking=None) -> GrownStorage:
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        content = content_in(self)
        copy_bytes(content, content_in(source if source.device.type == "tenon" else source.to(device="tenon")))
        content.open()
        return self


def new_storage(bytes_: int, content: Content) -> torch.UntypedStorage:
    """A storage that no tensor has yet."""
    return _tenon.device_bytes(bytes_, content).untyped_storage()


def same_storage(x: torch.Tensor, sizes, strides, offset: int) -> torch.Tensor:
    """Another tensor of PyTorch's on the storage of x."""
    return _as_strided.redispatch(_META, x, sizes, strides, offset)


def part_of_storage(x: torch.Tensor, sizes, strides, offset: int) -> torch.Tensor:
    """The same where it is known that the storage has these elements, which is not checked."""
    if reinterpret is None:
        return same_storage(x, sizes, strides, offset)
    return reinterpret(x, tuple(sizes), tuple(strides), offset - x.storage_offset())


def set_storage(x: torch.Tensor, storage, offset: int, sizes, strides) -> torch.Tensor:
    """Let x lie in this storage from now on; an error of PyTorch's where that is too small."""
    content = content_in(storage)
    if isinstance(storage, GrownStorage) and reach(sizes, strides, offset) * x.itemsize <= storage.nbytes():
        empty = _set_storage.redispatch(_CPU, x, storage, 0, (0,), (1,))  # PyTorch would look at the size that it knows
        empty.data = same_storage(empty, sizes, strides, offset)
        return empty
    if content.plain is not None and (
        torch_dtype(content.plain.dtype) != x.dtype or tuple(sizes) != tuple(content.plain.known_shape()) or offset
        or tuple(strides) != row_major(sizes)
    ):  # fmt: skip
        content.open()
    return _set_storage.redispatch(_CPU, x, storage, offset, sizes, strides)


def resize(x: torch.Tensor, sizes, strides=None) -> None:
    """Give x other sizes; a storage that is too small for them grows, for all who share it."""
    sizes, offset = tuple(sizes), x.storage_offset()
    strides = row_major(sizes) if strides is None else tuple(strides)
    storage, content = x.untyped_storage(), content_of(x)
    content.open()
    needed = reach(sizes, strides, offset)
    if needed <= count_of_elements(content):
        x.data = same_storage(x, sizes, strides, offset)
        return
    is_shared = torch._C._storage_Use_Count(storage._cdata) > 2  # more than by x and by `storage`
    grow(content, needed)
    if is_shared:
        storage.__class__ = GrownStorage
        storage.added = _tenon.device_bytes(storage.nbytes() - torch.UntypedStorage.nbytes(storage))
        x.data = same_storage(x, sizes, strides, offset)
    else:  # PyTorch's side of a storage cannot grow: a larger one takes its place
        x.data = set_storage(x.detach(), new_storage(needed * x.itemsize, content), offset, sizes, strides)
