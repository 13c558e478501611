"""The device `tenon`: PyTorch's tensors over lazy ones. Importing this registers it.

    import torch, tenon.torch
    x = torch.randn(8, 784, device="tenon")

Every operator with a row of the ATen table is recorded; nothing runs before somebody looks. Autograd, optimisers and
modules are PyTorch's own.
"""

from __future__ import annotations

import warnings

import torch
from tenon import _tenon
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

import tenon

from . import differentiated, fallback, views
from .dtypes import Unsupported, is_supported, tenon_dtype, torch_dtype
from .handles import (
    Held,
    given_sizes,
    held,
    is_ours,
    leaf,
    replace,
    scalar,
    to_cpu,
    unwrap,
    wrap,
    wrap_cpu,
    wrap_view,
)
from .table import Functional, call_row, find_functional, random_by

aten = torch.ops.aten


class _OnCpu(Exception):
    """An argument has a dtype that Tenon does not have."""


# --- Arguments and results


def _lazy(x):
    """An argument as rows take it."""
    if isinstance(x, torch.Tensor):
        if x.device.type == "tenon":
            content = held(x)
            if content.cpu is not None:
                raise _OnCpu(f"dtype {str(x.dtype).removeprefix('torch.')} has no Tenon dtype")
            return -content.tensor if x.is_neg() else content.tensor
        if not is_supported(x.dtype):
            raise _OnCpu(f"dtype {str(x.dtype).removeprefix('torch.')} has no Tenon dtype")
        if x.dim() == 0 or not x.is_floating_point():
            return leaf(x)
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, tenon:0 and {x.device}"
        )
    if isinstance(x, (list, tuple)):
        return [_lazy(v) for v in x]
    return x


def _wrapped(result, operands):
    """PyTorch's tensors of results. One that is a view of an operand, which no view operator gave, is a copy."""
    if isinstance(result, tenon.Tensor):
        return wrap(result.clone() if _is_view_of(result, operands) else result)
    if isinstance(result, (list, tuple)):
        return type(result)([_wrapped(r, operands) for r in result])
    return result


def _is_view_of(result, operands) -> bool:
    return any(
        result.shares_memory(operand) if isinstance(operand, tenon.Tensor) else _is_view_of(result, operand)
        for operand in operands
        if isinstance(operand, (tenon.Tensor, list))
    )


def _checked_cast(result: tenon.Tensor, target: torch.Tensor, name: str) -> tenon.Tensor:
    dtype = torch_dtype(result.dtype)
    if dtype == target.dtype:
        return result
    if not torch.can_cast(dtype, target.dtype):
        raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {target.dtype}")
    from .values import cast

    return cast(result, target.dtype)


def _write(target: torch.Tensor, result: tenon.Tensor, is_out: bool, name: str) -> None:
    sizes = result.known_shape() or result.shape
    if tuple(sizes) != tuple(target.shape):
        if not is_out:
            raise RuntimeError(
                f"{name}: output with shape {list(target.shape)} doesn't match the broadcast shape {list(sizes)}"
            )
        replace(target, _checked_cast(result, target, name))
        return
    held(target).write(_checked_cast(result, target, name))


# --- Kernels

# Arguments that are sizes, of operators that make tensors.
_SIZES = {"size", "n", "m", "end"}
_COUNTS = {"aten.arange.default", "aten.eye.default", "aten.eye.m"}  # whose integers are sizes themselves


def _makes_sizes(schema) -> bool:
    return not any("Tensor" in str(a.type) for a in schema.arguments) or schema.name.startswith("aten::new_")


