"""Lazy tensors: what recording costs, and training steps against PyTorch, eager and compiled.

    ./dev bench lazy [--json] [--rounds N] [--threads N] [--no-compiled] [STEP...]

Steps are mlp, cnn, resnet18 and transformer: loss, gradients and SGD with momentum, the same sizes for everyone. Rounds
of all sides alternate and medians are compared. A figure is how many times as fast as PyTorch Tenon is; the target is 1
against the faster of the two.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

PROGRAM = Path(os.environ["TENON_COMMAND"]).parent / "bench_lazy_steps"
SECONDS = 0.5  # about, of one side in one round


class SmallCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.out = nn.Linear(32 * 7 * 7, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.out(x.flatten(1))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.down = None
        if stride != 1 or inputs != outputs:
            self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += x if self.down is None else self.down(x)
        return F.relu(y, inplace=True)


def resnet18(classes):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for outputs in (64, 128, 256, 512):
        for i in range(2):
            layers.append(BasicBlock(inputs, outputs, 2 if i == 0 and outputs != 64 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
        self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
        self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)

    def forward(self, x):
        batch, seq, width = x.shape
        heads = self.qkv(self.norm1(x)).reshape(batch, seq, 3, 4, 32).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).reshape(batch, seq, width)
        x = x + self.out(seen)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(256, 128)
        self.blocks = nn.Sequential(Block(), Block())
        self.out = nn.Linear(128, 256)

    def forward(self, x):
        return self.out(self.blocks(self.words(x))).reshape(-1, 256)


STEPS = {
    "mlp": lambda: (nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)),
                    torch.randn(64, 784), torch.arange(64) % 10),
    "cnn": lambda: (SmallCnn(), torch.randn(64, 1, 28, 28), torch.arange(64) % 10),
    "resnet18": lambda: (resnet18(10), torch.randn(8, 3, 64, 64), torch.arange(8) % 10),
    "transformer": lambda: (Transformer(), torch.randint(0, 256, (8, 64)), torch.arange(512) % 256),
}


def torch_step(name, compiled):
    """A function that makes one step and gives the loss."""
    model, x, labels = STEPS[name]()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    forward = torch.compile(model) if compiled else model

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def torch_round(step):
    def run(times):
        begin = time.perf_counter()
        for _ in range(times):
            step()
        return (time.perf_counter() - begin) / times * 1e3

    return run


def tenon_round(server, name):
    def run(times):
        server.stdin.write(f"{name} {times}\n")
        server.stdin.flush()
        answer = server.stdout.readline().strip()
        try:
            return float(answer)
        except ValueError:
            sys.exit(f"bench_lazy_steps: {answer or 'it has ended'}")

    return run


def measure(name, server, rounds, with_compiled):
    """Medians in milliseconds by side."""
    sides = {"tenon": tenon_round(server, name), "eager": torch_round(torch_step(name, False))}
    if with_compiled:
        sides["compiled"] = torch_round(torch_step(name, True))
    times = {}
    for side, run in sides.items():
        run(2)  # first calls compile
        times[side] = max(1, int(SECONDS / (run(1) / 1e3)))
    found = {side: [] for side in sides}
    for _ in range(rounds):
        for side, run in sides.items():
            found[side].append(run(times[side]))
    return {side: statistics.median(each) for side, each in found.items()}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench lazy", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--no-compiled", action="store_true", help="PyTorch eager alone: its compiler takes minutes")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    args = parser.parse_args()
    unknown = [each for each in args.steps if each not in STEPS]
    if unknown:
        parser.error(f"no step is called {unknown[0]}; there are {', '.join(STEPS)}")
    torch.set_num_threads(args.threads)
    if not args.steps:
        subprocess.run([PROGRAM, *(["--json"] if args.json else [])], check=False)
    missed = 0
    with subprocess.Popen([PROGRAM, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        for name in args.steps or STEPS:
            times = measure(name, server, args.rounds, not args.no_compiled)
            ratio = min(times[side] for side in times if side != "tenon") / times["tenon"]
            missed += ratio < 1
            if args.json:
                print(json.dumps({"name": f"step.{name}", "value": ratio, "unit": "x", "target": 1, "ok": ratio >= 1,
                                  "ms": times}), flush=True)
            else:
                shown = ", ".join(f"{side} {each:.2f} ms" for side, each in times.items())
                print(f"step.{name:<12} {ratio:6.2f} x  >= 1  {'' if ratio >= 1 else 'MISSED'}  {shown}", flush=True)
        server.stdin.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
