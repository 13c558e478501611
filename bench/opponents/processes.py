"""Sides as processes of their own, seen from the one who asks."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
import contextlib

ANSWER_SECONDS = 900  # after which a side counts as hanging
IDLE_SECONDS, MOST_PERIODS = 0.02, 100


class Missing(Exception):
    """A side that cannot go on, and why."""


class LeftOut(Missing):
    """A side that was never meant to do this."""


class Process:
    """One side on some processors. `version` is what it said first. `words` and `variables` are for it beside the usual
    ones."""

    def __init__(self, name, threads, cpus, server, log, words=(), variables=None):
        words = [str(server), str(threads), *words] if name == "tenon" else [
            sys.executable, "-I", str(Path(__file__).with_name("serve.py")), name, str(threads)]  # fmt: skip
        self.name, self.log, self.rest = name, Path(log), b""
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log.open("wb"), bufsize=0, start_new_session=True,
                                        env=environment(threads) | (variables or {}),
                                        preexec_fn=lambda: os.sched_setaffinity(0, cpus))  # noqa: PLW1509  # fmt: skip
        try:
            self.version = self.hear()
        except Missing:
            self.stop()
            raise

    def ask(self, *words):
        try:
            self.process.stdin.write(("\t".join(map(str, words)) + "\n").encode())
        except OSError:
            self._ended()
        return self.hear()

    def hear(self):
        end = time.monotonic() + ANSWER_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.rest:
                if not selector.select(max(0, end - time.monotonic())):
                    self.stop()
                    raise Missing(f"no answer within {ANSWER_SECONDS} s")
                part = os.read(self.process.stdout.fileno(), 1 << 16)
                if not part:
                    self._ended()
                self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        answer = json.loads(line)
        if isinstance(answer, dict):
            kind = LeftOut if "left_out" in answer else Missing
            raise kind(" ".join(next(iter(answer.values())).split())[:160])
        return answer

    def _ended(self):
        code = self.process.wait()
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        said = [each for each in self.log.read_text(errors="replace").splitlines() if each.strip()]
        raise Missing(" ".join(f"{how}: {said[-1] if said else 'it said nothing'}".split())[:160])

    def settle(self):
        """Threads that have nothing more to do spin for a while, on processors that belong to whoever comes next."""
        before = self._ticks()
        for _ in range(MOST_PERIODS):
            time.sleep(IDLE_SECONDS)
            now = self._ticks()
            if now == before:
                return
            before = now

    def _ticks(self):
        try:
            words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return int(words[11]) + int(words[12])

    def peak_bytes(self):
        """The most memory that the process ever held."""
        try:
            lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        except OSError:
            return None
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), None)

    def stop(self):
        """It, and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def environment(threads):
    """Whatever a library reads there says the same number of threads."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**os.environ, **{name: str(threads) for name in names}, "CUDA_VISIBLE_DEVICES": ""}
