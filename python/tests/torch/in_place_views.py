"""Steps of random programs that make views. Each gets the program and its own name."""

from __future__ import annotations

from in_place_program import Program, random_axis


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
    ("transpose", _view(lambda p, x: (random_axis(p, x), random_axis(p, x)))),
    ("transpose", _view(lambda p, x: (random_axis(p, x), random_axis(p, x)))),
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
    ("movedim", _view(lambda p, x: (random_axis(p, x), random_axis(p, x)))),
    ("chunk", _view(lambda p, x: (2, random_axis(p, x)), lambda x: x.dim() and 0 not in x.shape)),
    ("unbind", _view(lambda p, x: (random_axis(p, x),))),
    ("detach", _view(lambda p, x: ())),
    ("as_strided", _view(_strided, lambda x: x.numel() > 0)),
]
