"""Run the tests of a build tree in few processes.

CTest knows the tests: every case of a GoogleTest program, and scripts. It would start a process for each case, and each
process makes anew what all cases of a program need, such as the machine code of matrix products. Here a process runs
many cases of a program. A case during which its process dies or hangs fails, and another process runs the cases behind
it. Each failure is shown with its name and all that it printed.

usage: run_tests.py [-j N] BUILD [CTEST OPTION...]
  -j N   processes at a time (default: as many as there are cores)
CTest's options choose tests: -R REGEX, -E REGEX, -L LABEL. How long each test took is left in BUILD/Testing/times.txt,
the slowest first. The status is 1 when a test failed, or when there are none.
"""
import collections
import dataclasses
import json
import os
import pathlib
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
import contextlib

FILTER = "--gtest_filter="
MARK = re.compile(r"\[( RUN      |       OK |  FAILED  |  SKIPPED )\] ([^\s,]+)")
# Seconds that a test takes, until it was measured.
USUAL_SECONDS = {"slow": 2.0, "fast": 0.05}
USUAL_LIMIT = 1500.0
# Processes for each core: enough that none is left waiting for the last one, few enough that starting them is cheap.
BATCHES_FOR_A_CORE = 8
LEAST_SECONDS = 5.0  # of a batch
# SKIP_REGULAR_EXPRESSION is what GoogleTest prints.
# DEF_SOURCE_LINE: where CMake 4 says that a test is from.
KNOWN_PROPERTIES = {"DEF_SOURCE_LINE", "DISABLED", "ENVIRONMENT", "LABELS", "SKIP_REGULAR_EXPRESSION", "TIMEOUT",
                    "WORKING_DIRECTORY"}


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    case: str  # of a GoogleTest program; empty: the command is the test
    command: tuple
    limit: float  # seconds
    folder: str
    environment: tuple
    usual: float  # seconds that it takes, about


@dataclasses.dataclass
class Result:
    test: Test
    verdict: str  # Passed, Skipped, Failed, ...
    seconds: float
    output: str

    @property
    def ok(self):
        return self.verdict in ("Passed", "Skipped")


