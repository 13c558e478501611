"""Recurrent layers as operators of their own.

PyTorch's tracer unrolls `aten::lstm` and `aten::gru` step by step, which fixes the length of the sequence. While a
module is exported, its calls go to operators that stand for the whole layer instead.
"""

from __future__ import annotations

import contextlib

import torch

_SIGNATURE = (
    "(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first)"
)
_library = torch.library.Library("tenon", "DEF")
_STATES = {"lstm": 2, "gru": 1, "rnn_tanh": 1, "rnn_relu": 1}


def _define(name: str, states: int) -> None:
    _library.define(f"{name}{_SIGNATURE} -> ({', '.join(['Tensor'] * (1 + states))})")
    plain = getattr(torch._VF, name)

    def run(x, hx, *rest):
        return tuple(plain(x, tuple(hx) if states == 2 else hx[0], list(rest[0]), *rest[1:]))

    def shapes(x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        width = hx[0].shape[-1] * (2 if bidirectional else 1)
        return (x.new_empty([*x.shape[:-1], width]), *[torch.empty_like(state) for state in hx])

    _library.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"tenon::{name}", shapes, lib=_library)


for _name, _count in _STATES.items():
    _define(_name, _count)


@contextlib.contextmanager
def whole_recurrent_layers():
    """While it lives, layers over padded sequences (not packed ones) are recorded whole."""

    def route(name: str, plain):
        def call(x, hx, params, *rest):
            if not isinstance(params, (list, tuple)):  # packed: (data, batch_sizes, hx, params, ...)
                return plain(x, hx, params, *rest)
            states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
            return getattr(torch.ops.tenon, name)(x, states, list(params), *rest)

        return call

    plain = {name: getattr(torch._VF, name) for name in _STATES}
    for name in _STATES:
        setattr(torch._VF, name, route(name, plain[name]))
    try:
        yield
    finally:
        for name in _STATES:
            setattr(torch._VF, name, plain[name])
