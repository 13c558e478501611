"""Programs in parts on several processes."""

import os

from tenon import _tenon


def mesh(axes, comm=None):
    """The processes that `mpirun` started, as ranks with named axes: `tenon.mesh("data=2,model=2")` has four.

    `comm` has the ranks of one of MPI's communicators instead, as mpi4py has them (anything with `py2f()`). Where MPI has
    not begun, by mpi4py or otherwise, the first mesh begins it, and it ends with the process.
    """
    return _tenon.Mesh(axes) if comm is None else _tenon.Mesh(axes, comm.py2f())


def run_as_threads(axes, body):
    """Call `body(mesh)` once for each rank of a mesh, as threads of this process: for trying out, without MPI. What it
    gives, in the order of ranks.

    >>> import numpy as np, tenon
    >>> x = tenon.input("x", "f32[batch, 3]")
    >>> graph = tenon.Graph("double", [x], {"y": x * 2})
    >>> def body(mesh):
    ...     program = tenon.compile(graph, mesh=mesh, shard="batch=data")
    ...     return program.run([np.ones((5, 3), np.float32)])[0].numpy().sum()
    >>> [float(sum) for sum in tenon.run_as_threads("data=2", body)]
    [30.0, 30.0]
    """
    results = {}

    def keep(own):
        results[own.rank] = body(own)

    _tenon.run_mesh_as_threads(axes, keep)
    return [results[rank] for rank in sorted(results)]


class MeshModel:
    """An ONNX model in parts on a mesh, or a program that was built for one. Call it on every rank with the same arrays,
    by position or by name.
    """

    def __init__(self, path, mesh, *, shard=None, **options):
        path = os.fspath(path)
        if _tenon.is_program_file(path):
            if shard is not None or options.keys() - {"threads", "verify"}:
                raise _tenon.Error(f"`{path}` is a program, which was compiled when it was built: give options to its build")
            self.executable = _tenon.load_mesh_program(path, mesh, **options)
            return
        graph, weights = _tenon.import_onnx_with_weights(path)
        self.executable = _tenon.compile_on_mesh(graph, mesh, shard=shard, values=weights, **options)

    @property
    def inputs(self):
        """Names and shapes of what it takes."""
        return self.executable.inputs

    @property
    def outputs(self):
        """The names of what it gives."""
        return [name for name, _ in self.executable.outputs]

    def run(self, inputs, *, sizes=None):
        """The outputs by name, as arrays, for inputs by name."""
        names = [name for name, _ in self.inputs]
        for name in names:
            if name not in inputs:
                raise _tenon.Error(f"input `{name}` is not given; the model takes {', '.join(names)}")
        for name in inputs:
            if name not in names:
                raise _tenon.Error(f"the model has no input `{name}`; it takes {', '.join(names)}")
        return dict(zip(self.outputs, self.executable.run([inputs[name] for name in names], sizes=sizes)))

    def __call__(self, *args, sizes=None, **kwargs):
        names = [name for name, _ in self.inputs]
        if len(args) > len(names):
            raise _tenon.Error(f"the model takes {len(names)} inputs ({', '.join(names)}), got {len(args)}")
        results = self.run({**dict(zip(names, args)), **kwargs}, sizes=sizes)
        seen = {name: array if array.dtype == _tenon.bf16 else array.numpy() for name, array in results.items()}
        return next(iter(seen.values())) if len(seen) == 1 else seen

    def __repr__(self):
        takes = ", ".join(f"{name}: {shape}" for name, shape in self.inputs)
        return f"MeshModel({takes}) -> {', '.join(self.outputs)} on {self.executable.mesh.axes}"
