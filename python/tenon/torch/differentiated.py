"""Operators that stay whole on the device and are differentiated by Tenon, where PyTorch would take them apart:
recurrent layers, which become one loop for every length, and attention, which is streamed."""

from __future__ import annotations

import tenon
import torch
from tenon import _tenon

from .dtypes import Unsupported
from .handles import is_ours, unwrap, wrap
from .memory import order_of
from .table import Row, call_row, rows

NAMES = ("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input", "scaled_dot_product_attention")


class _Whole(torch.autograd.Function):
    """A row over tensors of PyTorch's. `run` takes lazy tensors in their order and gives a tuple of them."""

    @staticmethod
    def forward(ctx, run, strides_of, *tensors):
        wanted = ctx.needs_input_grad[2:]
        lazy = [unwrap(t).detach() for t in tensors]
        lazy = [x.clone().requires_grad_() if w else x for x, w in zip(lazy, wanted)]
        with tenon.enable_grad() if any(wanted) else tenon.no_grad():
            results = run(lazy)
        ctx.results, ctx.wanted = results, wanted
        ctx.operands = [x for x, w in zip(lazy, wanted) if w]
        ctx.set_materialize_grads(False)
        return tuple(wrap(r.detach().clone(), strides) for r, strides in zip(results, strides_of(results)))

    @staticmethod
    def backward(ctx, *grads):
        sums = None
        for result, grad in zip(ctx.results, grads):
            if grad is None or not result.requires_grad:
                continue
            parts = tenon.grad(result, ctx.operands, unwrap(grad))
            sums = parts if sums is None else [a + b for a, b in zip(sums, parts)]
        found = iter(sums or [])
        return (None, None, *[wrap(next(found)) if w and sums is not None else None for w in ctx.wanted])


def _lazy(value):
    return unwrap(value) if is_ours(value) else value


def kernel(overload, row: Row):
    """What PyTorch calls for an operator with this row."""
    is_attention = overload._overloadpacket.__name__ == "scaled_dot_product_attention"
    first_strides = (_attention if is_attention else _recurrent)(overload)

    def by_row(args, kwargs):
        with tenon.no_grad():
            return call_row(row, args, kwargs)

    def alone(*args, **kwargs):
        result = by_row([_lazy(a) for a in args], {k: _lazy(v) for k, v in kwargs.items()})
        return wrap(result, first_strides(result.known_shape(), args, kwargs))

    again = _tenon.replay_kernel(alone, by_row, [], None, False) if is_attention else None

    def call(*args, **kwargs):
        if again is not None and not any(isinstance(a, torch.Tensor) and a.requires_grad for a in (*args, *kwargs.values())):
            try:
                return again(*args, **kwargs)
            except Unsupported:
                return overload.decompose(*args, **kwargs)
        tensors = []

        def marked(value):
            if is_ours(value):
                tensors.append(value)
                return _Place(len(tensors) - 1)
            return [marked(v) for v in value] if isinstance(value, (list, tuple)) else value

        places = [marked(a) for a in args]
        named = {k: marked(v) for k, v in kwargs.items()}
        single = []

        def strides_of(results):
            first = first_strides(results[0].known_shape(), args, kwargs)
            return [first] + [None] * (len(results) - 1)

        def run(lazy):
            def filled(value):
                if isinstance(value, _Place):
                    return lazy[value.index]
                return [filled(v) for v in value] if isinstance(value, list) else value

            result = call_row(row, [filled(p) for p in places], {k: filled(v) for k, v in named.items()})
            single.append(not isinstance(result, tuple))
            return result if isinstance(result, tuple) else (result,)

        try:
            results = _Whole.apply(run, strides_of, *tensors)
        except Unsupported:
            return overload.decompose(*args, **kwargs)
        return results[0] if single[0] else results

    return call


# --- Strides of first results, as PyTorch's kernels for the CPU give them


def _recurrent(overload):
    """Layers compute step after step: with the batch first, the result is a transposed view of that."""
    at = [a.name for a in overload._schema.arguments].index("batch_first")

    def strides(sizes, args, kwargs):
        is_batch_first = kwargs.get("batch_first", args[at] if len(args) > at else False)
        if is_batch_first is not True:
            return None
        batch, _steps, features = sizes
        return features, batch * features, 1

    return strides


def _attention(overload):
    """The fused kernel gives what lies as the query does; the other one multiplies, which is row-major."""
    names = [a.name for a in overload._schema.arguments]

    def strides(sizes, args, kwargs):
        given = dict(zip(names, args)) | kwargs
        query, key, value, mask = (given.get(name) for name in ("query", "key", "value", "attn_mask"))
        is_fused = (
            query.dim() == key.dim() == value.dim() == 4
            and query.shape[-1] == key.shape[-1] == value.shape[-1]
            and query.shape[1] == key.shape[1] == value.shape[1]
            and not given.get("dropout_p")
            and 0 not in (*query.shape, *key.shape)
            and all(t.stride(-1) == 1 for t in (query, key, value))
            and (mask is None or not mask.requires_grad)
        )
        if not is_fused or query.is_contiguous() or order_of(query.shape, query.stride()) is None:
            return None
        return query.stride()

    return strides


class _Place:
    def __init__(self, index):
        self.index = index


# --- Linear layers


def linear_backward(x, grad, weight, output_mask):
    """The gradients of a linear layer, of any rank, by operators that are differentiated in turn."""
    rows = grad.reshape(-1, weight.shape[0] if weight.dim() == 2 else 1)
    inputs, matrix = x.reshape(-1, x.shape[-1]), weight.conj().reshape(rows.shape[1], -1)
    by_x = (rows @ matrix).reshape(x.shape) if output_mask[0] else None
    by_weight = (rows.t() @ inputs.conj()).reshape(weight.shape) if output_mask[1] else None
    by_bias = rows.sum(0).reshape(weight.shape[:-1]) if output_mask[2] else None
    return by_x, by_weight, by_bias


def _linear_backward(x, grad, weight, output_mask):
    """PyTorch's own derivative of it is for matrices and real numbers."""
    if torch.is_grad_enabled():
        return linear_backward(x, grad, weight, output_mask)
    with torch._C._AutoDispatchBelowAutograd():
        return torch.ops.aten.linear_backward.default(x, grad, weight, output_mask)


def register(library: torch.library.Library) -> None:
    library.impl("linear_backward", _linear_backward, "AutogradPrivateUse1")
    for name in NAMES:
        full = f"aten.{name}" if "." in name else f"aten.{name}.default"
        row = rows().get(full)
        packet, _, variant = name.partition(".")
        overload = getattr(getattr(torch.ops.aten, packet), variant or "default")
        if row is not None:
            for key in ("AutogradPrivateUse1", "PrivateUse1"):
                library.impl(name, kernel(overload, row), key)
