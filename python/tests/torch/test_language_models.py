"""Folders that transformers writes: the same logits and tokens as there, for tiny random models of many architectures."""

import json

import numpy as np
import pytest
import torch
import transformers

import tenon
from tenon.generation.architectures import ARCHITECTURES

WORDS = 97
SIZES = {
    "vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 128, "bos_token_id": 1, "eos_token_id": 2,
    "pad_token_id": 0,
}
GPT = {"vocab_size": WORDS, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 128, "bos_token_id": 1,
       "eos_token_id": 2}
MIXED = ["sliding_attention", "full_attention", "sliding_attention"]
LLAMA3 = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 32}
BOTH = {"full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
CASES = {
    "llama": {"attention_bias": True, "mlp_bias": True, "rope_parameters": LLAMA3},
    "mistral": {"sliding_window": 7},
    "ministral": {"sliding_window": 7, "layer_types": MIXED},
    "qwen2": {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1, "layer_types": MIXED[::-1]},
    "qwen3": {"rope_parameters": YARN, "tie_word_embeddings": True},
    "gemma": {},
    "gemma2": {"sliding_window": 7, "layer_types": MIXED, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 2.0,
               "final_logit_softcapping": 3.0},
    "gemma3_text": {"sliding_window": 7, "layer_types": MIXED, "query_pre_attn_scalar": 16, "rope_parameters": BOTH},
    "phi": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}},
    "phi3": {"sliding_window": 9},
    "gpt2": GPT,
    "gptj": {**GPT, "rotary_dim": 4},
    "gpt_neox": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "olmo": {"clip_qkv": 0.5},
    "olmo2": {},
    "olmo3": {"sliding_window": 7, "layer_types": MIXED},
    "smollm3": {"no_rope_layers": [1, 0, 1]},
    "granite": {"embedding_multiplier": 3.0, "residual_multiplier": 0.5, "attention_multiplier": 0.3,
                "logits_scaling": 2.0},
    "starcoder2": {"sliding_window": 7},
    "stablelm": {"use_qkv_bias": True},
    "cohere": {},
    "glm": {},
}


def make(kind, folder, seed=0, dtype=torch.float32, **more):
    """A model whose weights, norms and biases among them, are large enough to tell when one is left out."""
    torch.manual_seed(seed)
    options = {**(GPT if kind in ("gpt2", "gptj") else SIZES), **CASES[kind], **more}
    config = transformers.CONFIG_MAPPING[kind](**options)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").to(dtype).eval()
    with torch.no_grad():
        for each in model.parameters():
            each.add_(torch.randn_like(each) * 0.15)
    model.save_pretrained(folder)
    return model


def require_greedy(model, ids, result, count):
    """The new tokens are those that transformers finds the most likely ones, each behind all before it."""
    found = result.ids
    with torch.no_grad():
        logits = model(torch.tensor([ids + found]), use_cache=False).logits[0, len(ids) - 1 :]
    expected = logits.argmax(-1).tolist()
    assert found == expected[: len(found)]
    assert len(found) == count if result.reason == "length" else expected[len(found)] == 2


def test_all_architectures_are_tried():
    assert set(CASES) == set(ARCHITECTURES)


@pytest.mark.parametrize("kind", CASES)
def test_logits_and_tokens_of_transformers(kind, tmp_path):
    model = make(kind, tmp_path)
    generator = tenon.Generator(tmp_path)
    rng = np.random.default_rng(3)
    prompts = [rng.integers(3, WORDS, length).tolist() for length in (1, 13, 5)]

    decoder = generator.engine.decoder
    dims = [64 if size is None else size for size in decoder.cache_shape]
    caches = [np.zeros((1, *dims), dtype) for dtype in decoder.cache_dtypes]
    with torch.no_grad():
        expected = model(torch.tensor([prompts[1]])).logits[0].numpy()
    tolerance = {"rtol": 1e-4, "atol": 1e-5 * np.abs(expected).max()}
    ids, zero = np.array([prompts[1]]), np.zeros(1, np.int64)
    first = decoder.run(ids[:, :9], zero, np.array([[8]]), caches, None)
    np.testing.assert_allclose(first[0], expected[8:9], **tolerance)
    rest = decoder.run(ids[:, 9:], zero + 9, np.array([[0, 3]]), caches, None)
    np.testing.assert_allclose(rest[0], expected[[9, 12]], **tolerance)

    # Three at once, two of them read together, and all alone.
    results = generator.generate(prompts, max_new_tokens=20)
    for prompt, result in zip(prompts, results):
        require_greedy(model, prompt, result, 20)
    assert generator.generate(prompts[1], max_new_tokens=20).ids == results[1].ids


