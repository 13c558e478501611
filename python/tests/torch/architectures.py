"""Architectures of transformers at tiny sizes: random weights, nothing is downloaded."""

from __future__ import annotations

import torch
from torch import nn

TEXT = {
    "vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 64,
}  # fmt: skip
GROUPED = {**TEXT, "num_key_value_heads": 2}
EXPERTS = {**GROUPED, "moe_intermediate_size": 24, "num_experts_per_tok": 2}
PAIR = {
    "vocab_size": 97, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64,
}  # fmt: skip
IMAGE = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32,
    "patch_size": 8,
}  # fmt: skip
SOUND = {
    "vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "conv_dim": (16, 16), "conv_stride": (4, 2), "conv_kernel": (8, 4), "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 4,
}  # fmt: skip
SMALL_T5 = {"vocab_size": 97, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}

# Of each: the kind of its inputs, and its sizes.
ARCHITECTURES = {
    # Encoders of text
    "bert": ("ids", TEXT),
    "roberta": ("ids", TEXT),
    "xlm-roberta": ("ids", TEXT),
    "camembert": ("ids", TEXT),
    "albert": ("ids", {**TEXT, "embedding_size": 16}),
    "distilbert": ("ids", {**TEXT, "hidden_dim": 48}),
    "electra": ("ids", {**TEXT, "embedding_size": 16}),
    "mpnet": ("ids", TEXT),
    "deberta-v2": ("ids", {**TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "fnet": ("ids", TEXT),
    "roformer": ("ids", {**TEXT, "embedding_size": 32}),
    "layoutlm": ("ids", TEXT),
    "modernbert": ("ids", {**TEXT, "pad_token_id": 0, "local_attention": 8}),
    "squeezebert": ("ids", {**TEXT, "embedding_size": 32}),
    # Decoders
    "gpt2": ("ids", TEXT),
    "gpt_neo": ("ids", {**TEXT, "num_layers": 2, "attention_types": [[["global", "local"], 1]], "window_size": 8}),
    "gpt_neox": ("ids", TEXT),
    "gptj": ("ids", {**TEXT, "rotary_dim": 4}),
    "opt": ("ids", {**TEXT, "ffn_dim": 48, "word_embed_proj_dim": 32}),
    "bloom": ("ids", TEXT),
    "codegen": ("ids", {**TEXT, "rotary_dim": 4}),
    "falcon": ("ids", TEXT),
    "mpt": ("ids", {"vocab_size": 97, "d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64}),
    "llama": ("ids", GROUPED),
    "mistral": ("ids", {**GROUPED, "sliding_window": 8}),
    "mixtral": ("ids", {**EXPERTS, "num_local_experts": 4}),
    "qwen2": ("ids", GROUPED),
    "qwen3": ("ids", {**GROUPED, "head_dim": 8}),
    "qwen2_moe": ("ids", {**EXPERTS, "num_experts": 4, "shared_expert_intermediate_size": 24}),
    "gemma": ("ids", {**GROUPED, "head_dim": 8}),
    "gemma2": ("ids", {**GROUPED, "head_dim": 8, "sliding_window": 8}),
    "phi": ("ids", TEXT),
    "phi3": ("ids", {**GROUPED, "pad_token_id": 0}),
    "stablelm": ("ids", GROUPED),
    "starcoder2": ("ids", GROUPED),
    "olmo2": ("ids", GROUPED),
    "cohere": ("ids", GROUPED),
    "granite": ("ids", GROUPED),
    "mamba": ("ids", {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}),
    # Encoders with decoders
    "t5": ("pair", SMALL_T5),
    "bart": ("pair", PAIR),
    "mbart": ("pair", PAIR),
    "pegasus": ("pair", PAIR),
    "marian": ("pair", {**PAIR, "pad_token_id": 0, "decoder_start_token_id": 0}),
    "whisper": ("sound to text", {**PAIR, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 32}),
    # Images
    "vit": ("image", IMAGE),
    "deit": ("image", IMAGE),
    "dinov2": ("image", IMAGE),
    "beit": ("image", IMAGE),
    "swin": ("image", {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4],
                       "window_size": 4}),
    "convnext": ("image", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "image_size": 32}),
    "resnet": ("image", {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}),
    "regnet": ("image", {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "groups_width": 4}),
    "mobilenet_v2": ("image", {"image_size": 32, "depth_multiplier": 0.25}),
    "segformer": ("image", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 3, 4],
                            "decoder_hidden_size": 16}),
    "poolformer": ("image", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}),
    # Sound, and images with text
    "wav2vec2": ("sound", {**SOUND, "do_stable_layer_norm": False}),
    "hubert": ("sound", SOUND),
    "clip": ("image and ids", {"text_config": {**TEXT, "projection_dim": 16, "eos_token_id": 96},
                               "vision_config": {**IMAGE, "projection_dim": 16}, "projection_dim": 16}),
}  # fmt: skip

SIZES = ((2, 7), (3, 12), (4, 9))  # batch, length


class Plain(nn.Module):
    """The model from tensors to tensors: what it is called with by name, without caches."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *arguments):
        given = dict(zip(self.names, arguments))
        told = {"use_cache": False} if getattr(self.model.config, "use_cache", None) else {}
        result = self.model(**given, **told, return_dict=True)
        for name in ("logits_per_image", "logits", "last_hidden_state"):
            if getattr(result, name, None) is not None:
                return getattr(result, name)
        raise ValueError(f"{type(self.model).__name__} gives {list(result)}")


def build(name: str) -> Plain:
    import transformers

    kind, sizes = ARCHITECTURES[name]
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name, **sizes)
    model = transformers.AutoModel.from_config(config).eval()
    names = {
        "ids": ["input_ids", "attention_mask"],
        "pair": ["input_ids", "attention_mask", "decoder_input_ids"],
        "image": ["pixel_values"],
        "sound": ["input_values"],
        "sound to text": ["input_features", "decoder_input_ids"],
        "image and ids": ["input_ids", "pixel_values", "attention_mask"],
    }[kind]
    return Plain(model, names)


def arguments(name: str, batch: int, length: int) -> tuple:
    """Inputs of the architecture: sizes of images and of sound that is padded are its own."""
    kind = ARCHITECTURES[name][0]
    made = torch.Generator().manual_seed(batch * 100 + length)

    def ids(n):
        return torch.randint(3, 96, (batch, n), generator=made)

    def mask():
        rows = torch.ones(batch, length, dtype=torch.long)
        rows[0, length - 2 :] = 0
        return rows

    image = torch.randn(batch, 3, 32, 32, generator=made)
    return {
        "ids": lambda: (ids(length), mask()),
        "pair": lambda: (ids(length), mask(), ids(length - 2)),
        "image": lambda: (image,),
        "sound": lambda: (torch.randn(batch, 40 * length, generator=made),),
        "sound to text": lambda: (torch.randn(batch, 8, 32, generator=made), ids(length)),
        "image and ids": lambda: (ids(length), image, mask()),
    }[kind]()


def dynamic_axes(name: str) -> tuple:
    """Which axes of the arguments are free, as torch.export takes them."""
    Dim = torch.export.Dim
    axes = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
    return {
        "ids": (axes, axes), "pair": (axes, axes, axes), "image": ({0: Dim.DYNAMIC},), "sound": (axes,),
        "sound to text": ({0: Dim.DYNAMIC}, axes), "image and ids": (axes, {0: Dim.DYNAMIC}, axes),
    }[ARCHITECTURES[name][0]]  # fmt: skip