def _kernel(overload, functional: Functional):
    """What PyTorch calls for an operator of ours."""
    schema, row = overload._schema, functional.row
    names = [a.name for a in schema.arguments]
    makes_sizes = _makes_sizes(schema)
    plain_name = schema.name.removeprefix("aten::")
    is_out = bool(functional.drop)
    first = schema.arguments[0].alias_info if schema.arguments else None
    is_view = row.view and first is not None and not is_out  # and not view_copy, whose row is the same

    def argument(name, args, kwargs):
        i = names.index(name)
        return args[i] if i < len(args) else kwargs.get(name)

    def sized(name, value):
        if name == "size":
            return given_sizes(value)
        is_count = isinstance(value, int) and not isinstance(value, bool) and value > 1 and str(overload) in _COUNTS
        return given_sizes([value])[0] if is_count else value

    def kernel(*args, **kwargs):
        try:
            lazy_args = [_lazy(a) for a in args]
            lazy_kwargs = {k: _lazy(v) for k, v in kwargs.items() if k not in functional.drop and k != "generator"}
            if makes_sizes:
                lazy_args = [sized(n, a) if n in _SIZES else a for n, a in zip(names, lazy_args)]
                if not is_supported(kwargs.get("dtype") or torch.float32):
                    raise _OnCpu(f"dtype {kwargs['dtype']} has no Tenon dtype")
            result = call_row(row, lazy_args, lazy_kwargs)
        except (_OnCpu, Unsupported) as reason:
            return fallback.run(overload, args, kwargs, str(reason))
        if is_view:
            seen = views.view(overload, result, args[0], args[1:], kwargs)
            if not functional.writes:
                return seen
            args[0].data = seen  # squeeze_ and the like
            return args[0]
        operands = [*lazy_args, *lazy_kwargs.values()]
        if not functional.writes:
            return _wrapped(result, operands)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        if functional.writes and len(functional.writes) == 1 and isinstance(argument(functional.writes[0][1], args, kwargs), (list, tuple)):
            results = [results]
        written = {}
        for i, name in functional.writes:
            target = argument(name, args, kwargs)
            if target is None:
                continue
            pairs = zip(target, results[i]) if isinstance(target, (list, tuple)) else [(target, results[i])]
            for one, value in pairs:
                if value is not None:
                    _write(one, value, is_out, plain_name)
            written[i] = target
        if not schema.returns:
            return None
        returned = functional.returns if functional.returns is not None else range(len(schema.returns))
        outcome = [written[i] if i in written else _wrapped(results[i], operands) for i in returned]
        return outcome[0] if len(outcome) == 1 else tuple(outcome)

    return kernel


def _boxed_fallback(overload, *args, **kwargs):
    return fallback.run(overload, args, kwargs, "it has no row")


# --- Operators that move elements between devices, or whose results are no tensors


def _copy_(x, src, non_blocking=False):
    if not is_ours(x):
        return x.copy_(to_cpu(src))
    content = held(x)
    if content.cpu is not None:
        content.cpu = content.cpu.copy_(to_cpu(src) if is_ours(src) else src)
        return x
    if is_ours(src) and not src._is_zerotensor() and held(src).cpu is None:
        value = unwrap(src)
    else:
        value = leaf((to_cpu(src) if is_ours(src) else src).to(x.dtype))
    from .values import cast, expand_to

    value = cast(value, x.dtype)
    if tuple(src.shape) != tuple(x.shape):
        value = expand_to(value, content.tensor.sizes)
    content.write(value)
    return x


def _copy_from(src, dst, non_blocking=False):
    return _copy_(dst, src)


def _item(x):
    content = held(x)
    return content.cpu.item() if content.cpu is not None else content.tensor.item()


def _resize_(x, size, *, memory_format=None):
    if tuple(size) != tuple(x.shape):
        import math

        old, count = unwrap(x), math.prod(size)
        flat = tenon.ops.reshape(old, [math.prod(old.shape)])
        kept = min(count, math.prod(old.shape))
        fresh = tenon.ops.full(tenon.Shape(old.dtype, [count]), 0)
        if kept:
            fresh.clone()
            fresh = tenon.ops.concat(
                [tenon.ops.slice_axis(flat, 0, 0, kept), tenon.ops.full(tenon.Shape(old.dtype, [count - kept]), 0)], 0
            )
        replace(x, tenon.ops.reshape(fresh, list(size)))
    return x


def _set_tensor(x, source):
    x.data = source.detach()
    return x


def _equal(a, b):
    if a.shape != b.shape:
        return False
    return bool((a == b).all().item())


def _empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    dtype = dtype or torch.get_default_dtype()
    if not is_supported(dtype):
        return wrap_cpu(torch.empty_strided(size, stride, dtype=dtype))
    return wrap(tenon.ops.full(tenon.Shape(tenon_dtype(dtype), given_sizes(size)), 0))


