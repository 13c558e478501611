"""Small ONNX files that have what exporters, quantisers and optimisers write: one pattern each.

    python bench/model_patterns.py FOLDER

`./dev models --patterns` writes them and holds them against ONNX Runtime.
"""

import sys
from pathlib import Path

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


# --- Front ends of speech

@pattern
def stft_of_rank_two(m):
    x = m.input("x", ["batch", "length"])
    window = m.constant(np.hanning(16), np.float32)
    m.output(m.node("STFT", [x, m.constant(8, np.int64), window]))


@pattern
def stft_of_rank_three(m):
    x = m.node("Unsqueeze", [m.input("x", ["batch", "length"]), m.constant([2], np.int64)])
    m.output(m.node("STFT", [x, m.constant(8, np.int64), m.constant(np.hanning(16), np.float32)]))


@pattern
def frames_by_scan(m):
    x = m.input("x", ["batch", "length"])
    samples = m.size(x, 1)
    rest = m.node("Mod", [m.node("Sub", [samples, m.constant(16, np.int64)]), m.constant(8, np.int64)])
    end = m.node("Unsqueeze", [m.node("Sub", [samples, rest]), m.constant([0], np.int64)])
    one, eight = m.constant([1], np.int64), m.constant([8], np.int64)
    first = m.node("Slice", [x, m.constant([0], np.int64), eight, one])
    others = m.node("Reshape", [m.node("Slice", [x, eight, end, one]), m.constant([0, -1, 8], np.int64)])
    body = m.body([("before", FLOAT, ["batch", 8]), ("now", FLOAT, ["batch", 8])])
    both = body.node("Concat", ["before", "now"], axis=1)
    body.output(body.node("Identity", ["now"]), both)
    _, frames = m.node("Scan", [first, others], 2, body=body.graph("body"), num_scan_inputs=1, scan_input_axes=[1],
                       scan_output_axes=[1])
    m.output(frames)


# --- Sizes that were cast, divided and compared

@pattern
def float_range_to_size(m):
    x = m.input("x", ["batch", "length"])
    limit = m.node("Cast", [m.size(x, 1)], to=FLOAT)
    m.output(m.node("Range", [m.constant(0.0, np.float32), limit, m.constant(1.0, np.float32)]))


@pattern
def float_range_by_fractions(m):
    limit = m.node("Cast", [m.size(m.input("x", ["batch", "length"]), 1)], to=FLOAT)
    m.output(m.node("Range", [m.constant(0.5, np.float32), limit, m.constant(0.75, np.float32)]))


@pattern
def grid_of_a_detector(m):
    x = m.input("x", ["batch", 3, "height", "width"])
    axis = [m.node("Add", [m.node("Range", [m.constant(0.0, np.float32), m.node("Cast", [m.size(x, i)], to=FLOAT),
                                            m.constant(1.0, np.float32)]), m.constant(0.5, np.float32)]) for i in (2, 3)]
    rows = m.node("Unsqueeze", [axis[0], m.constant([1], np.int64)])
    m.output(m.node("Add", [rows, axis[1]]))


@pattern
def slice_by_half_of_a_size(m):
    x = m.input("x", ["batch", "length"])
    half = m.node("Div", [m.size(x, 1), m.constant(2, np.int64)])
    end = m.node("Unsqueeze", [half, m.constant([0], np.int64)])
    m.output(m.node("Slice", [x, m.constant([0], np.int64), end, m.constant([1], np.int64)]))


@pattern
def expand_by_cast_sizes(m):
    x = m.input("x", ["batch", "length"])
    scaled = m.node("Mul", [m.node("Cast", [m.node("Shape", [x])], to=FLOAT), m.constant([1.0, 1.0], np.float32)])
    m.output(m.node("Expand", [m.constant(2.0, np.float32), m.node("Cast", [scaled], to=INT64)]))


@pattern
def tile_by_sizes(m):
    x = m.input("x", ["batch", "length"])
    m.output(m.node("Tile", [m.weight(1, 3), m.node("Shape", [x])]))


@pattern
def resize_to_twice_the_size(m):
    x = m.input("x", ["batch", 3, "height", "width"])
    sizes = m.node("Mul", [m.node("Shape", [x]), m.constant([1, 1, 2, 2], np.int64)])
    m.output(m.node("Resize", [x, "", "", sizes], mode="nearest", coordinate_transformation_mode="asymmetric",
                    nearest_mode="floor"))


