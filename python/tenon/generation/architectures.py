"""Decoders that transformers writes, as data: what their layers do and how their tensors are called.

One kind of layer serves all of them (`layers.py`). A row of the table says in what an architecture differs from Llama;
what a number in `config.json` decides is read from there.
"""

from __future__ import annotations

import dataclasses
import math

from tenon import _tenon


@dataclasses.dataclass(frozen=True)
class Names:
    """Names of tensors. An empty name is a part that is not there; a norm called `-` has no tensors."""

    embedding: str = "model.embed_tokens"
    positions: str = ""  # learned ones, added to the embedding
    layer: str = "model.layers.{}."
    before_attention: str = "input_layernorm"
    q: str = "self_attn.q_proj"
    k: str = "self_attn.k_proj"
    v: str = "self_attn.v_proj"
    qkv: str = ""  # the three in one matrix
    q_norm: str = "self_attn.q_norm"
    k_norm: str = "self_attn.k_norm"
    output: str = "self_attn.o_proj"
    after_attention: str = ""
    before_feed_forward: str = "post_attention_layernorm"
    gate: str = "mlp.gate_proj"
    up: str = "mlp.up_proj"
    gate_up: str = ""  # both in one matrix
    down: str = "mlp.down_proj"
    after_feed_forward: str = ""
    norm: str = "model.norm"
    head: str = "lm_head"  # where there is no such tensor, the embedding


@dataclasses.dataclass(frozen=True)
class Architecture:
    names: Names = Names()
    norm: str = "rms"  # or "layer": with a mean
    norm_offset: float = 0.0  # what is added to weights of norms
    epsilon: str | float = "rms_norm_eps"
    activation: str = ""  # where config.json does not decide it
    is_parallel: bool = False  # the feed forward part reads what attention reads, not what it gives
    is_transposed: bool = False  # matrices are [in, out]
    is_packed_by_head: bool = False  # q, k and v of one matrix: those of each head side by side
    is_interleaved: bool = False  # rotated pairs are neighbours
    heads: str = "num_key_value_heads"
    norm_comes_first: bool = True  # queries and keys are normalised before they are rotated
    position_offset: int = 0
    scales_embedding: bool = False  # by the root of the width
    window: str = "layer_types"  # what decides which layers see a window alone: "layer_types", "all" or "none"


_GEMMA = Architecture(norm_offset=1.0, activation="gelu_pytorch_tanh", scales_embedding=True, window="none")
_SANDWICH = Names(
    after_attention="post_attention_layernorm",
    before_feed_forward="pre_feedforward_layernorm",
    after_feed_forward="post_feedforward_layernorm",
)
_AFTER = Names(
    before_attention="",
    after_attention="post_attention_layernorm",
    before_feed_forward="",
    after_feed_forward="post_feedforward_layernorm",
)

