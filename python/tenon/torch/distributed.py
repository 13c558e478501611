"""Collectives of torch.distributed with tensors of the device: what process groups do for the CPU's, such as gloo, they
do for copies of them there. DistributedDataParallel needs nothing else.

PyTorch sends each collective to the tensors' device by its operator (`c10d::allreduce_`, ...). Here the operator is called
again with tensors of the CPU, and what it wrote comes back when it is done.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
import weakref

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

# The number of each operator's first arguments that are written.
_WRITTEN = {
    "allreduce_": 1, "allreduce_coalesced_": 1, "broadcast_": 1, "reduce_": 1,
    "allgather_": 1, "_allgather_base_": 1, "allgather_coalesced_": 1, "allgather_into_tensor_coalesced_": 1,
    "reduce_scatter_": 1, "_reduce_scatter_base_": 1, "reduce_scatter_tensor_coalesced_": 1,
    "gather_": 1, "scatter_": 1, "alltoall_": 1, "alltoall_base_": 1,
    "recv_": 1, "recv_any_source_": 1, "send": 0, "barrier": 0,
}  # fmt: skip


def _on_cpu(x):
    if isinstance(x, torch.Tensor) and x.device.type != "cpu":
        return x.detach().cpu()
    return x


def _collective(operator, written: int):
    gives_tensors = len(operator._schema.returns) > 1

    def call(*arguments):
        there = list(pytree.tree_map(_on_cpu, arguments))
        result = operator(*there)
        sources = pytree.tree_leaves(there[:written])
        targets = pytree.tree_leaves(arguments[:written])
        work = _then_copied(dist.Work.unbox(result[1] if gives_tensors else result), sources, targets)
        return (arguments[0], work.boxed()) if gives_tensors else work.boxed()

    return call


def _then_copied(work, sources: list, targets: list):
    """The work, and copies of what it wrote when it is done."""
    if not targets:
        return work

    def copy() -> None:
        with torch.no_grad():
            for source, target in zip(sources, targets):
                target.detach().copy_(source)

    def after(done) -> list:
        done.value()  # an error, where that is its end
        copy()
        return targets

    def wait(timeout) -> bool:
        work.wait(timeout)
        copy()
        return True

    try:
        return torch._C._distributed_c10d._create_work_from_future(work.get_future().then(after))
    except RuntimeError:  # what is received has no future
        return torch._C._distributed_c10d.PythonCallbackWork(wait)


class _Unpinned(TorchDispatchMode):
    """There is no pinned memory, which PyTorch's reducer asks for where it counts which parameters were used: the device's
    memory is the host's, and ordinary memory is as good."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.ops.aten.is_pinned.default:
            return True
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        return function(*args, **kwargs)


_modules: weakref.WeakSet = weakref.WeakSet()  # of DistributedDataParallel on the device


def _init_reducer(self, *args, before, **kwargs):
    if self.device_type == "tenon":
        _modules.add(self)
    return before(self, *args, **kwargs)


def around_backward():
    """What a backward pass runs in."""
    counts = any(module.find_unused_parameters or module.static_graph for module in _modules)
    return _Unpinned() if counts else contextlib.nullcontext()


def register() -> torch.library.Library | None:
    """Kernels go with the library."""
    if not dist.is_available():
        return None
    before = DistributedDataParallel._ddp_init_helper
    DistributedDataParallel._ddp_init_helper = functools.partialmethod(_init_reducer, before=before)
    library = torch.library.Library("c10d", "IMPL")
    with warnings.catch_warnings():  # PyTorch's own kernels are replaced, which ask for a back end of the device
        warnings.filterwarnings("ignore", "(?s).*Overriding a previously registered kernel", UserWarning)
        for name, written in _WRITTEN.items():
            operator = getattr(getattr(torch.ops.c10d, name, None), "default", None)
            if operator is not None:
                library.impl(name, _collective(operator, written), "PrivateUse1", allow_override=True)
    return library
