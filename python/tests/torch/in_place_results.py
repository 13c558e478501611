"""Steps of random programs that compute results."""

from __future__ import annotations

import torch
from in_place_program import Program, fits, is_small, random_axis


def _result(function, accept=lambda x: True):
    def step(p: Program, name: str):
        pair = p.pick(accept)
        if pair is not None:
            i = p.at(pair)
            p.result(f"{name}({i})", pair, function)

    return step


def _by_axis(function, accept=lambda x: x.dim() > 0):
    def step(p: Program, name: str):
        pair = p.pick(accept)
        if pair is not None:
            axis = random_axis(p, pair[0])
            i = p.at(pair)
            p.result(f"{name}({i}, {axis})", pair, lambda x: function(x, axis))

    return step


def _binary(function):
    def step(p: Program, name: str):
        a = p.pick()
        b = p.pick(lambda x: fits(x, a[0]))
        if b is None:
            return
        at = [p.at(pair) for pair in (a, b)]
        p.result(f"{name}({at[0]}, {at[1]})", [a, b], function)

    return step


def _joined(p: Program, name: str):
    a = p.pick(lambda x: x.dim() > 0 and x.numel() < 50)
    if a is None:
        return
    b = p.pick(lambda x: x.shape == a[0].shape)
    at = [p.at(pair) for pair in (a, b)]
    p.result(f"{name}{at}", [a, b], lambda x, y: getattr(torch, name)([x, y], -1))


RESULTS = [
    ("x * 2", _result(lambda x: x * 2, is_small)),
    ("-x", _result(lambda x: -x)),
    ("abs", _result(torch.abs)),
    ("relu", _result(torch.relu)),
    ("clone", _result(torch.clone)),
    ("clone, contiguous", _result(lambda x: x.clone(memory_format=torch.contiguous_format))),
    ("clone, channels last", _result(lambda x: x.clone(memory_format=torch.channels_last), lambda x: x.dim() == 4)),
    ("to(float64)", _result(lambda x: x.to(torch.float64))),
    ("to(int64)", _result(lambda x: x.to(torch.int64))),
    ("to(float32)", _result(lambda x: x.to(torch.float32))),
    ("zeros_like", _result(torch.zeros_like)),
    ("ones_like", _result(torch.ones_like)),
    ("full_like", _result(lambda x: torch.full_like(x, 7))),
    ("empty_like", _result(lambda x: torch.empty_like(x).fill_(3))),
    ("new_zeros", _result(lambda x: x.new_zeros(x.shape))),
    ("sum", _by_axis(lambda x, d: x.to(torch.float64).sum(d))),
    ("amax", _by_axis(torch.amax, lambda x: x.dim() and 0 not in x.shape)),
    ("sort", _by_axis(lambda x, d: x.sort(dim=d, stable=True))),
    ("flip", _by_axis(lambda x, d: x.flip(d))),
    ("roll", _by_axis(lambda x, d: x.roll(1, d))),
    ("cumsum", _by_axis(lambda x, d: x.cumsum(d), lambda x: x.dim() and is_small(x))),
    ("tril", _result(torch.tril, lambda x: x.dim() > 1)),
    ("clamp", _result(lambda x: x.clamp(-3, 4))),
    ("where", _result(lambda x: torch.where(x > 0, x, -x))),
    ("x[[0, -1]]", _result(lambda x: x[[0, -1]], lambda x: x.dim() and x.shape[0])),
    ("x[..., [0, -1]]", _result(lambda x: x[..., [0, -1]], lambda x: x.dim() and x.shape[-1])),
    ("repeat", _result(lambda x: x.repeat(*[1] * (x.dim() - 1), 2), lambda x: x.dim() and x.numel() < 40)),
    ("matmul", _result(lambda x: x @ x.transpose(-1, -2), lambda x: x.dim() > 1 and is_small(x) and x.is_floating_point())),
    ("add", _binary(torch.add)),
    ("sub", _binary(torch.sub)),
    ("maximum", _binary(torch.maximum)),
    ("add", _binary(torch.add)),
    ("eq", _binary(lambda x, y: (x == y).to(torch.float32))),
    ("cat", _joined),
    ("stack", _joined),
]