ARCHITECTURES = {
    "llama": Architecture(window="none"),
    "mistral": Architecture(window="all"),
    "ministral": Architecture(),
    "qwen2": Architecture(),
    "qwen3": Architecture(),
    "smollm3": Architecture(),
    "granite": Architecture(window="none"),
    "gemma": _GEMMA,
    "gemma2": dataclasses.replace(_GEMMA, names=_SANDWICH, window="layer_types"),
    "gemma3_text": dataclasses.replace(_GEMMA, names=_SANDWICH, window="layer_types"),
    "olmo": Architecture(
        names=Names(before_attention="-", before_feed_forward="-", norm="-"), norm="layer", epsilon=1e-5, window="none"
    ),
    "olmo2": Architecture(names=_AFTER, window="none"),
    "olmo3": Architecture(names=_AFTER),
    "phi": Architecture(
        names=Names(before_feed_forward="", gate="", up="mlp.fc1", down="mlp.fc2", output="self_attn.dense",
                    norm="model.final_layernorm"),
        norm="layer", epsilon="layer_norm_eps", is_parallel=True, window="none",
    ),
    "phi3": Architecture(
        names=Names(qkv="self_attn.qkv_proj", gate_up="mlp.gate_up_proj"), window="all"
    ),
    "gpt2": Architecture(
        names=Names(embedding="transformer.wte", positions="transformer.wpe", layer="transformer.h.{}.",
                    before_attention="ln_1", qkv="attn.c_attn", output="attn.c_proj", before_feed_forward="ln_2",
                    gate="", up="mlp.c_fc", down="mlp.c_proj", norm="transformer.ln_f"),
        norm="layer", epsilon="layer_norm_epsilon", is_transposed=True, heads="", window="none",
    ),
    "opt": Architecture(
        names=Names(embedding="model.decoder.embed_tokens", positions="model.decoder.embed_positions",
                    layer="model.decoder.layers.{}.", before_attention="self_attn_layer_norm",
                    output="self_attn.out_proj", before_feed_forward="final_layer_norm", gate="", up="fc1", down="fc2",
                    norm="model.decoder.final_layer_norm"),
        norm="layer", epsilon=1e-5, heads="", position_offset=2, window="none",
    ),
    "gpt_neox": Architecture(
        names=Names(embedding="gpt_neox.embed_in", layer="gpt_neox.layers.{}.", qkv="attention.query_key_value",
                    output="attention.dense", gate="", up="mlp.dense_h_to_4h", down="mlp.dense_4h_to_h",
                    norm="gpt_neox.final_layer_norm", head="embed_out"),
        norm="layer", epsilon="layer_norm_eps", is_packed_by_head=True, heads="", window="none",
    ),
    "gptj": Architecture(
        names=Names(embedding="transformer.wte", layer="transformer.h.{}.", before_attention="ln_1", q="attn.q_proj",
                    k="attn.k_proj", v="attn.v_proj", output="attn.out_proj", before_feed_forward="", gate="",
                    up="mlp.fc_in", down="mlp.fc_out", norm="transformer.ln_f"),
        norm="layer", epsilon="layer_norm_epsilon", is_parallel=True, is_interleaved=True, heads="", window="none",
    ),
    "starcoder2": Architecture(
        names=Names(gate="", up="mlp.c_fc", down="mlp.c_proj"), norm="layer", epsilon="norm_epsilon", window="all"
    ),
    "stablelm": Architecture(norm="layer", epsilon="layer_norm_eps", window="none"),
    "cohere": Architecture(
        names=Names(before_feed_forward=""), norm="layer", epsilon="layer_norm_eps", is_parallel=True,
        is_interleaved=True, window="none",
    ),
    "glm": Architecture(names=Names(gate_up="mlp.gate_up_proj"), is_interleaved=True, window="none"),
}

_ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu", "quick_gelu": "gelu_sigmoid",
}

# Whatever is not the first of its values changes what a model computes, and is not known to layers.py.
_REFUSED = {
    "use_bidirectional_attention": (None, False), "scale_attn_by_inverse_layer_idx": (None, False),
    "qk_layernorm": (None, False), "word_embed_proj_dim": None, "do_layer_norm_before": (None, True),
    "add_cross_attention": (None, False), "use_qk_norm": (None, False), "scale_attn_weights": (None, True),
    "quantization_config": (None,), "layer_norm_elementwise_affine": (None, True),
}


