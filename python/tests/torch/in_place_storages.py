"""Steps of random programs that copy, save and resize storages."""

from __future__ import annotations

import copy
import io

import torch
from in_place_program import Program, overlaps, same_memory


def _saved(tensors):
    file = io.BytesIO()
    torch.save(tensors, file)
    file.seek(0)
    return torch.load(file)


def _again(function):
    """A tensor and another of its storage, copied together: they still share."""

    def step(p: Program, name: str):
        a = p.pick()
        b = p.pick(lambda x: same_memory(x, a[0]))
        at = [p.at(pair) for pair in (a, b)]
        outcomes = p.both(f"{name}{at}", [a, b], lambda x, y: function([x, y]))
        if outcomes is not None:
            for i in (0, 1):
                p.add(f"  -> {len(p.pairs)}", outcomes[0][i], outcomes[1][i])

    return step


def _resized(p: Program, name: str):
    pair = p.pick(lambda x: x.numel() > 1 and x.dim() == 1 and not overlaps(x))
    if pair is not None:
        i, n = p.at(pair), p.random.randint(1, pair[0].numel())
        p.both(f"{i}.resize_({n})", pair, lambda x: x.resize_(n))


STORAGES = [("deepcopy", _again(copy.deepcopy)), ("save and load", _again(_saved)), ("resize_", _resized)]
