"""libtenon_run by ctypes: tenon/c.h says what its functions do."""

import ctypes
import pathlib

library = ctypes.CDLL(str(pathlib.Path(__file__).parent / "libtenon_run.so"))


class Error(RuntimeError):
    """The file or the call is wrong; the text says what and where."""


class Tensor(ctypes.Structure):
    """`tenon_tensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
    ]

    @classmethod
    def of(cls, array, dtype):
        """Of an array that is row-major, which must outlive it."""
        dims = (ctypes.c_int64 * array.ndim)(*array.shape)
        return cls(array.ctypes.data, array.nbytes, dims, array.ndim, dtype)


def check(status):
    """Raises what a function's status tells of."""
    if status != 0:
        raise MemoryError if status == 4 else Error(library.tenon_error().decode(errors="replace"))


def _declare():
    """Every function that the package calls. `h` is a handle or NULL, `n` a number of things, `s` text, `p` a pointer, `i`
    an int32_t, `l` an int64_t; the first is the result, `v` none."""
    kinds = {
        "h": ctypes.c_void_p,
        "n": ctypes.c_size_t,
        "s": ctypes.c_char_p,
        "p": ctypes.c_void_p,
        "i": ctypes.c_int32,
        "u": ctypes.c_uint32,
        "l": ctypes.c_int64,
        "v": None,
    }
    functions = {
        "version": "s",
        "error": "s",
        "load": "isup",
        "free": "vh",
        "name": "sh",
        "input_count": "nh",
        "output_count": "nh",
        "input_name": "shn",
        "output_name": "shn",
        "input_shape": "shn",
        "output_shape": "shn",
        "input_dtype": "ihn",
        "output_dtype": "ihn",
        "output_rank": "ihn",
        "options_new": "ip",
        "options_free": "vh",
        "options_set_threads": "ihi",
        "options_set_size": "ihsl",
        "output_dims_for": "ihnpnhp",
        "run": "ihpnpnh",
        "run_result": "ihpnhp",
        "result_tensor": "ihnp",
        "result_free": "vh",
    }
    for name, (result, *arguments) in functions.items():
        function = getattr(library, f"tenon_{name}")
        function.restype = kinds[result]
        function.argtypes = [kinds[each] for each in arguments]


_declare()
