"""`_foreach_*`: one operator over lists of tensors, as optimisers call them. Each is made from the row of one tensor;
Tenon joins the elements into one kernel by itself."""

from __future__ import annotations

import torch

from . import rows_activation, rows_binary, rows_create, rows_reduce, rows_unary  # noqa: F401 (their rows come first)
from .rows_reduce import linalg_vector_norm
from .table import registered, row


def _norm(x, ord=2, dtype=None):
    return linalg_vector_norm(x, ord, dtype=dtype)


_OTHERS = {"norm": _norm}


def _base(name: str):
    """The function of the operator for one tensor. A row takes numbers and tensors alike, so any overload will do."""
    if name in _OTHERS:
        return _OTHERS[name]
    for overload in ("Tensor", "default", "Tensor_Tensor", "Scalar"):
        found = registered(f"aten.{name}.{overload}")
        if found is not None:
            return found.function
    return None


def _over_lists(function):
    def each(*args, **kwargs):
        count = max(len(a) for a in args if isinstance(a, (list, tuple)))
        results = []
        for i in range(count):
            one = [a[i] if isinstance(a, (list, tuple)) else a for a in args]
            results.append(function(*one, **kwargs))
        return results

    return each


def _register() -> None:
    names = {n.removeprefix("aten::").partition(".")[0] for n in torch._C._dispatch_get_all_op_names()}
    for packet_name in sorted(names):
        if not packet_name.startswith("_foreach_") or packet_name.endswith("_"):
            continue
        function = _base(packet_name.removeprefix("_foreach_"))
        if function is None:
            continue
        packet = getattr(torch.ops.aten, packet_name)
        for overload in packet.overloads():
            schema = getattr(packet, overload)._schema
            if schema.is_mutable:
                continue
            row(f"{packet_name}.{overload}")(_over_lists(function))


_register()
