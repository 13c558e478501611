"""Bytes that leave the second cache in one run, with pipelines and without, counted by valgrind's cachegrind.

Hardware counts them too, but virtual machines seldom let one read that. cachegrind goes through every access of the
compiled kernels with caches of the sizes given here. A program runs twice, with few and with many repeats; the
difference is that of the repeats alone, without loading and compiling.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LINE = 64
REPEATS = (1, 3)

CASES = {
    # name: (graph, sizes)
    "norms": ("""graph norms(x: f32[rows, 1024]) {
  a = add(gelu(layer_norm(x)), x)
  b = add(gelu(layer_norm(a)), x)
  return y=add(gelu(layer_norm(b)), x)
}""", "rows=2048"),
    "dense_dense": ("""graph dense_dense(x: f32[rows, 64], up: f32[64, 256], down: f32[256, 64]) {
  return y=add(matmul(gelu(matmul(x, up)), down), x)
}""", "rows=4096"),
    "depthwise_pointwise": ("""graph depthwise_pointwise(x: f32[batch, 32, height, width], d: f32[32, 1, 3, 3], p: f32[64, 32, 1, 1]) {
  a = relu(conv(x, d, low=[1, 1], high=[1, 1], groups=32))
  return y=relu(conv(a, p))
}""", "batch=2,height=112,width=112"),
}


def misses(tenon, graph, sizes, options, repeats, cache):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "cachegrind")
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--smc-check=all-non-file",
                   "--D1=32768,8,64", f"--LL={cache},16,64", f"--cachegrind-out-file={out}",
                   tenon, "run", graph, "--bind", sizes, "--threads", "1", "--repeat", str(repeats), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"pipeline_bytes: {' '.join(command)}\n{done.stdout}{done.stderr}")
        return last_level_misses(out.read_text())


def last_level_misses(text):
    """Data that the last cache of the simulation did not have, read and written: lines, from cachegrind's own file."""
    events = re.search(r"^events: (.*)$", text, re.M).group(1).split()
    counts = dict(zip(events, map(int, re.search(r"^summary: (.*)$", text, re.M).group(1).split())))
    return counts["DLmr"] + counts["DLmw"]


def bytes_of_a_run(tenon, graph, sizes, options, cache):
    few, many = (misses(tenon, graph, sizes, options, n, cache) for n in REPEATS)
    return (many - few) / (REPEATS[1] - REPEATS[0]) * LINE


def main():
    parser = argparse.ArgumentParser(prog="./dev bench pipeline_bytes", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains TEXT")
    parser.add_argument("--cache", type=int, default=1 << 20, metavar="BYTES", help="the second cache (default 1 MiB)")
    parser.add_argument("--tenon", default=os.environ.get("TENON_COMMAND", "build/release/tenon"),
                        help="the command to run")
    arguments = parser.parse_args()
    for name, (graph, sizes) in CASES.items():
        if arguments.only not in name:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".graph") as file:
            file.write(graph)
            file.flush()
            off = bytes_of_a_run(arguments.tenon, file.name, sizes, ["--no-pipelines"], arguments.cache)
            on = bytes_of_a_run(arguments.tenon, file.name, sizes, [], arguments.cache)
        if arguments.json:
            print(json.dumps({"name": name, "value": on / off, "unit": "of off", "on": on, "off": off}), flush=True)
        else:
            print(f"{name:<22} {off / 1e6:8.2f} MB off {on / 1e6:8.2f} MB on   {on / off:.2f}", flush=True)


if __name__ == "__main__":
    main()
