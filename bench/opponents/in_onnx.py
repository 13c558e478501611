"""The dialect that writes an ONNX file, in the operators that exporters of other systems use (opset 20)."""

import numpy as np

from . import wire
from .models import MODELS, Weights

OPSET = 20


class Text:
    """A graph in the making."""

    def __init__(self):
        self.nodes, self.weights = [], {}

    def node(self, kind, inputs, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(wire.node(kind, [self.named(each) for each in inputs], [name], attributes))
        return Node(self, name)

    def named(self, value):
        if isinstance(value, Node):
            return value.name
        name = f"constant_{len(self.weights)}"
        self.weights[name] = np.asarray(value)
        return name


class Node:
    """A value of the graph."""

    def __init__(self, text, name):
        self.text, self.name = text, name

    def __add__(self, other):
        return self.text.node("Add", [self, other])

    def __sub__(self, other):
        return self.text.node("Sub", [self, other])

    def __mul__(self, other):
        return self.text.node("Mul", [self, other])


def ints(*values):
    return np.array(values, np.int64)


class Dialect:
    def __init__(self, text, weights):
        self.text, self.node, self.arrays = text, text.node, weights

    def __getattr__(self, name):
        """Operators of one operand and no attribute."""
        kind = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "gelu": "Gelu"}[name]
        return lambda x: self.node(kind, [x])

    def relu6(self, x):
        return self.node("Clip", [x, np.float32(0), np.float32(6)])

    def silu(self, x):
        return x * self.sigmoid(x)

    def linear(self, x, weight, bias):
        return self.node("MatMul", [x, weight]) + bias

    def conv(self, x, weight, bias, stride, pad, groups):
        return self.node("Conv", [x, weight] + ([] if bias is None else [bias]), strides=[stride] * 2, pads=[pad] * 4,
                         group=groups)

    def twice(self, x, weight, bias):
        return self.node("ConvTranspose", [x, weight, bias], strides=[2, 2])

    def batch_norm(self, x, *moments):
        return self.node("BatchNormalization", [x, *moments], epsilon=1e-5)

    def layer_norm(self, x, scale, bias, epsilon):
        return self.node("LayerNormalization", [x, scale, bias], axis=-1, epsilon=epsilon)

    def max_pool(self, x, size, stride, pad):
        return self.node("MaxPool", [x], kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def mean_hw(self, x):
        return self.node("GlobalAveragePool", [x])

    def flatten(self, x):
        return self.node("Flatten", [x], axis=1)

    def softmax(self, x):
        return self.node("Softmax", [x], axis=-1)

    def concat(self, values, axis):
        return self.node("Concat", values, axis=axis)

    def transpose(self, x, *order):
        return self.node("Transpose", [x], perm=order)

    def reshape(self, x, *dims):
        return self.node("Reshape", [x, ints(*dims)])

    def split_heads(self, x, heads, depth):
        return self.transpose(self.reshape(x, 0, 0, heads, depth), 0, 2, 1, 3)

    def merge_heads(self, x):
        return self.reshape(self.transpose(x, 0, 2, 1, 3), 0, 0, -1)

    def attention(self, q, k, v, mask, depth):
        scores = self.node("MatMul", [q, self.transpose(k, 0, 1, 3, 2)]) * np.float32(depth**-0.5)
        return self.node("MatMul", [self.softmax(scores if mask is None else scores + mask), v])

    def key_mask(self, mask):
        chosen = self.node("Where", [mask, np.float32(0), np.float32(-3e38)])
        return self.node("Unsqueeze", [chosen, ints(1, 2)])

    def take(self, table, places):
        return self.node("Gather", [table, places], axis=0)

    def first_rows(self, table, tokens):
        length = self.node("Shape", [tokens], start=1, end=2)
        return self.node("Slice", [table, ints(0), length, ints(0)])

    def tokens(self, x):
        return self.transpose(self.reshape(x, 0, 0, -1), 0, 2, 1)

    def behind(self, token, x):
        batch = self.node("Shape", [x], start=0, end=1)
        return self.concat([self.node("Expand", [token, self.concat([batch, ints(1, 1)], 0)]), x], 1)

    def first(self, x):
        return self.node("Gather", [x, np.int64(0)], axis=1)

    def lstm(self, x, weight, recurrent, bias):
        size = self.arrays[recurrent.name].shape[1]
        parts = [self.node("Unsqueeze", [each, ints(0)]) for each in (weight, recurrent, bias)]
        return self.node("Squeeze", [self.node("LSTM", [x, *parts], hidden_size=size), ints(1)])


def write(path, name, inputs, weights):
    """The network of MODELS with this name; inputs as (name, dtype, dims)."""
    text = Text()
    text.weights = {key: value for key, value in weights.items() if value is not None}
    found = Weights(lambda key: Node(text, key))
    given = {each[0]: Node(text, each[0]) for each in inputs}
    y = MODELS[name](Dialect(text, weights), found, **given)
    ports = [wire.port(*each) for each in inputs]
    path.write_bytes(wire.model(text.nodes, ports, [wire.port(y.name, None, None)], text.weights, OPSET))
