"""Guesses and prompts that begin alike: less is computed, and the tokens stay the same."""

import json

import numpy as np
import pytest
from test_language_models import WORDS, make, require_greedy

import tenon
from tenon.generation.prefixes import Prefixes

RNG = np.random.default_rng(5)
TWELVE = ["llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi", "phi3", "gpt2", "gpt_neox", "olmo2", "glm"]


def prompt(length):
    return RNG.integers(3, WORDS, length).tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    make("llama", place, max_position_embeddings=512)
    return place


@pytest.fixture(scope="module")
def plain(folder):
    return tenon.Generator(folder, prefix_bytes=0)


@pytest.mark.parametrize("kind", TWELVE)
def test_two_hundred_tokens_of_transformers(kind, tmp_path):
    size = "n_positions" if kind == "gpt2" else "max_position_embeddings"
    model = make(kind, tmp_path, **{size: 256})
    generator = tenon.Generator(tmp_path, speculate=3)
    generator.engine.decoder.ends = set()
    prompts = [prompt(length) for length in (1, 30, 7)]
    for ids, result in zip(prompts, generator.generate(prompts, max_new_tokens=200)):
        require_greedy(model, ids, result, 200)
    assert generator.engine.counts["right_tokens"] > 0


@pytest.mark.parametrize("guesses", ["repeats", "smaller", "same"])
@pytest.mark.parametrize("options", [{}, {"temperature": 1.2, "seed": 4}, {"temperature": 0.8, "top_k": 9, "seed": 5}])
def test_guesses_change_no_token(guesses, options, folder, plain, tmp_path):
    if guesses == "smaller":  # whose context ends first
        make("llama", tmp_path, seed=1, num_hidden_layers=1, max_position_embeddings=100)
    draft = {"repeats": None, "smaller": tmp_path, "same": folder}[guesses]
    generator = tenon.Generator(folder, draft=draft, speculate=4, rows=4)
    prompts = [prompt(length) for length in (3, 40, 11, 1, 20, 60)]
    expected = [each.ids for each in plain.generate(prompts, max_new_tokens=70, **options)]
    assert [each.ids for each in generator.generate(prompts, max_new_tokens=70, **options)] == expected
    counts = generator.engine.counts
    if guesses == "same" and not options:
        assert counts["right_tokens"] >= 0.9 * counts["guessed_tokens"] > 0
    assert counts["guessed_tokens"] > 0


def test_a_guess_writes_no_further_than_the_caches_may_grow(folder, plain):
    ids = prompt(500)
    generator = tenon.Generator(folder, speculate=8)
    assert generator.generate(ids, max_new_tokens=100).ids == plain.generate(ids, max_new_tokens=100).ids
    bound = plain.engine._caches.bytes_of(1, 64)
    generator = tenon.Generator(folder, speculate=8, cache_bytes=bound, prefix_bytes=0)
    short = [1, 2, 1, 2, 1, 2]
    assert generator.generate(short, max_new_tokens=58).ids == plain.generate(short, max_new_tokens=58).ids
    assert generator.engine.state()["cache_bytes"] <= bound


def test_draft_models_that_cannot_be(folder, tmp_path):
    make("llama", tmp_path, vocab_size=WORDS + 1)
    with pytest.raises(tenon.Error, match="the draft model knows 98 tokens, the model 97"):
        tenon.Generator(folder, draft=tmp_path)
    with pytest.raises(tenon.Error, match="speculate is -1"):
        tenon.Generator(folder, speculate=-1)


def test_prompts_that_begin_alike_are_read_once(folder, plain):
    begin = prompt(200)
    prompts = [begin + prompt(length) for length in (3, 9, 1, 30)]
    expected = [plain.generate(each, max_new_tokens=20).ids for each in prompts]
    one_by_one = tenon.Generator(folder)
    assert [one_by_one.generate(each, max_new_tokens=20).ids for each in prompts] == expected
    assert one_by_one.engine.counts["shared_tokens"] >= 3 * 200
    together = tenon.Generator(folder, rows=3)
    assert [each.ids for each in together.generate(prompts, max_new_tokens=20)] == expected
    assert together.engine.counts["prompt_tokens"] <= 200 + 4 * 31
    # What goes on where an answer ended, and the very same prompt.
    more = [*prompts[3], *expected[3], *prompt(5)]
    assert one_by_one.generate(more, max_new_tokens=9).ids == plain.generate(more, max_new_tokens=9).ids
    before = one_by_one.engine.counts["prompt_tokens"]
    assert one_by_one.generate(more, max_new_tokens=9).ids == plain.generate(more, max_new_tokens=9).ids
    assert one_by_one.engine.counts["prompt_tokens"] == before + 1


def test_copies_stay_within_their_bytes(folder):
    generator = tenon.Generator(folder, prefix_bytes=100_000)
    for _ in range(20):
        generator.generate(prompt(60), max_new_tokens=2)
        assert 0 < generator.engine.state()["prefix_bytes"] <= 100_000
    assert generator.engine.counts["shared_tokens"] == 0


def test_what_is_kept_of_texts():
    kept = Prefixes(1000)
    copy = lambda name: lambda: [np.full(400, name, np.uint8)]
    a, b, c = (np.arange(begin, begin + 20) for begin in (0, 100, 200))
    kept.add(a, copy(1), 400)
    kept.add(b, copy(2), 400)
    assert kept.longest(np.append(a, 7)) == (20, kept.longest(a)[1])
    kept.add(c, copy(3), 400)  # in the place of b, which was not used
    assert [kept.longest(each)[0] for each in (a, b, c)] == [20, 0, 20] and kept.bytes == 800
    kept.add(np.append(a, 8), copy(4), 400)  # goes on where a ended
    assert kept.longest(a)[1][0][0] == 4 and kept.bytes == 800
    kept.add(a[:18], copy(5), 300)
    assert kept.longest(a)[1][0][0] == 4
    kept.add(np.arange(300, 330), copy(6), 2000)
    kept.add(np.arange(5), copy(7), 10)
    assert kept.bytes == 800 and kept.longest(np.arange(300, 330)) == (0, None)


def test_the_options_of_the_command(folder, capsys):
    from tenon.generation.__main__ import main

    ids = ",".join(str(each) for each in prompt(6))
    words = [str(folder), "--prompt-ids", ids, "--json", "--max-new-tokens", "30"]
    found = []
    for more in ([], ["--speculate", "4"], ["--draft", str(folder)], ["--prefix-bytes", "0"]):
        assert main([*words, *more]) == 0
        found.append(json.loads(capsys.readouterr().out)["ids"])
    assert all(each == found[0] for each in found)
