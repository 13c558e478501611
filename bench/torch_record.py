"""What it costs to record an operator on PyTorch's device `tenon`: nothing is computed.

    ./dev bench torch_record [--json] [--only TEXT] [--calls N] [--rounds N]

Microseconds of CPU time for a call from Python, in medians of rounds of calls, beside the same call on tensors of the
CPU with a few elements, which eager PyTorch computes. Targets: 3 for elementwise functions and products, 1.5 for views,
1 for new tensors.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(os.environ.get("TENON_COMMAND", ROOT / "build/release/tenon")).resolve().parent / "python"
sys.path[:0] = [str(PACKAGE)]

try:
    import tenon.torch  # noqa: F401  (registers the device)
except ImportError as error:
    sys.exit(f"bench: {PACKAGE} has no module tenon for this Python ({error}); `./dev test --python` builds it")

ELEMENTWISE, VIEW, NEW = 3.0, 1.5, 1.0


def calls(place):
    """By name: the call and its target."""
    torch.manual_seed(0)
    x, y = torch.randn(4, 8, device=place), torch.randn(4, 8, device=place)
    w, b = torch.randn(8, 8, device=place), torch.randn(8, device=place)
    target = (torch.arange(4) % 8).to(place)
    image, filters = torch.randn(2, 4, 6, 6, device=place), torch.randn(4, 4, 3, 3, device=place)
    mean, var, scale = (torch.ones(4, device=place) for _ in range(3))
    turned = w.t()
    return {
        "add": (lambda: x + y, ELEMENTWISE),
        "add a number": (lambda: x + 2, ELEMENTWISE),
        "add_": (lambda: x.add_(y), ELEMENTWISE),
        "exp": (lambda: x.exp(), ELEMENTWISE),
        "mm": (lambda: x @ w, ELEMENTWISE),
        "mm, transposed": (lambda: x @ turned, ELEMENTWISE),
        "bmm": (lambda: image[0] @ image[1], None),
        "linear": (lambda: F.linear(x, w, b), None),
        "sum": (lambda: x.sum(1), None),
        "softmax": (lambda: x.softmax(1), None),
        "layer norm": (lambda: F.layer_norm(x, (8,), b, b), None),
        "batch norm": (lambda: F.batch_norm(image, mean, var, scale, scale), None),
        "cross entropy": (lambda: F.cross_entropy(x, target), None),
        "conv": (lambda: F.conv2d(image, filters, None, 1, 1), None),
        "max pool": (lambda: F.max_pool2d(image, 2), None),
        "embedding": (lambda: F.embedding(target, w), None),
        "cat": (lambda: torch.cat([x, y]), None),
        "t": (lambda: w.t(), VIEW),
        "view": (lambda: x.view(2, 16), VIEW),
        "slice": (lambda: x[1:3], VIEW),
        "select": (lambda: x[1], VIEW),
        "unsqueeze": (lambda: x.unsqueeze(0), VIEW),
        "view of a new tensor": (lambda: (x + y).view(2, 16), None),
        "zeros": (lambda: torch.zeros(4, 8, device=place), NEW),
        "full": (lambda: torch.full((4, 8), 0.5, device=place), NEW),
        "empty": (lambda: torch.empty(4, 8, device=place), NEW),
        "empty_like": (lambda: torch.empty_like(x), None),
        "arange": (lambda: torch.arange(8, device=place), None),
    }


def measure(call, count):
    call()
    call()
    call()
    begin = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - begin) / count * 1e6


def main():
    parser = argparse.ArgumentParser(prog="./dev bench torch_record", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name contains it")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(1)
    missed = 0
    with torch.no_grad():
        ours, theirs = calls("tenon"), calls("cpu")
        for name, (call, target) in ours.items():
            if args.only not in name:
                continue
            found, eager = [], []
            for _ in range(args.rounds):
                found.append(measure(call, args.calls))
                eager.append(measure(theirs[name][0], args.calls))
            value, beside = statistics.median(found), statistics.median(eager)
            ok = target is None or value <= target
            missed += not ok
            if args.json:
                print(json.dumps({"name": name, "value": value, "unit": "us", "target": target, "ok": ok, "eager": beside}))
            else:
                aim = "" if target is None else f"  target {target:g}{'' if ok else ' !'}"
                print(f"{name:<22}{value:>8.2f} us{beside:>9.2f} eager{aim}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
