"""Text from language models: prompts, caches, sampling, stop words.

A model is a folder that transformers writes, `config.json` and safetensors, or one of the model builder of
onnxruntime-genai, `genai_config.json` and an ONNX decoder; for texts both have `tokenizer.json`. It is compiled once;
prompts and steps of all lengths run the same program, which `save()` writes to a file that runs without compiling.

    python -m tenon.generation FOLDER --prompt "Once upon a time"
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from tenon import _tenon
from tenon.generation.decoders import load_decoder, save_decoder
from tenon.generation.engine import Engine, Request
from tenon.generation.sampling import Sampling
from tenon.generation.texts import Text, Tokenizer

PREFIX_BYTES = 256 << 20

__all__ = ["Generation", "Generator", "Sampling", "generate", "save"]


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


class Generator:
    """A language model that is compiled once and continues prompts of any length, several at once.

    >>> generator = tenon.Generator("folder")                           # doctest: +SKIP
    >>> generator.generate("Once upon a time", max_new_tokens=40).text  # doctest: +SKIP

    At most `rows` prompts run at a time, with caches of at most `cache_bytes` where that is given; others wait. Prompts
    that begin like an earlier text are read from where they differ: copies of caches take at most `prefix_bytes`. Up to
    `speculate` tokens are guessed at a time and checked in one run, from what the text had before or by the smaller model
    in the folder `draft`; the text stays the same. Further options are those of `tenon.load` (of `tenon.compile` for folders of transformers). Without `tokenizer.json`, or
    without the package `tokenizers`, prompts are lists of token ids.
    """

    def __init__(self, folder, *, rows=16, cache_bytes=None, prefix_bytes=PREFIX_BYTES, speculate=0, draft=None, **options):
        folder = os.fspath(folder)
        decoder = load_decoder(folder, options)
        smaller = None if draft is None else load_decoder(os.fspath(draft), options)
        speculate = speculate or (0 if smaller is None else 4)
        self._engine = Engine(decoder, rows, cache_bytes, prefix_bytes, speculate, smaller)
        # Beside a program, where there is one.
        self._tokenizer = Tokenizer(folder if os.path.isdir(folder) else os.path.dirname(folder) or ".")

    @property
    def model(self):
        """The compiled decoder."""
        return self._engine.decoder.model

    @property
    def engine(self):
        """What runs the prompts: `step()`, `state()` and counts of what it did."""
        return self._engine

    @property
    def has_tokenizer(self):
        return bool(self._tokenizer)

    def encode(self, prompt, is_chat=False):
        """The token ids of a text; ids stay as they are."""
        if isinstance(prompt, str):
            prompt = self._tokenizer.encode(prompt, is_chat)
        decoder = self._engine.decoder
        ids = [int(token) for token in prompt]
        if not ids:
            raise _tenon.Error("the prompt has no tokens")
        wrong = [token for token in ids if not 0 <= token < decoder.vocabulary]
        if wrong:
            raise _tenon.Error(f"token {wrong[0]} is none of the {decoder.vocabulary} that the model knows")
        if len(ids) >= decoder.context:
            raise _tenon.Error(f"the prompt has {len(ids)} tokens, the model's context {decoder.context}")
        return ids

    def chat(self, messages):
        """Token ids of messages, dicts with `role` and `content`, by the folder's chat template."""
        return self.encode(self._tokenizer.chat(messages), is_chat=True)

    def request(self, prompt, *, max_new_tokens=128, stop=(), on_change=None, **sampling):
        """A prompt that joins the others; `engine.step()` brings all of them on."""
        ids = self.encode(prompt)
        if max_new_tokens < 1:
            raise _tenon.Error(f"max_new_tokens is {max_new_tokens}, must be at least 1")
        stop = [stop] if isinstance(stop, str) else list(stop)
        if "" in stop:
            raise _tenon.Error("a stop word is empty")
        most = min(max_new_tokens, self._engine.decoder.context - len(ids) + 1)
        text = Text(self._tokenizer, ids, stop)
        made = Request(ids, most, text, Sampling(**sampling), on_change)
        made.asked = max_new_tokens
        return self._engine.submit(made)

    def result(self, request):
        """What an ended request gave, or its error."""
        if request.error is not None:
            raise request.error
        is_full = request.reason == "length" and len(request.new) < request.asked
        return Generation(request.new, request.text.given, len(request.ids), "context" if is_full else request.reason,
                          request.first_seconds, request.seconds)

    def stream(self, prompt, *, threads=None, **options):
        """Yields pieces of text as they come (token ids where there is no tokenizer); returns the Generation. Options are
        `max_new_tokens`, `stop` and those of `Sampling`."""
        return self._stream(self.request(prompt, **options), threads)

    def _stream(self, request, threads):
        try:
            while True:
                while request.pieces:
                    yield request.pieces.popleft()
                if request.reason is not None:
                    return self.result(request)
                self._engine.step(threads)
        finally:
            self._engine.cancel(request)

    def generate(self, prompt, *, threads=None, **options):
        """Continues a prompt, a text or token ids, or each of a list of these at once. Options are those of `stream`."""
        several = isinstance(prompt, (list, tuple)) and any(isinstance(each, Sequence) for each in prompt)
        requests = []
        try:
            for each in prompt if several else [prompt]:
                requests.append(self.request(each, **options))
            while any(each.reason is None for each in requests):
                self._engine.step(threads)
            results = [self.result(each) for each in requests]
        finally:
            for each in requests:
                self._engine.cancel(each)
        return results if several else results[0]


def save(folder, path, *, weights=None):
    """Compile the model of a folder into a file, which `Generator(path)` and C++ programs (tenon/token_generator.h) run without
    a compiler: its weights are used where the file is mapped. `weights="i4"` and so on keeps them in fewer bits."""
    save_decoder(os.fspath(folder), os.fspath(path), weights)


def generate(model, prompt, **options):
    """Continues a prompt, or each of a list, with a Generator or a folder that has a model."""
    generator = model if isinstance(model, Generator) else Generator(model)
    return generator.generate(prompt, **options)
