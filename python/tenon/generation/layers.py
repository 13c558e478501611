"""The graph of a decoder: one step for a batch of sequences, each as long as it is, with caches that stay where they are."""

import re

import numpy as np

from tenon import _tenon, ops
from tenon._graphs import building_graph
from tenon._tenon import Extent, Shape, constant, f32, i64
from tenon._tenon import input as parameter

# Tensors of files that say nothing which config.json does not say.
_UNUSED = re.compile(r"rotary_emb\.inv_freq$|\.attn\.bias$|\.attn\.masked_bias$|\.attention\.(bias|masked_bias)$")

BATCH, SEQ, CAPACITY, USED, ASKED = "batch", "seq", "capacity", "used", "asked"


class _Weights:
    """Tensors by the names of the table, whatever the file puts before them."""

    def __init__(self, tensors, config, folder):
        self._tensors, self._folder = tensors, folder
        self._unused = set(tensors)
        first = config.architecture.names.embedding + ".weight"
        found = [name for name in tensors if name == first or name.endswith("." + first)]
        if len(found) != 1:
            bare = first.split(".", 1)[-1]  # of a file that holds the decoder without its head
            found = [name for name in tensors if name == bare]
            self._cut = first[: -len(bare)]
            if not found:
                raise _tenon.Error(f"`{folder}` has no tensor `{first}`")
        else:
            self._cut = ""
        self._prefix = found[0][: -len(first)] if not self._cut else ""

    def _name(self, name):
        if self._cut and name.startswith(self._cut):
            return name[len(self._cut) :]
        return name if name in self._tensors else self._prefix + name

    def get(self, name, is_needed=True):
        """A constant, widened where it is used; None where the file does not have it."""
        name = self._name(name)
        if name not in self._tensors:
            if is_needed:
                raise _tenon.Error(f"`{self._folder}` has no tensor `{name}`")
            return None
        self._unused.discard(name)
        value = constant(self._tensors[name])
        return value if value.dtype == f32 else ops.cast(value, f32)

    def check_all_used(self, tied):
        for name in sorted(self._unused):
            if not _UNUSED.search(name) and not (tied and name.endswith("lm_head.weight")):
                raise _tenon.Error(f"`{self._folder}` has the tensor `{name}`, which its model_type does not have")


