"""The device `tenon`: PyTorch's tensors over lazy ones. Importing this registers it.

    import torch, tenon.torch
    x = torch.randn(8, 784, device="tenon")

Every operator with a row of the ATen table is recorded; nothing runs before somebody looks. Autograd, optimisers and
modules are PyTorch's own.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from tenon import _tenon
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

import tenon

from . import autocast, differentiated, dispatch, distributed, fallback, hooks, profile, strides, table, views
from .arguments import OnCpu, check_indices, lazy
from .dtypes import TENON_DTYPES, Unsupported, is_supported, torch_dtype
from .handles import given_sizes, wrap, wrap_later
from .memory import order_of
from .special import SPECIAL
from .storages import content_of, reinterpret, resize, write
from .table import Functional, Later, call_row, find_functional, random_by

aten = torch.ops.aten


def _wrapped(result, operands, places=None):
    """PyTorch's tensors of results, with these strides. One that is a view of an operand, which no view operator gave,
    is a copy."""
    if isinstance(result, tenon.Tensor):
        if _is_view_of(result, operands):
            result = result.clone()
        if places is None or order_of(result.known_shape() or result.shape, places) is None:
            made = _tenon.device_tensor(result)
            return wrap(result) if made is None else made
        return wrap(result, places)
    if isinstance(result, Later):
        return wrap_later(result) if places is None else _wrapped(result.make(), operands, places)
    if isinstance(result, (list, tuple)):
        open_sizes = [r for r in result if isinstance(r, tenon.Tensor) and r.known_shape() is None]
        if len(open_sizes) > 1:
            tenon.realize(open_sizes)  # sizes that data decide must be known: all in one program
        places = [None] * len(result) if places is None else places
        return type(result)([_wrapped(r, operands, p) for r, p in zip(result, places)])
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


def _write(target: torch.Tensor, result: tenon.Tensor, name: str, is_uniform=False, resized_strides=None) -> None:
    """`resized_strides` gives those of an `out` argument that gets the sizes of the result; without it they must be
    the same."""
    if content_of(target).is_plain(result):  # statistics that an evaluation leaves as they are
        return
    sizes = result.known_shape() or result.shape
    if tuple(sizes) != tuple(target.shape):
        if resized_strides is None:
            raise RuntimeError(
                f"{name}: output with shape {list(target.shape)} doesn't match the broadcast shape {list(sizes)}"
            )
        if target.numel() != 0:
            warnings.warn(_RESIZED.format(list(target.shape), list(sizes)), stacklevel=3)
        resize(target, sizes, resized_strides())
    write(target, _checked_cast(result, target, name), is_uniform)


_RESIZED = (
    "An output with one or more elements was resized since it had shape {}, which does not match the required output "
    "shape {}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they "
    "have zero elements."
)


def _draws_from(generator: torch.Generator):
    """Keys from a generator of PyTorch's on the CPU: its seed decides the numbers, each call draws others."""

    def draw():
        key = torch.randint(2**62, (), generator=generator).numpy().astype(np.uint64)
        return tuple(_tenon.make_tensor(number, [], False) for number in (key, np.zeros((), np.uint64)))

    return draw


def _refuse_to_draw():
    raise Unsupported("random numbers while what a row records is learned")


def _changing(value) -> list[float]:
    """Of a number that an operator is given, or of several, those that may be others at the next call."""
    if isinstance(value, (list, tuple)):
        return [number for each in value for number in _changing(each)]
    if isinstance(value, float):
        return [] if _tenon.stays_constant(value) else [value]
    return [float(value)] if isinstance(value, int) and 16 < abs(value) < 2**1023 else []