@pytest.mark.parametrize(("kind", "weights"), [("llama", None), ("gemma3_text", None), ("qwen3", "i4")])
def test_saved_models_run_by_the_generator_of_cpp(kind, weights, tmp_path):
    make(kind, tmp_path, max_position_embeddings=1024)
    path = tmp_path / "model.tenon"
    tenon.generation.save(tmp_path, path, weights=weights)
    rng = np.random.default_rng(6)
    prompts = [rng.integers(3, WORDS, length).tolist() for length in (4, 700, 1, 30, 30, 9)]
    inside = tenon._tenon.TokenGenerator(str(path), rows=4)
    for options in ({}, {"temperature": 0.8, "top_k": 20, "seed": 3}):
        generator = tenon.Generator(tmp_path, rows=4, prefix_bytes=0, weights=weights)
        expected = [each.ids for each in generator.generate(prompts, max_new_tokens=25, **options)]
        requests = [inside.submit(prompt, max_new_tokens=25, **options) for prompt in prompts]
        while inside.step():
            pass
        assert [request.result()[0] for request in requests] == expected
        saved = tenon.Generator(path, rows=4, prefix_bytes=0)
        assert [each.ids for each in saved.generate(prompts, max_new_tokens=25, **options)] == expected


def test_long_prompts_in_parts_and_caches_that_grow(tmp_path):
    model = make("llama", tmp_path, max_position_embeddings=2048)
    generator = tenon.Generator(tmp_path, rows=2)
    rng = np.random.default_rng(4)
    prompts = [rng.integers(3, WORDS, length).tolist() for length in (600, 40, 1030, 3)]
    results = generator.generate(prompts, max_new_tokens=30)
    for prompt, result in zip(prompts, results):
        require_greedy(model, prompt, result, 30)
    state = generator.engine.state()
    assert (state["waiting"], state["reading"], state["decoding"]) == (0, 0, 0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_of_few_bits_are_read_as_they_are(dtype, tmp_path):
    model = make("qwen3", tmp_path, dtype=dtype).float()
    require_greedy(model, [5, 9, 4], tenon.Generator(tmp_path).generate([5, 9, 4], max_new_tokens=20), 20)


def test_weights_in_several_files(tmp_path):
    model = make("gemma", tmp_path)
    (tmp_path / "model.safetensors").unlink()
    model.save_pretrained(tmp_path, max_shard_size="20KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    generator = tenon.Generator(tmp_path)
    require_greedy(model, [7, 8], generator.generate([7, 8], max_new_tokens=10), 10)
    next(tmp_path.glob("*-00002-*")).unlink()
    with pytest.raises(tenon.Error, match="has no file `model-00002"):
        tenon.Generator(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "marble"}, "the model_type `marble` is not known; these are: llama, mistral"),
        ({"hidden_act": "tanh"}, "the activation `tanh` is not supported"),
        ({"num_hidden_layers": None}, "has no entry `num_hidden_layers`"),
        ({"num_hidden_layers": 2}, "has the tensor `model.layers.2.* which its model_type does not have"),
        ({"num_hidden_layers": 4}, "has no tensor `model.layers.3."),
        ({"rope_parameters": {"rope_type": "dynamic", "factor": 2}}, "of the type `dynamic` are not supported"),
        ({"rope_parameters": {"rope_type": "linear"}}, "of the type `linear` have no 'factor'"),
        ({"quantization_config": {"bits": 4}}, "`quantization_config` is .* which is not supported"),
    ],
)
def test_configurations_that_cannot_be_run(change, message, tmp_path):
    make("llama", tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(tenon.Error, match=message):
        tenon.Generator(tmp_path)
