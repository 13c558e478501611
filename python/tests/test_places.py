"""Arrays in the memory of a GPU that this machine has not: they are handed on, and nothing reads them."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tenon

ADDRESS = 4096
NAME = b"dltensor"


class Tensor(ctypes.Structure):
    """DLManagedTensor of DLPack."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
pointer_in.restype = ctypes.c_void_p
pointer_in.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Foreign:
    """An array of another library's, f32[2, 3], which counts how often it is released."""

    def __init__(self, device, strides=(3, 1)):
        self.device = device
        self.released = 0
        self.shape = (ctypes.c_int64 * 2)(2, 3)
        self.strides = (ctypes.c_int64 * 2)(*strides)
        self.deleter = Tensor._fields_[-1][1](self.release)
        self.tensor = Tensor(ADDRESS, *device, 2, 2, 32, 1, self.shape, self.strides, 0, None, self.deleter)

    def release(self, _):
        self.released += 1

    def __dlpack__(self, **_):
        return new_capsule(ctypes.addressof(self.tensor), NAME, None)

    def __dlpack_device__(self):
        return self.device


def test_a_gpu_is_carried_both_ways():
    foreign = Foreign((2, 1))
    array = tenon.Array(foreign)
    assert array.shape == (2, 3)
    assert repr(array) == "f32[2, 3] on gpu:1"
    assert array.__dlpack_device__() == (2, 1)
    capsule = array.__dlpack__()
    tensor = Tensor.from_address(pointer_in(capsule, NAME))
    assert (tensor.data, tensor.device_type, tensor.device_id) == (ADDRESS, 2, 1)
    del tensor, capsule
    assert foreign.released == 0
    del array
    assert foreign.released == 1


def test_nothing_reads_there():
    array = tenon.Array(Foreign((2, 0)))
    refused = "this array is in the memory of gpu:0"
    with pytest.raises(tenon.Error, match=refused):
        array.numpy()
    with pytest.raises(tenon.Error, match=refused):
        array.to(tenon.f64)
    with pytest.raises(tenon.Error, match=refused):
        tenon.Array(Foreign((2, 0), strides=(1, 2)))
    with pytest.raises(TypeError, match="on gpu:0 is read with strides of 0 or more"):
        tenon.Array(Foreign((2, 0), strides=(-3, 1)))


def test_the_cpu_says_so():
    assert tenon.Array([1.0]).__dlpack_device__() == (1, 0)


def test_a_device_that_there_is_not():
    x = tenon.input("x", "f32[n]")
    graph = tenon.Graph("g", [x], {"y": x + x})
    with pytest.raises(tenon.Error, match="there is no device `tpu`: programs run on `cpu` or `gpu`"):
        tenon.compile(graph, device="tpu")
    assert tenon.compile(graph, device="cpu").run([np.float32([1, 2])])[0].numpy().tolist() == [2, 4]


class Interfaced:
    """An array of another library's that has the interface of CUDA alone."""

    def __init__(self, **changed):
        self.__cuda_array_interface__ = {"shape": (2, 3), "typestr": "<f4", "data": (ADDRESS, False), "version": 3,
                                         **changed}


def test_the_interface_of_cuda_both_ways():
    given = Interfaced(strides=(12, 4), stream=2)
    array = tenon.Array(given)
    assert repr(array) == "f32[2, 3] on gpu:0"
    shown = array.__cuda_array_interface__
    assert shown == {"shape": (2, 3), "typestr": "<f4", "data": (ADDRESS, True), "strides": None, "stream": None,
                     "version": 3}
    assert tenon.Array(Interfaced(typestr="|b1", shape=())).__cuda_array_interface__["typestr"] == "|b1"
    assert not hasattr(tenon.Array([1.0]), "__cuda_array_interface__")
    references = sys.getrefcount(given)
    del array
    assert sys.getrefcount(given) == references - 1


def test_what_the_interface_of_cuda_cannot_say():
    for changed, words in [({"typestr": "<c8"}, "elements of type <c8"), ({"strides": (4, 8)}, "side by side"),
                           ({"strides": (4,)}, "side by side"), ({"mask": object()}, "a mask"),
                           ({"stream": 77}, "a stream of its own"), ({"shape": (-1, 2)}, "less than 0")]:
        with pytest.raises(TypeError, match=words):
            tenon.Array(Interfaced(**changed))


EMULATED = Path(tenon.__file__).absolute().parents[2] / "emulated_gpu" / "libcuda.so.1"
PROGRAM = """
import ctypes, sys
import numpy as np
import tenon

driver = ctypes.CDLL(sys.argv[1])  # with the name under which Tenon looks for NVIDIA's
x = tenon.input("x", "f32[n]")
program = tenon.compile(tenon.Graph("g", [x], {"y": x * 2.0 + 1.0}), device="cuda")
values = np.arange(7, dtype=np.float32)
assert program.run([values])[0].numpy().tolist() == (values * 2 + 1).tolist()

address = ctypes.c_uint64()
stream = ctypes.c_void_p(2)
assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(28)) == 0
assert driver.cuMemcpyHtoDAsync_v2(address, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(28), stream) == 0

class There:
    __cuda_array_interface__ = {"shape": (7,), "typestr": "<f4", "data": (address.value, False), "version": 3,
                                "stream": 2}

assert program.run([There()])[0].numpy().tolist() == (values * 2 + 1).tolist()
assert program.run([tenon.Array(There())])[0].numpy().tolist() == (values * 2 + 1).tolist()
print("right")
"""


@pytest.mark.skipif(not EMULATED.exists(), reason="this build has no emulated GPU")
def test_memory_of_an_emulated_gpu_is_read_where_it_is(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM, EMULATED], capture_output=True, text=True, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.stdout == "right\n", done.stdout + done.stderr
