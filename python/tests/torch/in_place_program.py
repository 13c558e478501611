"""A random program on the CPU and on the device: its tensors in pairs, what was done to them, and the comparison."""

from __future__ import annotations

import random

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

    def __init__(self, seed: int, steps: dict[str, list]):
        self.random = random.Random(seed)
        self.steps = steps
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
        name, function = self.random.choice(self.steps[kind])
        function(self, name)
        return None

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


def same_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def overlaps(x: torch.Tensor) -> bool:
    """Whether one place holds several elements, found by counting."""
    if x.numel() < 2:
        return False
    places = torch.zeros(x.shape, dtype=torch.int64)
    for i, s in enumerate(x.stride()):
        places = places + (torch.arange(x.shape[i]) * s).reshape([-1 if k == i else 1 for k in range(x.dim())])
    return places.unique().numel() < x.numel()


def fits(a, b) -> bool:
    try:
        return max(torch.broadcast_shapes(a.shape, b.shape), default=1) <= 12
    except RuntimeError:
        return False


def is_small(x):
    return x.numel() < 60


def random_axis(p: Program, x: torch.Tensor) -> int:
    return p.random.randrange(-x.dim(), x.dim())
