"""PyTorch models through the doors of `tenon.torch`, against PyTorch eager and torch.compile (inductor).

    ./dev bench torch [--json] [--quick] [--rounds N] [--threads N] [--kind infer|train] [MODEL...]

Each model infers, and trains by SGD with momentum: at a first call, in a stream of 200 random sizes that begins with
that call, then at one size again and again. All sides meet the same sizes in the same order, by turns. Export has no
backward and so does not train. `steady` is how many times as fast as the faster of eager and inductor a door is at one
size, in medians of rounds; target 1. `stream` is its throughput over the 200 sizes, compiles included, by that of
inductor; target 3. Imports, and what compilers do once in a process, have happened before.

Every side is a process of its own and holds its results against eager: a door that is wrong, fails or crashes is
reported as missing, with its reason.
"""

import argparse
import copy
import importlib
import json
import multiprocessing
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, ClassVar

import torch
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(os.environ.get("TENON_COMMAND", ROOT / "build/release/tenon")).resolve().parent / "python"
sys.path[:0] = [str(PACKAGE), str(ROOT / "python/tests/torch")]

try:
    import tenon
except ImportError as error:
    sys.exit(f"bench: {PACKAGE} has no module tenon for this Python ({error}); `./dev test --python` builds it")
from models import MobileNet, ResNet18, Translator  # noqa: E402

DOORS = {"infer": ("export", "compile", "device"), "train": ("compile", "device")}
OPPONENTS = ("eager", "inductor")
QUICK = {"infer": ["encoder"], "train": ["mlp"]}
STREAM, TURN = 200, 20  # sizes in all, and of one side before the next has its turn
FIGURES = {  # what was measured, the unit and target of the figure that is made of it, and against whom
    "first": ("first", "s", None, ()),
    "steady": ("ms", "x", 1, OPPONENTS),
    "stream": ("per_second", "x", 3, ("inductor",)),
}
ANSWER_SECONDS = 600  # after which a side counts as hanging


@dataclass
class Work:
    """A model, the ranges of the sizes that it meets, and the one of the steady state."""

    make: Callable
    axes: dict  # of the input: name, least and greatest by position
    size: tuple
    data: Callable  # from sizes to the input and what it is trained for
    loss: Callable


def labelled(*shape):
    return lambda n: (torch.randn(n, *shape), torch.arange(n) % 10)


def sequences(width):
    return lambda n, length: (torch.randn(n, length, width), torch.randn(n, length, width))


BATCH = {0: ("batch", 2, 16)}
BATCH_AND_LENGTH = {0: ("batch", 2, 8), 1: ("length", 9, 64)}  # apart: PyTorch takes equal sizes for the same
WORKS = {
    "mlp": Work(lambda: nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 64), nn.GELU(), nn.Linear(64, 10)),
                {0: ("batch", 2, 128)}, (64,), labelled(256), F.cross_entropy),
    "encoder": Work(lambda: nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True), BATCH_AND_LENGTH,
                    (4, 48), sequences(128), F.mse_loss),
    "translator": Work(lambda: Translator(64), BATCH_AND_LENGTH, (4, 48), sequences(64), F.mse_loss),
    "mobilenet": Work(MobileNet, BATCH, (8,), labelled(3, 64, 64), F.cross_entropy),
    "resnet18": Work(lambda: ResNet18(10, 16), BATCH, (8,), labelled(3, 64, 64), F.cross_entropy),
}  # fmt: skip
TINY = Work(lambda: nn.Linear(4, 4), BATCH, (3,), lambda n: (torch.randn(n, 4), torch.randn(n, 4)), F.mse_loss)


def exported(model, axes):
    """Exports at its first call."""
    made = []

    def call(x):
        if not made:
            dims = {axis: torch.export.Dim(name, min=least, max=most) for axis, (name, least, most) in axes.items()}
            made.append(tenon.torch.export(model, (x,), dynamic_shapes=(dims,)))
        return made[0](x)

    return call


OPEN = {
    "eager": lambda model, axes: model,
    "inductor": lambda model, axes: torch.compile(model, dynamic=True),
    "export": exported,
    "compile": lambda model, axes: torch.compile(model, backend="tenon", dynamic=True),
    "device": lambda model, axes: model.to("tenon"),
}


class Step:
    """Inference, or a step of training, of a model by one side: from CPU to CPU."""

    def __init__(self, side, work, kind, model):
        self.model, self.loss = model, work.loss
        self.forward = OPEN[side](model, work.axes)
        self.place = "tenon" if side == "device" else "cpu"
        self.optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9) if kind == "train" else None

    def __call__(self, x, y):
        x = x.to(self.place)
        if self.optimizer is None:
            with torch.no_grad():
                return self.forward(x).cpu()
        self.optimizer.zero_grad()
        loss = self.loss(self.forward(x), y.to(self.place))
        loss.backward()
        self.optimizer.step()
        return torch.tensor(loss.item())


