"""Graphs from Python functions."""

import functools
import inspect

from tenon import _tenon
from tenon._tenon import Graph, Shape, Value


class building_graph:
    """While it lasts, operations without operands (full, iota, ...) give values of a graph, not lazy tensors. With
    `unify_names`, two names of axes that meet are equal, which is checked when they are bound, instead of an error."""

    def __init__(self, unify_names=False):
        self._unify_names = unify_names

    def __enter__(self):
        self._before = _tenon.set_building(True)
        self._unified = _tenon.set_unify_names(self._unify_names)
        return self

    def __exit__(self, *_):
        _tenon.set_building(self._before)
        _tenon.set_unify_names(self._unified)


def _named(result):
    """The values that a function gave, by name."""
    if isinstance(result, dict):
        return result
    several = result if isinstance(result, (list, tuple)) else [result]
    return {f"y{i}": value for i, value in enumerate(several)}


def _as_given(result, arrays):
    """Arrays, in the order of the values of `result`, in its form: one, a list or a dict."""
    if isinstance(result, dict):
        return dict(zip(result, arrays))
    return arrays if isinstance(result, (list, tuple)) else arrays[0]


class Jitted:
    """A function that is traced and compiled when it is first called with arrays of these dtypes and ranks."""

    def __init__(self, function, dynamic):
        functools.update_wrapper(self, function)
        self._function = function
        self._signature = inspect.signature(function)
        self._dynamic = dynamic or {}
        unknown = set(self._dynamic) - set(self._signature.parameters)
        if unknown:
            raise _tenon.Error(f"jit: {function.__name__} has no parameter `{min(unknown)}`")
        self._compiled = {}

    def _shape(self, name, array):
        axes = list(array.shape)
        names = self._dynamic.get(name)
        if names is not None:
            if len(names) != len(axes):
                raise _tenon.Error(
                    f"jit: `{name}` is declared with {len(names)} axes, the array has {len(axes)}: {tuple(axes)}"
                )
            axes = [axis if declared is None else declared for axis, declared in zip(axes, names)]
        return Shape(array.dtype, axes)

    def graph(self, *args, **kwargs):
        """The graph that a call with these arguments runs."""
        return self._trace(self._bind(args, kwargs))[0]

    def _bind(self, args, kwargs):
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments

    def _split(self, arguments):
        arrays, rest = {}, {}
        for name, given in arguments.items():
            is_array = hasattr(given, "__dlpack__") or hasattr(given, "__array__")
            (arrays if is_array else rest)[name] = given
        return {name: _tenon.Array(given) for name, given in arrays.items()}, rest

    def _trace(self, arguments):
        arrays, rest = self._split(arguments)
        shapes = {name: self._shape(name, array) for name, array in arrays.items()}
        key = (tuple((name, str(shape)) for name, shape in shapes.items()), tuple(map(repr, rest.items())))
        if key not in self._compiled:
            values = {name: _tenon.input(name, shape) for name, shape in shapes.items()}
            with building_graph():
                result = self._function(**values, **rest)
            outputs = _named(result)
            for name, output in outputs.items():
                if not isinstance(name, str) or not isinstance(output, Value):
                    raise _tenon.Error(
                        f"jit: {self.__name__} gave {type(output).__name__}, must give a value, a list of values, or a dict "
                        "of values by name"
                    )
            graph = Graph(self.__name__, list(values.values()), list(outputs.items()))
            form = result if isinstance(result, (dict, list, tuple)) else None
            self._compiled[key] = (graph, _tenon.compile_graph(graph), form)
        return (*self._compiled[key], list(arrays.values()))

    def __call__(self, *args, **kwargs):
        _, executable, form, arrays = self._trace(self._bind(args, kwargs))
        return _as_given(form, [array.numpy() for array in executable.run(arrays)])

    @property
    def compile_count(self):
        """How often it was compiled so far."""
        return len(self._compiled)


def jit(function=None, *, dynamic=None):
    """Compile a function of arrays. `dynamic` names axes by parameter; one compile serves every size of a named one.

    >>> import numpy as np
    >>> @jit(dynamic={"x": ["batch", None]})
    ... def rows(x):
    ...     return (x * 2).sum(axis=1)
    >>> rows(np.ones((3, 4), np.float32)).tolist()
    [8.0, 8.0, 8.0]
    >>> rows(np.ones((5, 4), np.float32)).shape, rows.compile_count
    ((5,), 1)
    """
    if function is None:
        return functools.partial(jit, dynamic=dynamic)
    return Jitted(function, dynamic)
