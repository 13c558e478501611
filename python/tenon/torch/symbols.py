"""PyTorch's symbolic sizes (SymPy expressions) as extents, and as numbers at a run."""

from __future__ import annotations

import operator

import sympy
import tenon
import torch
from torch.utils._sympy import functions as shapes

from .dtypes import Unsupported

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def expression(value) -> sympy.Expr:
    """What a SymInt stands for; a plain number as it is."""
    if isinstance(value, SYMBOLIC):
        return value.node.expr
    return sympy.Integer(value)


def evaluate(expr: sympy.Expr, of: dict[sympy.Expr, object]):
    """The expression over what symbols (or whole expressions) stand for: integers, or extents. `Unsupported` for what
    extents cannot say."""
    if expr in of:
        return of[expr]
    if isinstance(expr, sympy.Symbol):
        raise Unsupported(f"no argument says how large {expr} is")
    if isinstance(expr, sympy.Integer):
        return int(expr)
    if isinstance(expr, _ROUNDED):
        return _rounded(expr, of)
    parts = [evaluate(e, of) for e in expr.args]
    if isinstance(expr, sympy.Add):
        return sum(parts[1:], start=parts[0])
    if isinstance(expr, sympy.Mul):
        product = parts[0]
        for part in parts[1:]:
            product = product * part
        return product
    if isinstance(expr, (sympy.Pow, shapes.PowByNatural)) and isinstance(parts[1], int) and parts[1] >= 0:
        product = 1
        for _ in range(parts[1]):
            product = product * parts[0]
        return product
    return _function(expr, parts)


