"""The ATen table: for each operator a function that builds it from Tenon's own, used by every door to PyTorch.

A row gets the arguments of the ATen operator as they are, with tensors replaced by `tenon.Value` or `tenon.Tensor`
(not mixed), dtypes as torch dtypes, sizes as int or `tenon.Extent`, and gives one value, or a tuple as the schema says.
Rows stand in `rows_*.py`. In-place forms (`add_.Tensor`) and forms with `out` arguments have no rows: they are
found from the schema by `find_functional`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any, Callable

import torch

from .dtypes import Unsupported, tenon_dtype, torch_dtype

__all__ = [
    "Functional", "Later", "Row", "Unsupported", "call_row", "draw", "find", "find_functional", "random_by", "row", "rows",
    "tenon_dtype", "torch_dtype",
]  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What builds one ATen operator."""

    name: str  # "aten.add.Tensor"
    function: Callable[..., Any]
    view: bool  # the results are views of operand 0
    random: bool  # it draws random numbers: other results at every run
    # The operation of `ops` that it is where all tensors have one float dtype, and numbers, behind a tensor, are all
    # that is given beside them. The device records it by C++ alone then.
    direct: str | None = None


_rows: dict[str, Row] = {}

# Arguments that say where and how a tensor lies in memory, which no row reads.
_PLACEMENT = ("layout", "device", "pin_memory", "memory_format", "non_blocking")


def row(*names: str, view: bool = False, random: bool = False, direct: str | None = None):
    """Register a function for ATen overloads: "relu" is relu.default, "add.Tensor" is itself."""

    def register(function):
        for name in names:
            full = _full_name(name)
            assert full not in _rows, f"two rows for {full}"
            _rows[full] = Row(full, function, view, random, direct)
        return function

    return register


def _full_name(name: str) -> str:
    name = name if name.startswith(("prims.", "tenon.", "transformers.")) else f"aten.{name}"
    return name if name.count(".") == 2 else f"{name}.default"


@functools.cache
def _load() -> None:
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("rows_"):
            importlib.import_module(f"{__package__}.{module.name}")


def rows() -> dict[str, Row]:
    """All rows by full name."""
    _load()
    return _rows


def registered(name: str) -> Row | None:
    """A row by its full name, of the modules that are loaded so far."""
    return _rows.get(name)


def find(overload) -> Row | None:
    """The row of an operator overload (`torch.ops.aten.add.Tensor`), or nothing."""
    return rows().get(str(overload))


@dataclass(frozen=True)
class Later:
    """A result that many callers never look at: `make` builds it, from values that must not change until then."""

    make: Callable[[], Any]
    dtype: torch.dtype
    sizes: Any


def call_row(found: Row, args, kwargs, later: bool = False):
    """The results of a row, as the schema says; with `later`, some may be `Later`."""
    if kwargs:
        kwargs = {k: v for k, v in kwargs.items() if k not in _PLACEMENT}
    result = found.function(*args, **kwargs)
    if not later and type(result) is tuple:
        return tuple([r.make() if type(r) is Later else r for r in result])
    return result


# --- In-place and out forms


@dataclass(frozen=True)
class Functional:
    """How an operator that writes to its arguments is made from a row that does not.

    The row takes the arguments but those in `drop`. Result `i` of the row is written to argument `name` for every
    `(i, name)` in `writes`; where that argument is a list, the result is one too. The operator returns the results in
    `returns`; one that is written is returned as the argument.
    """

    row: Row
    writes: tuple[tuple[int, str], ...] = ()
    returns: tuple[int, ...] | None = None
    drop: tuple[str, ...] = ()


def written(schema) -> list:
    """The arguments that an operator writes to."""
    return [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def _signature(schema, without=()) -> tuple:
    return tuple((a.name, str(a.type)) for a in schema.arguments if a.name not in without)


# Operators that change running statistics, some without saying so in their schema.
_BATCH_NORM = ((3, "running_mean"), (4, "running_var"))
_SPECIAL: dict[str, tuple[str, tuple, tuple[int, ...]]] = {
    "aten.native_batch_norm.default": ("_native_batch_norm_legit_functional", _BATCH_NORM, (0, 1, 2)),
    "aten._native_batch_norm_legit.default": ("_native_batch_norm_legit_functional", _BATCH_NORM, (0, 1, 2)),
    "aten._batch_norm_with_update.default": (
        "_batch_norm_with_update_functional", ((4, "running_mean"), (5, "running_var")), (0, 1, 2, 3)),
    "aten.rrelu_with_noise.default": ("rrelu_with_noise_functional", ((1, "noise"),), (0,)),
}  # fmt: skip
# In-place operators whose other form has another name.
_RENAMED = {
    "aten.normal_.default": "normal_functional",
    "aten.bernoulli_.float": "bernoulli.p",
    "aten.random_.from": "random.from",
}


@functools.cache
def find_functional(overload) -> Functional | None:
    """The row that computes `overload` and what its results are written to; nothing where there is no row."""
    name = str(overload)
    if name in _SPECIAL:
        other, writes, returns = _SPECIAL[name]
        found = rows().get(_full_name(other))
        return found and Functional(found, writes, returns)
    if (found := find(overload)) is not None:
        return Functional(found)
    schema = overload._schema
    targets = written(schema)
    if not targets or not name.startswith("aten."):
        return None
    if name in _RENAMED:
        found = rows().get(_full_name(_RENAMED[name]))
        return found and Functional(found, ((0, targets[0].name),))
    base = overload._overloadpacket.__name__
    if base.endswith("_") and not base.endswith("__"):
        return _from_in_place(base[:-1], overload, targets)
    return _from_out(base, overload, targets)


def _packet(name: str):
    return getattr(torch.ops.aten, name, None)


def _from_in_place(base: str, overload, targets) -> Functional | None:
    packet = _packet(base)
    if packet is None:
        return None
    wanted = [str(a.type) for a in overload._schema.arguments]
    names = packet.overloads()
    # The overload of the same name first, then any that takes the same.
    for name in [n for n in names if n == overload._overloadname] + names:
        other = getattr(packet, name)
        if [str(a.type) for a in other._schema.arguments] == wanted and not written(other._schema):
            found = find(other)
            return found and Functional(found, tuple((i, a.name) for i, a in enumerate(targets)))
    return None


def _from_out(base: str, overload, targets) -> Functional | None:
    packet = _packet(base)
    drop = tuple(a.name for a in targets)
    wanted = _signature(overload._schema, drop)
    ignored = ("dtype", *_PLACEMENT)
    for loose in (False, True):
        for name in packet.overloads():
            other = getattr(packet, name)
            if written(other._schema):
                continue
            same = _signature(other._schema) == wanted
            if loose:  # `arange(end, *, out)` has no dtype: that of `out` counts
                same = _signature(other._schema, ignored) == tuple(a for a in wanted if a[0] not in ignored)
            if same and (found := find(other)) is not None:
                return Functional(found, tuple((i, n) for i, n in enumerate(drop)), None, drop)
    return None


# --- Random numbers

_draws: list[Callable[[], tuple]] = []


@contextlib.contextmanager
def random_by(source: Callable[[], tuple]):
    """While it lives, rows draw from `source`, which gives a fresh (key, counter), u64 scalars, at each call."""
    _draws.append(source)
    try:
        yield
    finally:
        _draws.pop()


def draw() -> tuple:
    """Key and counter of the next random values."""
    if not _draws:
        raise Unsupported("random numbers, which this place has no source for")
    return _draws[-1]()
