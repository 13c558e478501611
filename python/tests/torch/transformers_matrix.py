#!/usr/bin/env python3
"""Architectures of transformers by the three doors of PyTorch: outputs held against eager PyTorch on the CPU at three
sizes, compiles counted, and a training step of some. Prints a table; ends with status 1 where a result is wrong.

    PYTHONPATH=build/release/python python python/tests/torch/transformers_matrix.py [NAME ...] [--doors export,device]

Needs the PyPI package transformers. Some minutes for all; test_transformers.py takes some of it.
"""

from __future__ import annotations

import argparse
import copy
import signal
import sys
import time
import warnings

import tenon
import tenon.torch
import torch
from architectures import ARCHITECTURES, SIZES, arguments, build, dynamic_axes

DOORS = ("export", "compile", "device", "training")
TRAINED = ("bert", "gpt2", "llama", "mistral", "t5", "vit", "resnet", "modernbert", "opt", "bart", "gemma2", "wav2vec2")
MOST_COMPILES = 3


def difference(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative to the largest element."""
    if got.shape != expected.shape:
        return float("inf")
    scale = expected.abs().max().clamp(min=1e-3)
    return float(((got.detach().cpu().double() - expected.double()).abs().max() / scale).nan_to_num(nan=float("inf")))


def by_export(name: str, net):
    example = arguments(name, *SIZES[0])
    exported = tenon.torch.export(net, example, dynamic_shapes=(dynamic_axes(name),))
    return exported, lambda: 1


def by_compile(name: str, net):
    torch._dynamo.reset()
    compiled = torch.compile(net, backend="tenon", dynamic=True)
    return compiled, lambda: tenon.torch.report().doors["compile"].compiles


def by_device(name: str, net):
    there = copy.deepcopy(net).to("tenon")
    before = tenon.realization_counts()["compiles"]

    def run(*given):
        return there(*(x.to("tenon") for x in given)).cpu()

    return run, lambda: tenon.realization_counts()["compiles"] - before


def infer(name: str, door: str) -> tuple[float, int, list[str]]:
    """The largest difference, programs compiled, and operators that ran in PyTorch."""
    net = build(name)
    tenon.torch.reset_report()
    with torch.no_grad():
        run, compiles = {"export": by_export, "compile": by_compile, "device": by_device}[door](name, net)
        worst = 0.0
        for size in SIZES:
            given = arguments(name, *size)
            worst = max(worst, difference(run(*given), net(*given)))
    return worst, compiles(), fallbacks()


def fallbacks() -> list[str]:
    doors = tenon.torch.report().doors.values()
    return sorted({operator for door in doors for operator, _ in door.fallbacks})


def train(name: str) -> tuple[float, int, list[str]]:
    """Three steps on the device and on the CPU."""
    ours = build(name).train()
    for module in ours.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    config = ours.model.config
    for field in ("attention_dropout", "dropout", "activation_dropout", "attn_pdrop", "resid_pdrop", "layerdrop",
                  "mask_time_prob", "mask_feature_prob", "hidden_dropout", "feat_proj_dropout"):  # fmt: skip
        if getattr(config, field, None):
            setattr(config, field, 0.0)
    for module in ours.modules():
        for field in ("dropout", "attention_dropout", "layerdrop", "activation_dropout", "dropout_prob"):
            if isinstance(getattr(module, field, None), float):
                setattr(module, field, 0.0)
    theirs = copy.deepcopy(ours)
    ours.to("tenon")
    tenon.torch.reset_report()
    before = tenon.realization_counts()["compiles"]
    steps = [torch.optim.SGD(net.parameters(), 0.05) for net in (ours, theirs)]
    worst = 0.0
    for size in SIZES:
        given = arguments(name, *size)
        losses = []
        for net, step, device in zip((ours, theirs), steps, ("tenon", "cpu")):
            step.zero_grad()
            loss = net(*(x.to(device) for x in given)).square().mean()
            loss.backward()
            step.step()
            losses.append(loss.detach().cpu().reshape(1))
        worst = max(worst, difference(*losses))
    return worst, tenon.realization_counts()["compiles"] - before, fallbacks()


def too_long(*_):
    raise TimeoutError("it took too long")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(ARCHITECTURES), metavar="NAME")
    parser.add_argument("--doors", default=",".join(DOORS), help=",".join(DOORS))
    parser.add_argument("--limit", type=int, default=300, help="seconds for one architecture by one door")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(2)
    doors = options.doors.split(",")
    signal.signal(signal.SIGALRM, too_long)
    wrong = refused = above = done = 0
    print(f"{'architecture':<16}{'door':<10}{'difference':>11}{'compiles':>9}{'seconds':>8}  ran in PyTorch")
    for name in options.names:
        for door in doors:
            if door == "training" and name not in TRAINED:
                continue
            start = time.perf_counter()
            signal.alarm(options.limit)
            try:
                worst, compiles, missing = train(name) if door == "training" else infer(name, door)
                text = f"{worst:>11.1e}{compiles:>9}"
                wrong += worst > 2e-3
                above += compiles > MOST_COMPILES
            except tenon.torch.MissingOperators as error:
                refused += 1
                text, missing = f"{'refused':>11}{'':>9}", sorted({failure.operator for failure in error.failures})
            except Exception as error:
                wrong += 1
                text, missing = f"{'error':>11}{'':>9}", [f"{type(error).__name__}: {error}".split("\n")[0][:200]]
            finally:
                signal.alarm(0)
            done += 1
            print(f"{name:<16}{door:<10}{text}{time.perf_counter() - start:>8.1f}  {', '.join(missing)}", flush=True)
    print(f"{done} of them: {wrong} wrong, {refused} refused, {above} with more than {MOST_COMPILES} compiles")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
