#!/usr/bin/env python3
"""Hold two builds of the command against each other: a change of form must not change what is made.

For each built-in model and each graph file: the steps as `explain` prints them, the loops of every kernel
(`explain --kernel N`), and every bit of every output of `run` at sizes around the vector width.

usage: compare_builds.py BEFORE AFTER [--graphs FOLDER] [--only TEXT] [--no-runs]
  BEFORE, AFTER    two commands `tenon`
  --graphs FOLDER  files *.graph; `bench_counts --write FOLDER` writes those of the table of kernel counts
Prints what differs; the status is then 1.
"""

import argparse
import concurrent.futures
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (1, 9)  # of every name that a file leaves open; a built-in model has usual sizes of its own


def run(command, *arguments):
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def steps(command, model):
    status, text, _error = run(command, "explain", model, "--json")
    return json.loads(text)["steps"] if status == 0 else []


def loops(command, model, number):
    status, text, error = run(command, "explain", model, "--kernel", str(number))
    return text if status == 0 else error


def names_of(command, model):
    """Axis names of the inputs: in `f32[batch, 2*seq, hidden=256]` these are batch and seq."""
    status, text, _ = run(command, "explain", model, "--json")
    names = set()
    for port in json.loads(text)["inputs"] if status == 0 else []:
        for axis in port["shape"].partition("[")[2].rstrip("]").split(","):
            label, _, size = axis.partition("=")
            names.update(re.findall(r"[A-Za-z_]\w*", size or label))
    return sorted(names)


def outputs(command, model, bindings):
    """File name -> bytes of every output, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["run", model, "--output", folder, "--threads", "2"]
        if bindings:
            arguments += ["--bind", bindings]
        status, _, error = run(command, *arguments)
        if status != 0:
            return error
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def differences(before, after, model, with_runs):
    found = []
    texts = [run(command, "explain", model) for command in (before, after)]
    if texts[0] != texts[1]:
        found.append("explain differs:\n" + diff(texts[0][1] + texts[0][2], texts[1][1] + texts[1][2]))
    for number in range(1, max(len(steps(before, model)), len(steps(after, model))) + 1):
        old, new = loops(before, model, number), loops(after, model, number)
        if old != new:
            found.append(f"step {number} differs:\n" + diff(old, new))
    if not with_runs:
        return found
    names = names_of(before, model) if model.endswith(".graph") else []
    for bindings in {",".join(f"{name}={size}" for name in names) for size in SIZES}:
        old, new = outputs(before, model, bindings), outputs(after, model, bindings)
        if old != new:
            if isinstance(old, str) or isinstance(new, str):
                words = [x if isinstance(x, str) else "outputs" for x in (old, new)]
                found.append(f"run at {bindings or 'usual sizes'}: {words[0]} and {words[1]}")
            else:
                wrong = [name for name in old if old[name] != new.get(name)]
                found.append(f"run at {bindings or 'usual sizes'}: bits of {', '.join(wrong)} differ")
    return found


def diff(old, new):
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "before", "after", lineterm="", n=2)
    return "\n".join("    " + line for line in list(lines)[:60])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--graphs", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-runs", action="store_true")
    arguments = parser.parse_args()
    models = [each["name"] for each in json.loads(run(arguments.before, "models", "--json")[1])["models"]]
    if arguments.graphs:
        models += [str(path) for path in sorted(arguments.graphs.glob("*.graph"))]
    models = [model for model in models if arguments.only in model]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        work = {model: pool.submit(differences, arguments.before, arguments.after, model, not arguments.no_runs)
                for model in models}
        for model, result in work.items():
            found = result.result()
            failed += bool(found)
            print(f"{Path(model).stem}: {'the same' if not found else ''}")
            for text in found:
                print(f"  {text}")
            sys.stdout.flush()
    print(f"{len(models) - failed} the same, {failed} different")
    return 1 if failed or not models else 0


if __name__ == "__main__":
    sys.exit(main())
