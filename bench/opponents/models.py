"""Every network of the benchmark once, over a dialect `o` (in_torch, in_jax, in_onnx) and weights `w` by name.

A function takes its data by the names of its inputs and gives one output. The built-in models have the weights of `tenon
export`, which keep their names; small workloads make theirs.
"""


class Weights:
    """Arrays whose names begin alike: w("layers", 3)["scale"] is w["layers.3.scale"]."""

    def __init__(self, find, prefix=""):
        self.find, self.prefix = find, prefix

    def __call__(self, *scopes):
        return Weights(self.find, self.prefix + "".join(f"{scope}." for scope in scopes))

    def __getitem__(self, name):
        return self.find(self.prefix + name)


def linear(o, w, x):
    return o.linear(x, w["weight"], w["bias"])


def norm(o, w, x, epsilon=1e-5):
    return o.layer_norm(x, w["scale"], w["bias"], epsilon)


def conv_norm(o, w, x, kernel, stride=1, groups=1):
    y = o.conv(x, w("conv")["weight"], None, stride, (kernel - 1) // 2, groups)
    n = w("norm")
    return o.batch_norm(y, n["scale"], n["bias"], n["running_mean"], n["running_variance"])


def classifier(o, w, x):
    return linear(o, w("head"), o.flatten(o.mean_hw(x)))


def self_attention(o, w, x, heads, depth, mask=None):
    q, k, v = (o.split_heads(linear(o, w(name), x), heads, depth) for name in ("query", "key", "value"))
    return linear(o, w("output"), o.merge_heads(o.attention(q, k, v, mask, depth)))


def feed_forward(o, w, x):
    return linear(o, w("down"), o.gelu(linear(o, w("up"), x)))


def mlp(o, w, x):
    for i in range(2):
        x = o.relu(linear(o, w("layers", i), x))
    return linear(o, w("layers", 2), x)


def small_cnn(o, w, image):
    for i in range(2):
        layer = w("conv", i)
        image = o.max_pool(o.relu(o.conv(image, layer["weight"], layer["bias"], 1, 1, 1)), 2, 2, 0)
    return linear(o, w("head"), o.flatten(image))


def resnet(blocks, bottleneck):
    kernels = (1, 3, 1) if bottleneck else (3, 3)
    strided = 1 if bottleneck else 0

    def run(o, w, image):
        x = o.max_pool(o.relu(conv_norm(o, w("stem"), image, 7, 2)), 3, 2, 1)
        for stage, count in enumerate(blocks):
            for i in range(count):
                block, stride = w("stage", stage, "block", i), 2 if stage > 0 and i == 0 else 1
                y = x
                for unit, kernel in enumerate(kernels):
                    y = conv_norm(o, block("unit", unit), y, kernel, stride if unit == strided else 1)
                    y = o.relu(y) if unit + 1 < len(kernels) else y
                if i == 0 and (stage > 0 or bottleneck):
                    x = conv_norm(o, block("shortcut"), x, 1, stride)
                x = o.relu(y + x)
        return classifier(o, w, x)

    return run


def inverted(stages, activation, squeeze):
    """MobileNet-V2 and EfficientNet-B0. A stage: kernel, expansion, channels, blocks, stride."""

    def run(o, w, image):
        act = getattr(o, activation)
        x, inputs = act(conv_norm(o, w("stem"), image, 3, 2)), 32
        for stage, (kernel, expansion, channels, blocks, stride) in enumerate(stages):
            for i in range(blocks):
                block, y, step = w("stage", stage, "block", i), x, stride if i == 0 else 1
                if expansion != 1:
                    y = act(conv_norm(o, block("expand"), y, 1))
                y = act(conv_norm(o, block("depthwise"), y, kernel, step, inputs * expansion))
                if squeeze:
                    a, b = block("squeeze"), block("excite")
                    gate = o.silu(o.conv(o.mean_hw(y), a["weight"], a["bias"], 1, 0, 1))
                    y = y * o.sigmoid(o.conv(gate, b["weight"], b["bias"], 1, 0, 1))
                y = conv_norm(o, block("project"), y, 1)
                x, inputs = (x + y if step == 1 and inputs == channels else y), channels
        return classifier(o, w, act(conv_norm(o, w("last"), x, 1)))

    return run


MOBILE = [(3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (3, 6, 32, 3, 2), (3, 6, 64, 4, 2), (3, 6, 96, 3, 1), (3, 6, 160, 3, 2),
          (3, 6, 320, 1, 1)]
EFFICIENT = [(3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (5, 6, 40, 2, 2), (3, 6, 80, 3, 2), (5, 6, 112, 3, 1),
             (5, 6, 192, 4, 2), (3, 6, 320, 1, 1)]


def vit_b16(o, w, image):
    patches = w("patches")
    x = o.tokens(o.conv(image, patches["weight"], patches["bias"], 16, 0, 1))
    x = o.behind(w["class_token"], x) + w["positions"]
    for i in range(12):
        layer = w("layers", i)
        x = x + self_attention(o, layer("attention"), norm(o, layer("attention_norm"), x, 1e-6), 12, 64)
        x = x + feed_forward(o, layer("feed_forward"), norm(o, layer("feed_forward_norm"), x, 1e-6))
    return linear(o, w("head"), o.first(norm(o, w("norm"), x, 1e-6)))


def bert_base(o, w, x, mask):
    mask = o.key_mask(mask)
    for i in range(12):
        layer = w("layers", i)
        x = norm(o, layer("attention_norm"), x + self_attention(o, layer("attention"), x, 12, 64, mask), 1e-12)
        x = norm(o, layer("output_norm"), x + feed_forward(o, layer("feed_forward"), x), 1e-12)
    return x


def bert_base_tokens(o, w, tokens, segments, mask):
    e = w("embeddings")
    x = o.take(e["words"], tokens) + o.first_rows(e["positions"], tokens) + o.take(e["segments"], segments)
    return bert_base(o, w, norm(o, e, x, 1e-12), mask)


def unet(o, w, image):
    def double(scope, x):
        for i in range(2):
            x = o.relu(conv_norm(o, scope("unit", i), x, 3))
        return x

    kept, x = [], image
    for i in range(4):
        kept.append(double(w("down", i), x))
        x = o.max_pool(kept[-1], 2, 2, 0)
    x = double(w("bottom"), x)
    for i in reversed(range(4)):
        level = w("level", i)
        x = double(level, o.concat([kept[i], o.twice(x, level("up")["weight"], level("up")["bias"])], 1))
    head = w("head")
    return o.conv(x, head["weight"], head["bias"], 1, 0, 1)


def lstm_lm(o, w, tokens):
    x = o.take(w["words"], tokens)
    for i in range(2):
        layer = w("layers", i)
        x = o.lstm(x, layer["input"], layer["recurrent"], layer["bias"])
    return linear(o, w("head"), x)


def call(o, w, x):
    return x + w["one"]


def chain(o, w, x):
    y = o.relu(x * w["scale"] + w["shift"])
    return o.tanh(o.sigmoid(y - x) * y) * x + y


def softmax(o, w, x):
    return o.softmax(x)


def layer_norm(o, w, x):
    return norm(o, w, x)


def dense_gelu(o, w, x):
    return o.gelu(linear(o, w, x))


def attention(o, w, q, k, v):
    return o.attention(q, k, v, None, 64)


def lstm(o, w, x):
    return o.lstm(x, w["input"], w["recurrent"], w["bias"])


def block(o, w, x):
    """A transformer block before a layer of classes, to be trained."""
    x = x + self_attention(o, w("attention"), norm(o, w("attention_norm"), x), 4, 32)
    x = x + feed_forward(o, w("feed_forward"), norm(o, w("feed_forward_norm"), x))
    return linear(o, w("head"), x)


MODELS = {
    "call": call, "chain": chain, "softmax": softmax, "layer_norm": layer_norm, "dense_gelu": dense_gelu,
    "attention": attention, "lstm": lstm, "block": block, "mlp": mlp, "small_cnn": small_cnn,
    "resnet18": resnet((2, 2, 2, 2), False), "resnet50": resnet((3, 4, 6, 3), True),
    "mobilenet_v2": inverted(MOBILE, "relu6", False), "efficientnet_b0": inverted(EFFICIENT, "silu", True),
    "vit_b16": vit_b16, "bert_base": bert_base, "bert_base_tokens": bert_base_tokens, "unet": unet, "lstm_lm": lstm_lm,
}  # fmt: skip
