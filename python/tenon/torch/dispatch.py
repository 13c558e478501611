"""Kernels of the device that PyTorch's dispatcher calls without Python, by the functions of its stable ABI.
Operators with an argument of a kind that this does not hand on, such as a `Scalar`, and versions of PyTorch that
are not known keep the Python key, which does the same more slowly."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from tenon import _tenon

# Two of the functions are the library's own: versions with which the tests have run. (2.11, 2.12 and 2.14 were not there to try.)
_KNOWN = [(2, 10), (2, 13), (2, 15)]
_TYPES = {"Tensor": "T", "int": "i", "float": "d", "bool": "b", "ScalarType": "t", "Layout": "l", "MemoryFormat": "m",
          "Device": "v", "str": "s"}  # fmt: skip
# What PyTorch negates when it reads it reaches these as it is.
_OF_NEGATED = ("clone", "neg_", "resolve_neg", "copy_", "repeat_interleave", "linalg_solve_triangular")
_LAYOUTS = {torch.strided: 0, torch.sparse_coo: 1, torch.sparse_csr: 2, torch._mkldnn: 3, torch.sparse_csc: 4,
         torch.sparse_bsr: 5, torch.sparse_bsc: 6, torch.jagged: 7}  # fmt: skip
_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3}
_DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
           "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16", "quint4x2", "quint2x4", "bits1x8", "bits2x4",
           "bits4x2", "bits8", "bits16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16",
           "uint32", "uint64")  # fmt: skip
_DEVICES = {0: "cpu", 1: "cuda", 14: "meta", 20: "tenon"}

_reasons: list[str] = []  # why kernels are called by way of Python


def _device(kind: int, index: int) -> torch.device:
    name = _DEVICES.get(kind)
    if name is None:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found a device of kind {kind}")
    return torch.device(name) if index < 0 else torch.device(name, index)


def version() -> tuple[int, int]:
    """PyTorch's, as (2, 13)."""
    major, minor = torch.__version__.split("+")[0].split(".")[:2]
    return int(major), int(minor)


def install() -> None:
    """Find what is needed."""
    handle_of = getattr(getattr(torch._C, "_aoti", None), "unsafe_alloc_void_ptr_from_tensor", None)
    if os.environ.get("TENON_TORCH_DISPATCH") == "python":
        _reasons.append("TENON_TORCH_DISPATCH=python")
    elif version() not in _KNOWN:
        _reasons.append(f"PyTorch {torch.__version__} has not been tried")
    elif handle_of is None:
        _reasons.append(f"PyTorch {torch.__version__} hands out no handles of tensors")
    else:
        dtypes = {i: getattr(torch, name) for i, name in enumerate(_DTYPES) if hasattr(torch, name)}
        found = _tenon.find_dispatch_functions(
            str(Path(torch.__file__).parent / "lib"), dtypes, {n: layout for layout, n in _LAYOUTS.items()},
            {n: form for form, n in _FORMATS.items()}, _device, handle_of,
            torch.zeros((), dtype=torch.float32), torch.zeros((), dtype=torch.int32),
        )  # fmt: skip
        if not found:
            _reasons.append(f"PyTorch {torch.__version__} lacks functions of its stable ABI")


def why_not() -> str | None:
    """Why all kernels are called by way of Python; None where most are not."""
    return _reasons[0] if _reasons else None


def _type(type_) -> str | None:
    """The type of an argument as _tenon.set_kernel() takes it; None for one that cannot be handed on."""
    kind = type_.kind()
    if kind in ("OptionalType", "ListType"):
        inner = _type(type_.getElementType())
        return inner and ("?" if kind == "OptionalType" else "[") + inner
    return _TYPES.get({"SymInt": "int"}.get(str(type_), str(type_)))


def enter(overload, name: str, function) -> bool:
    """Let PyTorch call the kernel behind `function` without Python; False where it cannot."""
    if _reasons or name.partition(".")[0] in _OF_NEGATED:
        return False
    schema = overload._schema
    arguments = [(a.name, _type(a.real_type), a.kwarg_only, a.has_default_value(), a.default_value) for a in schema.arguments]
    results = [_type(r.real_type) for r in schema.returns]
    if None in [a[1] for a in arguments] or not all(r in ("T", "[T") for r in results):
        return False
    return _tenon.set_kernel(function, name, arguments, results)