@pattern
def negative_step_from_before_the_start(m):
    x = m.input("x", ["batch", "length"])
    low = m.constant([-(2 ** 63)], np.int64)
    m.output(m.node("Slice", [x, m.constant([5], np.int64), low, m.constant([1], np.int64),
                              m.constant([-1], np.int64)]))


# --- Conditions

def by_size(m, branch_then, branch_else):
    x = m.input("x", ["batch", "length"])
    is_one = m.node("Equal", [m.size(x, 0), m.constant(1, np.int64)])
    branches = []
    for make in (branch_then, branch_else):
        body = m.body([])
        body.output(make(body))
        branches.append(body.graph("branch"))
    return m.node("If", [is_one], then_branch=branches[0], else_branch=branches[1])


@pattern
def squeeze_where_it_is_one(m):
    y = by_size(m, lambda b: b.node("Squeeze", ["x", b.constant([0], np.int64)]), lambda b: b.node("Identity", ["x"]))
    m.output(m.node("Mul", [y, m.constant(2.0, np.float32)]))


@pattern
def branches_of_one_shape(m):
    m.output(by_size(m, lambda b: b.node("Neg", ["x"]), lambda b: b.node("Exp", ["x"])))


@pattern
def branch_by_a_value(m):
    x = m.input("x", ["batch", "length"])
    total = m.node("ReduceSum", [x], keepdims=0)
    positive = m.node("Greater", [total, m.constant(0.0, np.float32)])
    yes, no = m.body([]), m.body([])
    yes.output(yes.node("Neg", [x]))
    no.output(no.node("Exp", [x]))
    m.output(m.node("If", [positive], then_branch=yes.graph(), else_branch=no.graph()))


# --- Loops

def loop_body(m, state_dims, *more):
    return m.body([("i", INT64, []), ("go", BOOL, []), ("state", FLOAT, state_dims), *more])


@pattern
def loop_that_stacks(m):
    x = m.input("x", ["batch", "length"])
    body = loop_body(m, ["batch"])
    column = body.node("Gather", ["x", "i"], axis=1)
    total = body.node("Add", ["state", column])
    body.output(body.node("Identity", ["go"]), total, body.node("Identity", [total]))
    start = m.node("ReduceSum", [x, m.constant([1], np.int64)], keepdims=0)
    m.output(*m.node("Loop", [m.size(x, 1), "", start], 2, body=body.graph()))


@pattern
def loop_of_keras(m):
    x = m.input("x", ["batch", "length"])
    limit = m.node("Cast", [m.size(x, 1)], to=INT32)
    begins = m.node("Less", [m.constant(0.0, np.float32), m.node("Cast", [limit], to=FLOAT)])
    body = loop_body(m, ["batch"], ("counter", INT32, []), ("bound", INT32, []))
    after = body.node("Add", ["counter", body.constant(1, np.int32)])
    total = body.node("Tanh", [body.node("Add", ["state", body.node("Gather", ["x", "counter"], axis=1)])])
    go = body.node("Less", [body.node("Cast", [after], to=FLOAT), body.node("Cast", ["bound"], to=FLOAT)])
    body.output(go, total, after, body.node("Identity", ["bound"]), body.node("Identity", [total]))
    start = m.node("ReduceSum", [x, m.constant([1], np.int64)], keepdims=0)
    results = m.node("Loop", ["", begins, start, m.constant(0, np.int32), limit], 4, body=body.graph())
    m.output(results[0], results[3])


@pattern
def loop_until_a_value(m):
    x = m.input("x", ["batch", "length"])
    body = loop_body(m, ["batch", "length"])
    less = body.node("Mul", ["state", body.constant(0.5, np.float32)])
    largest = body.node("ReduceMax", [body.node("Abs", [less])], keepdims=0)
    body.output(body.node("Greater", [largest, body.constant(0.01, np.float32)]), less)
    m.output(m.node("Loop", [m.constant(100, np.int64), "", x], body=body.graph()))


@pattern
def loop_until_a_value_that_stacks(m):
    x = m.input("x", ["batch", "length"])
    body = loop_body(m, ["batch", "length"])
    less = body.node("Mul", ["state", body.constant(0.5, np.float32)])
    largest = body.node("ReduceMax", [body.node("Abs", [less])], keepdims=0)
    body.output(body.node("Greater", [largest, body.constant(0.01, np.float32)]), less, body.node("Identity", [largest]))
    m.output(*m.node("Loop", [m.constant(100, np.int64), "", x], 2, body=body.graph()))


