"""The first GPU: kernels and models of Tenon against PyTorch, eager and torch.compile (inductor).

    ./dev bench gpu [--json] [--quick] [CASE...]

Rows and chains are said in GB/s of what they must read and write, beside what a copy of PyTorch reaches; products in
TFLOP/s; models in runs a second. Tenon's times are those of whole runs with inputs and results in the GPU's memory,
launches and waiting included (`tenon bench --device gpu`); PyTorch's are medians between events. Products are exact f32
on all sides. Without PyTorch the table has Tenon alone.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
TENON = os.environ.get("TENON_COMMAND", str(ROOT / "build/release/tenon"))
RUN_SECONDS = 600


@dataclass
class Case:
    """What both sides compute. `work` is bytes, or flops of a product; 0 for models, whose unit is runs."""

    name: str
    unit: str
    work: float
    bind: str
    text: str = ""  # a graph; none: the built-in model of this name
    torch: Callable | None = None
    inputs: Callable = field(default=lambda torch: ())


def row_case(name, body, function, rows, columns, passes=2):
    text = f"graph g(x: f32[row, col]) {{\n{body}\n}}\n"
    return Case(f"{name} {rows}x{columns}", "GB/s", passes * 4.0 * rows * columns, f"row={rows},col={columns}", text,
                function, lambda torch: (torch.randn(rows, columns, device="cuda"),))


CHAIN = ("  a = tanh(mul(x, x))\n  b = add(exp(neg(a)), x)\n  c = mul(sigmoid(b), x)\n"
         "  return y=sub(relu(c), abs(a))")
LAYER_NORM = "  return y=layer_norm(x)"
VARIANCE = "  m = reduce_mean(x, axes=[1], keep=true)\n  d = sub(x, m)\n  return y=reduce_mean(mul(d, d), axes=[1])"


def chain(torch, x):
    a = torch.tanh(x * x)
    b = torch.exp(-a) + x
    c = torch.sigmoid(b) * x
    return torch.relu(c) - a.abs()


def cases(quick):
    rows = [(65536, 1024), (8192, 8192)] if not quick else [(65536, 1024)]
    for r, c in rows:
        yield row_case("chain", CHAIN, chain, r, c)
        yield row_case("softmax", "  return y=softmax(x)", lambda t, x: t.softmax(x, -1), r, c)
        yield row_case("layer_norm", LAYER_NORM, lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:]), r, c)
        yield row_case("variance", VARIANCE, lambda t, x: t.var(x, 1, correction=0), r, c, passes=1)
        yield row_case("columns", "  return y=reduce_sum(x, axes=[0])", lambda t, x: x.sum(0), r, c, passes=1)
        yield row_case("transpose", "  return y=transpose(x, [1, 0])", lambda t, x: x.t().contiguous(), r, c)
    yield row_case("softmax", "  return y=softmax(x)", lambda t, x: t.softmax(x, -1), 1 << 19, 128)
    for n in (1024, 4096) if not quick else (1024,):
        yield Case(f"f32 product {n}", "TFLOP/s", 2.0 * n**3, f"m={n},k={n},n={n}",
                   "graph g(a: f32[m, k], b: f32[k, n]) {\n  return y=matmul(a, b)\n}\n", lambda t, a, b: a @ b,
                   lambda torch, n=n: (torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")))
    if not quick:
        yield Case("bert_base", "runs/s", 0, "batch=8,seq=128")
        yield Case("resnet50", "runs/s", 0, "batch=32,height=224,width=224")
        yield Case("mobilenet_v2", "runs/s", 0, "batch=32,height=224,width=224")


def tenon_run(case, folder):
    """Microseconds of a run and of the compile, or why there are none."""
    word = case.name
    if case.text:
        word = str(Path(folder) / "case.graph")
        Path(word).write_text(case.text)
    words = [TENON, "bench", word, "--device", "gpu", "--bind", case.bind, "--seconds", "0.3", "--json"]
    try:
        run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        return None, None, f"took more than {RUN_SECONDS} s"
    if run.returncode != 0:
        return None, None, run.stderr.strip() or f"exit status {run.returncode}"
    result = json.loads(run.stdout)
    return result["points"][0]["median_us"], result["compile_us"], ""


def torch_time(torch, function, inputs):
    """Microseconds, the median between events. Inputs take turns where they would stay in the cache."""
    for _ in range(3):
        function(torch, *inputs)
    times = []
    for _ in range(20):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        function(torch, *inputs)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def rate(case, us):
    if us is None:
        return None
    per_second = 1e6 / us
    return per_second if case.work == 0 else case.work * per_second / (1e9 if case.unit == "GB/s" else 1e12)


def opponents(torch, case):
    """Rates of PyTorch by name; why not, where one fails."""
    if torch is None or case.torch is None:
        return {}
    torch._dynamo.reset()
    inputs = case.inputs(torch)
    found = {"eager": rate(case, torch_time(torch, case.torch, inputs))}
    try:
        compiled = torch.compile(lambda *x: case.torch(torch, *x))
        found["inductor"] = rate(case, torch_time(torch, lambda _, *x: compiled(*x), inputs))
    except Exception as error:  # what inductor lacks differs between machines
        found["why_no_inductor"] = str(error).splitlines()[0]
    if case.unit == "GB/s":
        x = inputs[0]
        y = torch.empty_like(x)
        us = torch_time(torch, lambda _, x: y.copy_(x), (x,))
        found["copy"] = 2 * x.numel() * x.element_size() / us / 1e3
    return found


def load_torch():
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="few cases")
    parser.add_argument("--tenon", help="the command; nothing is built")
    parser.add_argument("--python", help="the interpreter that runs this; nothing is installed")
    parser.add_argument("case", nargs="*", help="those whose name contains one of these words")
    arguments = parser.parse_args()
    torch = load_torch()
    results = []
    if not arguments.json:
        print(f"{'case':26} {'unit':>8} {'tenon':>10} {'eager':>10} {'inductor':>10} {'copy':>10}  compile ms")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(arguments.quick):
            if arguments.case and not any(word in case.name for word in arguments.case):
                continue
            us, compile_us, error = tenon_run(case, folder)
            result = {"case": case.name, "unit": case.unit, "tenon": rate(case, us), "microseconds": us,
                      "compile_us": compile_us, "error": error, **opponents(torch, case)}
            results.append(result)
            if not arguments.json:
                figures = " ".join(f"{result[key]:>10.4g}" if result.get(key) else f"{'-':>10}"
                                   for key in ("tenon", "eager", "inductor", "copy"))
                took = f"{compile_us / 1e3:.0f}" if compile_us else error
                print(f"{case.name:26} {case.unit:>8} {figures}  {took}", flush=True)
    if arguments.json:
        json.dump(results, sys.stdout, indent=2)
        print()
    return 1 if any(result["error"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
