"""Bytes that leave the second cache in one run, with pipelines and without, counted by valgrind's cachegrind.

Hardware counts them too, but virtual machines seldom let one read that. cachegrind goes through every access of the
compiled kernels with caches of the sizes given here. Each program runs with few and with many repeats; the difference
is that of the repeats alone, without loading and compiling.
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
REPEATS = (2, 4)
CASES = ("dense_dense_norm", "inverted_residual")


def last_level_misses(text):
    """Lines of data that the last cache of the simulation did not have, read and written: from cachegrind's own file."""
    events = re.search(r"^events: (.*)$", text, re.MULTILINE).group(1).split()
    counts = dict(zip(events, map(int, re.search(r"^summary: (.*)$", text, re.MULTILINE).group(1).split())))
    return counts["DLmr"] + counts["DLmw"]


def compile_once(program, case, pipelines):
    """Valgrind's processor is not this one: its kernels are compiled, and kept on disk for the runs that count."""
    subprocess.run(["valgrind", "--tool=none", "--smc-check=all-non-file", program, case, pipelines, "1"],
                   capture_output=True, check=False)


def misses(program, case, pipelines, repeats, cache):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "cachegrind")
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--smc-check=all-non-file", "--D1=32768,8,64",
                   f"--LL={cache},16,64", f"--cachegrind-out-file={out}", program, case, pipelines, str(repeats)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"pipeline_bytes: {' '.join(command)}\n{done.stdout}{done.stderr}")
        return last_level_misses(out.read_text())


def bytes_of_a_run(program, case, pipelines, cache):
    compile_once(program, case, pipelines)
    few, many = (misses(program, case, pipelines, n, cache) for n in REPEATS)
    return (many - few) / (REPEATS[1] - REPEATS[0]) * LINE


def main():
    parser = argparse.ArgumentParser(prog="./dev bench pipeline_bytes", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains TEXT")
    parser.add_argument("--cache", type=int, default=1 << 20, metavar="BYTES", help="the second cache (default 1 MiB)")
    arguments = parser.parse_args()
    tenon = os.environ.get("TENON_COMMAND", "build/release/tenon")
    program = str(pathlib.Path(tenon).with_name("bench_pipeline_bytes_steps"))
    for case in CASES:
        if arguments.only not in case:
            continue
        off, on = (bytes_of_a_run(program, case, word, arguments.cache) for word in ("off", "on"))
        if arguments.json:
            print(json.dumps({"name": case, "value": on / off, "unit": "of off", "on": on, "off": off}), flush=True)
        else:
            print(f"{case:<20} {off / 1e6:8.2f} MB off {on / 1e6:8.2f} MB on   {on / off:.2f}", flush=True)


if __name__ == "__main__":
    main()
