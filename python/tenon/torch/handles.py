"""Tensors of the device `tenon`: PyTorch's side is a storage without memory, on which a `Content` hangs.

PyTorch copies tensors without asking (`detach`, `nn.Parameter`, what autograd saves), and views share the storage that
they are views of: so that is where elements are. Which of them a tensor has follows from its sizes, strides and offset.
"""

from __future__ import annotations

import math
import sys

import tenon
import torch
from tenon import _tenon, ops

from .dtypes import is_supported, torch_dtype
from .memory import Positions, flat, order_of, overlaps, part, reach, row_major

_META = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_capsule = _tenon.device_capsule
_from_capsule = torch._C._from_dlpack
_as_strided = torch.ops.aten.as_strided.default
_set_storage = torch.ops.aten.set_.source_Storage_storage_offset
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
            self.root = _tenon.make_tensor(_exported(elements), list(elements.shape), False)
            self.views = {(elements.shape, elements.stride(), 0): self.root}
        self.raw = None


_exported = torch._C._to_dlpack  # not numpy(), after which PyTorch does not resize the storage any more


# --- From PyTorch's tensors to lazy ones and back


def is_ours(x) -> bool:
    return isinstance(x, torch.Tensor) and x.device.type == "tenon"


def content_of(x: torch.Tensor) -> Content:
    try:
        return x.untyped_storage().tenon
    except AttributeError:
        raise tenon.Error("this tensor of the device tenon was made by PyTorch alone, without elements") from None


def unwrap(x: torch.Tensor) -> tenon.Tensor:
    """The lazy tensor."""
    content = content_of(x)
    return content.at(x) if content.plain is None else content.plain


def is_on_cpu(x: torch.Tensor) -> bool:
    """Whether a tensor of the device has a dtype that Tenon does not have."""
    return not is_supported(x.dtype)


def wrap(tensor: tenon.Tensor, strides=None) -> torch.Tensor:
    """A PyTorch tensor with a storage of its own: row-major, or with these strides, which must fill it."""
    capsule = _capsule(tensor, strides)
    if capsule is None:  # data decide a size: elements are known when it is, and the line of the user's names it
        tensor = _tenon.make_tensor(tensor.to_array(), None, False)
        capsule = _capsule(tensor, strides)
    made = _from_capsule(capsule)
    content = made.untyped_storage().tenon = Content(tensor)
    if strides is not None:
        order = order_of(made.shape, strides)
        content.plain, content.root = None, ops.transpose(tensor, order)
        if made.stride() != tuple(strides):  # of axes of size 1
            made = same_storage(made, made.shape, strides, 0)
        content.views = {(made.shape, made.stride(), 0): tensor}
    return made


def same_storage(x: torch.Tensor, sizes, strides, offset: int) -> torch.Tensor:
    """Another tensor of PyTorch's on the storage of x."""
    return _as_strided.redispatch(_META, x, sizes, strides, offset)


def new_storage(bytes_: int, content: Content) -> torch.UntypedStorage:
    """A storage that no tensor has yet."""
    storage = _from_capsule(_tenon.device_bytes(bytes_)).untyped_storage()
    storage.tenon = content
    return storage


def set_storage(x: torch.Tensor, storage, offset: int, sizes, strides) -> torch.Tensor:
    """Let x lie in this storage from now on; an error of PyTorch's where that is too small."""
    content = storage.tenon
    if content.plain is not None and (
        torch_dtype(content.plain.dtype) != x.dtype or tuple(sizes) != tuple(content.plain.known_shape()) or offset
        or tuple(strides) != row_major(sizes)
    ):  # fmt: skip
        content.open()
    return _set_storage.redispatch(_CPU, x, storage, offset, sizes, strides)


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
    if content.plain is not None and torch_dtype(content.plain.dtype) == x.dtype:
        elements = torch.from_dlpack(content.plain.to_array())
    elif content.views is not None and torch_dtype(content.root.dtype) == x.dtype:
        elements = torch.from_dlpack(content.at(x).to_array())
    else:
        whole = content.bytes()
        whole = whole[: whole.numel() // x.itemsize * x.itemsize].view(x.dtype)
        elements = whole.as_strided(x.shape, x.stride(), x.storage_offset())
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
    return _tenon.make_tensor(_exported(x), axes, copy)


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
        x.data = same_storage(x, sizes, strides, offset)
    else:  # PyTorch's side of a storage cannot grow: a larger one takes its place
        x.data = set_storage(x.detach(), new_storage(needed * x.itemsize, content), offset, sizes, strides)


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
