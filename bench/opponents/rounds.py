"""The times of one workload: all sides open it, agree on what comes out, then take turns."""

import shutil
import statistics
from dataclasses import replace

import numpy as np

from .compare import difference
from .names import OURS
from .processes import LeftOut, Missing, Process
from .workloads import stream_sizes

TURN = 20  # sizes of a stream before the next side has its turn
MOST_CALLS = 1000
TOLERANCE, COARSE_TOLERANCE = 1e-3, 0.25  # relative to the largest element; coarse: of 8 bits against f32
REFERENCES = ("onnxruntime", "eager", "openvino", "jax", OURS)


class Bench:
    """How long, how often and where; shared by all workloads."""

    def __init__(self, files, server, folder, rounds, seconds, stream_seconds, say):
        self.files, self.server, self.folder = files, server, folder
        self.rounds, self.seconds, self.stream_seconds, self.say = rounds, seconds, stream_seconds, say
        self.versions = {}

    def measure(self, work, sides, threads, cpus, with_stream):
        """By side: what was measured, or why it is missing."""
        found, running = {name: {} for name in sides}, {}

        def turn(number, action):
            """Every side that is still there, beginning with another one each time."""
            names = [name for name in found if not {"missing", "left_out"} & found[name].keys()]
            first = number % max(1, len(names))
            for name in names[first:] + names[:first]:
                try:
                    action(name, found[name])
                except LeftOut as reason:
                    found[name] = {"left_out": str(reason)}
                except Missing as reason:
                    found[name] = {"missing": str(reason)}
                if name in running and {"missing", "left_out"} & found[name].keys():
                    running.pop(name).stop()
                elif name in running:
                    running[name].settle()

        try:
            model, inputs = self.files.model(work), self.files.inputs(work, work.sizes)
        except Exception as error:  # pylint: disable=broad-except
            return {name: {"missing": str(error)[:160]} for name in sides}

        def start(name, mine):
            self.say(f"{work.name}, {threads} threads: {name} begins")
            running[name] = Process(name, threads, cpus, self.server, self.folder / f"{name}.log")
            self.versions[name] = running[name].version
            opened = running[name].ask("open", work.kind, work.network, model)
            mine["first"] = opened + running[name].ask("run", inputs, 1)[0]
            if work.kind != "infer":  # what a step or a cache has become shows in the next call; rounding, in later ones
                running[name].ask("run", inputs, 3 if work.kind == "decode" else 1)
            running[name].ask("write", self.folder / name)

        def calibrate(name, mine):
            seconds = statistics.median(running[name].ask("run", inputs, 3)[1:])
            mine["calls"] = max(1, min(MOST_CALLS, int(self.seconds / seconds)))

        def steady(name, mine):
            """The first call wakes threads and caches, and is not counted."""
            times = running[name].ask("run", inputs, mine["calls"] + 1)[1:]
            mine.setdefault("steady", []).append(statistics.median(times))

        def memory(name, mine):
            mine["memory"] = running[name].peak_bytes()

        try:
            turn(0, start)
            self.compare(work, found, threads, cpus)
            for name in [name for name in running if "missing" in found[name]]:
                running.pop(name).stop()
            turn(0, calibrate)
            for number in range(self.rounds):
                self.say(f"{work.name}, {threads} threads: round {number + 1} of {self.rounds}")
                turn(number, steady)
            turn(0, memory)
            if with_stream and work.stream:
                self.stream(work, running, model, turn)
        finally:
            for process in running.values():
                process.stop()
        return found

    def results_of(self, name):
        folder = self.folder / name
        found = [np.load(folder / f"{i}.npy") for i in range(len(list(folder.glob("*.npy"))))]
        shutil.rmtree(folder)
        return found

    def compare(self, work, found, threads, cpus):
        """Whoever differs from the first of the references is not timed. With 8 bits it is the result of f32: systems
        round at other places, and what that costs belongs beside their times."""
        results = {name: self.results_of(name) for name, mine in found.items() if "first" in mine}
        reference = next((name for name in REFERENCES if name in results), None)
        if reference is None:
            return
        wanted, most = results[reference], TOLERANCE
        if work.group == "int8":
            plain = replace(work, group="usual")
            process = Process(reference, threads, cpus, self.server, self.folder / f"{reference}.log")
            process.ask("open", plain.kind, plain.network, self.files.model(plain))
            process.ask("run", self.files.inputs(plain, plain.sizes), 1)
            process.ask("write", self.folder / reference)
            process.stop()
            wanted, most, reference = self.results_of(reference), COARSE_TOLERANCE, f"{reference} in f32"
        for name, got in results.items():
            off = max(map(difference, wanted, got)) if len(got) == len(wanted) else float("inf")
            found[name]["difference"] = off
            if not off <= most:
                found[name] = {"missing": f"its result is off by {off:.1e} from that of {reference}"}

    def stream(self, work, running, model, turn):
        """200 sizes, once each, from a model that is opened again: compiles are part of the time. A side that takes
        longer than it may stops where it is."""
        folders = [self.files.inputs(work, sizes) for sizes in stream_sizes(work)]

        def begin(name, mine):
            mine["stream"] = {"seconds": running[name].ask("open", work.kind, work.network, model), "done": 0}

        turn(0, begin)
        for at in range(0, len(folders), TURN):
            def go(name, mine, at=at):
                stream = mine["stream"]
                left = folders[at : at + TURN]
                while left and stream["seconds"] < self.stream_seconds:
                    count = TURN if stream["seconds"] < self.stream_seconds / 20 else 1
                    some, left = left[:count], left[count:]
                    times = running[name].ask("run", ",".join(map(str, some)), 1)
                    stream["seconds"] += sum(times)
                    stream["done"] += len(times)

            self.say(f"{work.name}: stream, sizes from {at}")
            turn(at // TURN, go)
        turn(0, lambda name, mine: mine.update(stream_memory=running[name].peak_bytes()))
