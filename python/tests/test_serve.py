"""The server, by a real client over loopback: a tiny model with random weights, many clients at once."""

import concurrent.futures
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import httpx
import numpy as np
import openai
import pytest
import tokenizers
import uvicorn

import tenon
from tenon import serve

WORDS, WIDTH, HEADS, DEPTH, LAYERS = 120, 16, 2, 8, 2
CONFIG = {
    "model_type": "llama", "vocab_size": WORDS, "hidden_size": WIDTH, "intermediate_size": 24, "hidden_act": "silu",
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": 1, "head_dim": DEPTH,
    "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "eos_token_id": 1,
}
TEMPLATE = "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}w9"


def write_model(folder, **config):
    rng = np.random.default_rng(5)
    dims = {"model.embed_tokens": (WORDS, WIDTH), "lm_head": (WORDS, WIDTH)}
    norms = ["model.norm"]
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        norms += [name + "input_layernorm", name + "post_attention_layernorm"]
        dims |= {
            name + "self_attn.q_proj": (HEADS * DEPTH, WIDTH), name + "self_attn.k_proj": (DEPTH, WIDTH),
            name + "self_attn.v_proj": (DEPTH, WIDTH), name + "self_attn.o_proj": (WIDTH, HEADS * DEPTH),
            name + "mlp.gate_proj": (24, WIDTH), name + "mlp.up_proj": (24, WIDTH), name + "mlp.down_proj": (WIDTH, 24),
        }
    weights = {f"{name}.weight": rng.standard_normal(size).astype(np.float32) for name, size in dims.items()}
    weights |= {f"{name}.weight": np.ones(WIDTH, np.float32) for name in norms}
    tenon.save_safetensors(str(folder / "model.safetensors"), weights)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{i}": i for i in range(WORDS)}, unk_token="w0"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tiny")
    write_model(place)
    return place


@pytest.fixture(scope="module")
def alone(folder):
    """The same model without a server."""
    return tenon.Generator(folder)


@contextlib.contextmanager
def running(folder, **options):
    generator = tenon.Generator(folder, rows=options.pop("rows", 8), cache_bytes=options.pop("cache_bytes", None))
    app = serve.create_app(generator, serve.Options("tiny", **options))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield generator, address
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def server(folder):
    with running(folder) as (generator, address):
        yield generator, address


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server[1] + "/v1", api_key="none", max_retries=0) as made:
        yield made


def text_of(ids):
    return " ".join(f"w{token}" for token in ids)


def idle(generator):
    """Whether all requests are gone, at once or soon."""
    for _ in range(200):
        state = generator.engine.state()
        if state["waiting"] == state["reading"] == state["decoding"] == 0:
            return True
        time.sleep(0.02)
    return False


def test_completions(client, alone):
    expected = alone.generate([5, 6, 7], max_new_tokens=12)
    for prompt in ("w5 w6 w7", [5, 6, 7]):
        result = client.completions.create(model="tiny", prompt=prompt, max_tokens=12, temperature=0)
        assert result.choices[0].text == expected.text
        assert result.choices[0].finish_reason == ("stop" if expected.reason == "stop" else "length")
        assert result.usage.prompt_tokens == 3 and result.usage.completion_tokens == len(expected.ids)
        assert result.object == "text_completion" and result.model == "tiny"
    several = client.completions.create(model="tiny", prompt=["w5 w6 w7", "w8"], max_tokens=12, temperature=0)
    assert [each.text for each in several.choices] == [expected.text, alone.generate([8], max_new_tokens=12).text]
    stop = expected.text.split()[3]
    ended = client.completions.create(model="tiny", prompt="w5 w6 w7", max_tokens=12, temperature=0, stop=stop)
    assert ended.choices[0].text == expected.text[: expected.text.index(stop)]
    assert ended.choices[0].finish_reason == "stop"


def test_choices_that_differ_and_seeds(client):
    ask = lambda seed: client.completions.create(model="tiny", prompt="w5", n=3, seed=seed, max_tokens=8, temperature=2)
    first = [each.text for each in ask(3).choices]
    assert [each.text for each in ask(3).choices] == first and len(set(first)) > 1
    assert ask(3).usage.prompt_tokens == 1


