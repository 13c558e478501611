"""ONNX files, read and written with NumPy alone: the part of the format that benchmarks need."""

import struct

import numpy as np

TYPES = {np.dtype(np.float32): 1, np.dtype(np.uint8): 2, np.dtype(np.int8): 3, np.dtype(np.int32): 6,
         np.dtype(np.int64): 7, np.dtype(np.bool_): 9}
DTYPES = {number: dtype for dtype, number in TYPES.items()}
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """One field: whole numbers, floats, text, bytes."""
    if isinstance(value, float):
        return varint(number << 3 | FIXED32) + struct.pack("<f", value)
    if isinstance(value, (int, np.integer)):
        return varint(number << 3 | VARINT) + varint(int(value))
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def tensor(name, value):
    value = np.asarray(value)
    dims = b"".join(field(1, size) for size in value.shape)
    return dims + field(2, TYPES[value.dtype]) + field(8, name) + field(9, np.ascontiguousarray(value).tobytes())


def attribute(name, value):
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    return field(1, name) + b"".join(field(8, int(each)) for each in value) + field(20, 7)


def node(kind, inputs, outputs, attributes):
    names = b"".join(field(1, each) for each in inputs) + b"".join(field(2, each) for each in outputs)
    return names + field(4, kind) + b"".join(field(5, attribute(*each)) for each in attributes.items())


def port(name, dtype, dims):
    """Sizes are numbers or names; no dtype: nothing is said of it."""
    if dtype is None:
        return field(1, name)
    each = [field(1, field(2, dim) if isinstance(dim, str) else field(1, dim)) for dim in dims]
    return field(1, name) + field(2, field(1, field(1, TYPES[np.dtype(dtype)]) + field(2, b"".join(each))))


def model(nodes, inputs, outputs, weights, opset):
    """The bytes of a file, from node(), port() and arrays by name."""
    graph = b"".join(field(1, each) for each in nodes) + field(2, "graph")
    graph += b"".join(field(5, tensor(name, value)) for name, value in weights.items())
    graph += b"".join(field(11, each) for each in inputs) + b"".join(field(12, each) for each in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset))


def fields(data):
    """(number, value) of each field: a whole number, or a view of bytes."""
    place, data = 0, memoryview(data)

    def number():
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(data):
        key = number()
        kind = key & 7
        if kind == VARINT:
            yield key >> 3, number()
            continue
        length = number() if kind == BYTES else {FIXED64: 8, FIXED32: 4}[kind]
        yield key >> 3, data[place : place + length]
        place += length


def first(data, number):
    return next((value for key, value in fields(data) if key == number), b"")


def read_tensor(data):
    dims, values, name, kind, raw = [], [], "", 1, None
    for key, value in fields(data):
        if key == 1:
            dims += [value] if isinstance(value, int) else packed(value)
        elif key == 2:
            kind = value
        elif key in (4, 5, 7):
            values.append((key, value))
        elif key == 8:
            name = bytes(value).decode()
        elif key == 9:
            raw = value
    if kind not in DTYPES:
        return name, None
    if raw is None:
        listed = [each for key, value in values for each in numbers_of(key, value)]
        return name, np.array(listed, DTYPES[kind]).reshape(dims)
    return name, np.frombuffer(raw, DTYPES[kind]).reshape(dims)


def packed(data):
    return [value for _, value in fields(b"".join(b"\x08" + each for each in split_varints(data)))]


def split_varints(data):
    begin = 0
    for place, byte in enumerate(data):
        if byte < 0x80:
            yield bytes(data[begin : place + 1])
            begin = place + 1


def numbers_of(key, value):
    if isinstance(value, int):
        return [value]
    if key == 4:
        return struct.unpack(f"<{len(value) // 4}f", value)
    return [each - (1 << 64) if each >> 63 else each for each in packed(value)]


def read(path):
    """(inputs as (name, dtype, dims), names of outputs, weights by name)."""
    with open(path, "rb") as file:
        graph = first(file.read(), 7)
    inputs, outputs, weights = [], [], {}
    for key, value in fields(graph):
        if key == 5:
            name, array = read_tensor(value)
            weights[name] = array
        elif key == 11:
            inputs.append(read_port(value))
        elif key == 12:
            outputs.append(bytes(first(value, 1)).decode())
    return [each for each in inputs if each[0] not in weights], outputs, weights


def read_port(data):
    kind = first(first(data, 2), 1)
    dims = []
    for key, value in fields(first(kind, 2)):
        if key == 1:
            inner = dict(fields(value))
            dims.append(bytes(inner[2]).decode() if 2 in inner else inner.get(1, 0))
    return bytes(first(data, 1)).decode(), DTYPES[first(kind, 1)], dims