@pattern
def loop_of_a_computed_number_of_trips(m):
    x = m.input("x", ["batch", "length"])
    trips = m.node("Cast", [m.node("ReduceMax", [m.node("Abs", [m.node("Mul", [x, m.constant(5.0, np.float32)])])],
                                   keepdims=0)], to=INT64)
    body = loop_body(m, ["batch", "length"])
    body.output(body.node("Identity", ["go"]), body.node("Sin", ["state"]))
    m.output(m.node("Loop", [trips, "", x], body=body.graph()))


@pattern
def loop_that_grows(m):
    x = m.input("x", ["batch", "length"])
    body = loop_body(m, ["rows", "length"])
    body.output(body.node("Identity", ["go"]), body.node("Concat", ["state", "x"], axis=0))
    m.output(m.node("Loop", [m.constant(3, np.int64), "", x], body=body.graph()))


@pattern
def loop_of_no_trips(m):
    x = m.input("x", ["batch", "length"])
    body = loop_body(m, ["batch", "length"])
    body.output(body.node("Identity", ["go"]), body.node("Sin", ["state"]))
    m.output(m.node("Loop", [m.constant(0, np.int64), "", x], body=body.graph()))


# --- Quantised

def quantised_input(m, dims=("batch", "length"), last=64):
    x = m.input("x", [*dims[:-1], last])
    scale, zero = m.constant(0.01, np.float32), m.constant(120, np.uint8)
    return m.node("QuantizeLinear", [x, scale, zero]), scale, zero


@pattern
def qdq_matmul(m):
    q, scale, zero = quantised_input(m)
    x = m.node("DequantizeLinear", [q, scale, zero])
    w = m.node("DequantizeLinear", [m.bytes(64, 32), m.constant(np.full(32, 0.02), np.float32),
                                    m.constant(np.zeros(32), np.int8)], axis=1)
    y = m.node("QuantizeLinear", [m.node("MatMul", [x, w]), m.constant(0.1, np.float32), zero])
    m.output(m.node("DequantizeLinear", [y, m.constant(0.1, np.float32), zero]))


@pattern
def qdq_gemm(m):
    q, scale, zero = quantised_input(m)
    x = m.node("DequantizeLinear", [q, scale, zero])
    w = m.node("DequantizeLinear", [m.bytes(32, 64), m.constant(0.02, np.float32), m.constant(0, np.int8)])
    m.output(m.node("Gemm", [x, w, m.weight(32)], transB=1))


@pattern
def qdq_conv(m):
    x = m.input("x", ["batch", 3, "height", "width"])
    scale, zero = m.constant(0.01, np.float32), m.constant(114, np.uint8)
    x = m.node("DequantizeLinear", [m.node("QuantizeLinear", [x, scale, zero]), scale, zero])
    w = m.node("DequantizeLinear", [m.bytes(8, 3, 3, 3), m.constant(m.random.uniform(0.01, 0.02, 8), np.float32),
                                    m.constant(np.zeros(8), np.int8)], axis=0)
    y = m.node("Relu", [m.node("Conv", [x, w, m.weight(8)], pads=[1, 1, 1, 1], strides=[2, 2])])
    m.output(m.node("DequantizeLinear", [m.node("QuantizeLinear", [y, scale, zero]), scale, zero]))


@pattern
def qlinear_conv(m):
    x = m.input("x", ["batch", 3, "height", "width"])
    scale, zero = m.constant(0.01, np.float32), m.constant(114, np.uint8)
    q = m.node("QuantizeLinear", [x, scale, zero])
    m.output(m.node("QLinearConv", [q, scale, zero, m.bytes(8, 3, 3, 3), m.constant(0.02, np.float32),
                                    m.constant(0, np.int8), m.constant(0.05, np.float32), zero], pads=[1, 1, 1, 1]))


@pattern
def qlinear_matmul(m):
    q, scale, zero = quantised_input(m)
    m.output(m.node("QLinearMatMul", [q, scale, zero, m.bytes(64, 16), m.constant(0.02, np.float32),
                                      m.constant(0, np.int8), m.constant(0.05, np.float32), zero]))