def _reads_what_it_wrote(args) -> bool:
    """Whether an operator over lists, which writes those of the first, finds one of them at another place, too."""
    if len(args[0]) < 2:
        return False
    places: dict = {}
    for a in args:
        for i, x in enumerate(a if isinstance(a, (list, tuple)) else [a]):
            if isinstance(x, torch.Tensor):
                places.setdefault(x.untyped_storage().data_ptr(), []).append(i if isinstance(a, (list, tuple)) else -1)
    written = [x.untyped_storage().data_ptr() for x in args[0]]
    return len(set(written)) < len(written) or any(len(set(places[p])) > 1 for p in written)


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
    given_numbers = [a.name for a in schema.arguments if any(t in str(a.type) for t in ("number", "float"))]
    makes_sizes = _makes_sizes(schema)
    plain_name = schema.name.removeprefix("aten::")
    is_out = bool(functional.drop)
    first = schema.arguments[0].alias_info if schema.arguments else None
    is_view = row.view and first is not None and not is_out  # and not view_copy, whose row is the same
    numbers = strides.numbers_of(schema)
    is_row_major = strides.is_row_major(overload)
    is_never_row_major = strides.is_never_row_major(overload)
    is_indexing = plain_name in ("index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index")
    is_uniform = plain_name in ("fill_", "zero_")
    writes_list = len(writes) == 1 and writes[0][1] == names[0] and "List" in str(schema.arguments[0].type)
    asks = not writes or functional.returns is not None

    def argument(name, args, kwargs):
        i = names.index(name)
        return args[i] if i < len(args) else kwargs.get(name)

    def sized(name, value):
        if name == "size":
            return given_sizes(value)
        is_count = isinstance(value, int) and not isinstance(value, bool) and value > 1 and str(overload) in _COUNTS
        return given_sizes([value])[0] if is_count else value

    def lazy_named(kwargs, odd):
        if kwargs.get("device") is not None:
            hooks.refuse_other_devices(kwargs["device"])
        return {k: lazy(v, odd) for k, v in kwargs.items() if k not in functional.drop and k != "generator"}

    def call(lazy_args, lazy_kwargs, generator):
        if generator is None:
            return in_row(lazy_args, lazy_kwargs)
        with random_by(_draws_from(generator)):
            return call_row(row, lazy_args, lazy_kwargs)

    def in_row(args, kwargs):
        given = [number for name in given_numbers for number in _changing(argument(name, args, kwargs))]
        return _tenon.in_row(row.name, given, lambda: call_row(row, args, kwargs, later=not writes))

    def fresh():
        """The operator that makes its results."""
        space, packet, name = row.name.split(".")
        return getattr(getattr(getattr(torch.ops, space), packet), name)

    def resized(args, kwargs, i):
        def answer():
            given = {k: v for k, v in kwargs.items() if k not in functional.drop}
            found = strides.of_results(fresh(), args, given, numbers)
            return found[i] if isinstance(found, list) else found

        return answer

    def view_kernel(*args, **kwargs):
        x = args[0]

        def by_row():
            return call_row(row, [lazy(a, []) for a in args], {k: lazy(v, []) for k, v in kwargs.items()})

        try:
            seen = views.view(overload, x, args[1:], kwargs, by_row)
        except Unsupported:
            seen = views.view(overload, x, args[1:], kwargs)
        if not writes:
            return seen
        x.data = seen  # squeeze_ and the like
        return x

    def kernel(*args, **kwargs):
        odd: list = []
        if writes_list and _reads_what_it_wrote(args):
            for i in range(len(args[0])):  # each sees what the ones before it wrote
                overload(*[a[i : i + 1] if isinstance(a, (list, tuple)) else a for a in args], **kwargs)
            return args[0] if schema.returns else None
        if is_indexing:
            check_indices(args[0], args[1])
        try:
            lazy_args = _tenon.plain_arguments(args)
            if lazy_args is None:
                lazy_args = [lazy(a, odd) for a in args]
            lazy_kwargs = lazy_named(kwargs, odd) if kwargs else {}
            if makes_sizes:
                lazy_args = [sized(n, a) if n in _SIZES else a for n, a in zip(names, lazy_args)]
                if not is_supported(kwargs.get("dtype") or torch.float32):
                    raise OnCpu(f"dtype {kwargs['dtype']} has no Tenon dtype")
            result = call(lazy_args, lazy_kwargs, kwargs.get("generator"))
        except (OnCpu, Unsupported) as reason:
            return fallback.run(overload, args, kwargs, str(reason))
        except (tenon.Error, ArithmeticError, AssertionError, TypeError, ValueError) as error:
            strides.refuse(overload, args, kwargs, error)  # rows expect arguments that PyTorch takes
            raise
        operands = [*lazy_args, *lazy_kwargs.values()] if lazy_kwargs else lazy_args
        places = None
        if asks and ((odd and not is_row_major) or is_never_row_major or strides.is_told(kwargs)):
            places = strides.of_results(overload, args, kwargs, numbers)
        if not writes:
            return _wrapped(result, operands, places)
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
                    _write(one, value, plain_name, is_uniform, resized(args, kwargs, i) if is_out else None)
            written[i] = target
        if not schema.returns:
            return None
        returned = functional.returns if functional.returns is not None else range(len(schema.returns))
        places = places or [None] * len(results)
        outcome = [written[i] if i in written else _wrapped(results[i], operands, places[i]) for i in returned]
        return outcome[0] if len(outcome) == 1 else tuple(outcome)

    def record(args, kwargs):
        """What the row gives, for operands without elements."""
        kwargs = {k: v for k, v in kwargs.items() if k not in functional.drop and k != "generator"}
        with random_by(_refuse_to_draw):
            return in_row(args, kwargs)

    if is_view:
        return view_kernel if writes or reinterpret is None else _tenon.view_kernel(view_kernel, reinterpret)
    if makes_sizes and not row.random and not writes:
        return _tenon.fill_kernel(kernel)
    writes_several = len(writes) > 1 and any("List" in str(a.type) for a in table.written(schema))
    follows_from_sizes = not (row.random or makes_sizes or writes_several)
    if follows_from_sizes:
        targets = [(i, (names.index(name), name)) for i, name in writes]
        returned = None if not writes else functional.returns or tuple(range(len(schema.returns)))
        again = _tenon.replay_kernel(kernel, record, targets, returned, writes_list)
    else:
        again = kernel
    if row.direct is not None and not is_out and writes in ((), ((0, names[0]),)):
        return _tenon.direct_kernel(row.direct, bool(writes), again)
    return again