def _alias(x):
    content = held(x)
    if content.cpu is not None:
        return fallback.on_cpu(aten.alias.default, (x,), {}, "dtype")
    return content.again(x)


_SPECIAL = {
    "copy_": _copy_,
    "_copy_from": _copy_from,
    "_copy_from_and_resize": _copy_from,
    "_local_scalar_dense": _item,
    "resize_": _resize_,
    "set_.source_Tensor": _set_tensor,
    "equal": _equal,
    "empty_strided": _empty_strided,
    "as_strided": views.as_strided,
    "alias": _alias,
}

# Rows that PyTorch does better by what it has: moving between devices ends in copy_.
_LEFT_TO_PYTORCH = {"aten._to_copy.default", "aten.detach.default", "aten.detach_.default", "aten.lift_fresh.default"}


def _overloads():
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::"):
            continue
        packet, _, overload = name.removeprefix("aten::").partition(".")
        try:
            yield getattr(getattr(aten, packet), overload or "default")
        except (AttributeError, RuntimeError):
            continue


def _register(library: torch.library.Library) -> None:
    for name, function in _SPECIAL.items():
        library.impl(name, function, "PrivateUse1")
    special = {f"aten.{n}" if "." in n else f"aten.{n}.default" for n in _SPECIAL}
    for overload in _overloads():
        name = str(overload)
        if name in special or name in _LEFT_TO_PYTORCH:
            continue
        full = overload._schema.name + ("." + overload._overloadname if overload._overloadname != "default" else "")
        if torch._C._dispatch_has_kernel_for_dispatch_key(full, "CompositeImplicitAutograd"):
            continue  # PyTorch takes it apart, and differentiates the parts
        functional = find_functional(overload)
        if functional is not None:
            library.impl(full.removeprefix("aten::"), _kernel(overload, functional), "PrivateUse1")


# --- Autocast: products and convolutions in bf16 or f16

_LOWER_PRECISION = (
    "mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "matmul", "linear", "convolution", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input", "scaled_dot_product_attention", "einsum",
)  # fmt: skip
_F32 = (
    "softmax.int", "log_softmax.int", "layer_norm", "group_norm", "nll_loss", "cross_entropy_loss", "mse_loss", "l1_loss",
    "binary_cross_entropy_with_logits", "exp", "log", "pow.Tensor_Scalar", "sum", "prod", "cumsum", "norm.Scalar",
)  # fmt: skip


def _autocast_kernel(overload, to_lower: bool):
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    def cast(x, dtype):
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.dtype != torch.float64 and x.device.type == "tenon":
            return x.to(dtype)
        return [cast(v, dtype) for v in x] if isinstance(x, (list, tuple)) else x

    def kernel(*args, **kwargs):
        dtype = torch.get_autocast_dtype("tenon") if to_lower else torch.float32
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return overload(*[cast(a, dtype) for a in args], **{k: cast(v, dtype) for k, v in kwargs.items()})

    return kernel


def _register_autocast(library: torch.library.Library) -> None:
    for names, to_lower in ((_LOWER_PRECISION, True), (_F32, False)):
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(getattr(aten, packet), overload or "default")
            library.impl(name, _autocast_kernel(found, to_lower), "AutocastPrivateUse1")


# --- What PyTorch asks a device


class _Backend:
    """`torch.tenon`."""

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


def _install():
    _setup_privateuseone_for_python_backend("tenon", backend_module=_Backend())
    library = torch.library.Library("aten", "IMPL")
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(_boxed_fallback, "PrivateUse1")
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    _register(library)
    differentiated.register(library)
    _register_autocast(library)
    # What PyTorch asks storages for, ours do not have: elements.
    torch.Tensor._reduce_ex_internal = lambda self, protocol: _reduce(self, protocol)
    torch.nn.Module._apply = lambda self, fn, recurse=True: _apply(self, fn, recurse)
    torch.Tensor.__deepcopy__ = lambda self, memo: _deepcopy(self, memo)
    random = random_by(_tenon.next_draw)
    random.__enter__()
    return library, everything, random


_kept = _install()
