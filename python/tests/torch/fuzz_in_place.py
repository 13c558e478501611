"""Random programs that write through views, on the device and on the CPU.

    python fuzz_in_place.py --first 0 --count 10000

A program makes tensors of every order of strides, views of them and results of them, and writes into all of these.
After each step sizes, strides and offsets are compared, at the end the elements of every tensor. Elements are small
integers, so that they must be equal.
"""

from __future__ import annotations

import argparse
import copy
import io
import random
import sys
import time
import warnings

import tenon
import torch
from tenon.torch.handles import unwrap

DEVICE = "tenon"
DTYPES = (torch.float32, torch.float32, torch.float32, torch.int64, torch.int32, torch.float64)


class Different(Exception):
    """The device gave something else than the CPU."""


class Undefined(Exception):
    """What PyTorch does on the CPU follows from how it allocated memory there: the program says nothing."""


class Program:
    """Tensors in pairs, on the CPU and on the device, and what was done to them."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.pairs: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.text: list[str] = []

    # --- Choosing

    def pick(self, accept=lambda x: True):
        found = [p for p in self.pairs if accept(p[0])]
        return self.random.choice(found) if found else None

    def at(self, pair) -> int:
        return next(i for i, other in enumerate(self.pairs) if other is pair)

    def make(self):
        """A tensor of one to four axes, in a random order of memory."""
        r = self.random
        sizes = [r.choice((1, 2, 3, 4)) for _ in range(r.choice((1, 2, 2, 3, 3, 4)))]
        order = list(range(len(sizes)))
        r.shuffle(order)
        dtype = r.choice(DTYPES)
        values = torch.tensor([r.randint(-9, 9) for _ in range(_product(sizes))], dtype=dtype)
        elements = values.reshape([sizes[i] for i in order]).permute([order.index(i) for i in range(len(sizes))]).clone()
        self.add(f"tensor {sizes} in the order {order}, {dtype}", elements, elements.to(DEVICE))

    def step(self):
        kind = self.random.choices(("make", "view", "result", "write", "storage"), (1, 5, 5, 6, 1))[0]
        if kind == "make" or not self.pairs:
            return self.make()
        name, function = self.random.choice(STEPS[kind])
        function(self, name)

    # --- Doing

    def both(self, text: str, pair_or_pairs, function):
        """Do the same on both sides; what PyTorch refuses on the CPU must be refused on the device."""
        self.text.append(text)
        outcomes = []
        pairs = pair_or_pairs if isinstance(pair_or_pairs, list) else [pair_or_pairs]
        for side in (0, 1):
            try:
                outcomes.append(function(*[p[side] for p in pairs]))
            except (RuntimeError, IndexError) as error:
                outcomes.append(error)
        if isinstance(outcomes[0], Exception) and "not resizable" in str(outcomes[0]):
            raise Undefined
        if isinstance(outcomes[0], Exception) != isinstance(outcomes[1], Exception):
            raise Different(f"the CPU gives {_short(outcomes[0])}, the device {_short(outcomes[1])}")
        return None if isinstance(outcomes[0], Exception) else outcomes

    def result(self, text: str, pairs, function):
        outcomes = self.both(text, pairs, function)
        if outcomes is None:
            return
        if isinstance(outcomes[0], (tuple, list)):
            at = self.random.randrange(len(outcomes[0])) if len(outcomes[0]) else None
            if at is None:
                return
            outcomes = [o[at] for o in outcomes]
        self.add(f"  -> {len(self.pairs)}", *outcomes)

    def add(self, text: str, on_cpu: torch.Tensor, on_device: torch.Tensor):
        self.text.append(f"{text}: {tuple(on_cpu.shape)} {on_cpu.stride()} +{on_cpu.storage_offset()}")
        self.pairs.append((on_cpu, on_device))
        self.same_places(len(self.pairs) - 1)

    # --- Comparing

    def same_places(self, i: int):
        a, b = self.pairs[i]
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Different(f"{i} is {a.dtype} {tuple(a.shape)}, on the device {b.dtype} {tuple(b.shape)}")
        if _places(a) != _places(b):
            raise Different(
                f"{i} {tuple(a.shape)} has the strides {a.stride()} at {a.storage_offset()}, "
                f"on the device {b.stride()} at {b.storage_offset()}"
            )

    def same_elements(self):
        tenon.realize([unwrap(b) for _, b in self.pairs])
        for i, (a, b) in enumerate(self.pairs):
            self.same_places(i)
            if not torch.equal(a, b.cpu()):
                raise Different(f"{i} is {a.tolist()}, on the device {b.cpu().tolist()}")


def _product(sizes) -> int:
    count = 1
    for n in sizes:
        count *= n
    return count


def _places(x: torch.Tensor):
    """Where the elements lie: strides of axes of size 1 say nothing."""
    if x.numel() == 0:
        return ()
    return x.storage_offset(), tuple(s for s, n in zip(x.stride(), x.shape) if n != 1)


def _short(x) -> str:
    return f"{type(x).__name__}: {x}"[:300]


def _same_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _overlaps(x: torch.Tensor) -> bool:
    """Whether one place holds several elements, found by counting."""
    if x.numel() < 2:
        return False
    places = torch.zeros(x.shape, dtype=torch.int64)
    for i, s in enumerate(x.stride()):
        places = places + (torch.arange(x.shape[i]) * s).reshape([-1 if k == i else 1 for k in range(x.dim())])
    return places.unique().numel() < x.numel()


# --- Views


def _axis(p: Program, x: torch.Tensor) -> int:
    return p.random.randrange(-x.dim(), x.dim())


def _view(arguments, accept=lambda x: x.dim() > 0):
    """A step: `arguments(program, x)` gives what the method is called with."""

    def step(p: Program, name: str):
        pair = p.pick(accept)
        if pair is None:
            return
        i = p.at(pair)
        given = arguments(p, pair[0])
        p.result(f"{i}.{name}{given}", pair, lambda x: getattr(x, name)(*given))

    return step


def _order(p, x):
    order = list(range(x.dim()))
    p.random.shuffle(order)
    return (order,)


def _slice(p: Program, name: str):
    pair = p.pick(lambda x: x.dim() > 0)
    if pair is None:
        return
    axis, r = p.random.randrange(pair[0].dim()), p.random
    n = pair[0].shape[axis]
    begin, end, step = r.randint(0, n), r.randint(0, n + 1), r.choice((1, 1, 2, 3))
    index = (*[slice(None)] * axis, slice(begin, end, step))
    i = p.at(pair)
    p.result(f"{i}[{index}]", pair, lambda x: x[index])


def _expanded(p, x):
    return ([p.random.choice((2, 3))] * p.random.choice((0, 1)) + [3 if n == 1 else n for n in x.shape],)


def _sizes_of_as_many(p, x):
    n, sizes = x.numel(), []
    while n > 1 and len(sizes) < 3:
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        sizes.append(p.random.choice(divisors))
        n //= sizes[-1]
    return ([*sizes, n],)


def _strided(p, x):
    length = x.untyped_storage().nbytes() // x.itemsize
    sizes = [p.random.choice((1, 2, 3)) for _ in range(p.random.choice((1, 2)))]
    strides = [p.random.choice((1, 2, 3, 5)) for _ in sizes]
    reach = 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
    if reach > length:
        sizes, strides, reach = [], [], 1
    return sizes, strides, p.random.randint(0, length - reach)


VIEWS = [
    ("permute", _view(_order)),
    ("permute", _view(_order)),
    ("transpose", _view(lambda p, x: (_axis(p, x), _axis(p, x)))),
    ("transpose", _view(lambda p, x: (_axis(p, x), _axis(p, x)))),
    ("t", _view(lambda p, x: (), lambda x: x.dim() == 2)),
    ("slice", _slice),
    ("slice", _slice),
    ("select", _view(lambda p, x: (0, p.random.randrange(-x.shape[0], x.shape[0])), lambda x: x.dim() and x.shape[0])),
    ("narrow", _view(lambda p, x: (-1, 0, p.random.randint(0, x.shape[-1])))),
    ("unsqueeze", _view(lambda p, x: (p.random.randint(-x.dim() - 1, x.dim()),), lambda x: x.dim() < 5)),
    ("squeeze", _view(lambda p, x: ())),
    ("expand", _view(_expanded, lambda x: x.dim() < 4)),
    ("diagonal", _view(lambda p, x: (p.random.choice((-1, 0, 1)), 0, -1), lambda x: x.dim() > 1)),
    ("unfold", _view(lambda p, x: (-1, min(2, x.shape[-1]), p.random.choice((1, 2))), lambda x: x.dim() and x.shape[-1])),
    ("view", _view(_sizes_of_as_many, lambda x: x.numel() > 0)),
    ("reshape", _view(_sizes_of_as_many, lambda x: x.numel() > 0)),
    ("reshape", _view(lambda p, x: (-1,), lambda x: x.numel() > 0)),
    ("flatten", _view(lambda p, x: (p.random.randrange(x.dim()),))),
    ("contiguous", _view(lambda p, x: ())),
    ("movedim", _view(lambda p, x: (_axis(p, x), _axis(p, x)))),
    ("chunk", _view(lambda p, x: (2, _axis(p, x)), lambda x: x.dim() and 0 not in x.shape)),
    ("unbind", _view(lambda p, x: (_axis(p, x),))),
    ("detach", _view(lambda p, x: ())),
    ("as_strided", _view(_strided, lambda x: x.numel() > 0)),
]


# --- Results


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
            axis = _axis(p, pair[0])
            i = p.at(pair)
            p.result(f"{name}({i}, {axis})", pair, lambda x: function(x, axis))

    return step


def _fits(a, b) -> bool:
    try:
        return max(torch.broadcast_shapes(a.shape, b.shape), default=1) <= 12
    except RuntimeError:
        return False


def _binary(function):
    def step(p: Program, name: str):
        a = p.pick()
        b = p.pick(lambda x: _fits(x, a[0]))
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


def _small(x):
    return x.numel() < 60


RESULTS = [
    ("x * 2", _result(lambda x: x * 2, _small)),
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
    ("cumsum", _by_axis(lambda x, d: x.cumsum(d), lambda x: x.dim() and _small(x))),
    ("tril", _result(torch.tril, lambda x: x.dim() > 1)),
    ("clamp", _result(lambda x: x.clamp(-3, 4))),
    ("where", _result(lambda x: torch.where(x > 0, x, -x))),
    ("x[[0, -1]]", _result(lambda x: x[[0, -1]], lambda x: x.dim() and x.shape[0])),
    ("x[..., [0, -1]]", _result(lambda x: x[..., [0, -1]], lambda x: x.dim() and x.shape[-1])),
    ("repeat", _result(lambda x: x.repeat(*[1] * (x.dim() - 1), 2), lambda x: x.dim() and x.numel() < 40)),
    ("matmul", _result(lambda x: x @ x.transpose(-1, -2), lambda x: x.dim() > 1 and _small(x) and x.is_floating_point())),
    ("add", _binary(torch.add)),
    ("sub", _binary(torch.sub)),
    ("maximum", _binary(torch.maximum)),
    ("add", _binary(torch.add)),
    ("eq", _binary(lambda x, y: (x == y).to(torch.float32))),
    ("cat", _joined),
    ("stack", _joined),
]


# --- Writes


def _write(function, accept=lambda x: True):
    """A write into one tensor whose elements all lie apart, or that PyTorch refuses."""

    def step(p: Program, name: str):
        pair = p.pick(lambda x: accept(x) and (not _overlaps(x) or 0 in x.stride()))
        if pair is None:
            return
        i = p.at(pair)
        if 0 in pair[0].stride() and _overlaps(pair[0]) and not any(
            s == 0 and n > 1 for s, n in zip(pair[0].stride(), pair[0].shape)
        ):
            return
        p.both(f"{i}: {name}", pair, function)

    return step


def _write_from(function):
    def step(p: Program, name: str):
        a = p.pick(lambda x: not _overlaps(x))
        if a is None:
            return
        b = p.pick(lambda x: _fits(x, a[0]) and torch.broadcast_shapes(x.shape, a[0].shape) == a[0].shape)
        if b is None:
            return
        at = [p.at(pair) for pair in (a, b)]
        is_same = a[0].shape == b[0].shape and a[0].stride() == b[0].stride()
        is_same = is_same and a[0].storage_offset() == b[0].storage_offset()
        apart = _same_memory(a[0], b[0]) and not is_same  # PyTorch refuses what overlaps, or gives anything
        text = f"{at[0]}: {name} of {at[1]}{' copied' if apart else ''}"
        p.both(text, [a, b], lambda x, y: function(x, (y.clone() if apart else y).to(x.dtype)))

    return step


def _out(p: Program, name: str):
    a = p.pick(lambda x: _small(x))
    target = p.pick(lambda x: not _overlaps(x) and a is not None and x.dtype == a[0].dtype and not _same_memory(x, a[0]))
    if a is None or target is None or (p.random.random() < 0.5 and target[0].shape != a[0].shape):
        return
    at = [p.at(pair) for pair in (a, target)]
    p.both(f"{name}({at[0]}, out={at[1]})", [a, target], lambda x, y: torch.neg(x, out=y))


def _at_axis(function):
    def step(p: Program, name: str):
        pair = p.pick(lambda x: x.dim() > 0 and 0 not in x.shape and not _overlaps(x))
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
    ("mul_(2)", _write(lambda x: x.mul_(2), lambda x: _small(x))),
    ("add_(1)", _write(lambda x: x.add_(1))),
    ("zero_", _write(lambda x: x.zero_())),
    ("fill_", _write(lambda x: x.fill_(4))),
    ("clamp_", _write(lambda x: x.clamp_(-5, 5))),
    ("neg_", _write(lambda x: x.neg_())),
    ("reshape(-1).mul_(0)", _write(lambda x: x.reshape(-1).mul_(0), lambda x: not _overlaps(x))),
    ("flatten(1).add_(3)", _write(lambda x: x.flatten(1).add_(3), lambda x: x.dim() > 1 and not _overlaps(x))),
    ("contiguous().add_(3)", _write(lambda x: x.contiguous().add_(3), lambda x: not _overlaps(x))),
    ("masked_fill_", _write(lambda x: x.masked_fill_(x > 1, -1), lambda x: not _overlaps(x))),
    ("x[x > 2] = 0", _write(lambda x: x.__setitem__(x > 2, 0), lambda x: x.dim() and not _overlaps(x))),
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


# --- Storages


def _saved(tensors):
    file = io.BytesIO()
    torch.save(tensors, file)
    file.seek(0)
    return torch.load(file)


def _again(function):
    """A tensor and another of its storage, copied together: they still share."""

    def step(p: Program, name: str):
        a = p.pick()
        b = p.pick(lambda x: _same_memory(x, a[0]))
        at = [p.at(pair) for pair in (a, b)]
        outcomes = p.both(f"{name}{at}", [a, b], lambda x, y: function([x, y]))
        if outcomes is not None:
            for i in (0, 1):
                p.add(f"  -> {len(p.pairs)}", outcomes[0][i], outcomes[1][i])

    return step


def _resized(p: Program, name: str):
    pair = p.pick(lambda x: x.numel() > 1 and x.dim() == 1 and not _overlaps(x))
    if pair is not None:
        i, n = p.at(pair), p.random.randint(1, pair[0].numel())
        p.both(f"{i}.resize_({n})", pair, lambda x: x.resize_(n))


STORAGES = [("deepcopy", _again(copy.deepcopy)), ("save and load", _again(_saved)), ("resize_", _resized)]
STEPS = {"view": VIEWS, "result": RESULTS, "write": WRITES, "storage": STORAGES}


def run(seed: int) -> str | None:
    """What was different, with the program; None for nothing."""
    p = Program(seed)
    try:
        for _ in range(p.random.randint(4, 14)):
            p.step()
        p.same_elements()
    except Undefined:
        return None
    except Exception as error:  # noqa: BLE001 (an error of any kind is a finding)
        return "\n".join([f"program {seed}", *p.text, f"{type(error).__name__}: {error}"])
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--count", type=int, default=10_000, help="how many programs")
    parser.add_argument("--stop", type=int, default=10, help="end after so many that differ")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    start, different = time.time(), 0
    for n, seed in enumerate(range(arguments.first, arguments.first + arguments.count)):
        if (found := run(seed)) is not None:
            different += 1
            print(found, "\n", flush=True)
            if different >= arguments.stop:
                break
        if (n + 1) % 500 == 0:
            print(f"{n + 1} programs, {different} different, {time.time() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"{n + 1} programs from seed {arguments.first}: {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