def _function(expr, parts):
    if isinstance(expr, shapes.FloorDiv):  # CleanDiv is one
        return parts[0] // parts[1]
    if isinstance(expr, (shapes.Mod, shapes.PythonMod, sympy.Mod)):
        return parts[0] % parts[1]
    if isinstance(expr, shapes.ModularIndexing):
        return (parts[0] // parts[1]) % parts[2]
    if isinstance(expr, shapes.CeilDiv):
        return tenon.ceildiv(parts[0], parts[1])
    if isinstance(expr, (shapes.Max, sympy.Max)):
        return _fold(tenon.extent_max, parts)
    if isinstance(expr, (shapes.Min, sympy.Min)):
        return _fold(tenon.extent_min, parts)
    if isinstance(expr, shapes.Identity):
        return parts[0]
    raise Unsupported(f"the size {expr} is no extent")


# --- Sizes by way of floats: `int(h / 2)`, `math.ceil(h * 0.5)`

_ROUNDED = (shapes.FloorToInt, shapes.TruncToInt, shapes.CeilToInt)
_QUOTIENTS = (shapes.IntTrueDiv, shapes.FloatTrueDiv)
_LARGEST_UNDER = 2**16  # of a float that is the factor of a size


def _rounded(expr, of):
    """Sizes are not negative, so that to truncate is to take the floor."""
    over, under = _ratio(expr.args[0], of)
    return tenon.ceildiv(over, under) if isinstance(expr, shapes.CeilToInt) else over // under


def _ratio(expr, of) -> tuple:
    """A float as a quotient of integers or extents; `Unsupported` where it is none."""
    if isinstance(expr, _QUOTIENTS):
        (a, b), (c, d) = _ratio(expr.args[0], of), _ratio(expr.args[1], of)
        return a * d, b * c
    if isinstance(expr, shapes.ToFloat):
        return _ratio(expr.args[0], of)
    if isinstance(expr, sympy.Mul):
        over, under = 1, 1
        for factor in expr.args:
            a, b = _ratio(factor, of)
            over, under = over * a, under * b
        return over, under
    if isinstance(expr, sympy.Float):
        over, under = float(expr).as_integer_ratio()
        if under > _LARGEST_UNDER:
            raise Unsupported(f"the factor {expr} of a size is no fraction of few digits")
        return over, under
    if isinstance(expr, sympy.Rational):
        return int(expr.p), int(expr.q)
    return evaluate(expr, of), 1


def number(expr: sympy.Expr, of, ops):
    """A float over what symbols stand for, by `ops`: `float`, `add`, `mul`, `div` and `pow` of its numbers."""
    if isinstance(expr, (sympy.Float, sympy.Rational)):
        return ops.float(float(expr))
    if isinstance(expr, _QUOTIENTS):
        return ops.div(*[number(e, of, ops) for e in expr.args])
    if isinstance(expr, shapes.ToFloat):
        return number(expr.args[0], of, ops)
    if isinstance(expr, (sympy.Add, sympy.Mul)) and not expr.is_integer:
        join = ops.add if isinstance(expr, sympy.Add) else ops.mul
        return _fold(join, [number(e, of, ops) for e in expr.args])
    if isinstance(expr, (sympy.Pow, shapes.FloatPow)) and not expr.is_integer:
        return ops.pow(*[number(e, of, ops) for e in expr.args])
    if type(expr).__name__ == "OpaqueUnaryFn_sqrt":
        return ops.pow(number(expr.args[0], of, ops), ops.float(0.5))
    return ops.float(evaluate(expr, of))


class _Values:
    """Numbers that are known when a program runs."""

    add, mul, div, pow = tenon.ops.add, tenon.ops.mul, tenon.ops.div, tenon.ops.pow

    @staticmethod
    def float(value):
        if isinstance(value, tenon.Extent):
            return tenon.ops.extent_value(value, tenon.f64)
        return tenon.ops.scalar(tenon.f64, float(value))


class _Numbers:
    """Numbers of Python's."""

    add, mul, div, pow, float = operator.add, operator.mul, operator.truediv, operator.pow, float


def _fold(function, parts):
    result = parts[0]
    for part in parts[1:]:
        result = function(result, part)
    return result


def _is_linear(expr) -> bool:
    """a * s + b for one symbol s."""
    if len(expr.free_symbols) != 1:
        return False
    (symbol,) = expr.free_symbols
    slope = sympy.diff(expr, symbol) if expr.is_polynomial(symbol) else None
    return slope is not None and slope.is_Integer


class Symbols:
    """The symbols of one graph: names for extents, and where a run finds their sizes."""

    def __init__(self, names: dict[sympy.Symbol, object] | None = None):
        self._extents: dict[sympy.Symbol, object] = dict(names or {})
        self.used: set[sympy.Symbol] = set()
        self.places: dict[sympy.Symbol, tuple[int, int | None]] = {}  # argument, axis (none: the argument itself)
        self._argument_axes: set[sympy.Symbol] = set()
        self._composed: dict[sympy.Expr, str] = {}  # sizes of arguments that are no bare symbol

    def declare(self, value, argument: int, axis: int | None) -> None:
        """A size of an argument, or an argument that is a size."""
        expr = expression(value)
        for symbol in expr.free_symbols:
            self._extents.setdefault(symbol, tenon.Extent(str(symbol)))
        if isinstance(expr, sympy.Symbol):
            if axis is not None:
                self._argument_axes.add(expr)
                self.places[expr] = (argument, axis)
            else:
                self.places.setdefault(expr, (argument, None))
        elif axis is not None and expr.free_symbols:
            self._composed.setdefault(expr, f"size_{argument}_{axis}")

    def settle(self) -> None:
        """After all arguments: a size such as `(s + 1) // 2`, where no argument says what s is, becomes a name of its
        own. (Tenon solves `2*s + 1` for s itself.)"""
        for expr, name in self._composed.items():
            lost = expr.free_symbols - self.places.keys()
            if lost and not _is_linear(expr):
                self._extents[expr] = tenon.Extent(name)
                for symbol in lost:
                    if not any(_is_linear(e) and symbol in e.free_symbols for e in self._composed):
                        self._extents.pop(symbol, None)

    def extent(self, value):
        """int | Extent of a size."""
        if isinstance(value, int):
            return value
        expr = expression(value)
        self.used |= expr.free_symbols
        return evaluate(expr, self._extents)

    def number(self, value):
        """A rank-0 value, f64, of a float that sizes decide."""
        expr = expression(value)
        self.used |= expr.free_symbols
        return number(expr, self._extents, _Values)

    def sizes(self, shape) -> list:
        return [self.extent(n) for n in shape]

    def unbound(self) -> list[sympy.Symbol]:
        """Symbols that are used but are no axis of a tensor argument: a run has to say what they are."""
        return sorted((s for s in self.used - self._argument_axes if s in self.places), key=str)

    def name(self, symbol: sympy.Symbol):
        return self._extents[symbol]

    def reader(self, value):
        """A function from the arguments of a run to the number."""
        expr = expression(value)
        if isinstance(expr, sympy.Integer):
            number = int(expr)
            return lambda arguments: number
        places = {}
        for symbol in expr.free_symbols:
            if symbol not in self.places:
                raise Unsupported(f"no argument says how large {symbol} is")
            places[symbol] = self.places[symbol]

        is_float = isinstance(value, torch.SymFloat)

        def read_from(sizes):
            return number(expr, sizes, _Numbers) if is_float else evaluate(expr, sizes)

        read_from(dict.fromkeys(places, 64))  # raises now what it cannot say
        return lambda arguments: read_from({s: look(arguments, place) for s, place in places.items()})


def look(arguments, place) -> int:
    """The size at a place of the arguments."""
    argument, axis = place
    return arguments[argument] if axis is None else arguments[argument].shape[axis]