def _boxed_fallback(overload, *args, **kwargs):
    return fallback.run(overload, args, kwargs, "it has no row")


# Rows that PyTorch does better by what it has: moving between devices ends in copy_.
_LEFT_TO_PYTORCH = {"aten._to_copy.default", "aten.detach.default", "aten.detach_.default", "aten.lift_fresh.default"}


# Operators that PyTorch takes apart before it differentiates, unless a device has them whole: one call instead of some.
# PyTorch 2.10 does not differentiate whole linear layers of complex tensors; 2.13 does.
_WHOLE = {"aten.linear.default"} if dispatch.version() >= (2, 13) else set()


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
    for name, function in SPECIAL.items():
        if name == "empty_strided":  # every tensor that comes from the CPU begins with it
            function = _tenon.fill_kernel(function)
            if dispatch.enter(aten.empty_strided.default, name, function):
                continue
        library.impl(name, function, "PrivateUse1")
    special = {f"aten.{n}" if "." in n else f"aten.{n}.default" for n in SPECIAL}
    for overload in _overloads():
        name = str(overload)
        if name in special or name in _LEFT_TO_PYTORCH:
            continue
        full = overload._schema.name + ("." + overload._overloadname if overload._overloadname != "default" else "")
        is_whole = name in _WHOLE
        if not is_whole and torch._C._dispatch_has_kernel_for_dispatch_key(full, "CompositeImplicitAutograd"):
            continue  # PyTorch takes it apart, and differentiates the parts
        functional = find_functional(overload)
        if functional is not None:
            kernel, short = _kernel(overload, functional), full.removeprefix("aten::")
            if not dispatch.enter(overload, short, kernel):
                library.impl(short, kernel, "PrivateUse1")


def _install():
    plain = [torch.dtype, torch.device, torch.layout, torch.memory_format]
    _tenon.set_device_classes(wrap, TENON_DTYPES, torch.Tensor, torch.nn.Parameter, torch.get_default_dtype, plain)
    _tenon.set_device_type(torch._C._autograd.DeviceType.PrivateUse1)
    _setup_privateuseone_for_python_backend("tenon", backend_module=hooks.Backend(), device_guard=hooks.Guard())
    dispatch.install()
    library = torch.library.Library("aten", "IMPL")
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(_boxed_fallback, "PrivateUse1")
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    _register(library)
    differentiated.register(library)
    autocast.register(library)
    hooks.install(library)
    profile.install()
    random = random_by(_tenon.next_draw)
    random.__enter__()
    return library, everything, random, distributed.register()


_kept = _install()