def test_streams(client, alone):
    expected = alone.generate([5, 6, 7], max_new_tokens=12)
    events = list(client.completions.create(model="tiny", prompt="w5 w6 w7", max_tokens=12, temperature=0, stream=True,
                                            stream_options={"include_usage": True}))
    assert events[-1].usage.completion_tokens == len(expected.ids)
    assert "".join(each.choices[0].text for each in events[:-1]) == expected.text
    assert [each.choices[0].finish_reason for each in events[:-1]][-1] is not None
    messages = [{"role": "w3", "content": "w4"}, {"role": "w3", "content": [{"type": "text", "text": "w5"}]}]
    expected = alone.generate([3, 4, 3, 5, 9], max_new_tokens=12)
    events = list(client.chat.completions.create(model="tiny", messages=messages, max_completion_tokens=12, temperature=0,
                                                 stream=True))
    assert events[0].choices[0].delta.role == "assistant"
    assert "".join(each.choices[0].delta.content or "" for each in events) == expected.text
    whole = client.chat.completions.create(model="tiny", messages=messages, max_tokens=12, temperature=0)
    assert whole.choices[0].message.content == expected.text and whole.object == "chat.completion"


def test_many_clients_of_whom_some_leave(server, alone):
    generator, address = server
    rng = random.Random(1)
    cases = [([rng.randrange(2, WORDS) for _ in range(rng.choice([1, 3, 20, 150]))], rng.randrange(1, 60), i % 8 == 7)
             for i in range(48)]
    expected = [alone.generate(ids, max_new_tokens=most).text for ids, most, _ in cases]

    def ask(case):
        ids, most, leaves = case
        with openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0, timeout=120) as client:
            if not leaves:
                return client.completions.create(model="tiny", prompt=ids, max_tokens=most, temperature=0).choices[0].text
            stream = client.completions.create(model="tiny", prompt=ids, max_tokens=1000, temperature=0, stream=True)
            next(iter(stream), None)
            stream.close()
            return None

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        results = list(pool.map(ask, cases))
    for case, text, wanted in zip(cases, results, expected):
        assert case[2] or text == wanted
    assert idle(generator)


def test_a_client_that_goes_away_frees_its_place(server):
    generator, address = server
    body = {"prompt": [5], "max_tokens": 1024, "temperature": 1.0, "n": 16, "seed": 2}
    before = generator.engine.counts["ended_by_cancelled"]
    for seconds in (0.05, 0.2, 0.8):  # until the request has come so far that there is something to leave
        with contextlib.suppress(httpx.ReadTimeout):
            httpx.post(address + "/v1/completions", json=body, timeout=seconds)
        assert idle(generator)
        if generator.engine.counts["ended_by_cancelled"] > before:
            return
    pytest.fail("nothing was cancelled")


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("completions", b"{", 400, "Invalid JSON"),
        ("completions", {}, 400, "prompt: Field required"),
        ("completions", {"prompt": "w1", "max_tokens": 0}, 400, "max_new_tokens is 0"),
        ("completions", {"prompt": "w1", "max_tokens": 5000}, 400, "`max_tokens` is 5000, this server gives at most 1024"),
        ("completions", {"prompt": "w1", "temperature": -1}, 400, "temperature is -1"),
        ("completions", {"prompt": "w1", "seed": -3}, 400, "seed is -3"),
        ("completions", {"prompt": "w1", "n": 0}, 400, "`n` is 0, must be 1 to 16"),
        ("completions", {"prompt": []}, 400, "`prompt` is empty"),
        ("completions", {"prompt": [5, WORDS]}, 400, "token 120 is none of the 120"),
        ("completions", {"prompt": [2] * 5000}, 400, "the model's context 4096"),
        ("completions", {"prompt": "w1", "logprobs": 3}, 400, "`logprobs` is not supported"),
        ("completions", {"prompt": "w1", "stop": ""}, 400, "a stop word is empty"),
        ("completions", {"prompt": "w1", "model": "other"}, 404, "there is no model `other`; this server has `tiny`"),
        ("chat/completions", {"messages": []}, 400, "messages: "),
        ("chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "messages"),
        ("chat/completions", {"messages": [{"role": "user", "content": "x"}], "tools": [{}]}, 400, "`tools` is not"),
    ],
)
def test_bad_requests(server, path, body, status, message):
    content = body if isinstance(body, bytes) else json.dumps(body)
    answer = httpx.post(f"{server[1]}/v1/{path}", content=content)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]


