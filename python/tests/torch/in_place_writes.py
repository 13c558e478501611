"""Steps of random programs that write into tensors."""

from __future__ import annotations

import torch
from in_place_program import Program, fits, is_small, overlaps, same_memory


def _write(function, accept=lambda x: True):
    """A write into one tensor whose elements all lie apart, or that PyTorch refuses."""

    def step(p: Program, name: str):
        pair = p.pick(lambda x: accept(x) and (not overlaps(x) or 0 in x.stride()))
        if pair is None:
            return
        i = p.at(pair)
        if 0 in pair[0].stride() and overlaps(pair[0]) and not any(
            s == 0 and n > 1 for s, n in zip(pair[0].stride(), pair[0].shape)
        ):
            return
        p.both(f"{i}: {name}", pair, function)

    return step


def _write_from(function):
    def step(p: Program, name: str):
        a = p.pick(lambda x: not overlaps(x))
        if a is None:
            return
        b = p.pick(lambda x: fits(x, a[0]) and torch.broadcast_shapes(x.shape, a[0].shape) == a[0].shape)
        if b is None:
            return
        at = [p.at(pair) for pair in (a, b)]
        is_same = a[0].shape == b[0].shape and a[0].stride() == b[0].stride()
        is_same = is_same and a[0].storage_offset() == b[0].storage_offset()
        apart = same_memory(a[0], b[0]) and not is_same  # PyTorch refuses what overlaps, or gives anything
        text = f"{at[0]}: {name} of {at[1]}{' copied' if apart else ''}"
        p.both(text, [a, b], lambda x, y: function(x, (y.clone() if apart else y).to(x.dtype)))

    return step


def _out(p: Program, name: str):
    a = p.pick(is_small)
    target = p.pick(lambda x: not overlaps(x) and a is not None and x.dtype == a[0].dtype and not same_memory(x, a[0]))
    if a is None or target is None or (p.random.random() < 0.5 and target[0].shape != a[0].shape):
        return
    at = [p.at(pair) for pair in (a, target)]
    p.both(f"{name}({at[0]}, out={at[1]})", [a, target], lambda x, y: torch.neg(x, out=y))


def _at_axis(function):
    def step(p: Program, name: str):
        pair = p.pick(lambda x: x.dim() > 0 and 0 not in x.shape and not overlaps(x))
        if pair is not None:
            axis = p.random.randrange(pair[0].dim())
            at = p.random.randrange(pair[0].shape[axis])
            i = p.at(pair)
            p.both(f"{i}: {name} at {at} of axis {axis}", pair, lambda x: function(x, axis, at))

    return step


def _set_item(x, axis, at):
    x[(*[slice(None)] * axis, at)] = 5


def _index_add(x, axis, at):
    x.index_add_(axis, torch.tensor([at]), torch.ones_like(x.select(axis, 0)).unsqueeze(axis))


def _put(x, axis, at):
    x[(*[slice(None)] * axis, torch.tensor([at]))] = 2


WRITES = [
    ("mul_(2)", _write(lambda x: x.mul_(2), is_small)),
    ("add_(1)", _write(lambda x: x.add_(1))),
    ("zero_", _write(lambda x: x.zero_())),
    ("fill_", _write(lambda x: x.fill_(4))),
    ("clamp_", _write(lambda x: x.clamp_(-5, 5))),
    ("neg_", _write(lambda x: x.neg_())),
    ("reshape(-1).mul_(0)", _write(lambda x: x.reshape(-1).mul_(0), lambda x: not overlaps(x))),
    ("flatten(1).add_(3)", _write(lambda x: x.flatten(1).add_(3), lambda x: x.dim() > 1 and not overlaps(x))),
    ("contiguous().add_(3)", _write(lambda x: x.contiguous().add_(3), lambda x: not overlaps(x))),
    ("masked_fill_", _write(lambda x: x.masked_fill_(x > 1, -1), lambda x: not overlaps(x))),
    ("x[x > 2] = 0", _write(lambda x: x.__setitem__(x > 2, 0), lambda x: x.dim() and not overlaps(x))),
    ("copy_", _write_from(lambda x, y: x.copy_(y))),
    ("copy_", _write_from(lambda x, y: x.copy_(y))),
    ("add_", _write_from(lambda x, y: x.add_(y).clamp_(-50, 50))),
    ("sub_", _write_from(lambda x, y: x.sub_(y).clamp_(-50, 50))),
    ("x[...] = y", _write_from(lambda x, y: x.__setitem__(..., y))),
    ("neg", _out),
    ("x[:, at] = 5", _at_axis(_set_item)),
    ("index_fill_", _at_axis(lambda x, axis, at: x.index_fill_(axis, torch.tensor([at]), 6))),
    ("index_add_", _at_axis(_index_add)),
    ("x[:, [at]] = 2", _at_axis(_put)),
    ("transpose_", _write(lambda x: x.transpose_(0, -1), lambda x: x.dim() > 1)),
    ("squeeze_", _write(lambda x: x.squeeze_())),
]