def find_tests(build, options, times):
    """The tests that CTest would run."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", *options], capture_output=True,
                            text=True, check=False)
    if listed.returncode != 0:
        sys.exit(f"run_tests: ctest cannot list the tests of {build}:\n{listed.stdout}{listed.stderr}")
    tests = []
    for each in json.loads(listed.stdout)["tests"]:
        properties = {each["name"]: each["value"] for each in each.get("properties", [])}
        if unknown := properties.keys() - KNOWN_PROPERTIES:
            sys.exit(f"run_tests: test {each['name']} has a property that is not known here: {', '.join(unknown)}")
        if properties.get("DISABLED"):
            continue
        if "command" not in each:
            sys.exit(f"run_tests: the program of {each['name']} was not built")
        command = each["command"]
        case = "".join(part.removeprefix(FILTER) for part in command if part.startswith(FILTER))
        if case:
            command = [command[0]]
        label = "".join(properties.get("LABELS", ["fast"])[:1])
        tests.append(Test(name=each["name"], case=case, command=tuple(command),
                          limit=float(properties.get("TIMEOUT", USUAL_LIMIT)),
                          folder=properties.get("WORKING_DIRECTORY", build),
                          environment=tuple(properties.get("ENVIRONMENT", [])),
                          usual=times.get(each["name"], USUAL_SECONDS.get(label, 0.05))))
    return tests


def make_batches(tests, jobs):
    """Cases of one program side by side, in batches of about the same time; the longest first."""
    programs = collections.defaultdict(list)
    for test in tests:
        programs[(test.command, test.folder, test.environment) if test.case else test.name].append(test)
    most = max(LEAST_SECONDS, sum(test.usual for test in tests) / (BATCHES_FOR_A_CORE * jobs))
    batches = []
    for cases in programs.values():
        batch, seconds = [], 0.0
        for test in cases:
            if batch and seconds + test.usual > most:
                batches.append(batch)
                batch, seconds = [], 0.0
            batch.append(test)
            seconds += test.usual
        batches.append(batch)
    return collections.deque(sorted(batches, key=lambda batch: -sum(test.usual for test in batch)))


class Process:
    """Runs the command of a test and gives its lines as they come; ends it when none comes until `deadline`."""

    def __init__(self, test, arguments):
        environment = {**os.environ, **dict(each.split("=", 1) for each in test.environment)}
        self.process = subprocess.Popen([*test.command, *arguments], cwd=test.folder, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        self.deadline = 0.0
        self.hangs = False

    def lines(self):
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, self.deadline - time.monotonic())):
                    self.hangs = True
                    self.kill()
                    break
                block = os.read(self.process.stdout.fileno(), 1 << 16)
                if not block:
                    break
                *whole, pending = (pending + block).split(b"\n")
                yield from (line.decode(errors="replace") + "\n" for line in whole)
        if pending:
            yield pending.decode(errors="replace") + "\n"
        self.process.wait()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def ending(self):
        status = self.process.returncode
        if self.hangs:
            return "Timeout"
        return f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


class Runner:
    def __init__(self, tests, jobs):
        self.batches = make_batches(tests, jobs)
        self.jobs = jobs
        self.total = len(tests)
        self.results = []
        self.lock = threading.Lock()
        self.processes = set()
        self.stopped = False

    def run(self):
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(self.jobs)]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join()
        except KeyboardInterrupt:
            self.stopped = True
            with self.lock:
                for process in self.processes:
                    process.kill()
            sys.exit("run_tests: interrupted")
        return self.results

    def work(self):
        while not self.stopped:
            with self.lock:
                if not self.batches:
                    return
                batch = self.batches.popleft()
            begin = time.monotonic()
            done = self.run_cases(batch) if batch[0].case else self.run_command(batch[0])
            if self.stopped:
                return
            with self.lock:
                print(f"{len(self.results):5}/{self.total}  {batch[0].name.split('.')[0]}: {done} tests in "
                      f"{time.monotonic() - begin:.1f} s", flush=True)

    def start(self, test, arguments=()):
        process = Process(test, arguments)
        with self.lock:
            self.processes.add(process)
        return process

    def add(self, test, verdict, seconds, output):
        if self.stopped:
            return
        result = Result(test, verdict, seconds, output)
        with self.lock:
            self.results.append(result)
            if not result.ok:
                print(f"\n{test.name}: {verdict} after {seconds:.2f} s\n{output}", flush=True)

    def run_command(self, test):
        process = self.start(test)
        begin = time.monotonic()
        process.deadline = begin + test.limit
        output = "".join(process.lines())
        verdict = "Passed" if process.process.returncode == 0 else f"Failed, {process.ending()}"
        self.add(test, verdict, time.monotonic() - begin, output)
        return 1

    def run_cases(self, batch):
        """Returns how many of them ran; the others are a batch again."""
        waiting = {test.case: test for test in batch}
        process = self.start(batch[0], [FILTER + ":".join(waiting), "--gtest_color=no"])
        running, begin, output, failed = None, time.monotonic(), [], False
        process.deadline = begin + batch[0].limit
        for line in process.lines():
            mark = MARK.search(line)
            what, name = (mark[1].strip(), mark[2]) if mark else ("", "")
            if what == "RUN" and name in waiting:
                running, begin, output = waiting.pop(name), time.monotonic(), []
                process.deadline = begin + running.limit
            elif running and name == running.case and what != "RUN":
                verdict = {"OK": "Passed", "SKIPPED": "Skipped"}.get(what, "Failed")
                failed = failed or verdict == "Failed"
                self.add(running, verdict, time.monotonic() - begin, "".join([*output, line]))
                running, output = None, []
            else:
                output.append(line)
        done = len(batch) - len(waiting)
        if running:
            self.add(running, f"Failed, {process.ending()}", time.monotonic() - begin, "".join(output))
        elif waiting or (process.process.returncode != 0 and not failed):
            # Not while a case ran: the first that did not, or else the last, stands for what went wrong.
            blamed = waiting.pop(next(iter(waiting))) if waiting else batch[-1]
            done = min(done + 1, len(batch))
            self.add(blamed, f"Failed, outside of any test: {process.ending()}", 0.0, "".join(output))
        if waiting:
            with self.lock:
                self.batches.appendleft([test for test in batch if test.case in waiting])
        return done


def read_times(path):
    try:
        return {name: float(seconds) for seconds, name in (line.split() for line in path.read_text().splitlines())}
    except (OSError, ValueError):
        return {}


def write_times(path, times):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{seconds:9.3f} {name}\n" for name, seconds in sorted(times.items(), key=lambda x: -x[1])))


def main():
    arguments = sys.argv[1:]
    jobs = os.cpu_count() or 2
    if arguments[:1] == ["-j"]:
        jobs, arguments = int(arguments[1]), arguments[2:]
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    build, *options = arguments
    path = pathlib.Path(build, "Testing", "times.txt")
    times = read_times(path)
    tests = find_tests(build, options, times)
    if not tests:
        sys.exit("run_tests: there are no such tests")
    begin = time.monotonic()
    results = Runner(tests, jobs).run()
    write_times(path, times | {result.test.name: result.seconds for result in results})
    for result in (result for result in results if result.verdict == "Skipped"):
        print(f"skipped: {result.test.name}")
    failed = sorted((result for result in results if not result.ok), key=lambda result: result.test.name)
    print(f"\n{100 * (len(tests) - len(failed)) // len(tests)}% tests passed, {len(failed)} tests failed out of "
          f"{len(tests)}\n\nTotal Test time (real) = {time.monotonic() - begin:.2f} sec")
    if failed:
        print("\nThe following tests FAILED:")
        print("".join(f"\t{result.test.name} ({result.verdict})\n" for result in failed), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