class Job:
    """One side at one kind of work, beside eager on a copy of the model. Times are in seconds."""

    def __init__(self, side, work, kind):
        torch._dynamo.reset()
        tenon.clear_programs()
        if side not in OPPONENTS:
            tenon.torch.reset_report()
        torch.manual_seed(0)
        model = work.make().train(kind == "train")
        self.side, self.work, self.kind, self.compiles = side, work, kind, 0
        self.eager = Step("eager", work, kind, copy.deepcopy(model))
        self.own = Step(side, work, kind, model)

    def stream(self, sizes):
        """The first call is a stream of one size, and its result is compared; later a step is made for that."""
        data = [self.work.data(*size) for size in sizes]
        seconds, result = self._timed(data)
        if self.side not in OPPONENTS:
            if len(data) > 1:
                self.eager.model.load_state_dict(self.own.model.state_dict())
                result = self.own(*data[-1])
            self._agree(result, data[-1])
        return seconds

    def steady(self, times):
        return self._timed([self.work.data(*self.work.size)] * times)[0] / times

    def _timed(self, data):
        """How long it takes, and the last result."""
        before = tenon.realization_counts()["compiles"]
        begin = time.perf_counter()
        for each in data:
            result = self.own(*each)
        seconds = time.perf_counter() - begin
        self.compiles += tenon.realization_counts()["compiles"] - before
        return seconds, result

    def _agree(self, result, data):
        torch.testing.assert_close(result, self.eager(*data), rtol=2e-3, atol=2e-4)
        pairs = [] if self.kind == "infer" else list(zip(self.eager.model.parameters(), self.own.model.parameters()))
        largest = max((a.grad.abs().max().item() for a, _ in pairs), default=0)
        for a, b in pairs:
            near = 2e-3 * a.grad.abs().max().item() + 1e-5 * largest
            torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=0, atol=near)

    def notes(self):
        """How often a door compiled, and what ran in PyTorch instead."""
        if self.side in OPPONENTS:
            return {}
        door = tenon.torch.report().doors[self.side]
        compiles = self.compiles if self.side == "device" else door.compiles
        return {"compiles": compiles, "fallbacks": sorted({operator for operator, _ in door.fallbacks})}


def wake(side, threads):
    """Import and compile what is needed once."""
    torch.set_num_threads(threads)
    tenon.set_threads(threads)
    if side not in OPPONENTS:
        importlib.import_module("tenon.torch")
    for kind in (kind for kind in DOORS if side in OPPONENTS + DOORS[kind]):
        Job(side, TINY, kind).stream([TINY.size])


