"""What patterns are written with: a graph in the making, and the table of all patterns."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, UINT8, INT8, INT32, INT64, BOOL = (TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32,
                                          TensorProto.INT64, TensorProto.BOOL)
MICROSOFT = "com.microsoft"
PATTERNS = {}


def pattern(function):
    PATTERNS[function.__name__] = function
    return function


class Maker:
    """A graph in the making: nodes by name, constants by value."""

    def __init__(self, opset=17):
        self.nodes, self.initializers, self.inputs, self.outputs, self.opset = [], [], [], [], opset
        self.random = np.random.default_rng(1)

    def name(self, prefix):
        return f"{prefix}_{len(self.nodes)}_{len(self.initializers)}"

    def input(self, name, dims, dtype=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name

    def constant(self, value, dtype=None):
        name = self.name("c")
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *dims):
        return self.constant(self.random.uniform(-1, 1, dims).astype(np.float32))

    def bytes(self, *dims, low=-63, high=64, dtype=np.int8):
        """Weights of seven bits: with eight, ONNX Runtime's sums saturate on machines without dot products."""
        return self.constant(self.random.integers(low, high, dims).astype(dtype))

    def node(self, kind, inputs, outputs=1, domain="", **attributes):
        names = [self.name(kind.lower() + str(i)) for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def output(self, *names):
        for name in names:
            self.outputs.append(helper.make_empty_tensor_value_info(name))

    def size(self, x, axis):
        return self.node("Gather", [self.node("Shape", [x]), self.constant(axis, np.int64)])

    def body(self, inputs):
        inner = Maker(self.opset)
        inner.random = self.random
        inner.inputs = [helper.make_tensor_value_info(name, dtype, dims) for name, dtype, dims in inputs]
        inner.name = lambda prefix: f"inner_{prefix}_{len(inner.nodes)}_{len(inner.initializers)}_{id(inner) % 9973}"
        return inner

    def graph(self, name="g"):
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)

    def save(self, path):
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        onnx.save(helper.make_model(self.graph(), opset_imports=opsets, ir_version=8), path)
