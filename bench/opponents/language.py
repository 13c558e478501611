"""One side of ./dev bench language: a process that holds a model and answers lines of JSON with seconds.

    python -I bench/opponents/language.py SIDE FOLDER THREADS

takes {"batch": B, "prompt": N, "new": M} and gives {"first": s, "step": s}: seconds to the first token of all, and for
each further step of the batch. Every sequence has a prompt of its own, and end tokens do not count.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def prompts(batch, length, words):
    return np.random.default_rng(7).integers(3, words, (batch, length)).astype(np.int64)


class Tenon:
    def __init__(self, folder, threads, weights=None):
        package = Path(os.environ.get("TENON_COMMAND", ROOT / "build/release/tenon")).resolve().parent / "python"
        sys.path[:0] = [str(package)]
        import tenon

        options = {"weights": weights} if weights else {}
        self._generator = tenon.Generator(folder, prefix_bytes=0, **options)  # runs repeat their prompts
        self._generator.engine.decoder.ends = set()
        self._threads = threads
        self.words = self._generator.engine.decoder.vocabulary

    def run(self, ids, count):
        results = self._generator.generate([row.tolist() for row in ids], max_new_tokens=count, threads=self._threads)
        first = max(each.first_seconds for each in results)
        return first, (max(each.seconds for each in results) - first) / max(count - 1, 1)


class Genai:
    def __init__(self, folder, threads):
        import onnxruntime_genai

        self._library = onnxruntime_genai
        path = Path(folder) / "genai_config.json"
        config = json.loads(path.read_text())
        config["model"]["decoder"]["session_options"]["intra_op_num_threads"] = threads
        path.write_text(json.dumps(config))
        self._model = onnxruntime_genai.Model(str(folder))
        self.words = config["model"]["vocab_size"]

    def run(self, ids, count):
        options = self._library.GeneratorParams(self._model)
        length = ids.shape[1] + count
        options.set_search_options(max_length=length, min_length=length, batch_size=len(ids), do_sample=False)
        generator = self._library.Generator(self._model, options)
        begin = time.perf_counter()
        generator.append_tokens(ids.astype(np.int32))
        generator.generate_next_token()
        first = time.perf_counter()
        for _ in range(count - 1):
            generator.generate_next_token()
        return first - begin, (time.perf_counter() - first) / max(count - 1, 1)


class Eager:
    def __init__(self, folder, threads, dtype="float32"):
        import torch
        import transformers

        torch.set_num_threads(threads)
        self._torch = torch
        self._model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
        self.words = self._model.config.vocab_size

    def run(self, ids, count):
        torch = self._torch
        with torch.inference_mode():
            begin = time.perf_counter()
            out = self._model(torch.from_numpy(ids), use_cache=True, logits_to_keep=1)
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            first = time.perf_counter()
            for _ in range(count - 1):
                out = self._model(token, past_key_values=out.past_key_values, use_cache=True)
                token = out.logits[:, -1].argmax(-1, keepdim=True)
            return first - begin, (time.perf_counter() - first) / max(count - 1, 1)


SIDES = {
    "tenon": Tenon,
    "tenon-i8": lambda folder, threads: Tenon(folder, threads, "i8"),
    "genai": Genai,
    "torch": Eager,
    "torch-bf16": lambda folder, threads: Eager(folder, threads, "bfloat16"),
}


def main():
    name, folder, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    begin = time.perf_counter()
    side = SIDES[name](folder, threads)
    print(json.dumps({"load": time.perf_counter() - begin}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        first, step = side.run(prompts(asked["batch"], asked["prompt"], side.words), asked["new"])
        status = Path("/proc/self/status").read_text().splitlines()
        memory = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
        print(json.dumps({"first": first, "step": step, "memory": memory}), file=answers, flush=True)


if __name__ == "__main__":
    main()