def serve(link, others, side, threads, folder):
    """The process of a side: answers what it is asked until the link ends."""
    for other in others:
        other.close()  # that they end with the one who asks
    log = os.open(Path(folder, f"{side}.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(folder, f"{side}.cache"))
    question, job = ("wake",), None
    while True:
        try:
            if question[0] == "wake":
                answer = wake(side, threads)
            elif question[0] == "open":
                answer, job = None, Job(side, WORKS[question[1]], question[2])
            else:
                answer = getattr(job, question[0])(*question[1:])
            link.send((answer, None))
        except Exception as error:
            link.send((None, f"{type(error).__name__}: {reason_of(str(error))}"))
        try:
            question = link.recv()
        except EOFError:
            return


def reason_of(text):
    """The lines of a message in one, no longer than a line of a table."""
    return " ".join(text.split())[:160]


class Missing(Exception):
    """A side that cannot go on, and why."""


class Side:
    """The process of a side, seen from here. It is started again where it ended."""

    links: ClassVar[dict] = {}  # of all of them

    def __init__(self, name, threads, folder):
        self.name, self.threads, self.folder = name, threads, folder
        self.start()

    def start(self):
        """Its first answer comes unasked, when it is ready."""
        fork = multiprocessing.get_context("fork")  # PyTorch is imported once
        self.link, theirs = fork.Pipe()
        Side.links[self.name] = self.link
        given = (theirs, list(Side.links.values()), self.name, self.threads, self.folder)
        self.process = fork.Process(target=serve, args=given)
        self.process.start()
        theirs.close()

    def ask(self, *question):
        if self.process is None:
            self.start()
            self.hear()
        try:
            self.link.send(question)
        except OSError:
            self._ended()
        return self.hear()

    def hear(self):
        try:
            if not self.link.poll(ANSWER_SECONDS):
                self.stop()
                raise Missing(f"no answer within {ANSWER_SECONDS} s")
            answer, error = self.link.recv()
        except (EOFError, OSError):
            self._ended()
        if error is not None:
            raise Missing(error)
        return answer

    def _ended(self):
        self.process.join()
        code, self.process = self.process.exitcode, None
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        said = Path(self.folder, f"{self.name}.log").read_text(errors="replace").split("\n")
        raise Missing(reason_of(f"{how}: {next((each for each in reversed(said) if each.strip()), 'it said nothing')}"))

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def measure(sides, work, kind, rounds, seconds):
    """By side: what was measured, or why it is missing."""
    found = {name: {} for name in OPPONENTS + DOORS[kind]}

    def turn(number, action):
        names = [name for name in found if "missing" not in found[name]]
        first = number % max(1, len(names))
        for name in names[first:] + names[:first]:
            try:
                action(sides[name], found[name])
            except Missing as missing:
                found[name] = {"missing": str(missing)}

    random.seed(work)
    sizes = [[random.randint(least, most) for _, least, most in WORKS[work].axes.values()] for _ in range(STREAM)]

    def start(side, mine):
        side.ask("open", work, kind)
        mine |= {"first": side.ask("stream", sizes[:1]), "stream": [], "steady": []}

    def calibrate(side, mine):
        side.ask("steady", 2)
        mine["times"] = max(1, int(seconds / side.ask("steady", 1)))

    turn(0, start)
    for begin in range(1, STREAM, TURN):
        turn(begin // TURN, lambda side, mine, at=begin: mine["stream"].append(side.ask("stream", sizes[at : at + TURN])))
    turn(0, calibrate)
    for each in range(rounds):
        turn(each, lambda side, mine: mine["steady"].append(side.ask("steady", mine["times"])))
    turn(0, lambda side, mine: mine.update(side.ask("notes")))
    for mine in found.values():
        if "missing" not in mine:
            mine["ms"] = statistics.median(mine["steady"]) * 1e3
            mine["per_second"] = STREAM / (mine["first"] + sum(mine["stream"]))
    return found


def rows(name, found):
    """A row for each figure of each door: its name, value, unit, target and ok, and what it is made of."""
    for door in (side for side in found if side not in OPPONENTS):
        for figure, (key, unit, target, against) in FIGURES.items():
            row = {"name": f"{name}.{door}.{figure}", "value": None, "unit": unit, "target": target, "ok": False}
            there = {side: found[side][key] for side in (door, *against) if key in found[side]}
            if door not in there or (against and len(there) == 1):
                lacking = door if door not in there else against[0]
                yield row | {"missing": f"{lacking}: {found[lacking]['missing']}"}
                continue
            mine, others = there[door], [there[side] for side in against if side in there]
            value = mine if not others else min(others) / mine if figure == "steady" else mine / max(others)
            row |= {"value": value, "ok": target is None or value >= target}
            row[key] = {side: found[side][key] for side in (*OPPONENTS, door) if key in found[side]}
            yield row | {each: found[door][each] for each in ("compiles", "fallbacks")}


def show(name, found, made):
    """The sides of one kind of work as lines of a table."""
    print(f"\n{name:<18}{'first call':>11}{'steady':>12}{'':>10}{'stream':>12}")
    for side, mine in found.items():
        if "missing" in mine:
            print(f"  {side:<16}missing: {mine['missing']}", flush=True)
            continue
        line = f"  {side:<16}{mine['first']:>9.2f} s{mine['ms']:>9.2f} ms"
        ratio = {row["name"]: f"{row['value']:.2f} x{' ' if row['ok'] else '!'}" for row in made if row["value"]}
        steady, stream = (ratio.get(f"{name}.{side}.{figure}", "") for figure in ("steady", "stream"))
        line += f"{steady:>10}{mine['per_second']:>10.1f}/s{stream:>10}"
        if side not in OPPONENTS:
            line += f"  {mine['compiles']} compiled" + "".join(f", {each} in PyTorch" for each in mine["fallbacks"])
        print(line.rstrip(), flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench torch", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="one model of each kind, fewer and shorter rounds")
    parser.add_argument("--rounds", type=int, help="of the steady state: 7, quick 3")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--kind", choices=DOORS, help="one kind of work alone")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(WORKS))
    args = parser.parse_args()
    for unknown in set(args.models) - set(WORKS):
        parser.error(f"no model is called {unknown}; there are {', '.join(WORKS)}")
    rounds = args.rounds or (3 if args.quick else 7)
    missed = total = 0
    with tempfile.TemporaryDirectory() as folder:
        sides = {name: Side(name, args.threads, folder) for name in OPEN}
        try:
            for side in sides.values():
                try:
                    side.hear()
                except Missing:
                    side.stop()  # it will say why again where it is asked to work
            for kind in [args.kind] if args.kind else DOORS:
                for work in args.models or (QUICK[kind] if args.quick else WORKS):
                    found = measure(sides, work, kind, rounds, 0.2 if args.quick else 0.5)
                    made = list(rows(f"{kind}.{work}", found))
                    total += len(made)
                    missed += sum(not row["ok"] for row in made)
                    if args.json:
                        print("\n".join(json.dumps(row) for row in made), flush=True)
                    else:
                        show(f"{kind}.{work}", found, made)
        finally:
            for side in sides.values():
                side.stop()
    if not args.json:
        print(f"\nthreads: {args.threads}; steady: >= 1 x the faster of eager and inductor; stream: >= 3 x inductor. "
              f"{missed} of {total} figures missed (!)")  # fmt: skip
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
