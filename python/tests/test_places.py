"""Arrays in the memory of a GPU that this machine has not: they are handed on, and nothing reads them."""

import ctypes

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
