"""Every built-in model, exported, against ONNX Runtime: the same file on the same inputs, with one thread and with two.

    ./dev bench onnxruntime [--json] [--rounds N] [MODEL...]

Each figure is how many times as fast as ONNX Runtime Tenon is; the target is 1. Runs of the two alternate, and medians
are compared. The difference is the greatest of any output, relative to that output's largest element.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime

sys.path.append(str(Path(__file__).parent))  # which `python -I` leaves out; last, since this file lies there

from opponents.command import CommandError
from opponents.command import tenon as run_command
from opponents.compare import difference as difference_of

COMMAND = os.environ["TENON_COMMAND"]
FOLDER = Path(os.environ["TENON_BENCH_FOLDER"])
THREADS = (1, 2)
MOST_DIFFERENCE = 1e-3
SECONDS = 0.5  # about, of one side in one round
DTYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}


def tenon(*words):
    try:
        return run_command(COMMAND, *words)
    except CommandError as error:
        sys.exit(str(error))


def parse_sizes(text):
    return {name: int(size) for name, size in (each.split("=") for each in text.split(", "))}


def larger(sizes):
    """Another binding, of sizes that nothing divides."""
    return {name: size + size // 4 + 1 for name, size in sizes.items()}


def exported(name):
    path = FOLDER / f"{name}.onnx"
    if not path.exists() or path.stat().st_mtime < os.stat(COMMAND).st_mtime:
        tenon("export", name, path)
    return path


def make_inputs(session, sizes):
    """By the names and expressions that the file declares. Integers are 0 or 1: a position in any table."""
    random = np.random.default_rng(1)
    inputs = {}
    for each in session.get_inputs():
        dims = [dim if isinstance(dim, int) else eval(dim, {}, sizes) for dim in each.shape]  # pylint: disable=eval-used
        dtype = DTYPES[each.type]
        if each.name in sizes and not dims:
            inputs[each.name] = np.array(sizes[each.name], dtype)
        elif dtype == np.float32:
            inputs[each.name] = random.uniform(-1, 1, dims).astype(dtype)
        elif dtype == np.bool_:
            inputs[each.name] = np.ones(dims, dtype)
        else:
            inputs[each.name] = random.integers(0, 2, dims).astype(dtype)
    return inputs


def difference(outputs, names):
    largest = 0.0
    for name, wanted in zip(names, outputs):
        largest = max(largest, difference_of(wanted, np.load(FOLDER / "out" / f"{name}.npy")))
    return largest


class Pair:
    """One model at one binding with one number of threads, in both programs."""

    def __init__(self, path, sizes, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = make_inputs(self.session, sizes)
        self.names = [each.name for each in self.session.get_outputs()]
        words = ["run", path, "--threads", threads, "--output", FOLDER / "out"]
        bound = []
        for name, value in self.inputs.items():
            if value.ndim == 0:
                bound.append(f"{name}={value}")
                continue
            np.save(FOLDER / f"{name}.npy", value)
            words += ["--input", f"{name}={FOLDER / name}.npy"]
        self.words = words + (["--bind", ",".join(bound)] if bound else [])

    def run_opponent(self, times):
        results = []
        for _ in range(times):
            begin = time.perf_counter()
            outputs = self.session.run(None, self.inputs)
            results.append((time.perf_counter() - begin) * 1e6)
        return outputs, sorted(results)[len(results) // 2]

    def run_tenon(self, times):
        return tenon(*self.words, "--repeat", times)["microseconds"]["median"]

    def measure(self, rounds):
        outputs, first = self.run_opponent(3)
        times = max(3, min(1000, int(SECONDS * 1e6 / first)))
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(self.run_tenon(times))
            theirs.append(self.run_opponent(times)[1])
        middle = rounds // 2
        return sorted(ours)[middle], sorted(theirs)[middle], difference(outputs, self.names)


def report(figure, as_json):
    if as_json:
        print(json.dumps({"name": figure["name"], "value": figure["ratio"], "unit": "x", "target": 1,
                          "ok": figure["ok"]}), flush=True)
        return
    print(f"| {figure['model']} | {figure['sizes']} | {figure['threads']} | {figure['ours'] / 1e3:.3f} | "
          f"{figure['theirs'] / 1e3:.3f} | {figure['ratio']:.2f} | {figure['difference']:.1e} |"
          f"{'' if figure['ok'] else ' MISSED'}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench onnxruntime", description="Against ONNX Runtime.")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--rounds", type=int, default=3, help="how often the two take turns (default 3)")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="built-in models (default: all)")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    ok = True
    ratios = []
    if not arguments.json:
        print(f"ONNX Runtime {onnxruntime.__version__}, milliseconds\n")
        print("| model | at | threads | Tenon | ONNX Runtime | times as fast | difference |")
        print("|---|---|---|---|---|---|---|")
    for model in tenon("models")["models"]:
        name = model["name"]
        if arguments.models and name not in arguments.models:
            continue
        path = exported(name)
        usual = parse_sizes(model["at"])
        for sizes in (usual, larger(usual)):
            at = " ".join(f"{axis}={size}" for axis, size in sizes.items())
            for threads in THREADS:
                ours, theirs, worst = Pair(path, sizes, threads).measure(arguments.rounds)
                ratio = theirs / ours
                ratios.append(ratio)
                good = ratio >= 1 and worst <= MOST_DIFFERENCE
                ok = ok and good
                report({"name": f"onnxruntime/{name}/{at.replace(' ', ',')}/threads={threads}", "model": name,
                        "sizes": at, "threads": threads, "ours": ours, "theirs": theirs, "ratio": ratio,
                        "difference": worst, "ok": good}, arguments.json)
    if not ratios:
        sys.exit("there is no such model; `tenon models` lists them")
    if not arguments.json:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\ngeometric mean: {mean:.2f} times as fast")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
