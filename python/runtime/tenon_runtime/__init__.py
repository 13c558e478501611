"""Runs programs that Tenon built (`tenon build`, `tenon.save`), without the compiler.

    >>> import tenon_runtime
    >>> model = tenon_runtime.load("model.tenon")       # doctest: +SKIP
    >>> logits = model(image)                           # doctest: +SKIP
"""

import ctypes
import os

import numpy as np

from tenon_runtime._library import Error, Tensor, check, library

__all__ = ["Error", "Model", "load"]
__version__ = library.tenon_version().decode()

# In the order of the numbers that tenon/c.h gives to dtypes. NumPy has no bf16: its bits are u16.
_DTYPES = [np.dtype(name) for name in ("f4", "f8", "f2", "u2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")]


def load(path, *, verify=True):
    """The model of a program's file, which runs at every size of its named axes.

    The file is mapped: processes that load it share its weights. Without `verify` these are not held against their
    checksums. The file's machine code is trusted like that of a shared library.
    """
    return Model(path, verify=verify)


class Model:
    """A program. Call it with NumPy arrays, by position or by name; from any number of threads at once.

    Results are NumPy arrays: one, or a dict by name where there are several. Elements of bf16 are given and taken as
    `numpy.uint16`, which has their bits.
    """

    def __init__(self, path, *, verify=True):
        self._handle = ctypes.c_void_p()
        self.path = path
        check(library.tenon_load(os.fsencode(path), 0 if verify else 1, ctypes.byref(self._handle)))
        self.name = library.tenon_name(self._handle).decode()
        self.inputs = self._ports("input")
        self.outputs = self._ports("output")
        self._input_types = [library.tenon_input_dtype(self._handle, i) for i in range(len(self.inputs))]
        self._output_types = [library.tenon_output_dtype(self._handle, i) for i in range(len(self.outputs))]
        self._output_ranks = [library.tenon_output_rank(self._handle, i) for i in range(len(self.outputs))]

    def __del__(self):
        library.tenon_free(self._handle)

    def _ports(self, what):
        """Names and shapes; a shape is text, such as "f32[batch, 784]"."""
        count, name, shape = (getattr(library, f"tenon_{what}_{part}") for part in ("count", "name", "shape"))
        return [(name(self._handle, i).decode(), shape(self._handle, i).decode()) for i in range(count(self._handle))]

    def __call__(self, *args, threads=0, sizes=None, **kwargs):
        names = [name for name, _ in self.inputs]
        if len(args) > len(names):
            raise Error(f"the model takes {len(names)} inputs ({', '.join(names)}), got {len(args)}")
        given = dict(zip(names, args))
        if twice := sorted(set(given) & set(kwargs)):
            raise Error(f"input `{twice[0]}` was given twice")
        results = self.run({**given, **kwargs}, threads=threads, sizes=sizes)
        return next(iter(results.values())) if len(results) == 1 else results

    def run(self, inputs, *, threads=0, sizes=None):
        """The outputs by name, for inputs by name. `sizes` are those of axes that no input shows: `{"past": 3}`."""
        names = [name for name, _ in self.inputs]
        for name in (*names, *inputs):
            if (name in inputs) != (name in names):
                takes = ", ".join(f"`{each}`" for each in names) or "none"
                problem = f"input `{name}` is not given" if name in names else f"there is no input `{name}`"
                raise Error(f"{problem}; the model takes {takes}")
        arrays = [self._array(name, kind, inputs[name]) for name, kind in zip(names, self._input_types)]
        tensors = (Tensor * len(arrays))(*map(Tensor.of, arrays, self._input_types))
        with _Options(threads, sizes) as options:
            results = self._run_into(tensors, options)
            if results is None:
                results = self._run_anew(tensors, options)
        return dict(zip([name for name, _ in self.outputs], results))

    def _array(self, name, kind, given):
        array = np.asarray(given)
        if array.dtype != _DTYPES[kind]:
            raise Error(f"input `{name}` is {_DTYPES[kind]}, and {array.dtype} is given")
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)

    def _run_into(self, tensors, options):
        """Results in memory of NumPy's; None where it is not known before how much that is."""
        results = []
        for i, (kind, rank) in enumerate(zip(self._output_types, self._output_ranks)):
            dims = (ctypes.c_int64 * rank)()
            if library.tenon_output_dims_for(self._handle, i, tensors, len(tensors), options, dims) != 0:
                return None
            results.append(np.empty(tuple(dims), _DTYPES[kind]))
        places = (Tensor * len(results))(*map(Tensor.of, results, self._output_types))
        check(library.tenon_run(self._handle, tensors, len(tensors), places, len(places), options))
        return results

    def _run_anew(self, tensors, options):
        """Copies of results in memory of the library's."""
        result = ctypes.c_void_p()
        check(library.tenon_run_result(self._handle, tensors, len(tensors), options, ctypes.byref(result)))
        try:
            return [self._copy(result, i) for i in range(len(self.outputs))]
        finally:
            library.tenon_result_free(result)

    def _copy(self, result, i):
        tensor = Tensor()
        check(library.tenon_result_tensor(result, i, ctypes.byref(tensor)))
        array = np.empty(tuple(tensor.dims[axis] for axis in range(tensor.rank)), _DTYPES[tensor.dtype])
        ctypes.memmove(array.ctypes.data, tensor.data, array.nbytes)
        return array

    def __repr__(self):
        takes = ", ".join(f"{name}: {shape}" for name, shape in self.inputs)
        return f"{self.name}({takes}) -> {', '.join(name for name, _ in self.outputs)}"


class _Options:
    """Options of one run; none where nothing is asked for."""

    def __init__(self, threads, sizes):
        self._handle = None
        self._asked = threads, dict(sizes or {})

    def __enter__(self):
        threads, sizes = self._asked
        if not threads and not sizes:
            return None
        self._handle = ctypes.c_void_p()
        check(library.tenon_options_new(ctypes.byref(self._handle)))
        try:
            check(library.tenon_options_set_threads(self._handle, threads))
            for name, size in sizes.items():
                check(library.tenon_options_set_size(self._handle, name.encode(), size))
        except BaseException:
            self.__exit__()
            raise
        return self._handle

    def __exit__(self, *_):
        library.tenon_options_free(self._handle)
        self._handle = None