class _Builder:
    def __init__(self, config, weights):
        self.config, self.weights = config, weights
        self.names, self.architecture = config.architecture.names, config.architecture
        self.ids = parameter("ids", f"i64[{BATCH}, {SEQ}]")
        self.begin = parameter("begin", f"i64[{BATCH}]")  # how many places of each sequence hold something
        self.last = parameter("last", f"i64[{BATCH}, {ASKED}]")  # whose logits are asked for
        self.batch, self.used = Extent(BATCH), Extent(USED)
        grid = Shape(i64, [BATCH, SEQ])
        self.places = ops.expand_dims(self.begin, [1]) + ops.iota(grid, 1)
        self.rows = ops.stack([ops.iota(grid, 0), self.places], -1)
        self.key = ops.iota(Shape(i64, [1, 1, 1, self.used]), 3)
        self.query = ops.expand_dims(self.places, [1, 3])
        self.causal = ops.le(self.key, self.query)
        self.turns = {}
        self.caches = []

    def linear(self, name, x):
        side = 0 if self.architecture.is_transposed and name != self.names.head else 1
        y = _product(x, self.weights.get(name + ".weight"), side)
        bias = self.weights.get(name + ".bias", is_needed=False)
        return y if bias is None else y + bias

    def norm(self, name, x):
        if not name:
            return x
        scale = bias = None
        if not name.endswith("-"):
            scale = self.weights.get(name + ".weight")
            bias = self.weights.get(name + ".bias", is_needed=False)
            scale = scale + self.architecture.norm_offset if self.architecture.norm_offset else scale
        if self.architecture.norm == "layer":
            return ops.layer_norm(x, scale, bias, [-1], epsilon=self.config.epsilon)
        return ops.rms_norm(x, scale, [-1], epsilon=self.config.epsilon)

    def activated(self, x):
        return getattr(ops, self.config.activation)(x)

    def heads(self, x, count):
        """[batch, seq, heads, depth]"""
        return ops.reshape(x, [BATCH, SEQ, count, self.config.depth])

    def qkv(self, layer, x):
        config, names = self.config, self.names
        if self.architecture.is_packed_by_head:
            parts = ops.reshape(self.linear(layer + names.qkv, x), [BATCH, SEQ, config.heads, 3, config.depth])
            return [ops.squeeze(each, [3]) for each in ops.split(parts, 3, [1, 1, 1])]
        counts = [config.heads, config.kv_heads, config.kv_heads]
        if names.qkv:
            parts = ops.split(self.linear(layer + names.qkv, x), 2, [count * config.depth for count in counts])
        else:
            parts = [self.linear(layer + name, x) for name in (names.q, names.k, names.v)]
        if config.qkv_limit is not None:
            parts = [ops.clamp(each, -config.qkv_limit, config.qkv_limit) for each in parts]
        if not names.qkv:
            parts[:2] = [self.norm_of_all(layer + name, x) for name, x in zip((names.q_norm, names.k_norm), parts)]
        q, k, v = (self.heads(each, count) for each, count in zip(parts, counts))
        if not names.qkv:
            q, k = (self.norm_of_heads(layer + name, x) for name, x in ((names.q_norm, q), (names.k_norm, k)))
        return q, k, v

    def norm_of_all(self, name, x):
        """Normalised before heads are made of it, where the weights are as wide."""
        return self.norm(name, x) if self._norm_size(name) == x.shape[-1] else x

    def norm_of_heads(self, name, x):
        is_here = self._norm_size(name) == self.config.depth and x.shape[-1] * x.shape[-2] != self.config.depth
        return self.norm(name, x) if is_here else x

    def _norm_size(self, name):
        scale = self.weights.get(name + ".weight", is_needed=False)
        return None if scale is None else scale.shape[-1]

    def turned(self, x, rotary):
        """The first pairs of each head turned by its place."""
        if rotary is None:
            return x
        frequencies, factor = rotary
        if rotary not in self.turns:
            angle = ops.expand_dims(ops.cast(self.places, f32), [2, 3]) * constant(np.array(frequencies, np.float32))
            self.turns[rotary] = ops.cos(angle) * factor, ops.sin(angle) * factor
        cosines, sines = self.turns[rotary]
        pairs = len(frequencies)
        sizes = list(x.shape[:-1])
        turning, rest = x, None
        if 2 * pairs < self.config.depth:
            turning, rest = ops.split(x, 3, [2 * pairs, self.config.depth - 2 * pairs])
        axis = 4 if self.architecture.is_interleaved else 3
        wide = ops.reshape(turning, [*sizes, pairs, 2] if axis == 4 else [*sizes, 2, pairs])
        a, b = (ops.squeeze(each, [axis]) for each in ops.split(wide, axis, [1, 1]))
        turned = ops.stack([a * cosines - b * sines, b * cosines + a * sines], axis)
        turned = ops.reshape(turned, [*sizes, 2 * pairs])
        return turned if rest is None else ops.concat([turned, rest], 3)

    def cached(self, name, fresh):
        """What was there and what is new, [batch, kv_heads, used, depth]: written in place behind what was there."""
        config = self.config
        cache = parameter(name, f"f32[{BATCH}, {CAPACITY}, {config.kv_heads}, {config.depth}]")
        written = ops.scatter_nd(cache, self.rows, fresh)
        self.caches.append((cache, written))
        seen = ops.slice(written, [0, 0, 0, 0], [self.batch, self.used, config.kv_heads, config.depth])
        return ops.transpose(seen, [0, 2, 1, 3])

    def attention(self, layer, number, x):
        config = self.config
        q, k, v = self.qkv(layer, x)
        q, k = (self.turned(each, config.rotary[number]) for each in (q, k))
        q = ops.transpose(q, [0, 2, 1, 3])
        k, v = self.cached(f"keys.{number}", k), self.cached(f"values.{number}", v)
        mask = self.causal
        if config.windows[number] is not None:
            mask = ops.logical_and(mask, ops.gt(self.key, self.query - config.windows[number]))
        if config.score_cap is None:
            y = ops.attention(q, k, v, mask, scale=config.score_scale)
        else:
            y = self._capped(q, k, v, mask)
        y = ops.reshape(ops.transpose(y, [0, 2, 1, 3]), [BATCH, SEQ, config.heads * config.depth])
        return self.linear(layer + self.names.output, y)

    def _capped(self, q, k, v, mask):
        """Attention whose scores have a smooth bound."""
        config = self.config
        groups = config.heads // config.kv_heads
        q = ops.reshape(q, [BATCH, config.kv_heads, groups, SEQ, config.depth])
        scores = ops.einsum([q, k], "bkgsd,bktd->bkgst") * (config.score_scale / config.score_cap)
        scores = ops.tanh(scores) * config.score_cap
        weights = ops.softmax(ops.select(ops.expand_dims(mask, [1]), scores, -np.inf), -1)
        y = ops.einsum([weights, v], "bkgst,bktd->bkgsd")
        return ops.reshape(y, [BATCH, config.heads, SEQ, config.depth])

    def feed_forward(self, layer, x):
        names = self.names
        if names.gate_up:
            both = self.linear(layer + names.gate_up, x)
            gate, up = ops.split(both, 2, [both.shape[-1] // 2] * 2)
            hidden = self.activated(gate) * up
        elif names.gate:
            hidden = self.activated(self.linear(layer + names.gate, x)) * self.linear(layer + names.up, x)
        else:
            hidden = self.activated(self.linear(layer + names.up, x))
        return self.linear(layer + names.down, hidden)

    def layer(self, number, x):
        names, scale = self.names, self.config.residual_scale
        layer = names.layer.format(number)
        place = lambda name: layer + name if name else ""
        add = lambda x, y: x + (y if scale == 1 else y * scale)
        read = self.norm(place(names.before_attention), x)
        mixed = self.norm(place(names.after_attention), self.attention(layer, number, read))
        if self.config.is_parallel:
            read = self.norm(place(names.before_feed_forward), x) if names.before_feed_forward else read
            x = add(x, mixed)
        else:
            x = add(x, mixed)
            read = self.norm(place(names.before_feed_forward), x)
        return add(x, self.norm(place(names.after_feed_forward), self.feed_forward(layer, read)))

    def logits(self, x):
        """Of few tokens of each sequence alone."""
        config = self.config
        at = ops.stack([ops.iota(Shape(i64, [BATCH, ASKED]), 0), self.last], -1)
        x = self.norm(self.names.norm, ops.gather_nd(x, at))
        head = self.weights.get(self.names.head + ".weight", is_needed=False)
        self.is_tied = head is None
        if self.is_tied:
            y = _product(x, self.weights.get(self.names.embedding + ".weight"), 1)
        else:
            y = self.linear(self.names.head, x)
        y = y if config.logit_scale == 1 else y * config.logit_scale
        return y if config.logit_cap is None else ops.tanh(y / config.logit_cap) * config.logit_cap

    def build(self):
        config, names = self.config, self.names
        x = ops.take(self.weights.get(names.embedding + ".weight"), self.ids)
        x = x if config.embedding_scale == 1 else x * config.embedding_scale
        if names.positions:
            table = self.weights.get(names.positions + ".weight")
            x = x + ops.take(table, self.places + config.architecture.position_offset)
        for number in range(config.layers):
            x = self.layer(number, x)
        inputs = [self.ids, self.begin, self.last]
        outputs = [("logits", self.logits(x))]
        for cache, written in self.caches:
            outputs.append((cache.name + ".new", written, len(inputs)))
            inputs.append(cache)
        self.weights.check_all_used(self.is_tied)
        return _tenon.Graph(config.model_type, inputs, outputs)


def _product(x, weights, axis):
    return ops.contract(x, weights, lhs_contract=[-1], rhs_contract=[axis])


def decoder_graph(config, tensors, folder):
    """Takes ids[batch, seq], begin[batch], last[batch, asked] and caches; gives logits[batch, asked, vocabulary] of the
    tokens at `last`, and the caches with what is new. The axis `used`, which no input has, is how many places are read."""
    with building_graph(unify_names=True):
        return _Builder(config, _Weights(tensors, config, folder)).build()