@pattern
def dynamic_quantised_matmul(m):
    x = m.input("x", ["batch", 64])
    q, scale, zero = m.node("DynamicQuantizeLinear", [x], 3)
    sums = m.node("MatMulInteger", [q, m.bytes(64, 32), zero, m.constant(0, np.int8)])
    m.output(m.node("Mul", [m.node("Cast", [sums], to=FLOAT), m.node("Mul", [scale, m.constant(0.02, np.float32)])]))


@pattern
def integer_conv(m):
    x = m.input("x", ["batch", 3, "height", "width"])
    q, _, zero = m.node("DynamicQuantizeLinear", [x], 3)
    m.output(m.node("ConvInteger", [q, m.bytes(4, 3, 3, 3), zero], pads=[1, 1, 1, 1]))


def microsoft_pattern(name, kind):
    def make(m):
        q, scale, zero = quantised_input(m)
        y_scale = m.constant(0.02, np.float32)
        more = [m.bytes(64, low=0, high=255, dtype=np.uint8), scale, zero] if kind in ("QLinearAdd", "QLinearMul") else []
        attributes = {"axis": -1, "opset": 13} if kind == "QLinearSoftmax" else {}
        m.output(m.node(kind, [q, scale, zero, *more, y_scale, zero], domain=MICROSOFT, **attributes))
    PATTERNS[name] = make


for each in ("QLinearAdd", "QLinearMul", "QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax"):
    microsoft_pattern(f"microsoft_{each}", each)


@pattern
def microsoft_qlinear_concat(m):
    q, scale, zero = quantised_input(m)
    m.output(m.node("QLinearConcat", [m.constant(0.02, np.float32), zero, q, scale, zero, q,
                                      m.constant(0.03, np.float32), zero], domain=MICROSOFT, axis=1))


def quantised_image(m):
    x = m.input("x", ["batch", 3, "height", "width"])
    scale, zero = m.constant(0.01, np.float32), m.constant(114, np.uint8)
    return m.node("QuantizeLinear", [x, scale, zero]), scale, zero


@pattern
def microsoft_global_average(m):
    q, scale, zero = quantised_image(m)
    m.output(m.node("QLinearGlobalAveragePool", [q, scale, zero, scale, zero], domain=MICROSOFT, channels_last=0))


@pattern
def microsoft_average(m):
    q, scale, zero = quantised_image(m)
    m.output(m.node("QLinearAveragePool", [q, scale, zero, scale, zero], domain=MICROSOFT, kernel_shape=[3, 3],
                    strides=[2, 2], pads=[1, 1, 1, 1]))


@pattern
def microsoft_integer_to_float(m):
    x = m.input("x", ["batch", 64])
    q, scale, zero = m.node("DynamicQuantizeLinear", [x], 3)
    m.output(m.node("MatMulIntegerToFloat", [q, m.bytes(64, 32), scale, m.constant(0.02, np.float32), zero,
                                             m.constant(0, np.int8), m.weight(32)], domain=MICROSOFT))


@pattern
def microsoft_dynamic_matmul(m):
    x = m.input("x", ["batch", 64])
    m.output(m.node("DynamicQuantizeMatMul", [x, m.bytes(64, 32), m.constant(0.02, np.float32), m.constant(0, np.int8),
                                              m.weight(32)], domain=MICROSOFT))


@pattern
def microsoft_attention_of_integers(m):
    x = m.input("x", ["batch", "length", 32])
    scale, zero = m.constant(0.01, np.float32), m.constant(120, np.uint8)
    q = m.node("QuantizeLinear", [x, scale, zero])
    m.output(m.node("QAttention", [q, m.bytes(32, 96), m.weight(96), scale, m.constant(0.01, np.float32), "", zero,
                                   m.constant(0, np.int8)], domain=MICROSOFT, num_heads=4))


@pattern
def microsoft_lstm_of_integers(m):
    x = m.input("x", ["length", "batch", 16])
    operands = [x, m.bytes(2, 16, 32), m.bytes(2, 8, 32), m.weight(2, 64), "", "", "", "",
                m.constant([0.01, 0.02], np.float32), m.constant([0, 0], np.int8),
                m.constant([0.01, 0.02], np.float32), m.constant([0, 0], np.int8)]
    m.output(m.node("DynamicQuantizeLSTM", operands, 3, domain=MICROSOFT, hidden_size=8, direction="bidirectional")[0])


