"""Quantised operators, of ONNX and of Microsoft's domain, and what optimisers fuse."""

import numpy as np

from patterns.maker import FLOAT, INT32, MICROSOFT, PATTERNS, pattern


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


@pattern
def microsoft_qlinear_conv_channels_last(m):
    x = m.input("x", ["batch", "height", "width", 3])
    scale, zero = m.constant(0.01, np.float32), m.constant(114, np.uint8)
    q = m.node("QuantizeLinear", [x, scale, zero])
    bias = m.bytes(8, low=-900, high=900, dtype=np.int32)
    m.output(m.node("QLinearConv", [q, scale, zero, m.bytes(8, 3, 3, 3), m.constant(0.02, np.float32),
                                    m.constant(0, np.int8), m.constant(0.05, np.float32), zero, bias],
                    domain=MICROSOFT, channels_last=1, pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]))


@pattern
def microsoft_trilu(m):
    x = m.input("x", ["batch", "length", "length"])
    m.output(m.node("Trilu", [x, m.constant(1, np.int64)], domain=MICROSOFT, upper=1))


@pattern
def microsoft_gather_of_four_bits(m):
    ids = m.input("ids", ["batch", "length"], INT32)
    table = m.bytes(100, 24, low=0, high=256, dtype=np.uint8)
    m.output(m.node("GatherBlockQuantized", [table, ids, m.weight(100, 3)], domain=MICROSOFT, bits=4, block_size=16,
                    gather_axis=0, quantize_axis=1))
