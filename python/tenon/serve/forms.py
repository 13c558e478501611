"""Requests in the form of OpenAI's API. What would change the answer and is not supported is refused, not ignored."""

from __future__ import annotations

import typing

import pydantic

_Texts = typing.Union[str, list[str], None]


class _Form(pydantic.BaseModel):
    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    n: int | None = None
    stream: bool | None = None
    stream_options: dict | None = None
    stop: _Texts = None
    seed: int | None = None
    max_tokens: int | None = None
    # Not OpenAI's.
    top_k: int | None = None
    repetition_penalty: float | None = None
    # Supported where they change nothing.
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict | None = None

    def limit(self):
        return self.max_tokens

    def unsupported(self):
        """The name of the first field that asks for what is not there."""
        names = ("frequency_penalty", "presence_penalty", "logit_bias", *self.refused)
        return next((name for name in names if getattr(self, name)), None)

    def options(self):
        """As Generator.request() takes them. OpenAI's usual temperature is 1."""
        given = {
            "temperature": 1.0 if self.temperature is None else self.temperature,
            "top_p": self.top_p, "top_k": self.top_k, "repetition_penalty": self.repetition_penalty,
            "stop": [self.stop] if isinstance(self.stop, str) else self.stop,
        }
        return {name: value for name, value in given.items() if value is not None}

    def wants_usage(self):
        return bool((self.stream_options or {}).get("include_usage"))


class Completion(_Form):
    refused: typing.ClassVar[tuple] = ("echo", "suffix", "logprobs")
    prompt: str | list[int] | list[str] | list[list[int]]
    echo: bool | None = None
    suffix: str | None = None
    logprobs: int | None = None
    best_of: int | None = None

    def prompts(self, generator):
        several = not isinstance(self.prompt, str) and (not self.prompt or not isinstance(self.prompt[0], int))
        return list(self.prompt) if several else [self.prompt]

    def unsupported(self):
        return "best_of" if (self.best_of or 1) > (self.n or 1) else super().unsupported()


class _Part(pydantic.BaseModel):
    type: typing.Literal["text"]
    text: str


class _Message(pydantic.BaseModel):
    role: str
    content: str | list[_Part]


class Chat(_Form):
    refused: typing.ClassVar[tuple] = ("tools", "functions", "logprobs", "response_format")
    messages: list[_Message] = pydantic.Field(min_length=1)
    max_completion_tokens: int | None = None
    tools: list | None = None
    functions: list | None = None
    logprobs: bool | None = None
    response_format: dict | None = None

    def limit(self):
        return self.max_completion_tokens or self.max_tokens

    def unsupported(self):
        if (self.response_format or {}).get("type") == "text":
            self.response_format = None
        return super().unsupported()

    def prompts(self, generator):
        text = lambda content: content if isinstance(content, str) else "".join(part.text for part in content)
        return [generator.chat([{"role": each.role, "content": text(each.content)} for each in self.messages])]
