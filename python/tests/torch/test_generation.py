"""`generate()` of transformers: the tokens that PyTorch finds, and few programs whatever the lengths are."""

import pytest
import torch
from device_support import DEVICE

import tenon
import tenon.torch

transformers = pytest.importorskip("transformers", reason="the PyPI package transformers is not installed")


def model(family):
    torch.manual_seed(0)
    if family == "gpt2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=97, **sizes)).eval()
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.LlamaConfig(vocab_size=97, num_key_value_heads=2, max_position_embeddings=64, **sizes)
    return transformers.LlamaForCausalLM(config).eval()


def generated(net, length, cache, end):
    """Tokens after a prompt of this length. With a token `end` each step looks at what it found."""
    prompt = torch.randint(1, 97, (1, length), generator=torch.Generator().manual_seed(length)).to(net.device)
    told = {} if cache == "dynamic" else {"cache_implementation": cache}
    with torch.no_grad():
        return net.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, do_sample=False,
                            pad_token_id=0, eos_token_id=end, **told).cpu()  # fmt: skip


def compiles(function):
    before = tenon.realization_counts()["compiles"]
    function()
    return tenon.realization_counts()["compiles"] - before


@pytest.mark.parametrize("family,cache,end", [("gpt2", "dynamic", None), ("llama", "dynamic", 96), ("llama", "static", 96)])
def test_lengths_meet_the_programs_of_others_on_the_device(family, cache, end):
    ours, theirs = model(family).to(DEVICE), model(family)

    def run(length):
        assert torch.equal(generated(ours, length, cache, end), generated(theirs, length, cache, end))

    for length in (5, 9, 7):
        run(length)
    # What is looked at once says what it stores from then on; a length may still meet a look for the first time.
    assert compiles(lambda: [run(length) for length in (11, 6, 12, 8)]) <= 3
    assert compiles(lambda: run(10)) == 0


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_lengths_meet_one_program_for_prompts_and_one_for_steps_compiled(cache):
    torch._dynamo.reset()
    tenon.torch.reset_report()
    ours, theirs = model("llama"), model("llama")
    ours.forward = torch.compile(ours.forward, backend="tenon", dynamic=True)
    for length in (5, 9, 7, 12):
        assert torch.equal(generated(ours, length, cache, 96), generated(theirs, length, cache, 96))
    door = tenon.torch.report().doors["compile"]
    assert door.compiles <= 3 and not door.fallbacks and door.laid_out == 0


def test_operators_that_pytorch_takes_apart_for_gradients_alone():
    torch._dynamo.reset()
    tenon.torch.reset_report()
    function = torch.compile(lambda x: torch.true_divide(x, 2) + x.multiply(3), backend="tenon")
    with torch.inference_mode():
        assert function(torch.ones(3)).tolist() == [3.5] * 3
    door = tenon.torch.report().doors["compile"]
    assert door.compiles == 1 and not door.fallbacks


def test_slices_from_the_end_and_reshapes_keep_sizes_plain():
    """Sizes that say less than is known grow with each step of a loop: min(n, 1) beside n twice as long each time."""

    def steps(places, count):
        for _ in range(count):
            places = torch.cat([places, places[:, -1:] + 1], 1)
        return places.view(1, places.shape[1], -1, 1)[:, :-1].sum()

    for n in (3, 4, 5, 6, 9):
        x = torch.arange(n)[None]
        assert steps(x.to(DEVICE), 12).item() == steps(x, 12).item()
    assert compiles(lambda: steps(torch.arange(7)[None].to(DEVICE), 12).item()) == 0
