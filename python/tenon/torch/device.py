"""The device `tenon`: PyTorch's tensors over lazy ones. Importing this registers it.

    import torch, tenon.torch
    x = torch.randn(8, 784, device="tenon")

Every operator with a row of the ATen table is recorded; nothing runs before somebody looks. Autograd, optimisers and
modules are PyTorch's own.
"""

from __future__ import annotations

import numpy as np
import torch
from tenon import _tenon
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

import tenon

from . import autocast, differentiated, fallback, hooks, views
from .dtypes import Unsupported, is_supported, tenon_dtype, torch_dtype
from .handles import (
    given_sizes,
    held,
    is_ours,
    leaf,
    replace,
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
        try:
            content = x.untyped_storage().tenon
        except (AttributeError, NotImplementedError):
            return _from_elsewhere(x)
        if content.cpu is not None:
            raise _OnCpu(f"dtype {str(x.dtype).removeprefix('torch.')} has no Tenon dtype")
        return -content.tensor if x.is_neg() else content.tensor
    if isinstance(x, (list, tuple)):
        return [_lazy(v) for v in x]
    return x


def _from_elsewhere(x: torch.Tensor) -> tenon.Tensor:
    """Of tensors on the CPU, numbers and positions go along with those of the device."""
    if x.device.type == "tenon":
        return held(x).tensor  # says what is wrong
    if not is_supported(x.dtype):
        raise _OnCpu(f"dtype {str(x.dtype).removeprefix('torch.')} has no Tenon dtype")
    if x.dim() == 0 or not x.is_floating_point():
        return leaf(x)
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, tenon:0 and {x.device}"
    )


def _wrapped(result, operands):
    """PyTorch's tensors of results. One that is a view of an operand, which no view operator gave, is a copy."""
    if isinstance(result, tenon.Tensor):
        return wrap(result.clone() if _is_view_of(result, operands) else result)
    if isinstance(result, (list, tuple)):
        open_sizes = [r for r in result if isinstance(r, tenon.Tensor) and r.known_shape() is None]
        if len(open_sizes) > 1:
            tenon.realize(open_sizes)  # sizes that data decide must be known: all in one program
        return type(result)([_wrapped(r, operands) for r in result])
    return result


def _is_view_of(result, operands) -> bool:
    for operand in operands:
        if isinstance(operand, tenon.Tensor):
            if result.shares_memory(operand):
                return True
        elif isinstance(operand, list) and _is_view_of(result, operand):
            return True
    return False


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


def _draws_from(generator: torch.Generator):
    """Keys from a generator of PyTorch's on the CPU: its seed decides the numbers, each call draws others."""

    def draw():
        key = torch.randint(2**62, (), generator=generator).numpy().astype(np.uint64)
        return tuple(_tenon.make_tensor(number, [], False) for number in (key, np.zeros((), np.uint64)))

    return draw


# --- Kernels

# Arguments that are sizes, of operators that make tensors.
_SIZES = {"size", "n", "m", "end"}
_COUNTS = {"aten.arange.default", "aten.eye.default", "aten.eye.m"}  # whose integers are sizes themselves


def _makes_sizes(schema) -> bool:
    return not any("Tensor" in str(a.type) for a in schema.arguments) or schema.name.startswith("aten::new_")


def _kernel(overload, functional: Functional):
    """What PyTorch calls for an operator of ours."""
    schema, row, writes = overload._schema, functional.row, functional.writes
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

    def lazy_named(kwargs):
        if kwargs.get("device") is not None:
            hooks.refuse_other_devices(kwargs["device"])
        return {k: _lazy(v) for k, v in kwargs.items() if k not in functional.drop and k != "generator"}

    def call(lazy_args, lazy_kwargs, generator):
        if generator is None:
            return call_row(row, lazy_args, lazy_kwargs)
        with random_by(_draws_from(generator)):
            return call_row(row, lazy_args, lazy_kwargs)

    def kernel(*args, **kwargs):
        try:
            lazy_args = [_lazy(a) for a in args]
            lazy_kwargs = lazy_named(kwargs) if kwargs else {}
            if makes_sizes:
                lazy_args = [sized(n, a) if n in _SIZES else a for n, a in zip(names, lazy_args)]
                if not is_supported(kwargs.get("dtype") or torch.float32):
                    raise _OnCpu(f"dtype {kwargs['dtype']} has no Tenon dtype")
            result = call(lazy_args, lazy_kwargs, kwargs.get("generator"))
        except (_OnCpu, Unsupported) as reason:
            return fallback.run(overload, args, kwargs, str(reason))
        if is_view:
            seen = views.view(overload, result, args[0], args[1:], kwargs)
            if not writes:
                return seen
            args[0].data = seen  # squeeze_ and the like
            return args[0]
        operands = [*lazy_args, *lazy_kwargs.values()] if lazy_kwargs else lazy_args
        if not writes:
            return _wrapped(result, operands)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(writes) == 1 and isinstance(argument(writes[0][1], args, kwargs), (list, tuple)):
            results = [results]
        written = {}
        for i, name in writes:
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
    if device is not None:
        hooks.refuse_other_devices(device)
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


def _install():
    _setup_privateuseone_for_python_backend("tenon", backend_module=hooks.Backend())
    library = torch.library.Library("aten", "IMPL")
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(_boxed_fallback, "PrivateUse1")
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    _register(library)
    differentiated.register(library)
    autocast.register(library)
    hooks.install()
    random = random_by(_tenon.next_draw)
    random.__enter__()
    return library, everything, random


_kept = _install()