class Config:
    """What config.json says, under one name for each thing."""

    def __init__(self, path, fields):
        self._path = path
        fields = {**fields, **(fields.get("text_config") or {})}
        self._fields = fields
        self.model_type = fields.get("model_type")
        if self.model_type not in ARCHITECTURES:
            raise _tenon.Error(
                f"`{path}`: the model_type `{self.model_type}` is not known; these are: {', '.join(ARCHITECTURES)}"
            )
        self.architecture = ARCHITECTURES[self.model_type]
        for name, usual in _REFUSED.items():
            value = fields.get(name)
            usual = (None, fields.get("hidden_size")) if usual is None else usual
            if value not in usual:
                raise _tenon.Error(f"`{path}`: `{name}` is {value!r}, which is not supported")
        self.width = self._get("hidden_size", "n_embd")
        self.layers = self._get("num_hidden_layers", "n_layer")
        self.heads = self._get("num_attention_heads", "n_head")
        self.kv_heads = (self._get(self.architecture.heads, default=None) or self.heads if self.architecture.heads
                         else self.heads)
        self.depth = self._get("head_dim", default=None) or self.width // self.heads
        self.vocabulary = self._get("vocab_size")
        self.context = self._get("max_position_embeddings", "n_positions")
        self.is_parallel = bool(self._get("use_parallel_residual", default=self.architecture.is_parallel))
        epsilon = self.architecture.epsilon
        self.epsilon = epsilon if isinstance(epsilon, float) else self._get(epsilon, default=1e-5)
        activation = self.architecture.activation or self._get("hidden_act", "activation_function")
        if activation not in _ACTIVATIONS:
            raise _tenon.Error(f"`{path}`: the activation `{activation}` is not supported")
        self.activation = _ACTIVATIONS[activation]
        self._read_scales()
        self.windows = [self._window(layer) for layer in range(self.layers)]
        self.rotary = [self._rotary(layer) for layer in range(self.layers)]

    def _get(self, *names, **default):
        for name in names:
            if self._fields.get(name) is not None:
                return self._fields[name]
        if "default" in default:
            return default["default"]
        raise _tenon.Error(f"`{self._path}` has no entry `{names[0]}`")

    def _read_scales(self):
        self.embedding_scale = self._get("embedding_multiplier", default=1.0)
        if self.architecture.scales_embedding:
            self.embedding_scale = math.sqrt(self.width)
        self.residual_scale = self._get("residual_multiplier", default=1.0)
        self.logit_scale = self._get("logit_scale", default=1.0) / self._get("logits_scaling", default=1.0)
        self.score_scale = self._get("attention_multiplier", default=None)
        if self.score_scale is None:
            self.score_scale = self._get("query_pre_attn_scalar", default=self.depth) ** -0.5
        self.score_cap = self._get("attn_logit_softcapping", default=None)
        self.logit_cap = self._get("final_logit_softcapping", default=None)
        self.qkv_limit = self._get("clip_qkv", default=None)

    def _is_windowed(self, layer):
        rule = self.architecture.window
        if rule != "layer_types" or self._get("sliding_window", default=None) is None:
            return rule == "all"
        types = self._get("layer_types", default=None)
        if types is not None:
            return types[layer] == "sliding_attention"
        if self.model_type == "gemma2":  # files that are older than layer_types
            return layer % 2 == 0
        if self.model_type == "gemma3_text":
            return (layer + 1) % self._get("sliding_window_pattern", default=6) != 0
        return bool(self._get("use_sliding_window", default=False)) and layer >= self._get("max_window_layers", default=0)

    def _window(self, layer):
        """How many keys a query sees, itself among them; None: all before it."""
        return self._get("sliding_window", default=None) if self._is_windowed(layer) else None

    def _rotary(self, layer):
        """Frequencies by which the first pairs of a head turn, and what they are multiplied by; None: none do."""
        if self.architecture.names.positions or not self._get("no_rope_layers", default=[1] * self.layers)[layer]:
            return None
        given = self._get("rope_parameters", "rope_scaling", default={})
        kind = "sliding_attention" if self._is_windowed(layer) else "full_attention"
        if isinstance(given.get(kind), dict):
            given = given[kind]
        elif "rope_parameters" not in self._fields and self.model_type == "gemma3_text" and kind == "sliding_attention":
            given = {"rope_theta": self._get("rope_local_base_freq", default=10000.0)}
        part = given.get("partial_rotary_factor", self._get("partial_rotary_factor", "rotary_pct", default=1.0))
        count = self._get("rotary_dim", default=None) or int(self.depth * part)
        base = given.get("rope_theta") or self._get("rope_theta", "rotary_emb_base", default=10000.0)
        plain = [base ** (-2 * i / count) for i in range(count // 2)]
        form = given.get("rope_type", given.get("type", "default"))
        if form not in _SCALED:
            raise _tenon.Error(f"`{self._path}`: rotary positions of the type `{form}` are not supported; these are: "
                               f"{', '.join(_SCALED)}")
        try:
            frequencies, factor = _SCALED[form](plain, base, count, given)
        except KeyError as missing:
            raise _tenon.Error(f"`{self._path}`: rotary positions of the type `{form}` have no {missing}") from None
        return tuple(frequencies), factor


def _linear(plain, base, count, given):
    return [each / given["factor"] for each in plain], 1.0


def _llama3(plain, base, count, given):
    """Slow pairs turn slower by the factor, fast ones as they did, those between by a mean of both."""
    length, low, high = given["original_max_position_embeddings"], given["low_freq_factor"], given["high_freq_factor"]
    share = [min(1.0, max(0.0, (length * each / (2 * math.pi) - low) / (high - low))) for each in plain]
    return [each * (fast + (1 - fast) / given["factor"]) for each, fast in zip(plain, share)], 1.0


def _yarn(plain, base, count, given):
    """The same, where the number of the pair decides, between those that turn `beta_slow` and `beta_fast` times."""
    length, factor = given["original_max_position_embeddings"], given["factor"]
    pair = lambda turns: count * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))
    first, last = pair(given.get("beta_fast") or 32), pair(given.get("beta_slow") or 1)
    if given.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, count - 1)
    share = [1 - min(1.0, max(0.0, (i - first) / max(last - first, 0.001))) for i in range(len(plain))]
    scale = lambda by: 1.0 if factor <= 1 else 0.1 * by * math.log(factor) + 1
    strength = given.get("attention_factor")
    if strength is None:
        mean, all_dims = given.get("mscale"), given.get("mscale_all_dim")
        strength = scale(mean) / scale(all_dims) if mean and all_dims else scale(1)
    return [each * (fast + (1 - fast) / factor) for each, fast in zip(plain, share)], strength


_SCALED = {"default": lambda plain, *_: (plain, 1.0), "linear": _linear, "llama3": _llama3, "yarn": _yarn}
