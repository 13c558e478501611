"""Text generation, with a small decoder that NumPy can follow."""

import json
import subprocess
import sys

import numpy as np
import pytest

import tenon

WORDS, DEPTH = 11, 4
RNG = np.random.default_rng(7)
TABLE = RNG.standard_normal((WORDS, DEPTH)).astype(np.float32)
OUT = RNG.standard_normal((2 * DEPTH, WORDS)).astype(np.float32)


def decoder():
    """Logits from each token and the mean of all tokens so far, which two caches hold."""
    ids = tenon.input("input_ids", "i64[batch, seq]")
    mask = tenon.input("attention_mask", "i64[batch, total]")
    past = [tenon.input(f"past.0.{kind}", f"f32[batch, 1, past, {DEPTH}]") for kind in ("key", "value")]
    fresh = tenon.ops.expand_dims(tenon.ops.take(tenon.constant(TABLE), ids), [1])
    key, value = (tenon.ops.concat([each, fresh], 2) for each in past)
    weights = mask.cast(tenon.f32)
    mean = (value * tenon.ops.expand_dims(weights, [1, 3])).sum([2]) / tenon.ops.expand_dims(weights.sum([1]), [1, 2])
    each = tenon.ops.squeeze(fresh, [1])
    both = tenon.ops.concat([each, each * 0 + mean], 2)
    logits = both @ tenon.constant(OUT)
    return tenon.Graph(
        "decoder",
        [ids, mask, *past],
        {"logits": logits, "present.0.key": key, "present.0.value": value},
    )


def logits_of(ids):
    rows = TABLE[ids]
    return np.concatenate([rows[-1], rows.mean(0)]) @ OUT


def greedy(ids, count):
    ids = list(ids)
    begin = len(ids)
    for _ in range(count):
        ids.append(int(logits_of(ids).argmax()))
    return ids[begin:]


CONFIG = {
    "model": {
        "context_length": 40,
        "vocab_size": WORDS,
        "eos_token_id": WORDS,  # none
        "decoder": {
            "filename": "model.onnx",
            "head_size": DEPTH,
            "num_hidden_layers": 1,
            "num_key_value_heads": 1,
            "inputs": {
                "input_ids": "input_ids",
                "attention_mask": "attention_mask",
                "past_key_names": "past.%d.key",
                "past_value_names": "past.%d.value",
            },
            "outputs": {
                "logits": "logits",
                "present_key_names": "present.%d.key",
                "present_value_names": "present.%d.value",
            },
        },
    }
}


def write(folder, config):
    (folder / "genai_config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("decoder")
    decoder().export_onnx(str(place / "model.onnx"))
    write(place, CONFIG)
    return place


@pytest.fixture(scope="module")
def generator(folder):
    return tenon.Generator(folder, disk_cache=False)


def test_the_most_likely_tokens_at_all_lengths_from_one_compile(generator):
    for length in (1, 2, 7, 20):
        ids = RNG.integers(0, WORDS, length).tolist()
        result = generator.generate(ids, max_new_tokens=15)
        assert result.ids == greedy(ids, 15)
        assert (result.prompt_tokens, result.reason) == (length, "length")
        assert 0 < result.first_seconds <= result.seconds and result.tokens_per_second > 0
    assert generator.model.compile_count == 1


def test_tokens_come_one_by_one(generator):
    pieces = list(generator.stream([1, 2], max_new_tokens=5))
    assert pieces == greedy([1, 2], 5)


def test_it_ends_with_an_end_token_or_with_the_context(generator, folder, tmp_path):
    result = generator.generate([3] * 30, max_new_tokens=100)
    assert result.reason == "context" and len(result.ids) == 40 - 30 + 1
    tokens = greedy([1, 2], 10)
    config = json.loads(json.dumps(CONFIG))
    config["model"]["eos_token_id"] = [tokens[3]]
    write(tmp_path, config)
    (tmp_path / "model.onnx").write_bytes((folder / "model.onnx").read_bytes())
    result = tenon.generate(tmp_path, [1, 2])
    assert (result.ids, result.reason) == (tokens[: tokens.index(tokens[3])], "stop")


def test_sampling(generator):
    options = {"max_new_tokens": 12, "temperature": 1.5}
    first = generator.generate([1], seed=3, **options).ids
    assert generator.generate([1], seed=3, **options).ids == first
    assert any(generator.generate([1], seed=seed, **options).ids != first for seed in range(4, 8))
    assert generator.generate([1], seed=3, top_k=1, **options).ids == greedy([1], 12)
    assert generator.generate([1], seed=3, top_p=1e-9, **options).ids == greedy([1], 12)
    penalised = generator.generate([1], max_new_tokens=WORDS - 1, repetition_penalty=1e9).ids
    assert len(set(penalised)) > len(set(greedy([1], WORDS - 1)))


def test_frequencies_of_sampled_tokens():
    logits = np.log([0.5, 0.3, 0.15, 0.05])
    sampling = tenon.generation.Sampling(temperature=1.0, top_p=0.75, seed=0)
    counts = np.bincount([sampling.choose(logits, []) for _ in range(4000)], minlength=4) / 4000
    np.testing.assert_allclose(counts, [0.625, 0.375, 0, 0], atol=0.03)
    sampling = tenon.generation.Sampling(temperature=1.0, top_k=3, seed=0)
    counts = np.bincount([sampling.choose(logits, []) for _ in range(4000)], minlength=4) / 4000
    np.testing.assert_allclose(counts, np.array([0.5, 0.3, 0.15, 0]) / 0.95, atol=0.03)


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ([], {}, "the prompt has no tokens"),
        ([WORDS], {}, "token 11 is none of the 11"),
        ([1] * 40, {}, "the prompt has 40 tokens, the model's context 40"),
        ("text", {}, "has no tokenizer.json: give token ids"),
        ([1], {"max_new_tokens": 0}, "max_new_tokens is 0"),
        ([1], {"top_p": 0}, "top_p is 0"),
        ([1], {"temperature": -1}, "temperature is -1"),
        ([1], {"stop": ""}, "a stop word is empty"),
    ],
)
def test_what_cannot_be_is_told(generator, prompt, options, message):
    with pytest.raises(tenon.Error, match=message):
        generator.generate(prompt, **options)


