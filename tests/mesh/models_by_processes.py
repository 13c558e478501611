"""All built-in models over four processes, by data, by weights and both, against one process; then steps of training,
also from a checkpoint that four ranks wrote and two go on with. Takes minutes and gigabytes: run by hand, with
TENON_COMMAND, and names of models to leave out the others. Needs mpirun and numpy."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from processes_test import ENVIRONMENT

COMMAND = os.environ["TENON_COMMAND"]
SMALL = {"batch": 4, "height": 64, "width": 64, "seq": 8, "past": 3, "total": 11, "time": 8}
TRAINED = {"resnet18": ["--bind", "height=64,width=64", "--batch", "16"], "bert_base": ["--bind", "seq=16"],
           "gpt2": ["--bind", "seq=16"]}
STEPS = 10


def tenon(ranks, *words):
    launch = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    run = subprocess.run([*launch, COMMAND, *words], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(run.stderr[:2000])
    return run.stdout


def names():
    """Each model with the names of its axes."""
    listed = json.loads(tenon(1, "models", "--json"))
    models = listed["models"] if isinstance(listed, dict) else listed
    for model in models:
        axes = {word.strip(" ]") for port in model["inputs"] for word in port["shape"].split("[")[1].split(",")}
        yield model["name"], axes


def outputs(ranks, model, bindings, *words):
    with tempfile.TemporaryDirectory() as folder:
        tenon(ranks, "run", model, "--bind", bindings, "--repeat", "1", "--output", folder, *words)
        return {path.name: numpy.load(path) for path in Path(folder).iterdir()}


def largest_difference(a, b):
    worst = 0.0
    for name, value in a.items():
        scale = max(1e-30, float(numpy.abs(value.astype(float)).max(initial=0)))
        worst = max(worst, float(numpy.abs(value.astype(float) - b[name].astype(float)).max(initial=0)) / scale)
    return worst


def compare_outputs(model, axes):
    axes = axes | ({"past"} if "total" in axes else set())  # which the size of no input says
    bindings = ",".join(f"{name}={size}" for name, size in SMALL.items() if name in axes)
    whole = outputs(1, model, bindings)
    weights = "*.weight.0=model"
    for mesh, shard in (("data=4", "batch=data"), ("model=4", weights), ("data=2,model=2", "batch=data," + weights)):
        found = largest_difference(whole, outputs(4, model, bindings, "--mesh", mesh, "--shard", shard))
        print(f"{model:18} {mesh:16} differs by {found:.1e} of the largest element", flush=True)
        assert found < 1e-3, (model, mesh)


def losses(run):
    return [epoch["loss"] for epoch in json.loads(run)["epochs"]]


def compare_training(model, words):
    """An epoch is one step."""
    batch = words[words.index("--batch") + 1] if "--batch" in words else "4"
    data = ["train", model, "--examples", batch, "--validate", "0", "--optimizer", "sgd", "--json", *words]
    data += [] if "--batch" in words else ["--batch", batch]
    whole = losses(tenon(1, *data, "--epochs", str(STEPS)))
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "run.safetensors")
        half = STEPS // 2
        parts = losses(tenon(4, *data, "--epochs", str(half), "--mesh", "data=4", "--checkpoint", file))
        again = ["train", model, "--resume", file, "--json", "--epochs", str(STEPS)]
        again += words[words.index("--bind"):words.index("--bind") + 2]
        parts += losses(tenon(2, *again, "--mesh", "data=2"))
    for step, (a, b) in enumerate(zip(whole, parts, strict=True)):
        print(f"{model:18} step {step + 1:2}  {a:.6f}  {b:.6f}", flush=True)
    worst = max(abs(a - b) / max(1, abs(a)) for a, b in zip(whole, parts, strict=True))
    print(f"{model:18} losses differ by {worst:.1e} at most", flush=True)


def main():
    wanted = sys.argv[1:]
    for model, axes in names():
        if not wanted or model in wanted:
            compare_outputs(model, axes)
    for model, words in TRAINED.items():
        if not wanted or f"train:{model}" in wanted:
            compare_training(model, words)


if __name__ == "__main__":
    main()
