"""What PyTorch asks a device (`torch.tenon`), and what of PyTorch's is replaced because storages of the device have no
elements: saving, deep copies, and moving modules."""

from __future__ import annotations

import warnings

import torch
from tenon import _tenon

import tenon


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


def _reduce(tensor, protocol, before=torch.Tensor._reduce_ex_internal):
    if tensor.device.type != "tenon":
        return before(tensor, protocol)
    rebuild = torch._utils._rebuild_device_tensor_from_cpu_tensor
    return rebuild, (tensor.detach().cpu(), tensor.dtype, str(tensor.device), tensor.requires_grad)


def _deepcopy(tensor, memo, before=torch.Tensor.__deepcopy__):
    if tensor.device.type != "tenon" or isinstance(tensor, torch.nn.Parameter):
        return before(tensor, memo)
    if not tensor.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol")
    if id(tensor) not in memo:
        memo[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    return memo[id(tensor)]


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


def install() -> None:
    """Put them in the place of PyTorch's."""
    torch.Tensor._reduce_ex_internal = lambda self, protocol: _reduce(self, protocol)
    torch.nn.Module._apply = lambda self, fn, recurse=True: _apply(self, fn, recurse)
    torch.Tensor.__deepcopy__ = lambda self, memo: _deepcopy(self, memo)
