"""Tokens and texts: tokenizers, pieces of text as they come, chat templates."""

import json
import os

from tenon import _tenon

_UNFINISHED = "\N{REPLACEMENT CHARACTER}"  # what a character shows as whose last token is not there yet

_BEFORE = 6  # tokens of the prompt


class Tokenizer:
    """What a folder has to turn texts into tokens; `why_none` says why it has nothing."""

    def __init__(self, folder):
        self._folder = folder
        self._library, self.why_none = _library_of(folder)

    def __bool__(self):
        return self._library is not None

    def encode(self, text, is_chat=False):
        """Token ids. What a chat template wrote has its special tokens already."""
        if self._library is None:
            raise _tenon.Error(f"the prompt is a text, but {self.why_none}: give token ids")
        return self._library.encode(text, add_special_tokens=not is_chat).ids

    def decode(self, ids):
        return self._library.decode(ids, skip_special_tokens=True)

    def chat(self, messages):
        """The prompt that the folder's chat template makes of messages: dicts with `role` and `content`."""
        return _chat_template(self._folder).render(messages=messages, add_generation_prompt=True, **self._specials())

    def _specials(self):
        config = read_json(os.path.join(self._folder, "tokenizer_config.json"), {})
        names = ("bos_token", "eos_token", "pad_token", "unk_token")
        given = {name: config.get(name) for name in names}
        texts = {name: each.get("content") if isinstance(each, dict) else each for name, each in given.items()}
        return {name: "" if each is None else each for name, each in texts.items()}


class Text:
    """The text of new tokens, piece by piece: a character of several tokens waits for its last one, and what may be the
    beginning of a stop word for what follows."""

    def __init__(self, tokenizer, prompt, stop):
        self.tokenizer = tokenizer
        self._stop = stop
        # Whether a token begins with a space shows behind other tokens alone.
        self._ids = list(prompt[-_BEFORE:])
        self._begin, self._end = 0, len(self._ids)  # tokens whose text is known, and to which further ones add theirs
        self._text = ""
        self._given = 0
        self.is_stopped = False

    @property
    def given(self):
        return self._text[: self._given]

    def add(self, token):
        """What is certain now and was not given yet."""
        if not self.tokenizer:
            return ""
        self._ids.append(token)
        known = self.tokenizer.decode(self._ids[self._begin : self._end])
        text = self.tokenizer.decode(self._ids[self._begin :])
        if text.endswith(_UNFINISHED):
            return ""
        return self._extend(text[len(known) :])

    def rest(self):
        """What was held back, where nothing comes any more."""
        if not self.tokenizer or self.is_stopped:
            return ""
        known = self.tokenizer.decode(self._ids[self._begin : self._end])
        self._text += self.tokenizer.decode(self._ids[self._begin :])[len(known) :]
        return self._give(len(self._text))

    def _extend(self, more):
        before = len(self._text)
        self._text += more
        self._begin, self._end = self._end, len(self._ids)
        longest = max((len(word) for word in self._stop), default=0)
        places = [self._text.find(word, max(0, before - longest)) for word in self._stop]
        found = [at for at in places if at >= 0]
        if found:
            self.is_stopped = True
            self._text = self._text[: min(found)]
            return self._give(len(self._text))
        held = [n for word in self._stop for n in range(1, len(word)) if self._text.endswith(word[:n])]
        return self._give(max(self._given, len(self._text) - max(held, default=0)))

    def _give(self, end):
        piece = self._text[self._given : end]
        self._given = max(self._given, end)
        return piece


def read_json(path, default=None):
    """What a file holds; `default` where there is none."""
    if default is not None and not os.path.exists(path):
        return default
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except ValueError as error:
        raise _tenon.Error(f"`{path}` is no JSON: {error}") from None


def _library_of(folder):
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


def _chat_template(folder):
    path = os.path.join(folder, "chat_template.jinja")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    else:
        text = read_json(os.path.join(folder, "tokenizer_config.json"), {}).get("chat_template")
    if isinstance(text, list):  # several by name
        text = next((each["template"] for each in text if each.get("name") == "default"), None)
    if text is None:
        raise _tenon.Error(f"`{folder}` has no chat template: give a prompt instead of messages")
    try:
        import jinja2
        from jinja2 import sandbox
    except ImportError:
        raise _tenon.Error("a chat needs the package `jinja2` (pip install jinja2)") from None

    def refuse(message):
        raise _tenon.Error(f"the chat template refuses these messages: {message}")

    environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = refuse
    environment.filters["tojson"] = lambda x, **options: json.dumps(x, ensure_ascii=False, **options)
    try:
        return environment.from_string(text)
    except jinja2.TemplateError as error:
        raise _tenon.Error(f"`{folder}`: its chat template is not understood: {error}") from None
