"""The first call of processes that have just started: Tenon, ONNX Runtime and OpenVINO on the same files and inputs.

    ./dev bench first                          12 models with all threads
    ./dev bench first --quick                  three of them, one round
    ./dev bench first --only bert --threads 2  models whose name contains this
    ./dev bench first --json                   one object a line for each model, then one of means

Each time is that of a process of its own: reading the model, compiling it, and one call. Starting the process and loading
libraries are not counted. Tenon is measured three times:

    cold   nothing of the model is on disk but its file; what is compiled is written to the cache
    warm   an earlier process left its machine code in the cache
    file   the model was built into a file before (`tenon build`), and is loaded from that

Sides take turns, and the least of a side's rounds counts. Memory is the process's high-water mark. Results are compared
before they count: a side that differs or fails is left out, and said. The status is not 0 when Tenon is left out.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # last: torch.py and others lie there

from opponents import figures, machine, terminal
from opponents.command import add_places

WAYS = {"cold": "Tenon, cold", "warm": "Tenon, warm", "file": "Tenon, file"}
OTHERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
TOLERANCE = 1e-3  # relative to the largest element


def parse(words):
    parser = argparse.ArgumentParser(prog="./dev bench first", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="three models, one round")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="models whose name contains it")
    parser.add_argument("--threads", type=int, help="of every side (default: as many as there are processors)")
    parser.add_argument("--rounds", type=int, help="processes of each side: 3, quick 1")
    parser.add_argument("--json", action="store_true", help="one object a line for each model, then one of means")
    add_places(parser, "bench-first")
    options = parser.parse_args(words)
    options.rounds = options.rounds or (1 if options.quick else 3)
    return options


def chosen(options):
    """The models at batch 1, and one step of GPT-2."""
    from opponents.workloads import table

    works = [work for work in table() if (work.group == "model" and work.name.endswith(".1")) or work.group == "decode"]
    found = [work for work in works if (work.quick or not options.quick)
             and (not options.only or any(text in work.name for text in options.only))]
    return found or sys.exit("bench first: no model is called so")


class Bench:
    def __init__(self, options, folder):
        from opponents.workloads import Files

        self.options, self.folder = options, folder
        self.command = options.tenon.absolute()
        self.server = self.command.with_name("bench_peers_steps")
        self.files = Files(options.folder / "files", self.command)
        self.cpus = machine.processors()[: options.threads]
        self.warm = folder / "warm"

    def built(self, work):
        """The model as a file that needs no compiler."""
        path = self.folder / f"{work.network}.tenon"
        subprocess.run([self.command, "build", self.files.model(work), "-o", path], check=True, capture_output=True,
                       env={**os.environ, "XDG_CACHE_HOME": str(self.warm)})  # fmt: skip
        return path

    def first(self, name, work, model):
        """Seconds and memory of one process's first call, and its results."""
        from opponents.processes import Process

        cache = self.warm if name == "warm" else self.folder / "cold"
        shutil.rmtree(self.folder / "cold", ignore_errors=True)
        cache.mkdir(exist_ok=True)
        side = "tenon" if name in WAYS else name
        process = Process(side, len(self.cpus), self.cpus, self.server, self.folder / "log",
                          words=["cached"] if name in WAYS else [], variables={"XDG_CACHE_HOME": str(cache)})  # fmt: skip
        try:
            opened = process.ask("open", work.kind, work.network, model)
            called = process.ask("run", self.files.inputs(work, work.sizes), 1)[0]
            found = {"open": opened, "call": called, "first": opened + called, "memory": process.peak_bytes()}
            process.ask("write", self.folder / "results")
            return found, self.results()
        finally:
            process.stop()

    def results(self):
        import numpy as np

        folder = self.folder / "results"
        found = [np.load(folder / f"{i}.npy") for i in range(len(list(folder.glob("*.npy"))))]
        shutil.rmtree(folder)
        return found

    def measure(self, work):
        """By side: the round that took least, or why there is none."""
        from opponents.processes import Missing

        sides, wanted, models = {}, None, {}
        order = [*OTHERS, *WAYS]
        for number in range(self.options.rounds + 1):  # the first fills caches, and is where results are compared
            for name in order[number % len(order):] + order[:number % len(order)]:
                if "missing" in sides.get(name, {}):
                    continue
                try:
                    if name not in models:
                        models[name] = self.built(work) if name == "file" else self.files.model(work)
                    found, results = self.first(name, work, models[name])
                except (Missing, subprocess.CalledProcessError) as reason:
                    said = getattr(reason, "stderr", None) or str(reason).encode()
                    sides[name] = {"missing": " ".join(said.decode(errors="replace").split())[:160]}
                    continue
                if number == 0:
                    wanted = results if wanted is None else wanted
                    if reason := differs(results, wanted):
                        sides[name] = {"missing": reason}
                elif name not in sides or found["first"] < sides[name]["first"]:
                    sides[name] = found
        return {"name": work.name, "threads": len(self.cpus), "sides": sides}


def differs(results, wanted):
    from opponents.compare import difference

    off = max(map(difference, wanted, results)) if len(results) == len(wanted) else float("inf")
    return "" if off <= TOLERANCE else f"its result is off by {off:.1e} from that of the first side"


def ratio(row, way, figure, against=OTHERS):
    """How many times as fast, or small, as the best of others this way is; None where one of the two is missing."""
    ours = row["sides"].get(way, {}).get(figure)
    theirs = [row["sides"][name][figure] for name in against if figure in row["sides"].get(name, {})]
    return min(theirs) / ours if ours and theirs else None


def means(rows):
    """By way: against the fastest other and against ONNX Runtime, and of memory, over rows that have both."""
    found = {}
    for way in WAYS:
        asked = {"fastest": ("first", OTHERS), "onnxruntime": ("first", ["onnxruntime"]), "memory": ("memory", OTHERS)}
        for title, (figure, against) in asked.items():
            values = [each for each in (ratio(row, way, figure, against) for row in rows) if each]
            found.setdefault(way, {})[title] = figures.geometric_mean(values)
    return found


def cell(side):
    if "missing" in side:
        return "-"
    return figures.seconds_text(side["first"])


def text(rows):
    out = [*terminal.aligned(["first call", *WAYS.values(), *OTHERS.values()],
                             [[row["name"], *(cell(row["sides"][name]) for name in (*WAYS, *OTHERS))] for row in rows])]
    table = []
    for way, values in means(rows).items():
        table.append([WAYS[way], *("-" if value is None else f"{value:.2f}" for value in values.values())])
    out += ["", *terminal.aligned(["times as good, in the mean", "as the faster", "as ONNX Runtime", "memory"], table)]
    left = [f"{row['name']}: {name}: {side['missing']}" for row in rows for name, side in row["sides"].items()
            if "missing" in side]
    return "\n".join(out + (["", "left out:", *left] if left else []))


def main(words=None):
    options = parse(words)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, Path(folder))
        if not bench.server.exists():
            sys.exit(f"bench first: there is no {bench.server}; ./dev bench first builds it")
        for work in chosen(options):
            shutil.rmtree(bench.warm, ignore_errors=True)
            bench.warm.mkdir()
            rows.append(bench.measure(work))
            if options.json:
                print(json.dumps(rows[-1]), flush=True)
    if options.json:
        print(json.dumps({"machine": machine.describe(), "means": means(rows)}))
    else:
        print(f"{machine.text(machine.describe())}\n\n{text(rows)}")
    return 1 if any("missing" in row["sides"].get(way, {}) for row in rows for way in WAYS) else 0


if __name__ == "__main__":
    sys.exit(main())
