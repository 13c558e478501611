"""Text from language models: prompts, caches, sampling, stop words.

A model is a folder that the model builder of onnxruntime-genai writes: `genai_config.json`, an ONNX decoder and, for
texts, `tokenizer.json`. It is compiled once; prompts and steps of all lengths run the same program.

    python -m tenon.generation FOLDER --prompt "Once upon a time"
"""

import dataclasses
import json
import os
import time

import numpy as np

from tenon import _tenon
from tenon._models import load

_DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


@dataclasses.dataclass
class Generation:
    """What one prompt gave."""

    ids: list  # of the new tokens
    text: str  # of the new tokens, up to the stop word; empty without a tokenizer
    prompt_tokens: int
    reason: str  # why it ended: "stop" (an end token or a stop word), "length" or "context"
    first_seconds: float  # to the first token
    seconds: float  # in all

    @property
    def tokens_per_second(self):
        """Of the tokens behind the first."""
        rest = self.seconds - self.first_seconds
        return (len(self.ids) - 1) / rest if len(self.ids) > 1 and rest > 0 else 0.0


@dataclasses.dataclass
class Sampling:
    """How the next token is chosen from the logits: the most likely one, unless `temperature` is above 0."""

    temperature: float = 0.0
    top_k: int = 0  # of the so many most likely ones; 0: of all
    top_p: float = 1.0  # of the most likely ones that together have this probability
    repetition_penalty: float = 1.0  # logits of tokens that were there already are divided by it, negative ones multiplied
    seed: int | None = None

    def __post_init__(self):
        wrong = {
            "temperature": not 0 <= self.temperature < float("inf"),
            "top_k": self.top_k < 0,
            "top_p": not 0 < self.top_p <= 1,
            "repetition_penalty": not 0 < self.repetition_penalty < float("inf"),
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                raise _tenon.Error(f"{name} is {getattr(self, name)}, which is out of its range")
        self._numbers = np.random.default_rng(self.seed)

    def choose(self, logits, seen):
        """A token; `seen` are those of the prompt and the new ones."""
        logits = np.asarray(logits, np.float64).copy()
        if self.repetition_penalty != 1:
            at = np.unique(seen)
            logits[at] = np.where(
                logits[at] > 0, logits[at] / self.repetition_penalty, logits[at] * self.repetition_penalty
            )
        if np.isnan(logits).any():
            raise _tenon.Error("the model gave logits that are no numbers (NaN)")
        if self.temperature == 0:
            return int(logits.argmax())
        order = np.argsort(-logits, kind="stable")
        if self.top_k:
            order = order[: self.top_k]
        scaled = (logits[order] - logits[order[0]]) / self.temperature
        likely = np.exp(scaled)
        likely /= likely.sum()
        if self.top_p < 1:
            count = int(np.searchsorted(np.cumsum(likely), self.top_p)) + 1
            order, likely = order[:count], likely[:count] / likely[:count].sum()
        return int(self._numbers.choice(order, p=likely))


class _Decoder:
    """The ONNX model, its caches told from its other inputs."""

    def __init__(self, folder, config, options):
        try:
            self._read_names(config["model"]["decoder"], config["model"])
        except KeyError as missing:
            raise _tenon.Error(f"`{folder}`: genai_config.json has no entry {missing}") from None
        path = os.path.join(folder, self._file)
        if not os.path.exists(path):
            raise _tenon.Error(f"`{folder}` has no file `{self._file}`, which its genai_config.json names")
        self.model = load(path, **options)
        self._shapes = dict(self.model.inputs)
        for name in [self._ids, *self._caches]:
            if name not in self._shapes:
                raise _tenon.Error(f"`{path}` has no input `{name}`, which its genai_config.json names")
        unknown = set(self._shapes) - {self._ids, self._mask, self._positions, *self._caches}
        if unknown:
            raise _tenon.Error(f"`{path}` takes `{min(unknown)}`, which no prompt gives: only decoders of texts are run")

    def _read_names(self, decoder, model):
        self._file = decoder["filename"]
        takes, gives = decoder["inputs"], decoder["outputs"]
        self._ids, self._logits = takes["input_ids"], gives["logits"]
        self._mask, self._positions = takes.get("attention_mask"), takes.get("position_ids")
        pairs = (("past_key_names", "present_key_names"), ("past_value_names", "present_value_names"))
        self._caches = {
            takes[past] % layer: gives[present] % layer
            for layer in range(decoder["num_hidden_layers"])
            for past, present in pairs
        }
        self._heads, self._depth = decoder["num_key_value_heads"], decoder["head_size"]
        self.context = model["context_length"]
        self.vocabulary = model["vocab_size"]
        end = model.get("eos_token_id", [])
        self.ends = set(end if isinstance(end, list) else [end])

    def begin(self):
        """Caches that hold nothing."""
        caches = {}
        for name in self._caches:
            dtype = str(self._shapes[name].dtype)
            if dtype not in _DTYPES:
                raise _tenon.Error(f"the cache `{name}` is of {dtype}: generation takes f16, f32 and f64")
            caches[name] = np.zeros((1, self._heads, 0, self._depth), _DTYPES[dtype])
        return caches

    def step(self, ids, past, caches, threads):
        """Logits behind the last of `ids`, and the caches that hold these, too."""
        count = len(ids)
        inputs = {self._ids: np.asarray([ids], np.int64), **caches}
        if self._mask in self._shapes:
            inputs[self._mask] = np.ones((1, past + count), np.int64)
        if self._positions in self._shapes:
            inputs[self._positions] = np.arange(past, past + count, dtype=np.int64)[None]
        for name in (self._ids, self._mask, self._positions):
            if name in inputs and str(self._shapes[name].dtype) == "i32":
                inputs[name] = inputs[name].astype(np.int32)
        out = self.model.run(inputs, threads=threads)
        logits = out[self._logits].numpy()[0, -1]
        return logits, {name: out[present] for name, present in self._caches.items()}


class _Text:
    """Tokens as text, piece by piece: a character of several tokens waits for its last one."""

    def __init__(self, tokenizer, stop):
        self._tokenizer = tokenizer
        self._stop = stop
        self._ids = []
        self.given = ""
        self.is_stopped = False

    def add(self, token):
        """What is certain now and was not given yet."""
        if self._tokenizer is None:
            return ""
        self._ids.append(token)
        text = self._tokenizer.decode(self._ids, skip_special_tokens=True)
        found = [at for at in (text.find(word) for word in self._stop) if at >= 0]
        if found:
            self.is_stopped = True
            return self._give(text[: min(found)])
        if text.endswith("\N{REPLACEMENT CHARACTER}"):
            return ""
        # The end of the text may be the beginning of a stop word.
        held = max((n for word in self._stop for n in range(1, len(word)) if text.endswith(word[:n])), default=0)
        return self._give(text[: len(text) - held])

    def rest(self):
        """What was held back, where nothing comes any more."""
        if self._tokenizer is None or self.is_stopped:
            return ""
        return self._give(self._tokenizer.decode(self._ids, skip_special_tokens=True))

    def _give(self, text):
        piece = text[len(self.given) :]
        self.given += piece
        return piece


class Generator:
    """A language model that is compiled once and continues prompts of any length.

    >>> generator = tenon.Generator("folder")                           # doctest: +SKIP
    >>> generator.generate("Once upon a time", max_new_tokens=40).text  # doctest: +SKIP

    Options are those of `tenon.load`. Without `tokenizer.json`, or without the package `tokenizers`, prompts are lists of
    token ids.
    """

    def __init__(self, folder, **options):
        folder = os.fspath(folder)
        path = os.path.join(folder, "genai_config.json")
        if not os.path.isdir(folder) or not os.path.exists(path):
            raise _tenon.Error(
                f"`{folder}` is no folder with a genai_config.json: the model builder of onnxruntime-genai writes one"
            )
        try:
            with open(path, encoding="utf-8") as file:
                config = json.load(file)
        except ValueError as error:
            raise _tenon.Error(f"`{path}` is no JSON: {error}") from None
        self._decoder = _Decoder(folder, config, options)
        self._tokenizer, self._why_none = _tokenizer_of(folder)

    @property
    def model(self):
        """The compiled decoder."""
        return self._decoder.model

    def encode(self, prompt):
        """The token ids of a text; ids stay as they are."""
        if isinstance(prompt, str):
            if self._tokenizer is None:
                raise _tenon.Error(f"the prompt is a text, but {self._why_none}: give token ids")
            prompt = self._tokenizer.encode(prompt).ids
        ids = [int(token) for token in prompt]
        if not ids:
            raise _tenon.Error("the prompt has no tokens")
        wrong = [token for token in ids if not 0 <= token < self._decoder.vocabulary]
        if wrong:
            raise _tenon.Error(f"token {wrong[0]} is none of the {self._decoder.vocabulary} that the model knows")
        if len(ids) >= self._decoder.context:
            raise _tenon.Error(f"the prompt has {len(ids)} tokens, the model's context {self._decoder.context}")
        return ids

    def stream(self, prompt, *, max_new_tokens=128, stop=(), threads=None, **sampling):
        """Yields pieces of text as they come (token ids where there is no tokenizer); returns the Generation."""
        ids = self.encode(prompt)
        if max_new_tokens < 1:
            raise _tenon.Error(f"max_new_tokens is {max_new_tokens}, must be at least 1")
        stop = [stop] if isinstance(stop, str) else list(stop)
        if "" in stop:
            raise _tenon.Error("a stop word is empty")
        return self._stream(ids, max_new_tokens, stop, threads, Sampling(**sampling))

    def _stream(self, ids, most, stop, threads, sampling):
        begin = time.perf_counter()
        text = _Text(self._tokenizer, stop)
        caches, past, pending, new = self._decoder.begin(), 0, ids, []
        reason, first = "length", 0.0
        while len(new) < most:
            if past + len(pending) > self._decoder.context:
                reason = "context"
                break
            logits, caches = self._decoder.step(pending, past, caches, threads)
            past += len(pending)
            token = sampling.choose(logits[: self._decoder.vocabulary], ids + new)
            first = first or time.perf_counter() - begin
            if token in self._decoder.ends:
                reason = "stop"
                break
            new.append(token)
            pending = [token]
            piece = token if self._tokenizer is None else text.add(token)
            if piece != "":
                yield piece
            if text.is_stopped:
                reason = "stop"
                break
        if rest := text.rest():
            yield rest
        return Generation(new, text.given, len(ids), reason, first, time.perf_counter() - begin)

    def generate(self, prompt, **options):
        """Continues a prompt: a text or token ids. Options are those of `stream` and of `Sampling`."""
        pieces = self.stream(prompt, **options)
        while True:
            try:
                next(pieces)
            except StopIteration as end:
                return end.value


def generate(model, prompt, **options):
    """Continues a prompt, or each of a list of texts, with a Generator or a folder that has a model."""
    generator = model if isinstance(model, Generator) else Generator(model)
    if isinstance(prompt, (list, tuple)) and prompt and all(isinstance(each, str) for each in prompt):
        return [generator.generate(each, **options) for each in prompt]
    return generator.generate(prompt, **options)


def _tokenizer_of(folder):
    path = os.path.join(folder, "tokenizer.json")
    if not os.path.exists(path):
        return None, f"`{folder}` has no tokenizer.json"
    try:
        import tokenizers
    except ImportError:
        return None, "the package `tokenizers` is not installed (pip install tokenizers)"
    try:
        return tokenizers.Tokenizer.from_file(path), ""
    except Exception as error:  # what the package raises has no type of its own
        raise _tenon.Error(f"`{path}`: {error}") from None


def _command():
    import argparse
    import sys

    parser = argparse.ArgumentParser(
        prog="python -m tenon.generation",
        description="Continue prompts with a language model that the model builder of onnxruntime-genai wrote.",
        epilog='example: python -m tenon.generation llama --prompt "Once upon a time" --max-new-tokens 60 --temperature 0.8',
    )
    parser.add_argument("folder", help="has genai_config.json, the ONNX model and tokenizer.json")
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--prompt", help="a text")
    given.add_argument("--prompt-ids", metavar="N,N,...", help="token ids, where there is no tokenizer")
    given.add_argument("--batch", metavar="FILE", help="a prompt in each line; one JSON object is printed for each")
    parser.add_argument("--max-new-tokens", type=int, default=128, help="at most so many (default 128)")
    parser.add_argument("--temperature", type=float, default=0.0, help="0, the default: always the most likely token")
    parser.add_argument("--top-k", type=int, default=0, help="choose among the K most likely tokens")
    parser.add_argument("--top-p", type=float, default=1.0, help="choose among the likely tokens that make up P")
    parser.add_argument("--repetition-penalty", type=float, default=1.0, help="above 1: rather tokens that are new")
    parser.add_argument("--seed", type=int, help="the same text each time")
    parser.add_argument("--stop", action="append", default=[], metavar="WORD", help="end before this; may be repeated")
    parser.add_argument("--threads", type=int, help="at most so many")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    arguments = vars(parser.parse_args())
    folder, text, ids, batch, as_json = (arguments.pop(n) for n in ("folder", "prompt", "prompt_ids", "batch", "json"))
    try:
        if batch is not None:
            with open(batch, encoding="utf-8") as file:
                prompts = file.read().splitlines()
        else:
            prompts = [text if ids is None else [int(word) for word in ids.split(",")]]
        generator = Generator(folder)
        for prompt in prompts:
            if as_json or batch is not None:
                result = generator.generate(prompt, **arguments)
                fields = {**dataclasses.asdict(result), "tokens_per_second": result.tokens_per_second}
                print(json.dumps(fields), flush=True)
            else:
                _show(generator.stream(prompt, **arguments))
    except (_tenon.Error, OSError, ValueError) as error:
        print(f"tenon: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _show(pieces):
    import sys

    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            result = end.value
            break
        print(f"{piece} " if isinstance(piece, int) else piece, end="", flush=True)
    print(
        f"\n{result.prompt_tokens} tokens of the prompt, the first new one after {result.first_seconds * 1e3:.1f} ms; "
        f"{len(result.ids)} new ones, {result.tokens_per_second:.1f} a second; ended by {result.reason}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    raise SystemExit(_command())
