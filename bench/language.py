"""Tokens a second of language models, against onnxruntime-genai and PyTorch's eager mode of transformers.

    ./dev bench language [--json] [--quick] [--size 0.1|0.5|1.1] [--threads N] [--rounds N] [--only TEXT]

A random model of Llama's architecture is written by transformers, and by the model builder of onnxruntime-genai in f32
and in 4 bits. Each side is a process of its own; runs of all sides alternate, and medians are compared. `first` is the
time to the first token, `step` that of each further one (of all sequences of a batch). The last column is how many times
as fast as the fastest other one of the same kind of weights Tenon is; the target is 1.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["TENON_BENCH_FOLDER"]) / "models"
SIZES = {  # in billions of parameters: width, feed forward, layers, heads, key heads, words
    "0.1": (1024, 2816, 8, 16, 4, 8192),
    "0.5": (1536, 4096, 18, 24, 4, 16384),
    "1.1": (2048, 5632, 22, 32, 4, 32000),
}
# Of each side: the folder of its model, and whose opponent it is.
SIDES = {
    "tenon, f32": ("tenon", "hf", "f32"),
    "tenon, f32, ONNX": ("tenon", "fp32", "f32"),
    "genai, f32": ("genai", "fp32", "f32"),
    "torch, f32": ("torch", "hf", "f32"),
    "tenon, bf16": ("tenon", "hf-bf16", "bf16"),
    "torch, bf16": ("torch-bf16", "hf-bf16", "bf16"),
    "tenon, 4 bits": ("tenon", "int4", "4 bits"),
    "genai, 4 bits": ("genai", "int4", "4 bits"),
    "tenon, i8": ("tenon-i8", "hf", "i8"),
}


def write_models(size):
    """The folders of one size, where they are not there yet."""
    folder = FOLDER / size
    if (folder / "done").exists():
        return folder
    import tokenizers
    import torch
    import transformers

    width, feed_forward, layers, heads, kv_heads, words = SIZES[size]
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=words, hidden_size=width, intermediate_size=feed_forward, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=64, max_position_embeddings=4096,
        bos_token_id=1, eos_token_id=2,
    )
    model = transformers.LlamaForCausalLM(config)
    print(f"bench: writing a model of {sum(each.numel() for each in model.parameters()) / 1e6:.0f} M parameters",
          file=sys.stderr)
    text = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{i}": i for i in range(words)}, unk_token="w0"))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=text, unk_token="w0")
    for name, dtype in (("hf", torch.float32), ("hf-bf16", torch.bfloat16)):
        model.to(dtype).save_pretrained(folder / name)
        fast.save_pretrained(folder / name)
    for name in ("fp32", "int4"):
        command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", str(folder / "hf"), "-o",
                   str(folder / name), "-p", name, "-e", "cpu", "-c", str(folder / "cache")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (folder / "done").touch()
    return folder


class Side:
    def __init__(self, name, folder, threads):
        kind, model, self.weights = SIDES[name]
        self.name = name
        script = Path(__file__).parent / "opponents/language.py"
        self._process = subprocess.Popen([sys.executable, "-I", str(script), kind, str(folder / model), str(threads)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        self.load = self._answer()["load"]

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"bench: the side `{self.name}` has ended; run bench/opponents/language.py by itself to see why")
        return json.loads(line)

    def run(self, case):
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self):
        self._process.stdin.close()
        self._process.wait()


def measure(sides, cases, rounds):
    rows = []
    for case in cases:
        found = {side.name: [] for side in sides}
        for number in range(rounds + 1):
            for side in sides:
                answer = side.run(case)
                if number > 0:  # the first one prepares
                    found[side.name].append(answer)
                time.sleep(0.02)  # threads of the side before stop spinning
        for side in sides:
            answers = found[side.name]
            first, step = (statistics.median(each[field] for each in answers) for field in ("first", "step"))
            rows.append({"side": side.name, "weights": side.weights, **case, "first_ms": first * 1e3, "step_ms": step * 1e3,
                         "tokens_per_second": case["batch"] / max(step, 1e-9),
                         "memory_bytes": max(each["memory"] for each in answers)})
    for row in rows:
        same = [each for each in rows if all(each[key] == row[key] for key in ("weights", "batch", "prompt", "new"))]
        others = [each for each in same if not each["side"].startswith("tenon")]
        if others and row["side"].startswith("tenon"):
            row["first_ratio"] = min(each["first_ms"] for each in others) / row["first_ms"]
            row["step_ratio"] = min(each["step_ms"] for each in others) / row["step_ms"]
    return rows


def show(rows):
    print(f"{'':18} {'batch':>5} {'prompt':>6} {'first ms':>9} {'step ms':>8} {'tokens/s':>8} {'memory MB':>9}  ahead by")
    for row in rows:
        ahead = f"{row['first_ratio']:.2f} first, {row['step_ratio']:.2f} step" if "first_ratio" in row else ""
        print(f"{row['side']:18} {row['batch']:5} {row['prompt']:6} {row['first_ms']:9.1f} {row['step_ms']:8.2f} "
              f"{row['tokens_per_second']:8.1f} {row['memory_bytes'] / 1e6:9.0f}  {ahead}")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench language", description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument("--quick", action="store_true", help="one prompt, batches of 1 and 4, few rounds")
    parser.add_argument("--size", choices=SIZES, default="0.1", help="billions of parameters")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of each side")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="TEXT", help="sides whose name has this: f32, bf16, 4 bits, i8")
    given = parser.parse_args()
    folder = write_models(given.size)
    sides = [Side(name, folder, given.threads) for name in SIDES if given.only in name]
    lengths, batches, new = ((128,), (1, 4), 17) if given.quick else ((128, 1024), (1, 4, 16), 33)
    cases = [{"batch": batch, "prompt": length, "new": new} for length in lengths for batch in batches
             if batch * length <= 4096]
    try:
        rows = measure(sides, cases, 2 if given.quick else given.rounds)
    finally:
        for side in sides:
            side.end()
    if given.json:
        print(json.dumps({"size": given.size, "threads": given.threads, "rows": rows}))
    else:
        show(rows)


if __name__ == "__main__":
    main()
