"""The command: continues a prompt and prints what comes."""

import argparse
import dataclasses
import json
import sys

from tenon import _tenon
from tenon.generation import PREFIX_BYTES, Generator, save


class Parser(argparse.ArgumentParser):
    """Whose errors are one line."""

    def error(self, message):
        print(f"tenon: {message}; `{self.prog} --help` has all options", file=sys.stderr)
        raise SystemExit(1)


def _parser(program):
    parser = Parser(
        prog=program,
        description="Continue prompts with a language model: a folder of transformers (config.json and safetensors) or of "
        "onnxruntime-genai's model builder (genai_config.json and an ONNX model).",
        epilog=f'example: {program} llama --prompt "Once upon a time" --max-new-tokens 60 --temperature 0.8',
    )
    parser.add_argument("folder", help="has the model, and tokenizer.json where prompts are texts")
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--prompt", help="a text")
    given.add_argument("--prompt-ids", metavar="N,N,...", help="token ids, where there is no tokenizer")
    given.add_argument("--chat", metavar="MESSAGE", help="a message that the model's chat template makes a prompt of")
    given.add_argument("--batch", metavar="FILE",
                       help="a prompt in each line, all at once; one JSON object is printed for each")
    given.add_argument("--save", metavar="FILE",
                       help="write the compiled model, which later runs take in place of the folder, and end")
    parser.add_argument("--system", metavar="MESSAGE", help="what the model is told before the message of --chat")
    parser.add_argument("--max-new-tokens", type=int, default=128, help="at most so many (default 128)")
    parser.add_argument("--temperature", type=float, default=0.0, help="0, the default: always the most likely token")
    parser.add_argument("--top-k", type=int, default=0, help="choose among the K most likely tokens")
    parser.add_argument("--top-p", type=float, default=1.0, help="choose among the likely tokens that make up P")
    parser.add_argument("--repetition-penalty", type=float, default=1.0, help="above 1: rather tokens that are new")
    parser.add_argument("--seed", type=int, help="the same text each time")
    parser.add_argument("--stop", action="append", default=[], metavar="WORD", help="end before this; may be repeated")
    parser.add_argument("--threads", type=int, help="at most so many")
    add_engine_options(parser)
    parser.add_argument("--rows", type=int, default=16, help="prompts of --batch that run at a time (default 16)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    return parser


ENGINE_OPTIONS = ("prefix_bytes", "speculate", "draft", "weights")


def add_engine_options(parser):
    """Options of a Generator by the names of its parameters, for the server, too."""
    parser.add_argument("--prefix-bytes", type=int, default=PREFIX_BYTES,
                        help="memory for what prompts that begin alike share (default 256 MiB; 0: none)")
    parser.add_argument("--speculate", type=int, default=0, metavar="N",
                        help="guess so many tokens at a time, where the text repeats itself")
    parser.add_argument("--draft", metavar="FOLDER", help="a smaller model that guesses tokens instead")
    parser.add_argument("--weights", choices=["bf16", "f16", "i8", "i4"], help="keep matrices in fewer bits, rounded")


def _peak_bytes():
    """The most memory that this process has had; 0 where the system does not say."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def _print_json(generator, result):
    fields = dataclasses.asdict(result)
    fields["tokens_per_second"] = result.tokens_per_second
    fields["cache_bytes"] = generator.engine.state()["cache_bytes"]
    fields["peak_memory_bytes"] = _peak_bytes()
    print(json.dumps(fields), flush=True)


def _run_batch(generator, prompts, threads, options):
    """Results in the order of the prompts, each as soon as it is there."""
    requests = []
    try:
        for number, prompt in enumerate(prompts, 1):
            try:
                requests.append(generator.request(prompt, **options))
            except _tenon.Error as error:
                raise _tenon.Error(f"line {number}: {error}") from None
        for request in requests:
            while request.reason is None:
                generator.engine.step(threads)
            _print_json(generator, generator.result(request))
    finally:
        for request in requests:
            generator.engine.cancel(request)


def _show(generator, prompt, threads, options):
    pieces = generator.stream(prompt, threads=threads, **options)
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            result = end.value
            break
        print(f"{piece} " if isinstance(piece, int) else piece, end="", flush=True)
    print(
        f"\n{result.prompt_tokens} tokens of the prompt, the first new one after {result.first_seconds * 1e3:.1f} ms; "
        f"{len(result.ids)} new ones, {result.tokens_per_second:.1f} a second; ended by {result.reason}; "
        f"{generator.engine.state()['cache_bytes'] / 1e6:.1f} MB of caches, {_peak_bytes() / 1e6:.0f} MB in all",
        file=sys.stderr,
    )


def main(arguments=None, program="python -m tenon.generation"):
    given = vars(_parser(program).parse_args(arguments))
    folder, text, ids, chat, system, batch, as_json, threads, saved = (
        given.pop(name)
        for name in ("folder", "prompt", "prompt_ids", "chat", "system", "batch", "json", "threads", "save")
    )
    rows = given.pop("rows")
    engine = {name: given.pop(name) for name in ENGINE_OPTIONS}
    try:
        if saved is not None:
            save(folder, saved, weights=engine["weights"])
            return 0
        prompts = None
        if batch is not None:
            with open(batch, encoding="utf-8") as file:
                prompts = file.read().splitlines()
        generator = Generator(folder, rows=rows, **engine)
        if prompts is not None:
            _run_batch(generator, prompts, threads, given)
            return 0
        if chat is not None:
            messages = [] if system is None else [{"role": "system", "content": system}]
            prompt = generator.chat([*messages, {"role": "user", "content": chat}])
        else:
            prompt = text if ids is None else [int(word) for word in ids.split(",")]
        if as_json:
            _print_json(generator, generator.generate(prompt, threads=threads, **given))
        else:
            _show(generator, prompt, threads, given)
    except (_tenon.Error, OSError, ValueError) as error:
        print(f"tenon: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
