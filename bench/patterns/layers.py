"""Whole layers."""

import numpy as np

from patterns.maker import FLOAT, PATTERNS, pattern


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
