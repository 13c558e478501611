"""Front ends of speech, and sizes that were cast, divided and compared."""

import numpy as np

from patterns.maker import FLOAT, INT64, pattern


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


@pattern
def resize_to_a_width(m):
    x = m.input("x", ["batch", 3, "height", "width"])
    width = m.node("Cast", [m.node("Slice", [m.node("Shape", [x]), m.constant([3], np.int64),
                                             m.constant([4], np.int64)])], to=FLOAT)
    factor = m.node("Div", [m.constant([64.0], np.float32), width])
    scales = m.node("Concat", [m.constant([1.0, 1.0, 2.0], np.float32), factor], axis=0)
    m.output(m.node("Resize", [x, "", scales], mode="linear"))


@pattern
def branch_by_two_sizes(m):
    x = m.input("x", ["batch", "length"])
    one = m.constant(1, np.int64)
    flag = m.node("And", [m.node("Equal", [m.size(x, 0), one]), m.node("Equal", [m.size(x, 1), one])])
    flat, same = m.body([]), m.body([])
    flat.output(flat.node("Reshape", [x, flat.constant([-1], np.int64)]))
    same.output(same.node("Identity", [x]))
    m.output(m.node("If", [flag], then_branch=flat.graph("flat"), else_branch=same.graph("same")))
