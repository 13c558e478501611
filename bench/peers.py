"""Tenon against ONNX Runtime, OpenVINO, PyTorch (eager and compiled) and JAX: the same weights, inputs and threads.

    ./dev bench peers                                  all workloads, with 1, 2 and all threads
    ./dev bench peers --quick                          a few workloads with all threads
    ./dev bench peers --only resnet18 --threads 1,2    workloads whose name contains this
    ./dev bench peers --list                           the workloads and their sizes
    ./dev bench peers --keep run.json                  also writes what was measured; goes on where run.json ends
    ./dev bench peers --keep run.json --rounds 0       measures nothing: shows what run.json holds
    ./dev bench peers --keep run.json --write          and writes docs/performance.md and docs/images/peers.svg
    ./dev bench peers --python python3.12 --tenon build/release/tenon    where nothing can be built or installed

Three figures are never mixed: the first call (reading, compiling, one call), the steady state at one size, and a stream of
200 random sizes with compiles included, which is run with the most threads alone. Each side is a process of its own on
the same processors; its high-water memory is a fourth. Outputs are compared before any time is taken: a side that
differs, fails or is not installed is left out, and said. The status is not 0 when Tenon is missing in a row.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # last: torch.py and others lie there

from opponents import figures, machine, page, terminal
from opponents.command import add_places
from opponents.names import TITLES

ROOT = Path(__file__).resolve().parent.parent
PAGE, PICTURE, README = ROOT / "docs/performance.md", ROOT / "docs/images/peers.svg", ROOT / "README.md"
ALL = list(TITLES)


def parse(words):
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="few workloads, all threads, short rounds")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="workloads whose name contains it")
    parser.add_argument("--group", action="append", default=[], help="call, small, model, usual, odd, decode, int8, train")
    parser.add_argument("--sides", help=f"some of {','.join(ALL)}")
    parser.add_argument("--threads", help="numbers and `all`, as in 1,2,all (the default; quick: all)")
    parser.add_argument("--rounds", type=int, help="turns of the steady state: 5, quick 3; 0: measure nothing")
    parser.add_argument("--seconds", type=float, help="about, of a side's turn: 0.5, quick 0.2")
    parser.add_argument("--stream-seconds", type=float, help="after which a side ends its stream: 60, quick 10")
    parser.add_argument("--no-stream", action="store_true", help="no streams of sizes")
    parser.add_argument("--json", action="store_true", help="one object a line for each row, then one of means")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write results here; rows that it has are not measured")
    parser.add_argument("--html", type=Path, metavar="FILE", help="a page with plots")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="the picture of ratios")
    parser.add_argument("--write", action="store_true", help="this machine's section of docs/performance.md, and README.md's picture")
    parser.add_argument("--list", action="store_true", help="the workloads")
    add_places(parser, "bench-peers")
    options = parser.parse_args(words)
    options.rounds = (3 if options.quick else 5) if options.rounds is None else options.rounds
    options.seconds = options.seconds or (0.2 if options.quick else 0.5)
    options.stream_seconds = options.stream_seconds or (10 if options.quick else 60)
    options.sides = options.sides.split(",") if options.sides else ALL
    for unknown in set(options.sides) - set(ALL):
        parser.error(f"no side is called {unknown}; there are {', '.join(ALL)}")
    for word in (options.threads or "all").split(","):
        if word != "all" and not (word.isdecimal() and int(word) > 0):
            parser.error(f"--threads takes numbers above 0 and `all`, such as 1,2,all: not {word!r}")
    return options


def chosen_threads(options, most):
    words = (options.threads or ("all" if options.quick else "1,2,all")).split(",")
    return sorted({min(most, most if word == "all" else int(word)) for word in words})


def chosen_works(options, table):
    found = [work for work in table if work.quick or not options.quick]
    if options.only:
        found = [work for work in found if any(text in work.name for text in options.only)]
    if options.group:
        found = [work for work in found if work.group in options.group]
    if not found:
        sys.exit("bench peers: no workload is called so; --list shows them")
    return found


def asked_sides(options, work):
    """Sizes left open matter where sizes vary; compiling them takes a minute."""
    varies = bool(work.stream) or work.group == "odd"
    return [name for name in options.sides if name != "inductor_dynamic" or (varies and not options.quick)]


def fresh(options):
    return {"machine": machine.describe(), "date": time.strftime("%Y-%m-%d", time.gmtime()), "rounds": options.rounds,
            "versions": {}, "rows": []}


def load_kept(options):
    if options.keep and options.keep.exists():
        return json.loads(options.keep.read_text())
    return fresh(options)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(options, results):
    from opponents.rounds import Bench
    from opponents.workloads import Files, table

    server = Path(options.tenon).with_name("bench_peers_steps").absolute()
    if "tenon" in options.sides and not server.exists():
        sys.exit(f"bench peers: there is no {server}; ./dev bench peers builds it")
    cpus = machine.processors()
    counts = chosen_threads(options, len(cpus))
    have = {(row["name"], row["threads"]) for row in results["rows"]}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Files(options.folder / "files", Path(options.tenon).resolve()), server, Path(folder), options.rounds,
                      options.seconds, options.stream_seconds, progress)  # fmt: skip
        for work in chosen_works(options, table()):
            for threads in counts:
                if (work.name, threads) in have:
                    continue
                with_stream = threads == counts[-1] and not options.no_stream
                sides = bench.measure(work, asked_sides(options, work), threads, cpus[:threads], with_stream)
                row = {"name": work.name, "group": work.group, "sizes": work.sizes, "threads": threads, "sides": sides}
                results["rows"].append(row)
                results["versions"] |= bench.versions
                if options.keep:
                    beside = options.keep.with_suffix(".part")
                    beside.write_text(json.dumps(results, indent=1))
                    beside.replace(options.keep)
                progress("")
                print(json.dumps(row) if options.json else terminal.line(row), flush=True)


def main(words=None):
    options = parse(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that sides end, too
    if options.list:
        from opponents.workloads import table

        for work in table():
            sizes = " ".join(f"{name}={size}" for name, size in work.sizes.items())
            varied = " ".join(f"{name}={least}..{most}" for name, (least, most) in work.stream.items())
            print(f"{work.name:<22} {work.group:<7} {sizes}" + (f"; stream {varied}" if varied else ""))
        return 0
    results = load_kept(options)
    if options.rounds:
        measure(options, results)
    rows = results["rows"]
    if options.json:
        means = {threads: figures.means(figures.in_mean(some)) for threads, some in figures.by_threads(rows).items()}
        print(json.dumps({"machine": results["machine"], "versions": results["versions"], "means": means}))
    else:
        print(f"\n{machine.text(results['machine'])}\n{terminal.text(rows)}")
    if options.html:
        options.html.write_text(page.html(results))
    if options.svg:
        options.svg.write_text(page.picture(results))
    if options.write:
        PAGE.write_text(page.with_section(PAGE.read_text() if PAGE.exists() else "", results))
        PICTURE.write_text(page.picture(results))
        README.write_text(page.with_picture(README.read_text(), results))
    return 1 if any("missing" in row["sides"].get("tenon", {}) for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