@pattern
def microsoft_embeddings(m):
    ids = m.input("ids", ["batch", "length"], INT32)
    operands = [ids, "", m.weight(100, 16), m.weight(600, 16), "", m.weight(16), m.weight(16)]
    m.output(m.node("EmbedLayerNormalization", operands, 2, domain=MICROSOFT, epsilon=1e-5)[0])


def activation_pattern(kind, with_bias):
    def make(m):
        x = m.input("x", ["batch", 64])
        m.output(m.node(kind, [x, m.weight(64)] if with_bias else [x], domain=MICROSOFT))
    PATTERNS[f"microsoft_{kind}"] = make


for each, has_bias in (("BiasGelu", True), ("FastGelu", True), ("QuickGelu", False), ("Gelu", False)):
    activation_pattern(each, has_bias)


@pattern
def microsoft_matmul_of_four_bits(m):
    x = m.input("x", ["batch", 64])
    m.output(m.node("MatMulNBits", [x, m.bytes(32, 2, 16, low=0, high=256, dtype=np.uint8), m.weight(32 * 2)],
                    domain=MICROSOFT, K=64, N=32, bits=4, block_size=32))


@pattern
def microsoft_skip_norm(m):
    x = m.input("x", ["batch", "length", 16])
    m.output(m.node("SkipLayerNormalization", [x, x, m.weight(16), m.weight(16), m.weight(16)], domain=MICROSOFT))


# --- Whole layers

def recurrent_pattern(kind, gates):
    def make(m):
        x = m.input("x", ["length", "batch", 16])
        operands = [x, m.weight(2, gates * 8, 16), m.weight(2, gates * 8, 8), m.weight(2, 2 * gates * 8)]
        m.output(m.node(kind, operands, hidden_size=8, direction="bidirectional"))
    PATTERNS[f"layer_{kind}"] = make


for each, count in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    recurrent_pattern(each, count)


@pattern
def attention_by_hand(m):
    x = m.input("x", ["batch", "length", 32])
    parts = []
    for _ in range(3):
        projected = m.node("MatMul", [x, m.weight(32, 32)])
        shape = m.node("Concat", [m.node("Slice", [m.node("Shape", [x]), m.constant([0], np.int64),
                                                   m.constant([2], np.int64)]), m.constant([4, 8], np.int64)], axis=0)
        parts.append(m.node("Transpose", [m.node("Reshape", [projected, shape])], perm=[0, 2, 1, 3]))
    keys = m.node("Transpose", [parts[1]], perm=[0, 1, 3, 2])
    scores = m.node("Mul", [m.node("MatMul", [parts[0], keys]), m.constant(0.35, np.float32)])
    y = m.node("MatMul", [m.node("Softmax", [scores], axis=-1), parts[2]])
    m.output(m.node("Transpose", [y], perm=[0, 2, 1, 3]))


@pattern
def boxes_that_are_left(m):
    x = m.input("x", ["batch", 3, "height", "width"])
    rows = m.node("Reshape", [x, m.constant([0, -1, 4], np.int64)])
    scores = m.node("Transpose", [m.node("ReduceMax", [rows], axes=[2], keepdims=1)], perm=[0, 2, 1])
    m.output(m.node("NonMaxSuppression", [rows, scores, m.constant([5], np.int64), m.constant([0.5], np.float32),
                                          m.constant([0.1], np.float32)]))


@pattern
def places_that_are_not_zero(m):
    x = m.input("x", ["batch", "length"])
    m.output(m.node("NonZero", [m.node("Cast", [m.node("Greater", [x, m.constant(0.3, np.float32)])], to=FLOAT)]))


@pattern
def convolutions_with_a_skip(m):
    x = m.input("x", ["batch", 3, "height", "width"])
    first = m.node("Relu", [m.node("Conv", [x, m.weight(8, 3, 3, 3), m.weight(8)], pads=[1, 1, 1, 1])])
    second = m.node("Conv", [first, m.weight(8, 8, 3, 3)], pads=[1, 1, 1, 1])
    m.output(m.node("Relu", [m.node("Add", [first, second])]))


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PATTERNS.items():
        maker = Maker()
        make(maker)
        maker.save(folder / f"{name}.onnx")
    return len(PATTERNS)


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]))} files")
