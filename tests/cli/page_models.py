"""Graphs whose pages are looked at in a browser, as text: the structure of well-known models, narrow and with weights as
inputs, under the names that their ONNX files have."""


class Writer:
    """Statements of a graph, one value after the other."""

    def __init__(self, name, inputs):
        self.name, self.inputs, self.lines, self.count = name, list(inputs), [], 0

    def add(self, expression, place):
        self.count += 1
        self.lines.append(f'  v{self.count} = {expression} @"{place}"')
        return f"v{self.count}"

    def weight(self, *sizes):
        name = f"w{len(self.inputs)}"
        self.inputs.append(f"{name}: f32[{', '.join(map(str, sizes))}]")
        return name

    def text(self, **outputs):
        returned = ", ".join(f"{name}={value}" for name, value in outputs.items())
        return f"graph {self.name}({', '.join(self.inputs)}) {{\n" + "\n".join(self.lines) + f"\n  return {returned}\n}}\n"


def googlenet(width=4):
    """Convolutions, and nine inception modules of four branches each."""
    g = Writer("googlenet", ["x: f32[batch, 3, 64, 64]"])

    def conv(x, come, go, size, place, stride=1):
        pad = (size - 1) // 2
        w = g.weight(go, come, size, size)
        y = g.add(f"conv({x}, {w}, stride=[{stride}, {stride}], low=[{pad}, {pad}], high=[{pad}, {pad}])", f"/{place}/Conv")
        b = g.weight(go, 1, 1)
        return g.add(f"relu(add({y}, {b}))", f"/{place}/Relu")

    def pool(x, stride, place):
        return g.add(f"max_pool({x}, [3, 3], stride=[{stride}, {stride}], low=[1, 1], high=[1, 1])", f"/{place}/MaxPool")

    x = conv("x", 3, 2 * width, 7, "conv1", stride=2)
    x = conv(pool(x, 2, "maxpool1"), 2 * width, 2 * width, 1, "conv2")
    x = pool(conv(x, 2 * width, 4 * width, 3, "conv3"), 2, "maxpool2")
    come = 4 * width
    for name in ("3a", "3b", "4a", "4b", "4c", "4d", "4e", "5a", "5b"):
        place, go = f"inception{name}", width * (1 + int(name[0]))
        parts = [
            conv(x, come, go, 1, f"{place}/branch1"),
            conv(conv(x, come, go, 1, f"{place}/branch2/branch2.0"), go, go, 3, f"{place}/branch2/branch2.1"),
            conv(conv(x, come, go, 1, f"{place}/branch3/branch3.0"), go, go, 3, f"{place}/branch3/branch3.1"),
            conv(pool(x, 1, f"{place}/branch4/branch4.0"), come, go, 1, f"{place}/branch4/branch4.1"),
        ]
        x, come = g.add(f"concat({', '.join(parts)}, axis=1)", f"/{place}/Concat"), 4 * go
        if name in ("3b", "4e"):
            x = pool(x, 2, f"maxpool{name}")
    x = g.add(f"reduce_mean({x}, axes=[2, 3])", "/avgpool/GlobalAveragePool")
    return g.text(logits=g.add(f"matmul({x}, {g.weight(come, 10)})", "/fc/Gemm"))


def detr(layers=3, width=16):
    """A small convolutional backbone, a transformer's encoder and decoder, and two heads."""
    g = Writer("detr", ["image: f32[batch, 3, 32, 32]", f"queries: f32[batch, 10, {width}]"])

    def norm(x, place):
        return g.add(f"layer_norm({x})", f"/{place}/LayerNormalization")

    def linear(x, come, go, place):
        return g.add(f"add(matmul({x}, {g.weight(come, go)}), {g.weight(go)})", f"/{place}/MatMul")

    def attention(x, memory, place):
        q, k, v = (linear(s, width, width, f"{place}/{n}") for s, n in ((x, "q_proj"), (memory, "k_proj"), (memory, "v_proj")))
        scores = g.add(f"mul(matmul({q}, transpose({k}, [0, 2, 1])), 0.25)", f"/{place}/MatMul")
        return linear(g.add(f"matmul(softmax({scores}), {v})", f"/{place}/Softmax"), width, width, f"{place}/out_proj")

    def feed_forward(x, place):
        h = linear(x, width, 4 * width, f"{place}/linear1")
        h = g.add(f"relu({h})", f"/{place}/Relu")
        return norm(g.add(f"add({x}, {linear(h, 4 * width, width, f'{place}/linear2')})", f"/{place}/Add"), f"{place}/norm3")

    x, come = "image", 3
    for i in range(3):
        place = f"backbone/layer{i}"
        x = g.add(f"conv({x}, {g.weight(width, come, 3, 3)}, stride=[2, 2], low=[1, 1], high=[1, 1])", f"/{place}/Conv")
        x, come = g.add(f"relu({x})", f"/{place}/Relu"), width
    x = g.add(f"transpose(reshape({x}, [batch, {width}, 16]), [0, 2, 1])", "/input_proj/Reshape")
    for i in range(layers):
        place = f"encoder/layers.{i}"
        x = norm(g.add(f"add({x}, {attention(x, x, f'{place}/self_attn')})", f"/{place}/Add"), f"{place}/norm1")
        x = feed_forward(x, place)
    memory, x = x, "queries"
    for i in range(layers):
        place = f"decoder/layers.{i}"
        x = norm(g.add(f"add({x}, {attention(x, x, f'{place}/self_attn')})", f"/{place}/Add"), f"{place}/norm1")
        x = norm(g.add(f"add({x}, {attention(x, memory, f'{place}/cross_attn')})", f"/{place}/Add"), f"{place}/norm2")
        x = feed_forward(x, place)
    boxes = g.add(f"sigmoid({linear(x, width, 4, 'bbox_embed')})", "/bbox_embed/Sigmoid")
    return g.text(logits=linear(x, width, 11, "class_embed"), boxes=boxes)


def long_chain(blocks):
    """Residual blocks without names, of five operators each."""
    lines, last = ["graph tall(x: f32[n, 4], w: f32[4, 4]) {"], "x"
    for i in range(blocks):
        lines += [f"  a{i} = matmul({last}, w)", f"  b{i} = relu(a{i})", f"  c{i} = matmul(b{i}, w)",
                  f"  d{i} = add(c{i}, {last})", f"  e{i} = tanh(d{i})"]
        last = f"e{i}"
    return "\n".join([*lines, f"  return y={last}", "}", ""])
