"""Compiling graphs and running models from files."""

import os

from tenon import _mesh, _tenon
from tenon._display import Explanation


class _Program:
    """What was built into a file, as a Model sees what it runs."""

    compile_count = 0
    assumptions = ()

    def __init__(self, path):
        self.executable = _tenon.load_program(path)
        self.inputs = self.executable.inputs
        self.output_names = [name for name, _ in self.executable.outputs]

    def run_named(self, inputs, threads, sizes, trace, donate):
        names = [name for name, _ in self.inputs]
        listed = ", ".join(f"`{name}`" for name in names) or "none"
        for name in names:
            if name not in inputs:
                raise _tenon.Error(f"input `{name}` is not given; the program takes {listed}")
        for name in inputs:
            if name not in names:
                raise _tenon.Error(f"the program has no input `{name}`; it takes {listed}")
        arrays = [inputs[name] for name in names]
        results = self.executable.run(arrays, threads=threads, sizes=sizes, trace=trace, donate=donate)
        return dict(zip(self.output_names, results))


class Model:
    """A model from a file, compiled once; it runs at every size of its named axes.

    A file of `save` or `tenon build` is run as it is: nothing is compiled. Neither is an ONNX file that was loaded on this
    machine before: its program is kept in the cache directory, unless `disk_cache` is off.

    Call it with arrays by position or by name: NumPy arrays, PyTorch tensors on the CPU, anything with `__dlpack__`.
    They are not copied where they are row-major. Results are NumPy arrays: one, or a dict by name where the model has
    several outputs. `weights="bf16"` (or f16, i8, i4) keeps the constant matrices of products in fewer bits, rounded.

    `donate={"past": "present"}` has outputs take over the memory of inputs, and `donate="auto"` finds the pairs by
    name; a run with `donate=True` then writes what changed into the arrays that it is given, and gives these back.

    `precision="bf16"` (or "tf32", "f16") rounds what products and convolutions multiply; sums stay f32.

    `device="cuda"` (or "gpu") runs the model on the first NVIDIA GPU. Inputs in its memory are read where they are;
    results are brought to the CPU.
    """

    def __init__(self, path, *, fuse=True, disk_cache=True, weights=None, donate=None, device="cpu",
                 precision="f32"):
        self.path = path
        self._donate = donate
        self._options = {"fuse": fuse, "weights": weights}
        self._is_buildable = (device, precision) == ("cpu", "f32")
        path = os.fspath(path)
        if not _tenon.is_program_file(path):
            self._model = _tenon.load_onnx(path, fuse, disk_cache, weights, *_pairs(donate), device, precision)
        elif not fuse or weights is not None or donate is not None or (device, precision) != ("cpu", "f32"):
            raise _tenon.Error(f"`{path}` is a program, which was compiled when it was built: give options to its build")
        else:
            self._model = _Program(path)

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
        """How often it was compiled so far; never, where it is a program or was loaded before and kept."""
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

    def save(self, path, *, machines=(), sizes=None, reasons=True, metadata=None):
        """Build the model's file into a program, as `save(graph, path)` does."""
        if isinstance(self._model, _Program):
            raise _tenon.Error(f"`{os.fspath(self.path)}` is a program already: copy the file")
        if not self._is_buildable:
            raise _tenon.Error("a model with a `device` or a `precision` is not built into a file: use `tenon build`")
        graph = _tenon.import_onnx(os.fspath(self.path))
        graph = graph if self._donate is None else donate(graph, self._donate)
        save(graph, path, machines=machines, sizes=sizes, reasons=reasons, metadata=metadata, **self._options)

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


def load(path, *, mesh=None, **options):
    """Read an ONNX model and compile it for all sizes of its named axes; or load a program, which was compiled before.

    With `mesh=tenon.mesh("data=2,model=2")` it runs in parts on the ranks of that mesh, `shard="batch=data"` says which
    axes lie along which of the mesh, and each rank keeps its part of the weights. A program that was built for a mesh is
    loaded with one of the same axes.
    """
    return Model(path, **options) if mesh is None else _mesh.MeshModel(path, mesh, **options)


def save(graph, path, *, machines=(), sizes=None, reasons=True, metadata=None, weights=None, fuse=True, mesh=None,
         shard=None, values=None):
    """Compile a graph into a file that runs without a compiler: by `tenon.load`, the command, or libtenon_run.

    `machines` are names of those that it is to run on, such as "x86-64-v3" and "armv8.2"; none: machines like this one.
    `sizes` are axes whose size is known, `{"batch": 1}`: the program runs at these alone. Without `reasons` it does not
    say why steps end where they do. `metadata` is a dict of texts that the file keeps. The file appears whole or not at
    all.

    With `mesh="data=2,model=2"` the file is for the ranks of such a mesh, as `compile` has them: `shard` says what lies
    where, and `values` are weights, which the file has in the parts of ranks. `tenon.load(path, mesh=...)` loads it.
    """
    if mesh is not None:
        if weights is not None:
            raise _tenon.Error("`weights` does not go with `mesh`: weights of a mesh are kept as they are")
        _tenon.build_mesh_program(graph, path, mesh, shard, values or {}, fuse, machines, sizes, reasons, metadata)
        return
    if shard is not None or values is not None:
        raise _tenon.Error("`shard` and `values` are for `mesh`")
    _tenon.build_program(graph, path, weights, fuse, machines, sizes, reasons, metadata)


def program_info(path):
    """What the file of a program says of itself: its name, version, metadata and machines."""
    return _tenon.program_info(os.fspath(path))


def compile(graph, *, mesh=None, **options):
    """Compile a graph once; the result runs at every size of its named axes, and `save(path)` builds it into a file. For
    that it keeps the graph, whose weights are in memory beside those that are laid out for its kernels, as long as it
    lives; `keep_graph=False` leaves it to whoever has it.

    >>> import numpy as np, tenon
    >>> x = tenon.input("x", "f32[n, 3]")
    >>> exe = tenon.compile(tenon.Graph("double", [x], {"y": x * 2}))
    >>> exe.run([np.ones((2, 3), np.float32)])[0].numpy().tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]

    With `mesh`, a `tenon.mesh(...)`, each rank of it gets its part: `shard="batch=data"` says which axes lie along which
    of the mesh, and `values` are arrays by the names of inputs that are known now, such as weights, of which each rank
    keeps its part.
    """
    return _tenon.compile_graph(graph, **options) if mesh is None else _tenon.compile_on_mesh(graph, mesh, **options)


def explain(what=None):
    """What runs when `what` does: an Executable, a Model, a Graph, or lazy tensors that are not computed yet; nothing
    runs. Without it, what lazy tensors ran last: `explain().save("page.html")`, see `tenon.explaining()`.
    """
    if what is None:
        return _tenon.explain_realizations()
    if isinstance(what, Model):
        what = what.executable
    if isinstance(what, _tenon.Tensor):
        what = [what]
    if isinstance(what, (list, tuple)):
        what = _tenon.recorded_graph(list(what))
    if isinstance(what, _tenon.Graph):
        return Explanation(_tenon.compile_graph(what), what)
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
