"""Language models over HTTP, in the form of OpenAI's API: completions and chats, streams, counters for Prometheus.

    python -m tenon.serve FOLDER --port 8000
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import time
import uuid

import fastapi
import pydantic
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

import tenon
from tenon.serve.forms import Chat, Completion
from tenon.serve.metrics import Metrics
from tenon.serve.worker import Answer, Worker

_MOST_BYTES = 16 << 20  # of a request
_MOST_CHOICES = 16
_GONE = 499  # the status that logs show of a client that went away


class Refused(Exception):
    def __init__(self, status, message, code=None):
        self.status, self.message, self.code = status, message, code


@dataclasses.dataclass
class Options:
    name: str
    waiting: int = 256
    max_new_tokens: int = 1024
    threads: int | None = None


def create_app(generator, options):
    """The application; it owns the thread that runs the model, between startup and shutdown."""
    if not generator.has_tokenizer:
        raise tenon.Error("a server gives texts, and the model's folder has no tokenizer.json, or the package `tokenizers` is "
                          "not installed")
    worker, metrics = Worker(generator, options.threads), Metrics(generator)

    @contextlib.asynccontextmanager
    async def lifespan(_):
        worker.start()
        yield
        worker.stop()

    app = fastapi.FastAPI(title="tenon", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    service = _Service(generator, worker, metrics, options)

    @app.exception_handler(Refused)
    async def refuse(_, refused):
        kind = "invalid_request_error" if refused.status < 500 else "server_error"
        body = {"message": refused.message, "type": kind, "param": None, "code": refused.code}
        headers = {"Retry-After": "1"} if refused.status == 503 else None
        metrics.refused[refused.status] += 1
        return JSONResponse({"error": body}, refused.status, headers)

    @app.post("/v1/completions")
    async def completions(http: fastapi.Request):
        return await service.answer(http, Completion, _TextForm)

    @app.post("/v1/chat/completions")
    async def chats(http: fastapi.Request):
        return await service.answer(http, Chat, _ChatForm)

    model = {"id": options.name, "object": "model", "created": int(time.time()), "owned_by": "tenon"}

    @app.get("/v1/models")
    async def models():
        return {"object": "list", "data": [model]}

    @app.get("/v1/models/{name:path}")
    async def one_model(name: str):
        service.require_model(name)
        return model

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.get("/metrics")
    async def counters():
        return PlainTextResponse(metrics.text())

    return app


class _TextForm:
    prefix, whole, part = "cmpl", "text_completion", "text_completion"

    @staticmethod
    def choice(text):
        return {"text": text, "logprobs": None}

    first = None
    piece = choice

    @staticmethod
    def last():
        return {"text": "", "logprobs": None}


class _ChatForm:
    prefix, whole, part = "chatcmpl", "chat.completion", "chat.completion.chunk"

    @staticmethod
    def first():
        return {"delta": {"role": "assistant", "content": ""}, "logprobs": None}

    @staticmethod
    def choice(text):
        return {"message": {"role": "assistant", "content": text}, "logprobs": None}

    @staticmethod
    def piece(text):
        return {"delta": {"content": text}, "logprobs": None}

    @staticmethod
    def last():
        return {"delta": {}, "logprobs": None}


class _Service:
    def __init__(self, generator, worker, metrics, options):
        self._generator, self._worker, self._metrics, self._options = generator, worker, metrics, options

    def require_model(self, name):
        if name is not None and name != self._options.name:
            raise Refused(404, f"there is no model `{name}`; this server has `{self._options.name}`", "model_not_found")

    async def answer(self, http, kind, form):
        given = await self._read(http, kind)
        answers = await self._submit(given)
        head = {"id": f"{form.prefix}-{uuid.uuid4().hex}", "created": int(time.time()), "model": self._options.name}
        if given.stream:
            events = self._events(answers, {**head, "object": form.part}, form, given.wants_usage())
            return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
        texts = await self._texts(http, answers)
        if texts is None:
            return PlainTextResponse("", _GONE)
        choices = [
            {"index": i, **form.choice(text), "finish_reason": _reason(each)}
            for i, (each, text) in enumerate(zip(answers, texts))
        ]
        return {**head, "object": form.whole, "choices": choices, "usage": self._usage(answers)}

    async def _read(self, http, kind):
        body = bytearray()
        async for chunk in http.stream():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise Refused(413, f"the request has more than {_MOST_BYTES} bytes")
        try:
            given = kind.model_validate_json(bytes(body))
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(each) for each in first["loc"])
            raise Refused(400, f"{place}: {first['msg']}" if place else first["msg"]) from None
        self.require_model(given.model)
        if name := given.unsupported():
            raise Refused(400, f"`{name}` is not supported")
        return given

    async def _submit(self, given):
        count, most = 1 if given.n is None else given.n, given.limit()
        if not 1 <= count <= _MOST_CHOICES:
            raise Refused(400, f"`n` is {count}, must be 1 to {_MOST_CHOICES}")
        most = min(16 if isinstance(given, Completion) else 256, self._options.max_new_tokens) if most is None else most
        if most > self._options.max_new_tokens:
            raise Refused(400, f"`max_tokens` is {most}, this server gives at most {self._options.max_new_tokens}")
        answers = []
        try:
            prompts = await asyncio.to_thread(given.prompts, self._generator)
            if not prompts:
                raise Refused(400, "`prompt` is empty")
            if self._generator.engine.state()["waiting"] + count * len(prompts) > self._options.waiting:
                raise Refused(503, "the server is busy: try again later")
            for number in range(count * len(prompts)):
                seed = None if given.seed is None else given.seed + number % count
                answer = Answer(self._generator, self._worker, prompts[number // count], max_new_tokens=most, seed=seed,
                                **given.options())
                answers.append(answer)
                await asyncio.to_thread(answer.submit)
        except tenon.Error as error:
            self._cancel(answers)
            raise Refused(400, str(error)) from None
        except BaseException:
            self._cancel(answers)
            raise
        return answers

    async def _texts(self, http, answers):
        """The whole texts; None where the client has gone away."""
        async def whole(answer):
            return "".join([text async for text in answer.pieces()])

        gathered = asyncio.gather(*(whole(each) for each in answers))
        gone = asyncio.ensure_future(_disconnected(http))
        try:
            await asyncio.wait([gathered, gone], return_when=asyncio.FIRST_COMPLETED)
            if not gathered.done():
                gathered.cancel()
                return None
            for each in answers:
                self._finish(each)
            return gathered.result()
        finally:
            gone.cancel()
            self._cancel(answers)

    def _finish(self, answer):
        try:
            self._metrics.add(answer.result())
        except tenon.Error as error:
            raise Refused(500, str(error)) from None

    async def _events(self, answers, head, form, with_usage):
        """Server-sent events. A client that goes away ends the generator, and with it the requests."""
        event = lambda fields: f"data: {json.dumps({**head, **fields})}\n\n"
        ready = asyncio.Queue()

        async def forward(number, answer):
            async for text in answer.pieces():
                await ready.put((number, text))
            await ready.put((number, None))

        tasks = [asyncio.ensure_future(forward(i, each)) for i, each in enumerate(answers)]
        try:
            for number in range(len(answers) if form.first else 0):
                yield event({"choices": [{"index": number, **form.first(), "finish_reason": None}]})
            left = len(answers)
            while left:
                number, text = await ready.get()
                if text is not None:
                    yield event({"choices": [{"index": number, **form.piece(text), "finish_reason": None}]})
                    continue
                left -= 1
                try:
                    self._finish(answers[number])
                except Refused as refused:  # the status is sent already
                    yield f"data: {json.dumps({'error': {'message': refused.message, 'type': 'server_error'}})}\n\n"
                    return
                yield event({"choices": [{"index": number, **form.last(), "finish_reason": _reason(answers[number])}]})
            if with_usage:
                yield event({"choices": [], "usage": self._usage(answers)})
            yield "data: [DONE]\n\n"
        finally:
            for task in tasks:
                task.cancel()
            self._cancel(answers)

    @staticmethod
    def _cancel(answers):
        for each in answers:
            each.cancel()

    @staticmethod
    def _usage(answers):
        prompts = {id(each._prompt): len(each.request.ids) for each in answers}  # several choices share a prompt
        new = sum(len(each.request.new) for each in answers)
        shared = {id(each._prompt): each.request.shared or 0 for each in answers}
        return {"prompt_tokens": sum(prompts.values()), "completion_tokens": new,
                "total_tokens": sum(prompts.values()) + new,
                "prompt_tokens_details": {"cached_tokens": sum(shared.values())}}


async def _disconnected(http):
    while not await http.is_disconnected():
        await asyncio.sleep(0.1)


def _reason(answer):
    return "stop" if answer.request.reason == "stop" else "length"