def test_folders_that_are_no_models(folder, tmp_path):
    with pytest.raises(tenon.Error, match="no folder with a genai_config.json, .* or a config.json"):
        tenon.Generator(tmp_path)
    config = json.loads(json.dumps(CONFIG))
    write(tmp_path, config)
    with pytest.raises(tenon.Error, match="has no file `model.onnx`"):
        tenon.Generator(tmp_path)
    (tmp_path / "model.onnx").write_bytes((folder / "model.onnx").read_bytes())
    config["model"]["decoder"]["inputs"]["past_key_names"] = "old.%d.key"
    write(tmp_path, config)
    with pytest.raises(tenon.Error, match="has no input `old.0.key`"):
        tenon.Generator(tmp_path)
    del config["model"]["decoder"]["head_size"]
    write(tmp_path, config)
    with pytest.raises(tenon.Error, match="has no entry 'head_size'"):
        tenon.Generator(tmp_path)
    (tmp_path / "genai_config.json").write_text("{")
    with pytest.raises(tenon.Error, match="is no JSON"):
        tenon.Generator(tmp_path)


def test_texts_and_stop_words(folder, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{i}": i for i in range(WORDS)}, unk_token="w0"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    write(tmp_path, CONFIG)
    (tmp_path / "model.onnx").write_bytes((folder / "model.onnx").read_bytes())
    generator = tenon.Generator(tmp_path)
    tokens = greedy([1, 2], 10)
    expected = "".join(f" w{token}" for token in tokens)
    assert generator.generate("w1 w2", max_new_tokens=10).text == expected
    assert "".join(generator.stream("w1 w2", max_new_tokens=10)) == expected
    word = f"w{tokens[4]}"
    result = generator.generate("w1 w2", max_new_tokens=10, stop=word)
    assert result.text == expected[: expected.index(word)] and result.reason == "stop"
    assert [each.text for each in tenon.generate(generator, ["w1 w2", "w3"], max_new_tokens=3)] == [
        "".join(f" w{token}" for token in greedy(ids, 3)) for ids in ([1, 2], [3])
    ]


def test_pieces_of_text_are_whole_characters():
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    library = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = tenon.generation.Tokenizer("nowhere")
    tokenizer._library = library  # a byte is a token
    text = " caf\u00e9 \U0001f600 and STOPS, \u4e2d\u6587"
    for stop, expected in (((), text), (("STOP.",), text), (("STOP",), text[: text.index("STOP")])):
        given = tenon.generation.Text(tokenizer, library.encode("Once").ids, stop)
        pieces = []
        for token in library.encode(text).ids:
            pieces.append(given.add(token))
            if given.is_stopped:
                break
        pieces.append(given.rest())
        assert "".join(pieces) == expected == given.given and given.is_stopped == (expected != text)
        assert all(len(piece) < 8 and "\N{REPLACEMENT CHARACTER}" not in piece for piece in pieces)
    unfinished = tenon.generation.Text(tokenizer, [], ())
    assert [unfinished.add(token) for token in library.encode("\u4e2d").ids[:2]] == ["", ""]
    assert unfinished.rest() == "\N{REPLACEMENT CHARACTER}"


def test_several_at_once_of_a_model_that_knows_one_length(generator):
    prompts = [[1, 2], [3] * 9, [4]]
    results = generator.generate(prompts, max_new_tokens=8)
    assert [each.ids for each in results] == [greedy(ids, 8) for ids in prompts]


def tokens_of(generator, prompts, **options):
    """What the generator of C++ makes of prompts that join one after the other."""
    requests = []
    for prompt in prompts:
        requests.append(generator.submit(prompt, **options))
        generator.step()
    while generator.step():
        pass
    return [request.result()[0] for request in requests]


def test_the_generator_of_cpp_gives_the_same_tokens(folder, generator):
    inside = tenon._tenon.TokenGenerator(str(folder), rows=2)
    assert (inside.vocabulary, inside.context) == (WORDS, 40)
    prompts = [[1, 2], [3] * 9, [4], [5, 6, 7]]
    assert tokens_of(inside, prompts, max_new_tokens=8) == [greedy(ids, 8) for ids in prompts]
    for options in ({"temperature": 1.5}, {"temperature": 1.0, "top_k": 4}, {"temperature": 1.0, "top_p": 0.6},
                    {"repetition_penalty": 1.7}, {"temperature": 0.7, "top_k": 6, "top_p": 0.9, "repetition_penalty": 1.3}):
        expected = [generator.generate(ids, max_new_tokens=9, seed=5, **options).ids for ids in prompts]
        assert tokens_of(inside, prompts, max_new_tokens=9, seed=5, **options) == expected
    with pytest.raises(tenon.Error, match="token 11 is none of the 11"):
        inside.submit([WORDS])


def test_a_saved_model_runs_without_its_folder(folder, tmp_path):
    path = tmp_path / "decoder.tenon"
    tenon.generation.save(folder, path)
    for again in (tenon.Generator(path), tenon.Generator(str(path), rows=1)):
        assert [each.ids for each in again.generate([[1, 2], [3] * 9], max_new_tokens=8)] == [
            greedy(ids, 8) for ids in ([1, 2], [3] * 9)
        ]
    assert tokens_of(tenon._tenon.TokenGenerator(str(path)), [[1, 2]], max_new_tokens=8) == [greedy([1, 2], 8)]
    with pytest.raises(tenon.Error, match="is a program, which was compiled when it was saved: give `weights` to its save"):
        tenon.Generator(path, weights="i8")
    with pytest.raises(tenon.Error, match="is a program already"):
        tenon.generation.save(path, tmp_path / "other.tenon")
    tenon.save(decoder(), tmp_path / "plain.tenon")
    with pytest.raises(tenon.Error, match="a program, but none that continues texts"):
        tenon.Generator(tmp_path / "plain.tenon")
    command = [sys.executable, "-m", "tenon.generation"]
    made = tmp_path / "made.tenon"
    subprocess.run([*command, str(folder), "--save", str(made)], check=True)
    run = subprocess.run([*command, str(made), "--prompt-ids", "1,2", "--max-new-tokens", "6"], capture_output=True,
                         text=True, check=True)
    assert [int(word) for word in run.stdout.split()] == greedy([1, 2], 6)


def test_the_command(folder, tmp_path):
    command = [sys.executable, "-m", "tenon.generation", str(folder), "--max-new-tokens", "6"]
    run = subprocess.run([*command, "--prompt-ids", "1,2"], capture_output=True, text=True, check=True)
    assert [int(word) for word in run.stdout.split()] == greedy([1, 2], 6)
    assert "2 tokens of the prompt" in run.stderr
    run = subprocess.run([*command, "--prompt-ids", "1,2", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["ids"] == greedy([1, 2], 6)
    (tmp_path / "none").write_text("")
    run = subprocess.run([*command, "--batch", str(tmp_path / "none")], capture_output=True, text=True, check=True)
    assert run.stdout == ""
    for bad in ([], ["--prompt", "text"], ["--prompt-ids", "1,x"], ["--batch", str(tmp_path / "missing")]):
        run = subprocess.run([*command, *bad], capture_output=True, text=True, check=False)
        assert (run.returncode, run.stdout) == (1, "") and run.stderr.startswith("tenon: ")
        assert run.stderr.count("\n") == 1
