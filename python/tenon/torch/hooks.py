"""What PyTorch asks a device (`torch.tenon`), and what of PyTorch's is replaced because it does not know the device:
making storages, and moving modules."""

from __future__ import annotations

import contextlib
import functools
import warnings

import torch
from tenon import _tenon

import tenon

from . import distributed


def refuse_other_devices(device) -> None:
    """There is one device: an index, a device or a text that names another is an error."""
    index = device if isinstance(device, int) else torch.device(device).index
    if index not in (None, -1, 0):
        raise RuntimeError(f"tenon:{index}: there is one device tenon, tenon:0")


class _OneDevice:
    """`with torch.tenon.device(0)`, which changes nothing."""

    def __init__(self, device=None):
        if device is not None:
            refuse_other_devices(device)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class Backend:
    """`torch.tenon`."""

    _initialized = True  # checkpoints ask this, and keep no random state where it is not so
    device = _OneDevice
    device_of = _OneDevice

    @staticmethod
    def set_device(device):
        refuse_other_devices(device)

    @staticmethod
    def is_initialized():
        return True

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def device_count():
        return 1

    @staticmethod
    def _is_in_bad_fork():
        return False

    @staticmethod
    def manual_seed_all(seed):
        tenon.manual_seed(seed % 2**64)

    manual_seed = manual_seed_all

    @staticmethod
    def get_rng_state(device=None):
        return torch.tensor(_tenon.generator_state(), dtype=torch.uint64).view(torch.uint8)

    @staticmethod
    def set_rng_state(state, device=None):
        _tenon.set_generator_state(*state.view(torch.uint64).tolist())

    @staticmethod
    def get_rng_state_all():
        return [Backend.get_rng_state()]

    @staticmethod
    def set_rng_state_all(states):
        for state in states:
            Backend.set_rng_state(state)

    @staticmethod
    def initial_seed():
        return _tenon.generator_state()[0]

    @staticmethod
    def seed():
        tenon.manual_seed(torch.seed() % 2**64)

    seed_all = seed

    @staticmethod
    def get_amp_supported_dtype():
        return [torch.bfloat16, torch.float16]

    @staticmethod
    def synchronize(device=None):
        """Nothing runs behind the caller's back."""

    @staticmethod
    def empty_cache():
        """Memory is given back when the last tensor goes: nothing is kept for later."""

    @staticmethod
    def memory_allocated(device=None):
        """Bytes of the device's tensors, whether or not their elements are computed yet."""
        return _tenon.device_memory()[0]

    @staticmethod
    def max_memory_allocated(device=None):
        """The most there were since the start, or since `reset_peak_memory_stats()`."""
        return _tenon.device_memory()[1]

    memory_reserved = memory_allocated
    max_memory_reserved = max_memory_allocated

    @staticmethod
    def reset_peak_memory_stats(device=None):
        _tenon.reset_device_peak()


# Functions of `torch.accelerator` that need an allocator or streams made in C++.
_OF_THE_ACCELERATOR = (
    "synchronize", "empty_cache", "memory_allocated", "max_memory_allocated", "memory_reserved",
    "max_memory_reserved", "reset_peak_memory_stats",
)  # fmt: skip


def _pin_memory(x, device=None):
    """Memory of the device is the host's: a copy is as near as can be. (`DataLoader(pin_memory=True)` asks for it
    wherever there is an accelerator.)"""
    return x.clone()


def _new_storage(kind, *args, before=torch.UntypedStorage.__new__, **kwargs):
    """`torch.UntypedStorage(bytes, device="tenon")`, as `torch.load` and `copy.deepcopy` make storages: PyTorch has no
    allocator for a device made in Python, and calls it all the same."""
    if kwargs.get("device") is None or torch.device(kwargs["device"]).type != "tenon":
        return before(kind, *args, **kwargs)
    from .storages import Content, new_storage

    refuse_other_devices(kwargs["device"])
    content = Content()
    given = args[0] if args else 0
    content.raw = torch.zeros(given, dtype=torch.uint8) if isinstance(given, int) else torch.tensor(given, dtype=torch.uint8)
    return new_storage(content.raw.numel(), content)


def _moves_to_or_from_us(module, function) -> bool:
    inside = [cell.cell_contents for cell in function.__closure__ or ()]
    return any(isinstance(c, torch.device) and c.type == "tenon" for c in inside) or any(
        p.device.type == "tenon" for p in module.parameters()
    )


def _apply(module, function, recurse=True, before=torch.nn.Module._apply):
    """`module.to("tenon")` keeps parameters the objects that they are: tied weights stay tied, and optimisers that were
    made before go on. Where a graph that still lives uses a weight, PyTorch refuses that, and it is a new object."""
    future = torch.__future__
    if future.get_swap_module_params_on_conversion() or not _moves_to_or_from_us(module, function):
        return before(module, function, recurse)
    future.set_swap_module_params_on_conversion(True)
    try:
        return before(module, function, recurse)
    except RuntimeError as error:
        if "Couldn't swap" not in str(error):
            raise
    finally:
        future.set_swap_module_params_on_conversion(False)
    warnings.warn("tenon: a graph that still lives uses weights of the module: parameters become new objects", stacklevel=4)
    return before(module, function, recurse)


class Guard(torch._C._acc.DeviceGuard):
    """What PyTorch asks which device it is. It does so while the exception of a hook passes through a backward pass,
    too, and ends the process where Python then runs: the function is C++, which puts the exception aside."""

    type_ = _tenon.device_type


def _on_this_thread(roots):
    """What the backward pass of these runs in. PyTorch gives each device a thread of its own, which passes Python's lock
    to and fro with the caller's. Here kernels only record, so that the caller does it all, as on the CPU."""
    kinds = {root.device.type for root in roots}
    ours = kinds <= {"cpu", "tenon"} and not torch.cuda.is_initialized()
    return torch.autograd.set_multithreading_enabled(False) if ours else contextlib.nullcontext()


def _run_backward(roots, *args, before=None, **kwargs):
    try:
        with distributed.around_backward(), _on_this_thread(roots):
            return before(roots, *args, **kwargs)
    except SystemError:
        error = _tenon.take_error()
        if error is None:
            raise
    raise error


class _GeneratorClass(type(torch._C.Generator)):
    def __instancecheck__(cls, x):
        return isinstance(x, torch._C.Generator)


class Generator(torch._C.Generator, metaclass=_GeneratorClass):
    """`torch.Generator`. One of the device tenon is one of the CPU, from which the device takes its keys: PyTorch can ask
    no device made in Python for generators."""

    def __new__(cls, device="cpu"):
        if torch.device(device).type != "tenon":
            return torch._C.Generator(device)
        refuse_other_devices(device)
        return super().__new__(cls, "cpu")

    @property
    def device(self):
        return torch.device("tenon", 0)


def install(library: torch.library.Library) -> None:
    """Put them in the place of PyTorch's."""
    run = functools.partial(_run_backward, before=torch.autograd.graph._engine_run_backward)
    torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = run
    torch.Generator = Generator
    torch.nn.Module._apply = lambda self, fn, recurse=True: _apply(self, fn, recurse)
    torch.UntypedStorage.__new__ = staticmethod(_new_storage)
    library.impl("_pin_memory", _pin_memory, "CPU")
    for name in _OF_THE_ACCELERATOR:
        setattr(torch.accelerator, name, getattr(Backend, name))
