"""Storages of the device `tenon`: PyTorch's side has no memory; a `Content` that hangs on it holds the elements."""

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
_reinterpret = getattr(torch._C._dynamo.guards, "_reinterpret_tensor", None)  # as inductor does, in a quarter of the time
from_capsule = torch._C._from_dlpack
exported = torch._C._to_dlpack  # not numpy(), after which PyTorch does not resize the storage any more
_MOST_VIEWS = 1024  # of one storage that are remembered


class Content:
    """What a storage holds, in one of these forms:

    - `plain`, a lazy tensor: a row-major storage that has no views, which most are;
    - `root`, a lazy tensor with all elements in the order of memory, and `views` of it by sizes, strides and offset;
    - `cpu`, a flat tensor on the CPU, for a dtype that Tenon does not have: all its operators run there;
    - `raw`, bytes on the CPU of which nobody has said the dtype yet.
    """

    plain = root = views = cpu = raw = None

    def __init__(self, plain=None):
        self.plain = plain

    # --- Elements

    def at(self, x: torch.Tensor) -> tenon.Tensor:
        """The elements of x, which is on this storage, as they are now."""
        if self.plain is not None:
            return self.plain
        found = self._part(x)
        return ops.take(flat(self.root), found.index) if type(found) is Positions else found

    def write(self, x: torch.Tensor, value: tenon.Tensor, is_uniform: bool = False) -> None:
        """Let the elements of x be these, which have its sizes and dtype. Elements that lie in one place can be written
        only where all are the same (`is_uniform`)."""
        if self.plain is not None:
            self.plain.copy_(value)
            return
        if x.numel() == 0:
            return
        if overlaps(x.shape, x.stride()):
            if is_uniform:
                once = [1 if s == 0 else n for n, s in zip(x.shape, x.stride())]
                value = ops.slice(value, [0] * x.dim(), once, [1] * x.dim())
                self.write(same_storage(x, once, x.stride(), x.storage_offset()), value)
                return
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )
        found = self._part(x)
        if type(found) is Positions:
            flat(self.root).put_(flat(found.index), flat(value))
        else:
            found.copy_(value)

    def cpu_part(self, x: torch.Tensor) -> torch.Tensor:
        """The elements of x on the CPU, where they are held: what is written to them counts."""
        self.adopt(x)
        return self.cpu.as_strided(x.shape, x.stride(), x.storage_offset())

    def _part(self, x: torch.Tensor):
        self.adopt(x)
        if self.views is None:
            raise tenon.Error(f"a tensor of {x.dtype} has no lazy form: its storage is on the CPU")
        if torch_dtype(self.root.dtype) != x.dtype:
            raise tenon.Error(f"a tensor of {x.dtype} lies in a storage of {torch_dtype(self.root.dtype)}")
        key = (x.shape, x.stride(), x.storage_offset())
        found = self.views.get(key)
        return self.remember(key, part(self.root, *key)) if found is None else found

    # --- Views

    def open(self) -> None:
        """Let there be views."""
        if self.plain is not None:
            sizes = tuple(self.plain.known_shape())
            self.root, self.views = self.plain, {(sizes, row_major(sizes), 0): self.plain}
            self.plain = None

    def remember(self, key, found):
        if len(self.views) >= _MOST_VIEWS:
            del self.views[next(iter(self.views))]  # it is found again from its strides
        self.views[key] = found
        return found

    # --- Storages whose dtype or size changes

    def count(self) -> int:
        """The number of elements."""
        if self.raw is not None:
            return self.raw.numel()
        if self.cpu is not None:
            return self.cpu.numel()
        return math.prod((self.root if self.plain is None else self.plain).known_shape())

    def nbytes(self) -> int:
        if self.raw is not None:
            return self.raw.numel()
        if self.cpu is not None:
            return self.cpu.numel() * self.cpu.itemsize
        return self.count() * torch_dtype((self.root if self.plain is None else self.plain).dtype).itemsize

    def grow(self, count: int) -> None:
        """Let there be so many elements, the new ones 0."""
        added = count - self.count()
        if self.raw is not None or self.cpu is not None:
            old = self.cpu if self.raw is None else self.raw
            new = torch.cat([old, old.new_zeros(added)])
            self.raw, self.cpu = (new, None) if self.cpu is None else (None, new)
            return
        self.open()
        old = flat(self.root)
        zeros = ops.full(tenon.Shape(old.dtype, [added]), 0)
        self.root = ops.concat([old, zeros], 0) if count > added else zeros
        self.views = {}

    def copy_bytes(self, other: Content) -> None:
        """Let it hold what the other one does, in memory of its own."""
        self.plain = self.root = self.views = self.cpu = self.raw = None
        if other.plain is not None:
            self.plain = other.plain.clone()
        elif other.views is not None:
            self.root, self.views = flat(other.root).clone(), {}
        elif other.cpu is not None:
            self.cpu = other.cpu.clone()
        else:
            self.raw = other.raw.clone()

    def bytes(self) -> torch.Tensor:
        """All of it on the CPU, computed now, as bytes."""
        if self.raw is not None:
            return self.raw
        if self.cpu is not None:
            return self.cpu.view(torch.uint8)
        array = flat(self.root if self.plain is None else self.plain).to_array()
        return torch.from_dlpack(array).view(torch.uint8)

    def adopt(self, x: torch.Tensor) -> None:
        """The first tensor that is asked for its elements says of which dtype raw bytes are."""
        if self.raw is None:
            return
        elements = self.raw[: self.raw.numel() // x.itemsize * x.itemsize].view(x.dtype)
        if not is_supported(x.dtype):
            self.cpu = elements
        else:  # others may lie in the same storage with other strides
            if x.numel() == elements.numel() and x.is_contiguous():
                elements = elements.view(x.shape)
            self.root = _tenon.make_tensor(exported(elements), list(elements.shape), False)
            self.views = {(elements.shape, elements.stride(), 0): self.root}
        self.raw = None


class LaterContent(Content):
    """That of a result that is built when somebody asks for it: then it becomes a `Content`."""

    def __init__(self, make):
        self._make = make

    @property
    def plain(self):
        self.plain = self._make()
        return self.plain

    @plain.setter
    def plain(self, tensor):
        self.__class__ = Content
        self.plain = tensor


def content_of(x: torch.Tensor) -> Content:
    try:
        return x.untyped_storage().tenon
    except AttributeError:
        raise tenon.Error("this tensor of the device tenon was made by PyTorch alone, without elements") from None


class GrownStorage(torch.UntypedStorage):
    """A storage that has grown while several tensors share it. PyTorch's side keeps the size that it was made with, so
    these methods, which copying and saving call, answer for the content. `added` counts the rest as memory."""

    def nbytes(self) -> int:
        return self.tenon.nbytes()

    __len__ = nbytes

    def clone(self) -> torch.UntypedStorage:
        content = Content()
        content.copy_bytes(self.tenon)
        return new_storage(content.nbytes(), content)

    def cpu(self) -> torch.UntypedStorage:
        return self.tenon.bytes().clone().untyped_storage()

    def copy_(self, source, non_blocking=None) -> GrownStorage:
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self.tenon.copy_bytes((source if source.device.type == "tenon" else source.to(device="tenon")).tenon)
        self.tenon.open()
        return self


def new_storage(bytes_: int, content: Content) -> torch.UntypedStorage:
    """A storage that no tensor has yet."""
    storage = from_capsule(_tenon.device_bytes(bytes_)).untyped_storage()
    storage.tenon = content
    return storage


def same_storage(x: torch.Tensor, sizes, strides, offset: int) -> torch.Tensor:
    """Another tensor of PyTorch's on the storage of x."""
    return _as_strided.redispatch(_META, x, sizes, strides, offset)


def part_of_storage(x: torch.Tensor, sizes, strides, offset: int) -> torch.Tensor:
    """The same where it is known that the storage has these elements, which is not checked."""
    if _reinterpret is None:
        return same_storage(x, sizes, strides, offset)
    return _reinterpret(x, sizes, strides, offset - x.storage_offset())


def set_storage(x: torch.Tensor, storage, offset: int, sizes, strides) -> torch.Tensor:
    """Let x lie in this storage from now on; an error of PyTorch's where that is too small."""
    content = storage.tenon
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
    if needed <= content.count():
        x.data = same_storage(x, sizes, strides, offset)
        return
    is_shared = torch._C._storage_Use_Count(storage._cdata) > 2  # more than by x and by `storage`
    content.grow(needed)
    if is_shared:
        storage.__class__ = GrownStorage
        storage.added = _tenon.device_bytes(storage.nbytes() - torch.UntypedStorage.nbytes(storage))
        x.data = same_storage(x, sizes, strides, offset)
    else:  # PyTorch's side of a storage cannot grow: a larger one takes its place
        x.data = set_storage(x.detach(), new_storage(needed * x.itemsize, content), offset, sizes, strides)
