"""The command: a server of one model."""

import os
import signal
import sys

from tenon import _tenon
from tenon.generation import Generator
from tenon.generation.__main__ import ENGINE_OPTIONS, Parser, add_engine_options


def _parser(program):
    parser = Parser(
        prog=program,
        description="Answer requests for texts of a language model over HTTP, in the form of OpenAI's API: "
        "/v1/completions, /v1/chat/completions, /v1/models, /health, /metrics.",
        epilog=f"example: {program} llama --port 8000",
    )
    parser.add_argument("folder", help="a model of transformers or of onnxruntime-genai, with tokenizer.json")
    parser.add_argument("--host", default="127.0.0.1", help="where it listens (default 127.0.0.1: this machine alone)")
    parser.add_argument("--port", type=int, default=8000, help="default 8000; 0: one that is free, which is printed")
    parser.add_argument("--name", help="what clients call the model (default: the folder's name)")
    parser.add_argument("--rows", type=int, default=16, help="requests that run at a time (default 16); others wait")
    parser.add_argument("--waiting", type=int, default=256, help="requests that may wait (default 256)")
    parser.add_argument("--cache-bytes", type=int, help="the most that caches of all requests take; others wait")
    parser.add_argument("--max-new-tokens", type=int, default=1024, help="the most that a request may ask for")
    parser.add_argument("--threads", type=int, help="at most so many")
    add_engine_options(parser)
    parser.add_argument("--json", action="store_true", help="print the address as a JSON object")
    return parser


def main(arguments=None, program="python -m tenon.serve"):
    given = _parser(program).parse_args(arguments)
    try:
        import uvicorn

        from tenon.serve import Options, create_app
    except ImportError as missing:
        print(f"tenon: a server needs what python/requirements-serve.txt names: {missing}", file=sys.stderr)
        return 1
    try:
        options = {name: getattr(given, name) for name in ENGINE_OPTIONS}
        generator = Generator(given.folder, rows=given.rows, cache_bytes=given.cache_bytes, **options)
        name = given.name or os.path.basename(os.path.abspath(given.folder))
        app = create_app(generator, Options(name, given.waiting, given.max_new_tokens, given.threads))
    except (_tenon.Error, OSError) as error:
        print(f"tenon: {error}", file=sys.stderr)
        return 1
    config = uvicorn.Config(app, host=given.host, port=given.port, log_level="warning")
    try:
        listening = config.bind_socket() if given.port else _free_port(given.host)
    except (SystemExit, OSError):
        print(f"tenon: cannot listen on {given.host}, port {given.port}", file=sys.stderr)
        return 1
    address = "http://{}:{}".format(*listening.getsockname()[:2])
    if given.json:
        print(f'{{"address": "{address}", "model": "{name}"}}', flush=True)
    else:
        print(f"`{name}` is served at {address}/v1; Ctrl-C ends it when its requests are answered", flush=True)
    # uvicorn raises the signal that ended it once more, when all is over: to end so is no failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listening])
    return 0


def _free_port(host):
    import socket

    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.bind((host, 0))
    return listening


if __name__ == "__main__":
    raise SystemExit(main())
