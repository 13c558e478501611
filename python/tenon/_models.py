"""Compiling graphs and running models from files."""

import os

from tenon import _tenon
from tenon._display import Explanation


class Model:
    """A model from a file, compiled once; it runs at every size of its named axes.

    Call it with arrays by position or by name: NumPy arrays, PyTorch tensors on the CPU, anything with `__dlpack__`.
    They are not copied where they are row-major. Results are NumPy arrays: one, or a dict by name where the model has
    several outputs. `weights=tenon.bf16` (or f16, i8) keeps the constant matrices of products in fewer bits, rounded.

    `donate={"past": "present"}` has outputs take over the memory of inputs, and `donate="auto"` finds the pairs by
    name; a run with `donate=True` then writes what changed into the arrays that it is given, and gives these back.
    """

    def __init__(self, path, *, fuse=True, disk_cache=True, weights=None, donate=None):
        pairs, found = _pairs(donate)
        self._model = _tenon.load_onnx(os.fspath(path), fuse, disk_cache, weights, pairs, found)
        self.path = path

    @property
    def inputs(self):
        """Names and shapes, as the file declares them."""
        return self._model.inputs

    @property
    def outputs(self):
        """The names of what it gives."""
        return self._model.output_names

    @property
    def compile_count(self):
        """How often it was compiled so far."""
        return self._model.compile_count

    @property
    def executable(self):
        """The compiled program."""
        return self._model.executable

    @property
    def assumptions(self):
        """What the program that ran last takes for granted of sizes; another is compiled for others."""
        return self._model.assumptions

    def run(self, inputs, *, threads=None, sizes=None, trace=None, donate=False):
        """The outputs by name, as arrays, for inputs by name.

        With `donate`, an input that an output takes over is written in place, where its memory is row-major and may be
        written; the output is then the object that was given.
        """
        return self._model.run_named(dict(inputs), threads, sizes, trace, donate)

    def __call__(self, *args, threads=None, sizes=None, trace=None, donate=False, **kwargs):
        names = [name for name, _ in self.inputs]
        if len(args) > len(names):
            raise _tenon.Error(f"the model takes {len(names)} inputs ({', '.join(names)}), got {len(args)}")
        given = dict(zip(names, args))
        twice = set(given) & set(kwargs)
        if twice:
            raise _tenon.Error(f"input `{min(twice)}` was given twice")
        results = self.run({**given, **kwargs}, threads=threads, sizes=sizes, trace=trace, donate=donate)
        seen = {name: _seen(array) for name, array in results.items()}
        return next(iter(seen.values())) if len(seen) == 1 else {name: seen[name] for name in self.outputs}

    def specialize(self, **sizes):
        """Prepare these sizes, so that the first run at them takes what later ones take."""
        self.executable.specialize(sizes)

    def explain(self):
        """The steps that a run takes: operators, bytes, and why each ends where it does."""
        return explain(self)

    def __repr__(self):
        takes = ", ".join(f"{name}: {shape}" for name, shape in self.inputs)
        return f"Model({takes}) -> {', '.join(self.outputs)}"


def _seen(array):
    """As NumPy has it, where it does; what the user gave stays what it is."""
    return array.numpy() if isinstance(array, _tenon.Array) and array.dtype != _tenon.bf16 else array


def _pairs(donate):
    """Pairs of an input and an output, and whether those are to be found that names tell of."""
    if donate is None or donate == "auto":
        return {}, donate == "auto"
    try:
        return dict(donate), False
    except (TypeError, ValueError):
        raise _tenon.Error(f'donate={donate!r}: write {{"INPUT": "OUTPUT"}}, or "auto"') from None


def donate(graph, pairs="auto"):
    """The same function, in which outputs take over the memory of inputs: `{"past": "present"}`, or found by name.

    Of what grows (`present = concat(past, new)`) both become an array with room, whose size is the axis `capacity`.
    """
    return _tenon.donate_graph(graph, *_pairs(pairs))


def load(path, **options):
    """Read an ONNX model and compile it for all sizes of its named axes."""
    return Model(path, **options)


def compile(graph, **options):
    """Compile a graph once; the result runs at every size of its named axes.

    >>> import numpy as np, tenon
    >>> x = tenon.input("x", "f32[n, 3]")
    >>> exe = tenon.compile(tenon.Graph("double", [x], {"y": x * 2}))
    >>> exe.run([np.ones((2, 3), np.float32)])[0].numpy().tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    """
    return _tenon.compile_graph(graph, **options)


def explain(what):
    """What runs when `what` does: an Executable, a Model, a Graph, or lazy tensors that are not computed yet."""
    if isinstance(what, Model):
        what = what.executable
    if isinstance(what, _tenon.Tensor):
        what = [what]
    if isinstance(what, (list, tuple)):
        what = _tenon.recorded_graph(list(what))
    if isinstance(what, _tenon.Graph):
        what = _tenon.compile_graph(what)
    return Explanation(what)


def trace(module, examples, outputs=()):
    """What `module(*examples)` computes, as a graph whose inputs are the examples', then the weights by their names; and
    the weights, a dict of arrays.

    `examples` is a dict of tensors by name. Named axes stay symbolic: `{"x": tenon.tensor(x, axes=["batch", 4])}`. The
    module is as in `eval()` meanwhile. `outputs` are names; without them `output`, or `output0`, `output1`, ...
    """
    return _tenon.trace_module(module, module, dict(examples), list(outputs))


def save_onnx(module, path, examples, outputs=(), *, external_data=False):
    """What `trace` gives, as an ONNX file: the weights are initializers under their names."""
    graph, weights = trace(module, examples, outputs)
    graph.export_onnx(os.fspath(path), weights, external_data)