def test_random_requests_break_nothing(server):
    generator, address = server
    rng = random.Random(2)
    values = [None, True, -1, 0, 1, 2**70, 0.5, float("1e999"), "", "w1", "\ud83d", [], [[]], [1], ["w1"], {}, {"a": 1}]
    keys = ["prompt", "max_tokens", "n", "stop", "seed", "temperature", "top_p", "top_k", "stream", "best_of", "messages"]
    with httpx.Client(base_url=address) as http:
        for _ in range(150):
            body = {"prompt": "w1", "max_tokens": 2} | {rng.choice(keys): rng.choice(values) for _ in range(3)}
            content = json.dumps(body).encode()
            if rng.random() < 0.2:
                content = content[: rng.randrange(len(content))]
            answer = http.post(rng.choice(["/v1/completions", "/v1/chat/completions"]), content=content)
            assert answer.status_code in (200, 400), (body, answer.text)
    assert idle(generator)


def test_models_health_and_counters(server, client):
    assert [each.id for each in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").id == "tiny"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("other")
    assert httpx.get(server[1] + "/health").json() == {"status": "ok"}
    lines = httpx.get(server[1] + "/metrics").text.splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert int(values["tenon_serve_new_tokens_total"]) > 0 and values["tenon_serve_decoding"] == "0"
    assert int(values["tenon_serve_first_token_seconds_count"]) > 0
    assert httpx.get(server[1] + "/nowhere").status_code == 404


def test_too_many_requests_are_refused_and_caches_are_bounded(folder, alone):
    with running(folder, rows=8, waiting=2, cache_bytes=64 * 2 * LAYERS * DEPTH * 4 * 2) as (generator, address):
        body = {"prompt": [[5], [6], [7]], "max_tokens": 2}
        answer = httpx.post(address + "/v1/completions", json=body)
        assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
        # Two at a time have room: the others wait, or are refused until there is room to wait, and all are right.
        def ask(ids):
            for _ in range(60):
                answer = httpx.post(address + "/v1/completions", timeout=60,
                                    json={"prompt": ids, "max_tokens": 40, "temperature": 0})
                if answer.status_code != 503:
                    break
                time.sleep(float(answer.headers["retry-after"]))
            return answer

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(ask, [[5], [6], [7], [8]]))
        for ids, answer in zip([[5], [6], [7], [8]], answers):
            assert answer.json()["choices"][0]["text"] == alone.generate(ids, max_new_tokens=40).text
        assert generator.engine.state()["cache_bytes"] <= generator.engine.most_bytes
        answer = httpx.post(address + "/v1/completions", json={"prompt": [5] * 1000, "max_tokens": 2})
        assert answer.status_code == 400 and "bytes of cache" in answer.json()["error"]["message"]


def test_the_command_drains_when_it_is_told_to_end(folder):
    command = [sys.executable, "-m", "tenon.serve", str(folder), "--port", "0", "--json", "--name", "tiny"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        address = json.loads(process.stdout.readline())["address"]
        body = {"prompt": [5], "max_tokens": 1000, "temperature": 1.0, "seed": 1, "stream": True}
        with httpx.stream("POST", address + "/v1/completions", json=body, timeout=120) as answer:
            lines = answer.iter_lines()
            next(lines)
            process.send_signal(signal.SIGTERM)
            rest = [line for line in lines if line]
        assert rest[-1] == "data: [DONE]"
        assert process.wait(timeout=120) == 0


def test_what_cannot_be_served(tmp_path):
    command = [sys.executable, "-m", "tenon.serve"]
    for arguments, message in (([str(tmp_path)], "is no folder with"), ([], "the following arguments are required")):
        run = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert run.returncode == 1 and message in run.stderr and run.stderr.count("\n") == 1
    write_model(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    run = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "no tokenizer.json" in run.stderr


def test_requests_that_join_and_leave_give_what_they_give_alone(alone, folder):
    """The engine by itself: rows move when others leave, and prompts are read between steps."""
    generator = tenon.Generator(folder, rows=3)
    rng = random.Random(3)
    waiting = [([rng.randrange(2, WORDS) for _ in range(rng.choice([1, 4, 700]))], rng.randrange(1, 90)) for _ in range(20)]
    requests, cancelled = [], []
    while waiting or any(each.reason is None for each, _ in requests):
        if waiting and rng.random() < 0.3:
            ids, most = waiting.pop()
            requests.append((generator.request(ids, max_new_tokens=most), (ids, most)))
        generator.engine.step()
        if rng.random() < 0.02:
            request = rng.choice(requests)[0]
            generator.engine.cancel(request)
            cancelled.append(request)
    for request, (ids, most) in requests:
        expected = alone.generate(ids, max_new_tokens=most)
        if request.reason == "cancelled":
            assert request in cancelled and expected.ids[: len(request.new)] == request.new
        else:
            assert generator.result(request).ids == expected.ids
    assert len(cancelled) < len(requests) and generator.engine.state()["decoding"] == 0
